import Testing

@testable import Wire

@Suite("Tag filters, matching")
struct TagFilterMatchingTests {
  static let publication = Publication(
    data: [], info: ClientInfo(user: "ann", client: "c1"),
    tags: ["color": "dark red", "price": "12.50", "empty": "", "user": "mallory", "repeated": "aaab"])

  @Test(
    "compare one tag",
    arguments: [
      (TagFilter.equal(key: "color", "dark red"), true), (.equal(key: "color", "red"), false),
      (.equal(key: "empty", ""), true), (.equal(key: "none", ""), false),
      (.oneOf(key: "color", ["blue", "dark red"]), true), (.oneOf(key: "color", ["blue"]), false),
      (.oneOf(key: "color", []), false), (.oneOf(key: "none", ["blue"]), false),
      (.exists(key: "empty"), true), (.exists(key: "none"), false),
      (.hasPrefix(key: "color", "dark"), true), (.hasPrefix(key: "color", "red"), false),
      (.hasPrefix(key: "color", "dark red too"), false), (.hasPrefix(key: "none", ""), false),
      (.hasSuffix(key: "color", " red"), true), (.hasSuffix(key: "color", "dark"), false),
      (.hasSuffix(key: "color", "a dark red"), false), (.hasSuffix(key: "empty", ""), true),
      (.contains(key: "color", "k r"), true), (.contains(key: "color", "kr"), false),
      (.contains(key: "color", "rked"), false), (.contains(key: "color", "red"), true),
      (.contains(key: "color", "dark red"), true), (.contains(key: "color", "dark red."), false),
      (.contains(key: "repeated", "aab"), true), (.contains(key: "repeated", "aaaa"), false),
      (.contains(key: "empty", ""), true), (.contains(key: "empty", "x"), false), (.contains(key: "none", ""), false),
    ])
  func comparison(_ filter: TagFilter, _ expected: Bool) {
    #expect(filter.matches(Self.publication) == expected)
    #expect(TagFilter.not(filter).matches(Self.publication) == !expected)
  }

  @Test(
    "compare decimals exactly, and nothing else",
    arguments: [
      ("12.50", "12.5", 0), ("012.5", "12.50", 0), ("+12.5", "12.5", 0), ("-0", "0.00", 0), ("0", "-0.0", 0),
      ("2", "10", -1), ("-2", "-10", 1), ("-1", "0", -1), ("0.09", "0.1", -1), ("-0.09", "-0.1", 1),
      ("1", "1.0001", -1),
      ("9007199254740993", "9007199254740992", 1), ("0.1000000000000000000001", "0.1", 1),
      ("123456789012345678901234567890", "123456789012345678901234567891", -1), ("100", "99.999", 1),
    ])
  func decimals(_ tag: String, _ value: String, _ order: Int) {
    func matches(_ comparison: TagFilter.NumberComparison, _ tag: String, _ value: String) -> Bool {
      TagFilter.number(key: "n", comparison, value).matches(Publication(data: [], tags: ["n": tag]))
    }
    for (tag, value, order) in [(tag, value, order), (value, tag, -order)] {
      #expect(matches(.greater, tag, value) == (order > 0))
      #expect(matches(.greaterOrEqual, tag, value) == (order >= 0))
      #expect(matches(.less, tag, value) == (order < 0))
      #expect(matches(.lessOrEqual, tag, value) == (order <= 0))
    }
  }

  @Test(
    "take for no number what is none",
    arguments: ["", "-", "+", ".", ".5", "5.", "1.2.3", "1e3", "0x10", " 1", "1 ", "--1", "١", "NaN", "inf", "1,5"])
  func noDecimal(_ text: String) {
    #expect(!DecimalText.isDecimal(text))
    for comparison in [TagFilter.NumberComparison.greater, .greaterOrEqual, .less, .lessOrEqual] {
      let filter = TagFilter.number(key: "n", comparison, "1")
      #expect(!filter.matches(Publication(data: [], tags: ["n": text])))
    }
  }

