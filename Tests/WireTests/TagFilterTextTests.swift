import TestSupport
import Testing

@testable import Wire

@Suite("Filters as people read them")
struct TagFilterTextTests {
  static let table: [(TagFilter, String)] = [
    (.equal(key: "colour", "red"), #"colour is "red""#),
    (.oneOf(key: "user", ["ann", "ben"]), #"user is one of "ann", "ben""#),
    (.exists(key: "only"), "has only"),
    (.not(.hasPrefix(key: "a b", "x")), #"not ("a b" begins with "x")"#),
    (.hasSuffix(key: "k", "x"), #"k ends with "x""#),
    (.contains(key: "k", "x"), #"k contains "x""#),
    (.number(key: "n", .greaterOrEqual, "1.5"), "n ≥ 1.5"),
    (.number(key: "n", .less, "2"), "n < 2"),
    (.all([]), "everything"),
    (.any([]), "nothing"),
    (
      .all([.exists(key: "a"), .any([.exists(key: "b"), .not(.exists(key: "c"))])]),
      "has a and (has b or not (has c))"
    ),
    (.any([.all([.exists(key: "a"), .exists(key: "b")]), .exists(key: "c")]), "(has a and has b) or has c"),
    (.equal(key: "k", "say \"x\" \\"), #"k is "say \"x\" \\""#),
  ]

  @Test("each kind of condition has its words", arguments: table.indices)
  func words(_ row: Int) {
    let (filter, text) = Self.table[row]
    #expect(filter.text() == text)
  }

  @Test("what a terminal would obey, or what turns text around, is written as its number")
  func terminals() {
    let text = TagFilter.equal(key: "k\u{7}", "\u{1B}[2J\n\u{202E}\u{9B}x").text()
    #expect(text == #""k\u{7}" is "\u{1B}[2J\u{A}\u{202E}\u{9B}x""#)
  }

  @Test("a long filter is cut off, however it is long")
  func long() {
    let many = TagFilter.oneOf(key: "user", (0..<10_000).map { "user-\($0)" })
    let wide = TagFilter.all((0..<10_000).map { .exists(key: "k\($0)") })
    let one = TagFilter.equal(key: String(repeating: "k", count: 5000), String(repeating: "é", count: 5000))
    for filter in [many, wide, one] {
      let text = filter.text(most: 100)
      #expect(text.hasSuffix("…") && text.utf8.count <= 103)
    }
  }
}
