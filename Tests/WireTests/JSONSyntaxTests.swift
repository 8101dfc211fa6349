import Foundation
import Testing
import Wire

@Suite("Strict JSON")
struct JSONSyntaxTests {
  /// Foundation's verdict. It is known to be more lenient than RFC 8259 in places: see the tests.
  private func foundationReads(_ bytes: [UInt8]) -> Bool {
    (try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])) != nil
  }

  @Test(
    "valid values are accepted, as by Foundation",
    arguments: [
      "{}", "[]", "null", "true", "false", "0", "-0", "1", "-1", "10", "0.5", "-0.5", "1e5", "1E5", "1e+5", "1e-5",
      "1.5e10", "123456789012345678", "\"\"", "\"a\"", "\"é\"", "\"😀\"", #""\"""#, #""\\""#, #""\/""#,
      #""\b\f\n\r\t""#, #""\u0000""#, #""\uD83D\uDE00""#, #""\u00e9\u00E9""#, "\"\u{7F}\"", "\"\u{2028}\u{2029}\"",
      "[1]", "[1,2]", "[[],[[]],{}]", "{\"a\":1}", "{\"\":{}}", "{\"a\":{\"b\":[1,\"x\",null]}}", " 1 ",
      "\n[\t1\r,\n2 ]",
      "{ \"a\" : 1 , \"b\" : 2 }", "[\"a\\\\\"]", "[0,0.0,0e0]", "{\"a\":\"}\"}", "[\"]\"]",
    ])
  func accepts(text: String) {
    #expect(JSONSyntax.isValid(utf8(text)))
    #expect(foundationReads(utf8(text)))
  }

  @Test(
    "invalid values are refused, as by Foundation",
    arguments: [
      "", " ", "{", "}", "[", "]", "[1", "[1,", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,,\"b\":2}", "{1:1}",
      "{a:1}", "{'a':1}", "nul", "tru", "truee", "True", "NULL", "undefined", "01", "-01", "00", "+1", "-", ".5",
      "1.e5", "1e", "1e+", "0x1", "1_000", "Infinity", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u123g\"",
      "\"\n\"", "\"\t\"", "\"\0\"", "'a'", "1 2", "{}{}", "[]x", "// c\n1", "1 // c", "/**/1", "\u{A0}1", "\u{2028}1",
      "{\"a\":1 \"b\":2}", "[1:2]", "{\"a\",1}", "]1[",
    ])
  func refuses(text: String) {
    #expect(!JSONSyntax.isValid(utf8(text)))
    #expect(!foundationReads(utf8(text)))
  }

  /// Texts on which Foundation is no judge: it reads trailing commas or other encodings, or refuses numbers and
  /// characters that its own types cannot hold. RFC 8259 decides, so only our reader is asked.
  @Test(
    "where Foundation differs, the RFC decides",
    arguments: [
      (#""\ud800""#, true), (#""\udc00""#, true), (#""\ud800\ud800""#, true), (#""\ud800x""#, true), ("1e400", true),
      ("-1e400", true), ("1e-999999", true), (#"{"a":1,"a":2}"#, true), ("[1,]", false), ("{\"a\":1,}", false),
      ("\u{FEFF}1", false), ("1\0", false), ("{}\0", false), ("1.", false), ("NaN", false), ("\u{B}1", false),
      ("\u{C}1", false),
    ])
  func rfc(text: String, isValid: Bool) {
    #expect(JSONSyntax.isValid(utf8(text)) == isValid)
  }

  @Test("other encodings of Unicode are refused")
  func otherEncodings() {
    for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32] {
      #expect(!JSONSyntax.isValid([UInt8]("[\"a\"]".data(using: encoding) ?? Data())))
    }
  }

  @Test("on thirty thousand short texts out of JSON's own pieces, the verdict is Foundation's")
  func differential() {
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"\"", "1", "0", "-", ".", "e", "E5", "true", "null", " ", "\n", "\"",
      "\\",
      "x", "{\"a\":", "[1,", "\"\\n\"", "é", "-2.5e1",
    ].map(utf8)
    var random = SeededRandom(seed: 1)
    var valid = 0
    for _ in 0..<30_000 {
      let count = Int.random(in: 1...7, using: &random)
      let bytes = (0..<count).flatMap { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }
      let verdict = JSONSyntax.isValid(bytes)
      if verdict { valid += 1 }
      if verdict != foundationReads(bytes) && !hasTrailingComma(bytes) {
        Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription) is valid: \(verdict)")
      }
    }
    #expect(valid > 500, "the pieces rarely make JSON, so this shows little")
  }

  /// Foundation reads an array with a comma behind its last element; nobody else does.
  private func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
    let tokens = bytes.filter { $0 != 0x20 && $0 != 0x0A }
    return zip(tokens, tokens.dropFirst()).contains { $0 == UInt8(ascii: ",") && $1 == UInt8(ascii: "]") }
  }

  @Test("a refusal says what was expected, and where")
  func sentences() {
    func sentence(_ text: String) -> String? {
      do {
        try JSONSyntax.check(utf8(text))
        return nil
      } catch {
        return error.description
      }
    }
    #expect(sentence("") == "the message ends where a value should stand")
    #expect(sentence("[1") == "a comma or a closing bracket expected at byte 2")
    #expect(sentence("{\"a\":1") == "a comma or a closing brace expected at byte 6")
    #expect(sentence("{\"a\" 1}") == "a colon expected at byte 5")
    #expect(sentence("[x]") == "a JSON value expected at byte 1")
    #expect(sentence("[01]") == "a number with a leading zero at byte 1")
    #expect(sentence("1 2") == "something follows the JSON value at byte 2")
    #expect(sentence("\"a") == "a string without an end")
    #expect(sentence("\"\\q\"") == "an unknown escape at byte 2")
    #expect(sentence(String(repeating: "[", count: 33)) == "JSON is nested deeper than 32 levels; flatten it")
    #expect(sentence("[]") == nil)
  }

  @Test("escapes say what they say; a lone surrogate, and what breaks off, becomes U+FFFD, and nothing is read beyond")
  func escapes() {
    let cases: [(String, String)] = [
      (#"a\nb\t\"\\\/\b\f\r"#, "a\nb\t\"\\/\u{8}\u{C}\r"), (#"\u00e9\u00E9"#, "\u{E9}\u{E9}"),
      (#"\ud83d\ude00!"#, "\u{1F600}!"), (#"\ud83d!"#, "\u{FFFD}!"), (#"\ude00!"#, "\u{FFFD}!"),
      (#"\ud83d\u0041"#, "\u{FFFD}A"), (#"\ud83d\ude"#, "\u{FFFD}\u{FFFD}de"), (#"\u12"#, "\u{FFFD}12"),
      (#"\u12g4"#, "\u{FFFD}12g4"), ("x\\", "x\\"), ("", ""),
    ]
    for (raw, expected) in cases {
      #expect(JSONEscapes.resolved(Array(raw.utf8)[...]) == expected, "\(raw)")
      // The same as a slice of something longer, of which no other byte may be looked at.
      let longer = Array("u0041\(raw)0041".utf8)
      #expect(JSONEscapes.resolved(longer[5..<(longer.count - 4)]) == expected, "\(raw)")
    }
  }
}