  @Test("see the publisher under user, whatever was written there")
  func user() {
    #expect(TagFilter.equal(key: "user", "ann").matches(Self.publication))
    #expect(!TagFilter.equal(key: "user", "mallory").matches(Self.publication))
    let written = Publication(data: [], tags: ["user": "ann"])
    #expect(!TagFilter.exists(key: "user").matches(written))
    let anonymous = Publication(data: [], info: ClientInfo(user: "", client: "c"), tags: ["user": "ann"])
    #expect(!TagFilter.exists(key: "user").matches(anonymous))
  }

  @Test("see a map's key under key, and elsewhere the tag")
  func key() {
    let mapped = Publication(data: [], tags: ["key": "written"], change: KeyChange(key: "k"))
    #expect(TagFilter.equal(key: "key", "k").matches(mapped))
    #expect(!TagFilter.equal(key: "key", "written").matches(mapped))
    #expect(TagFilter.equal(key: "key", "written").matches(Publication(data: [], tags: ["key": "written"])))
  }

  @Test("know nothing of a member but the user")
  func member() {
    let member = ClientInfo(user: "ann", client: "c1")
    #expect(TagFilter.equal(key: "user", "ann").matches(member: member))
    #expect(!TagFilter.not(.equal(key: "user", "ann")).matches(member: member))
    #expect(!TagFilter.exists(key: "client").matches(member: member))
    #expect(!TagFilter.exists(key: "user").matches(member: ClientInfo(user: "", client: "c1")))
  }

  @Test("compare bytes, not characters")
  func bytes() {
    let publication = Publication(data: [], tags: ["\u{E9}": "e\u{301}"])
    #expect(TagFilter.equal(key: "\u{E9}", "e\u{301}").matches(publication))
    #expect(!TagFilter.equal(key: "\u{E9}", "\u{E9}").matches(publication))
    #expect(!TagFilter.exists(key: "e\u{301}").matches(publication))
    #expect(TagFilter.equal(key: "a", "\u{E9}") != TagFilter.equal(key: "a", "e\u{301}"))
    #expect(Set([TagFilter.exists(key: "\u{E9}"), .exists(key: "e\u{301}"), .exists(key: "\u{E9}")]).count == 2)
  }

  @Test("pass both where two are put together")
  func both() {
    let (red, dear) = (TagFilter.contains(key: "color", "red"), TagFilter.number(key: "price", .greater, "13"))
    #expect(TagFilter.both(nil, nil) == nil)
    #expect(TagFilter.both(red, nil) == red)
    #expect(TagFilter.both(nil, red) == red)
    #expect(TagFilter.both(red, red) == red)
    #expect(TagFilter.both(red, dear)?.matches(Self.publication) == false)
  }

  @Test("are the laws of logic over random trees")
  func laws() {
    var random = SeededRandom(seed: 41)
    var passed = 0
    for _ in 0..<3_000 {
      let (a, b) = (TagFilterSamples.filter(using: &random), TagFilterSamples.filter(using: &random))
      let publication = TagFilterSamples.publication(using: &random)
      let (first, second) = (a.matches(publication), b.matches(publication))
      if first { passed += 1 }
      #expect(TagFilter.not(a).matches(publication) == !first)
      #expect(TagFilter.all([a, b]).matches(publication) == (first && second))
      #expect(TagFilter.any([a, b]).matches(publication) == (first || second))
      #expect(
        TagFilter.not(.all([a, b])).matches(publication) == TagFilter.any([.not(a), .not(b)]).matches(publication))
      #expect(TagFilter.both(a, b)?.matches(publication) == (first && second))
    }
    // Trees that nearly all publications pass, or nearly none, would prove nothing.
    #expect(passed > 300 && passed < 2_700)
    #expect(TagFilter.all([]).matches(Self.publication) && !TagFilter.any([]).matches(Self.publication))
  }
}
