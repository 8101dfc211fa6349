import Testing
import Wire

@Suite("Beginnings of texts")
struct TextExcerptTests {
  @Test(
    "a beginning has no more bytes than it may have, and no scalar is cut",
    arguments: [
      ("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("aé", 2, "a"), ("aé", 3, "aé"), ("😀b", 3, ""),
      ("😀b", 4, "😀"), ("a", 0, ""),
    ])
  func cut(_ text: String, _ limit: Int, _ expected: String) {
    #expect(text.beginning(bytes: limit).utf8.elementsEqual(expected.utf8))
  }

  @Test("one character of many bytes is cut like any other text")
  func accents() {
    let text = "a" + String(repeating: "\u{301}", count: 100_000)
    #expect(text.count == 1)
    #expect(text.beginning(bytes: 64).utf8.count == 63)
  }
}
