import Testing
import Wire

@Suite("JSON commands")
struct JSONCommandTests {
  @Test("every command is read", arguments: CommandExample.all)
  func everyCommand(example: CommandExample) throws {
    #expect(try read(example.json) == [example.command])
  }

  @Test("several commands are told apart by newlines, other white space or nothing")
  func sequences() throws {
    let texts = CommandExample.all.map(\.json)
    for separator in ["\n", "\r\n", "\n\n", " \t", ""] {
      let commands = try read(texts.joined(separator: separator))
      #expect(commands == CommandExample.all.map(\.command))
    }
    #expect(try read("\n{}\n").count == 1)
  }

  @Test("white space may stand between all tokens")
  func whiteSpace() throws {
    let text = "\t{ \"id\" :\r\n 5 , \"publish\" : { \"channel\" : \"c\" , \"data\" : [ 1 ,\n2 ] } }  "
    let expected = with(ClientCommand.Publish()) {
      $0.channel = "c"
      $0.data = utf8("[ 1 ,\n2 ]")
    }
    #expect(try read(text) == [ClientCommand(id: 5, body: .publish(expected))])
  }

  @Test(
    "a payload stays the bytes that came",
    arguments: [
      #"{"b":1,"a":2,"b":3}"#, "1.000000000000000000001e+400", #""\u00e9\/\ud83d\ude00""#, "-0", "[ ]", "false",
      "{ \"é\" : \"日本 😀\" }", #""\ud800""#,
    ])
  func payloadUntouched(data: String) throws {
    #expect(try read("{\"send\":{\"data\": \(data) }}") == [ClientCommand(id: 0, body: .send(data: utf8(data)))])
  }

  @Test("the keys of a command may come in any order")
  func anyOrder() throws {
    #expect(try read(#"{"presence":{"channel":"c"},"id":7}"#) == [ClientCommand(id: 7, body: .presence(channel: "c"))])
  }

  @Test("null is as good as left out, for a request and for its fields")
  func nulls() throws {
    #expect(try read(#"{"id":null,"connect":null}"#) == [ClientCommand(id: 0, body: .pong)])
    let text = """
      {"id":1,"connect":null,"publish":null,"subscribe":{"channel":"c","token":null,"recover":null,"epoch":null,\
      "offset":null,"data":null,"flag":null}}
      """
    #expect(try read(text) == [ClientCommand(id: 1, body: .subscribe(with(.init()) { $0.channel = "c" }))])
    let history = #"{"id":1,"history":{"channel":"c","limit":null,"since":null}}"#
    #expect(try read(history) == [ClientCommand(id: 1, body: .history(with(.init()) { $0.channel = "c" }))])
  }

  @Test("an empty idempotency key is none, as in Protobuf")
  func emptyKey() throws {
    let text = #"{"id":1,"publish":{"channel":"c","idempotency_key":""}}"#
    #expect(try read(text) == [ClientCommand(id: 1, body: .publish(with(.init()) { $0.channel = "c" }))])
  }

  @Test("unknown fields are passed over, in commands and in requests")
  func unknownFields() throws {
    let text = """
      {"x":[{"id":9}],"id":1,"track":{"a":{}},"history":{"tf":{"op":"and","nodes":[{}]},"channel":"c",\
      "since":{"z":0,"epoch":"e"}}}
      """
    let expected = with(ClientCommand.History()) {
      $0.channel = "c"
      $0.since = StreamPosition(epoch: "e", offset: 0)
    }
    #expect(try read(text) == [ClientCommand(id: 1, body: .history(expected))])
  }

  @Test("a request that is not known is answered where it has an id")
  func unknownRequest() throws {
    #expect(try read(#"{"id":5,"teleport":{"to":"moon"}}"#) == [ClientCommand(id: 5, body: .unknown)])
    #expect(try read(#"{"id":0}"#) == [ClientCommand(id: 0, body: .pong)])
  }

  @Test("a history limit beyond 32 bits is clamped, and any negative one says the same")
  func historyLimits() throws {
    func limit(_ number: String) throws -> Int32? {
      guard case .history(let history)? = try read("{\"id\":1,\"history\":{\"limit\":\(number)}}").first?.body else {
        return nil
      }
      return history.limit
    }
    #expect(try limit("9223372036854775808") == .max)
    #expect(try limit("2147483647") == .max)
    #expect(try limit("-2147483649") == -1)
    #expect(try limit("-0") == 0)
    #expect(try limit("7") == 7)
  }

  @Test(
    "escapes in strings that we read are resolved",
    arguments: [
      (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
      (#"\u0041\u00e9\u20AC"#, "Aé€"),
      (#"\ud83d\ude00"#, "😀"),
      (#"\uDBFF\uDFFF"#, "\u{10FFFF}"),
      (#"a\ud83d"#, "a\u{FFFD}"),
      (#"\ude00a"#, "\u{FFFD}a"),
      (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀"),
      (#"\ud83d\u0041"#, "\u{FFFD}A"),
      (#"\ud83d\\ude00"#, "\u{FFFD}\\ude00"),
      (#"\ud83dxude00"#, "\u{FFFD}xude00"),
      (#"\u0000"#, "\0"),
      ("plain é 😀", "plain é 😀"),
    ])
  func escapes(escaped: String, expected: String) throws {
    let commands = try read("{\"id\":1,\"refresh\":{\"token\":\"\(escaped)\"}}")
    guard case .refresh(let token)? = commands.first?.body else {
      Issue.record("read as \(commands)")
      return
    }
    #expect(Array(token.utf8) == utf8(expected))
  }

  @Test("keys are read with their escapes too: a duplicate cannot hide behind one")
  func escapedKeys() throws {
    #expect(try read(#"{"\u0069d":5,"ping":{}}"#) == [ClientCommand(id: 5, body: .ping)])
    #expect(refusal(#"{"id":5,"\u0069d":6,"ping":{}}"#) == #"key "id" stands twice in one object"#)
  }
}
