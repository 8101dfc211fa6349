import Auth
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("ProxyRequest and ProxyReply")
struct ProxyCodingTests {
  private let client = "9336a229-2400-4ebc-8c50-0a643d22e8a0"

  private func body(
    _ question: ProxyQuestion, user: String = "56", format: WireFormat = .json, usesBase64: Bool = false,
    meta: String? = nil
  ) -> String {
    let asker = ProxyAsker(client: client, format: format, user: user, meta: meta.map { Array($0.utf8) })
    return String(
      decoding: ProxyRequest.body(of: question, from: asker, usesBase64: usesBase64, includesMeta: meta != nil),
      as: UTF8.self)
  }

  private func reply(_ text: String) -> ProxyAnswer { ProxyReply.answer(Array(text.utf8)) }

  private func result(_ text: String) throws -> ProxyResult {
    let answer = reply(text)
    guard case .result(let result) = answer else {
      Issue.record("\(text) was read as \(answer)")
      return ProxyResult()
    }
    return result
  }

  // MARK: Requests

  private var opening: String {
    #"{"client":"\#(client)","transport":"websocket","protocol":"json","encoding":"json""#
  }

  @Test("requests have the fields of Centrifugo's documented examples")
  func documentedRequests() {
    let data = Array(#"{"params":{"object_id":12}}"#.utf8)
    let connect = ProxyQuestion.Connect(user: nil, name: "", version: "", data: [], channels: [])
    #expect(body(.connect(connect)) == opening + "}")
    #expect(body(.refresh) == opening + #","user":"56"}"#)
    #expect(
      body(.rpc(method: "getCurrentPrice", data: data)) == opening
        + #","user":"56","method":"getCurrentPrice","data":{"params":{"object_id":12}}}"#)
    #expect(
      body(.subscribe(channel: "chat:index", data: [])) == opening + #","user":"56","channel":"chat:index"}"#)
    let publish = ProxyQuestion.Publish(
      channel: "chat:index", data: Array(#"{"input":"hello"}"#.utf8), isBinary: false)
    #expect(
      body(.publish(publish)) == opening + #","user":"56","channel":"chat:index","data":{"input":"hello"}}"#)
    #expect(body(.subRefresh(channel: "channel")) == opening + #","user":"56","channel":"channel"}"#)
  }

  @Test("a connect says what the client said of itself, and whose token it brought")
  func connectFields() {
    let connect = ProxyQuestion.Connect(
      user: "ada", name: "js", version: "1", data: Array("[1]".utf8), channels: ["a", "b"])
    #expect(
      body(.connect(connect)) == opening
        + #","user":"ada","name":"js","version":"1","channels":["a","b"],"data":[1]}"#)
  }

  @Test("bytes that are no JSON go as base64, and so does everything where that is asked for")
  func binary() {
    let encoded = #"{"client":"\#(client)","transport":"websocket","protocol":"protobuf","encoding":"binary","#
    #expect(
      body(.rpc(method: "m", data: [0xFF, 0]), format: .protobuf) == encoded
        + #""user":"56","method":"m","b64data":"/wA="}"#)
    #expect(
      body(.rpc(method: "m", data: [0x31]), format: .protobuf, usesBase64: true) == encoded
        + #""user":"56","method":"m","b64data":"MQ=="}"#)
    let publish = ProxyQuestion.Publish(channel: "b", data: [0x31], isBinary: true)
    #expect(body(.publish(publish)).hasSuffix(#""encoding":"binary","user":"56","channel":"b","b64data":"MQ=="}"#))
  }

  @Test("what a client chose is escaped, and meta goes along where it is asked for")
  func escaping() {
    #expect(
      body(.subRefresh(channel: "a\"}\n"), user: "\u{1}") == opening + #","user":"\u0001","channel":"a\"}\n"}"#)
    #expect(body(.refresh, meta: #"{"k":1}"#) == opening + #","user":"56","meta":{"k":1}}"#)
  }

  @Test("an edit says which publication it replaces, and a map's key is named")
  func extensions() {
    let edit = ProxyQuestion.Publish(channel: "c", data: [0x31], isBinary: false, offset: 7)
    #expect(body(.publish(edit)).hasSuffix(#""channel":"c","offset":7,"data":1}"#))
    let write = MapWrite(key: "k", removed: true, score: nil)
    let removal = ProxyQuestion.Publish(channel: "c", data: Array("null".utf8), isBinary: false, write: write)
    #expect(body(.publish(removal)).hasSuffix(#""channel":"c","key":"k","removed":true,"data":null}"#))
  }

  @Test("a question for keys says which, and with versions where there are some, and nothing of any client")
  func polls() {
    #expect(
      body(.sharedPoll(channel: "c\"", [.init(key: "a\n"), .init(key: "b")]))
        == #"{"channel":"c\"","items":[{"key":"a\n"},{"key":"b"}]}"#)
    #expect(
      body(.sharedPoll(channel: "c", [.init(key: "a", version: 0), .init(key: "b", version: .max)]), meta: "{}")
        == #"{"channel":"c","items":[{"key":"a","version":0},{"key":"b","version":18446744073709551615}]}"#)
  }

  // MARK: Replies

  @Test("replies as Centrifugo documents them are understood")
  func documentedReplies() throws {
    #expect(try result(#"{"result": {"user": "56"}}"#).user == "56")
    #expect(try result(#"{"result": {"expire_at": 1565436268}}"#).expiresAt == 1_565_436_268)
    #expect(try result(#"{"result": {"data": {"answer": "2019"}}}"#).data == Array(#"{"answer": "2019"}"#.utf8))
    #expect(try result(#"{"result": {}}"#) == ProxyResult())
    #expect(
      reply(#"{"error": {"code": 1000, "message": "custom error"}}"#)
        == .error(ClientError(code: 1000, message: "custom error")))
    #expect(
      reply(#"{"disconnect": {"code": 4500, "reason": "disconnect reason"}}"#)
        == .disconnect(DisconnectCode(code: 4500, reason: "disconnect reason")))
  }

  @Test("all fields of a result are read")
  func fields() throws {
    let result = try result(
      #"""
      {"result":{"user":"u","expire_at":0,"expired":true,"info":{"a":
      1},"b64data":"eyJ4IjoxfQ==","channels":["a","b"],
      "subs":{"b":{"data":1,"override":{"presence":{"value":true},"force_recovery":{"value":false}}}},
      "meta":{"m":1},"skip_history":true,"unknown":[1]}}
      """#)
    #expect(result.user == "u" && result.expiresAt == nil && result.isExpired && result.skipsHistory)
    #expect(result.grant.info == Array(#"{"a": 1}"#.utf8))
    #expect(result.data == Array(#"{"x":1}"#.utf8))
    #expect(Set(result.subscriptions.keys) == ["a", "b"])
    #expect(result.subscriptions["b"]?.data == [0x31])
    #expect(result.subscriptions["b"]?.presence == true && result.subscriptions["b"]?.forceRecovery == false)
    #expect(result.meta == Array(#"{"m":1}"#.utf8))
  }

  @Test("what the backend says of keys is read, with and without data, and the epoch")
  func items() throws {
    let result = try result(
      #"""
      {"result":{"epoch":"e","items":[{"key":"a","data":{"n":
      1},"version":7,"prev_data":0},{"key":"b","version":2},{"key":"c","removed":true},{"key":"d","b64data":"/wA="}]}}
      """#)
    #expect(result.epoch == "e")
    #expect(
      result.items == [
        PolledItem(key: "a", version: 7, data: Array(#"{"n": 1}"#.utf8)), PolledItem(key: "b", version: 2),
        PolledItem(key: "c", removed: true), PolledItem(key: "d", data: [0xFF, 0], isJSON: false),
      ])
    #expect(try self.result(#"{"result":{}}"#).items.isEmpty)
  }

  @Test(
    "a reply that is none counts as a failure",
    arguments: [
      "", "{}", "null", "[]", "<html>", #"{"result":1}"#, #"{"result":{"user":1}}"#, #"{"result":null}"#,
      #"{"result":{"expire_at":"soon"}}"#, #"{"result":{"expire_at":1.5}}"#, #"{"result":{"b64data":"?"}}"#,
      #"{"result":{"b64info":"/wA="}}"#, #"{"result":{"channels":[1]}}"#, #"{"result":{"subs":{"a":1}}}"#,
      #"{"result":{},"result":{}}"#, #"{"error":{"message":"no code"}}"#, #"{"error":{"code":399}}"#,
      #"{"error":{"code":2000}}"#, #"{"disconnect":{"code":3999}}"#, #"{"disconnect":{"code":5000}}"#,
      #"{"result":{"items":{}}}"#, #"{"result":{"items":[{"data":1}]}}"#, #"{"result":{"items":[{"key":1}]}}"#,
      #"{"result":{"items":[{"key":"a","version":-1}]}}"#, #"{"result":{"items":[1]}}"#, #"{"result":{"epoch":1}}"#,
      #"{"disconnect":{"code":70000}}"#, #"{"result":{}} x"#,
    ])
  func malformed(_ text: String) { #expect(reply(text) == .failed(.failed)) }

  @Test("a channel in two Unicode spellings is refused: one would get the other's grant")
  func spellings() {
    #expect(reply("{\"result\":{\"channels\":[\"caf\u{E9}\",\"cafe\u{301}\"]}}") == .failed(.failed))
  }

  @Test("whatever bytes come, reading ends", arguments: 0..<50)
  func noise(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let whole = Array(
      #"{"result":{"user":"u","subs":{"b":{"data":1,"override":{"presence":{"value":true}}}},"meta":{"m":[1,"\u00e9"]}}}"#
        .utf8)
    for end in whole.indices { #expect(ProxyReply.answer(Array(whole[..<end])) == .failed(.failed)) }
    for _ in 0..<200 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      switch ProxyReply.answer(bytes) {
      case .result, .failed(.failed): break
      case let other: Issue.record("seed \(seed): \(other)")
      }
    }
  }
}
