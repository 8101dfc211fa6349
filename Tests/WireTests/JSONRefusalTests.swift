import Testing
import Wire

@Suite("What is no JSON command")
struct JSONRefusalTests {
  @Test("an empty message is refused", arguments: ["", " ", "\n", "\r\n\t "])
  func empty(text: String) {
    #expect(refusal(text) == "an empty message; a command is a JSON object")
  }

  @Test(
    "what is not an object is refused",
    arguments: ["1", "null", "true", "\"x\"", "[]", "[{}]", "x", "\u{FEFF}{}", "\0", "{}\0", "{},{}", "{}x", "{}}"])
  func notAnObject(text: String) {
    #expect(refusal(text)?.hasPrefix("an object expected at byte") == true)
  }

  @Test(
    "broken syntax is refused, around what we read and in what we pass over",
    arguments: [
      "{", "{\"", "{\"id", "{\"id\"", "{\"id\":", "{\"id\":1", "{\"id\":1,", "{\"id\":1,}", "{,}", "{1:2}", "{id:1}",
      "{'id':1}", "{\"id\" 1}", "{\"id\":1 \"ping\":{}}", "{\"ping\":{}", "{\"ping\":{]}", "{\"x\":}", "{\"x\":[1,]}",
      "{\"x\":[1 2]}", "{\"x\":nul}", "{\"x\":nulll}", "{\"x\":tru}", "{\"x\":NaN}", "{\"x\":01}", "{\"x\":+1}",
      "{\"x\":.5}", "{\"x\":1.}", "{\"x\":1e}", "{\"x\":1e+}", "{\"x\":-}", "{\"x\":--1}", "{\"x\":0x10}",
      "{\"x\":\"\\x\"}", "{\"x\":\"\\u12\"}", "{\"x\":\"\\u12G4\"}", "{\"x\":\"\\\"}", "{\"x\":/**/1}", "{}//",
      "{\"send\":{\"data\":}}", "{\"send\":{\"data\":{\"a\"}}}", "{\"send\":{\"data\":1,,}}",
    ])
  func brokenSyntax(text: String) {
    #expect(refusal(text) != nil)
  }

