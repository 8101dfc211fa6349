import Foundation
import Testing
import Wire

@Suite("JSON replies")
struct JSONReplyTests {
  @Test(
    "every reply is written, zero values left out but for the eight that SDKs count on", arguments: ReplyExample.all)
  func everyReply(example: ReplyExample) {
    #expect(json(example.reply) == example.json)
    #expect(JSONSyntax.isValid(utf8(json(example.reply))))
  }

  @Test("several replies stand one on a line, in their order")
  func lines() {
    let bytes = ClientCodec.encode(ReplyExample.all.map(\.reply), format: .json)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.map(String.init) == ReplyExample.all.map(\.json))
    #expect(ClientCodec.encode([], format: .json).isEmpty)
  }

  @Test("a newline inside a payload becomes a space, because SDKs split a frame at newlines")
  func newlines() {
    let data = utf8("{\n  \"a\":\r\n[1,\n2], \"b\": \"x\\ny\"\n}")
    #expect(
      json(.rpc(id: 1, data: data), .serverPing)
        == #"{"id":1,"rpc":{"data":{   "a":  [1, 2], "b": "x\ny" }}}"# + "\n{}")
    let info = ClientInfo(user: "u", client: "k", connectionInfo: utf8("[\n]"), channelInfo: utf8("{\r}"))
    #expect(
      json(.push(.join(channel: "c", info)))
        == #"{"push":{"channel":"c","join":{"info":{"user":"u","client":"k","conn_info":[ ],"chan_info":{ }}}}}"#)
  }

  @Test("every control character, quote and backslash is escaped, as a value and as a key")
  func escaping() throws {
    let nasty = String(String.UnicodeScalarView((0..<0x80).compactMap(Unicode.Scalar.init))) + "é\u{2028}\u{2029}😀"
    let publication = Publication(data: utf8("1"), tags: [nasty: nasty])
    let bytes = ClientCodec.encode([.push(.publication(channel: nasty, publication))], format: .json)
    #expect(bytes.allSatisfy { $0 >= 0x20 })
    #expect(JSONSyntax.isValid(bytes))
    let reply = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    let push = try #require(reply["push"] as? [String: Any])
    let pub = try #require(push["pub"] as? [String: Any])
    #expect(push["channel"] as? String == nasty)
    #expect(pub["tags"] as? [String: String] == [nasty: nasty])
  }

  @Test("escapes have the short form where JSON has one, and four digits elsewhere")
  func escapeForms() {
    let error = ClientError(code: 1, message: "\"\\/\n\r\t\u{1}\u{1F}\u{7F}")
    #expect(
      json(.error(id: 1, error)) == #"{"id":1,"error":{"code":1,"message":"\"\\/\n\r\t\u0001\u001f"# + "\u{7F}\"}}")
  }

  @Test("a payload of a binary channel is a base64 string in pushes, recoveries and history; other payloads are not")
  func binaryChannels() {
    let publication = Publication(offset: 1, data: [0xFF, 0x00, 0x0A])
    #expect(
      json(.push(.publication(channel: "c", publication, binaryData: true)))
        == #"{"push":{"channel":"c","pub":{"data":"/wAK","offset":1}}}"#)
    let subscribed = with(ClientReply.SubscribeResult()) {
      $0.publications = [publication]
      $0.data = utf8("{}")
      $0.binaryData = true
    }
    #expect(
      json(.subscribe(id: 1, subscribed))
        == #"{"id":1,"subscribe":{"publications":[{"data":"/wAK","offset":1}],"data":{}}}"#)
    let history = with(ClientReply.HistoryResult()) {
      $0.publications = [publication]
      $0.binaryData = true
    }
    #expect(
      json(.history(id: 1, history))
        == #"{"id":1,"history":{"publications":[{"data":"/wAK","offset":1}],"epoch":"","offset":0}}"#)
    #expect(
      json(.push(.publication(channel: "c", Publication(data: []), binaryData: true)))
        == #"{"push":{"channel":"c","pub":{"data":""}}}"#)
  }

  @Test("base64 is Foundation's for every length up to 200 bytes")
  func base64() {
    var random = SeededRandom(seed: 2)
    for count in 0...200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      var writer = JSONWriter()
      writer.object { $0.write("data", base64: bytes) }
      #expect(writer.bytes == utf8("{\"data\":\"\(Data(bytes).base64EncodedString())\"}"))
    }
  }

  @Test("numbers are written to their limits")
  func numbers() {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("a", Int64.min)
      writer.write("b", Int64.max)
      writer.write("c", UInt64.max)
      writer.write("d", 0)
      writer.write("e", Int8.min)
    }
    #expect(
      String(decoding: writer.bytes, as: UTF8.self)
        == #"{"a":-9223372036854775808,"b":9223372036854775807,"c":18446744073709551615,"d":0,"e":-128}"#)
  }

  @Test("commas stand between elements and only there, at any nesting")
  func commas() {
    var writer = JSONWriter(appendingTo: utf8("> "))
    writer.object { writer in
      writer.list("empty") { _ in }
      writer.list("strings") { writer in
        writer.write(element: "a")
        writer.write(element: "b")
        writer.object { _ in }
        writer.object { $0.write("x", true) }
      }
      writer.object(named: "k\"") { $0.write(named: "v", "w") }
      writer.object("none") { _ in }
      writer.write("last", false)
    }
    #expect(
      String(decoding: writer.bytes, as: UTF8.self)
        == #"> {"empty":[],"strings":["a","b",{},{"x":true}],"k\"":{"v":"w"},"none":{},"last":false}"#)
  }
}
