import Testing
import Wire

@Suite("One JSON value, read when it is asked for")
struct JSONValueTests {
  private func parsed(_ text: String, _ keys: JSONValue.EqualKeys = .refusedWhereRead) throws -> JSONValue {
    try JSONValue(parsing: Array(text.utf8), equalKeys: keys)
  }

  @Test("Members come in their order, with the bytes that came and without whitespace around them")
  func members() throws {
    let value = try parsed(#" { "a" : 1.50 , "b":[true, "x\n" ,null],"c":{"d":"\u00e9"} } "#)
    let object = try #require(try value.object())
    #expect(object.members.map(\.key) == ["a", "b", "c"])
    #expect(object["a"]?.text == "1.50" && object["a"]?.isNumber == true)
    #expect(object["b"]?.array?.map(\.text) == ["true", #""x\n""#, "null"])
    #expect(object["b"]?.array?[0].bool == true && object["b"]?.array?[1].string == "x\n")
    #expect(object["c"]?.object?["d"]?.string == "é")
    #expect(object["d"] == nil && !object.has("d"))
  }

  @Test("What is of another kind is nil, and null is as good as none")
  func kinds() throws {
    for text in ["1", "\"1\"", "true", "null", "[]", "{}"] {
      let value = try parsed(text)
      #expect((try value.object() != nil) == (text == "{}"))
      #expect((value.array != nil) == (text == "[]"))
      #expect((value.string != nil) == (text == "\"1\""))
      #expect((value.bool != nil) == (text == "true"))
      #expect(value.isNumber == (text == "1") && value.isNull == (text == "null"))
    }
    let object = try #require(parsed(#"{"a":null}"#).object)
    #expect(object["a"] == nil && object.has("a"))
  }

  @Test("A key that stands twice is refused where it is read, and everywhere if that is asked for")
  func equalKeys() throws {
    let nested = try parsed(#"{"payload":{"x":1,"\u0078":2}}"#)
    #expect(nested.object?["payload"] != nil)
    #expect(throws: MalformedInput("key \"x\" stands twice")) { try nested.object?["payload"]?.object() }
    #expect(nested.object?["payload"]?.object == nil)
    #expect(throws: MalformedInput.self) { try parsed(#"[{"payload":{"x":1,"x":2}}]"#, .refused) }
    // More keys than are compared one by one.
    let many = (0..<40).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
    #expect(try parsed("{\(many)}", .refused).object()?.members.count == 40)
    for key in [0, 15, 16, 39] {
      let text = "{\(many),\"k\(key)\":0}"
      #expect(throws: MalformedInput("key \"k\(key)\" stands twice")) { try parsed(text, .refused) }
    }
    #expect(throws: MalformedInput("more than 39 fields")) { try parsed("{\(many)}").object(limit: 39) }
  }

  @Test("Half of a surrogate pair is no string")
  func surrogates() throws {
    #expect(try parsed(#""\ud83d\ude00""#).string == "😀")
    for text in [#""\ud83d""#, #""\ude00""#, #""\ud83dx""#] { #expect(try parsed(text).string == nil) }
  }

  @Test(
    "What is no JSON is refused",
    arguments: [
      "", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":1,}", "{\"a\":1}x", "tru", "01", "1.", "\"a", "\"\u{1}\"",
      "\"\\x\"",
    ])
  func refused(text: String) {
    for keys in [JSONValue.EqualKeys.refused, .refusedWhereRead] {
      #expect(throws: MalformedInput.self) { try parsed(text, keys) }
    }
  }

  @Test("Nesting is refused beyond 32 levels, and read up to them")
  func depth() throws {
    for keys in [JSONValue.EqualKeys.refused, .refusedWhereRead] {
      var value = try parsed(String(repeating: "[", count: 32) + String(repeating: "]", count: 32), keys)
      for _ in 0..<31 { value = try #require(value.array?.first) }
      #expect(value.text == "[]")
      #expect(throws: MalformedInput.self) {
        try parsed(String(repeating: "[", count: 33) + String(repeating: "]", count: 33), keys)
      }
    }
  }
}

@Suite("Base64")
struct Base64Tests {
  @Test("Texts are those of RFC 4648, section 10, and are read back")
  func vectors() {
    let vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"]
    let texts = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
    for (vector, text) in zip(vectors, texts) {
      #expect(Base64.standard.text(vector.utf8) == text)
      #expect(Base64.standard.bytes(text) == Array(vector.utf8))
      let bare = text.filter { $0 != "=" }
      #expect(Base64.url.text(vector.utf8) == bare)
      #expect(Base64.url.bytes(bare) == Array(vector.utf8))
    }
    let all = (0...255).map { UInt8($0) }
    #expect(Base64.standard.bytes(Base64.standard.text(all)) == all)
    #expect(Base64.url.bytes(Base64.url.text(all)) == all)
    #expect(Base64.standard.text([0xFB, 0xFF]) == "+/8=" && Base64.url.text([0xFB, 0xFF]) == "-_8")
  }

  @Test("There is one spelling: the other alphabet, padding too few or too many, and bits left over are refused")
  func spellings() {
    for text in ["Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "-_8=", "Zg==Zg==", "Z g=", "Zm9v=", "=Zg="] {
      #expect(Base64.standard.bytes(text) == nil, "\(text)")
    }
    for text in ["Zg==", "Z", "Zh", "+/8", "Zg\n"] { #expect(Base64.url.bytes(text) == nil, "\(text)") }
  }
}