  @Test(
    "a field of the wrong type is refused with a sentence that names it",
    arguments: [
      (#"{"id":"1"}"#, #""id" must be a whole number from 0 to 4294967295"#),
      (#"{"id":true}"#, #""id" must be a whole number from 0 to 4294967295"#),
      (#"{"id":{}}"#, #""id" must be a whole number from 0 to 4294967295"#),
      (#"{"ping":1}"#, "an object expected at byte 8"),
      (#"{"connect":[]}"#, "an object expected at byte 11"),
      (#"{"connect":{"subs":{"a":null}}}"#, "an object expected at byte 24"),
      (#"{"refresh":{"token":1}}"#, #""token" must be a string"#),
      (#"{"subscribe":{"recover":1}}"#, #""recover" must be true or false"#),
      (#"{"subscribe":{"recover":"true"}}"#, #""recover" must be true or false"#),
      (#"{"subscribe":{"flag":-1}}"#, #""flag" must be a whole number from 0 to 9223372036854775807"#),
      (#"{"history":{"since":1}}"#, "an object expected at byte 20"),
      (#"{"history":{"limit":"1"}}"#, #""limit" must be a whole number from 0 to 18446744073709551615"#),
    ])
  func wrongType(text: String, sentence: String) {
    #expect(refusal(text) == sentence)
  }

  @Test(
    "an id that is no whole number of 32 bits is refused",
    arguments: [
      "-1", "-0", "4294967296", "18446744073709551616", "5.0", "5e0", "1E9", "0.5", "99999999999999999999999",
    ])
  func ids(number: String) throws {
    #expect(refusal("{\"id\":\(number)}") == #""id" must be a whole number from 0 to 4294967295"#)
    #expect(try read(#"{"id":4294967295}"#).first?.id == .max)
  }

  @Test(
    "an offset beyond 64 bits is refused, and the last one that fits is read",
    arguments: ["18446744073709551616", "184467440737095516150", "-1", "1e3", "1.5"])
  func offsets(number: String) {
    let sentence = #""offset" must be a whole number from 0 to 18446744073709551615"#
    #expect(refusal("{\"subscribe\":{\"offset\":\(number)}}") == sentence)
    #expect(refusal("{\"history\":{\"since\":{\"offset\":\(number)}}}") == sentence)
    #expect(refusal("{\"subscribe\":{\"offset\":18446744073709551615}}") == nil)
  }

  @Test(
    "a key that stands twice in one of our objects is refused: readers differ in which one they take",
    arguments: [
      #"{"id":1,"id":1}"#, #"{"id":1,"ping":{},"ping":{}}"#, #"{"connect":null,"connect":{}}"#,
      #"{"connect":{"token":"a","token":"b"}}"#, #"{"subscribe":{"channel":"a","channel":"a"}}"#,
      #"{"publish":{"data":1,"data":null}}"#, #"{"history":{"since":{"epoch":"a","epoch":"b"}}}"#,
      #"{"connect":{"subs":{},"subs":{}}}"#, #"{"rpc":{"method":"a","method":"b"}}"#,
    ])
  func duplicateKeys(text: String) {
    #expect(refusal(text)?.hasSuffix("stands twice in one object") == true)
  }

  @Test("a channel that stands twice in the subscriptions of a connect is refused, and not repeated to anybody")
  func duplicateChannels() {
    #expect(refusal(#"{"connect":{"subs":{"a":{},"b":{},"a":{}}}}"#) == #"a channel stands twice in "subs""#)
  }

  @Test("two requests in one command are refused")
  func twoRequests() {
    let sentence = "more than one request in a command; send one command for each"
    #expect(refusal(#"{"id":1,"publish":{"channel":"a"},"subscribe":{"channel":"b"}}"#) == sentence)
    #expect(refusal(#"{"id":1,"publish":{"channel":"a"},"subscribe":null}"#) == nil)
  }

  @Test("nesting deeper than 32 levels is refused wherever it stands, and 32 levels are read")
  func depth() {
    for (before, after) in [
      (#"{"send":{"data":"#, "}}"), (#"{"x":"#, "}"), (#"{"connect":{"subs":{"a":{"data":"#, "}}}}"),
      (#"{"ping":{"x":"#, "}}"), (#"{"history":{"since":{"x":"#, "}}}"),
    ] {
      for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
        func nested(_ levels: Int) -> String {
          before + String(repeating: open, count: levels - 1) + "[]" + String(repeating: close, count: levels - 1)
            + after
        }
        #expect(refusal(nested(32)) == nil)
        #expect(refusal(nested(33)) == "JSON is nested deeper than 32 levels; flatten it")
      }
    }
  }

  @Test("a depth bomb of a megabyte is refused without a stack overflow")
  func depthBomb() {
    for open in ["[", "{\"a\":", "{\"connect\":{\"subs\":{\"a\":", "[{\"\":["] {
      let bomb = String(repeating: open, count: 1_048_576 / open.utf8.count)
      #expect(refusal(bomb) != nil)
      #expect(refusal("{\"send\":{\"data\":" + bomb) == "JSON is nested deeper than 32 levels; flatten it")
    }
  }

  @Test("a number of a hundred thousand digits is a payload, and no id")
  func hugeNumber() throws {
    let digits = String(repeating: "9", count: 100_000)
    #expect(try read("{\"send\":{\"data\":\(digits)}}") == [ClientCommand(id: 0, body: .send(data: utf8(digits)))])
    #expect(refusal("{\"id\":\(digits)}") != nil)
  }

  @Test("more commands in one message than the limit are refused, in both formats", arguments: WireFormat.allCases)
  func tooManyCommands(format: WireFormat) throws {
    let pong: [UInt8] = format == .json ? utf8("{}") : [0]
    let most = Array(repeatElement(pong, count: ClientCodec.maximumCommands).joined())
    #expect(try ClientCodec.decode(most, format: format).count == ClientCodec.maximumCommands)
    #expect(refusal(most + pong, format) == "more than 4096 commands in one message; send them in several")
  }

  @Test("every control character in a string is refused unless escaped")
  func controlCharacters() {
    for byte in UInt8(0)..<0x20 {
      let text = utf8(#"{"refresh":{"token":"a"#) + [byte] + utf8("\"}}")
      #expect(refusal(text, .json)?.hasPrefix("a control character in a string") == true)
    }
    #expect(refusal("{\"refresh\":{\"token\":\"\u{7F}\"}}") == nil)
  }

  @Test(
    "bytes that are not UTF-8 are refused, in strings that we read and in those that we pass over",
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0xBF], [0xE1, 0x80],
      [0xE1, 0x80, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x41], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
      [0xE9], [0xF8, 0x88, 0x80, 0x80, 0x80],
    ] as [[UInt8]])
  func invalidUTF8(bytes: [UInt8]) {
    for before in [#"{"refresh":{"token":""#, #"{"send":{"data":""#, #"{"x":["a"#, #"{""#] {
      #expect(refusal(utf8(before) + bytes + utf8("\"}}"), .json) != nil)
    }
    #expect(!JSONSyntax.isValid(utf8("\"") + bytes + utf8("\"")))
    #expect(!JSONSyntax.isValid(utf8("{\"") + bytes + utf8("\":1}")))
  }

  @Test("the first and the last character of each length of UTF-8 are read")
  func validUTF8() throws {
    for scalar in [
      0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0xFFFFF, 0x10FFFF,
    ] {
      let text = try String(#require(Unicode.Scalar(UInt32(scalar))))
      #expect(try read("{\"id\":1,\"refresh\":{\"token\":\"\(text)\"}}").first?.body == .refresh(token: text))
    }
  }
}
