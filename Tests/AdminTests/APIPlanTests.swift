import Auth
import Testing
import Wire

@testable import Admin

/// What a call of the server API asks the broker, and how its answers are put together, without either.
@Suite("Calls of the server API")
struct APIPlanTests {
  /// Reads publications and histories as the desk does, and refuses channels that begin with `no`.
  private static func read(_ target: APIPlan.Target) throws(ClientError) -> BrokerRequest {
    var name = target.channel ?? ""
    if let own = try target.arguments.string("channel"), target.channel == nil { name = own }
    if name.hasPrefix("no") { throw .unknownChannel }
    let channel: ChannelName
    do { channel = try ChannelName(name) } catch { throw .badRequest.saying("\(error)") }
    if target.method.publishes { return .publish(.init(channel: channel, data: target.payload ?? [])) }
    return .history(.init(channel: channel, limit: 1))
  }

  private func plan(_ method: String, _ body: String, limit: Int = 10) throws -> APIPlan {
    try APIPlan(method, body: Array(body.utf8), limit: limit, Self.read)
  }

  private func replies(_ plan: APIPlan, _ responses: [BrokerResponse]) -> String {
    let replies = APIReplies(plan: plan, responses: responses, isBinary: { _ in false }, mayRead: { _ in true })
    return String(decoding: replies.bytes, as: UTF8.self)
  }

  private static func published(_ offset: UInt64) -> BrokerResponse {
    .published(StreamPosition(epoch: "e", offset: offset))
  }

  @Test("one command is one request, answered under result")
  func one() throws {
    let plan = try plan("publish", #"{"channel":"a","data": {"n" : 1}}"#)
    #expect(plan.steps == [[.publish(.init(channel: try ChannelName("a"), data: Array(#"{"n" : 1}"#.utf8)))]])
    #expect(replies(plan, [Self.published(7)]) == #"{"result":{"offset":7,"epoch":"e"}}"#)
    let failed = BrokerResponse.failed(.internalError)
    #expect(
      replies(plan, [failed]) == #"{"error":{"code":100,"message":"internal server error","temporary":true}}"#)
  }

  @Test("a broadcast is a request for each channel, each with an answer of its own, and they share the payload")
  func broadcast() throws {
    let plan = try plan("broadcast", #"{"channels":["a","no","b"],"b64data":"AQI="}"#)
    #expect(
      plan.steps == [
        [
          .publish(.init(channel: try ChannelName("a"), data: [1, 2])),
          .publish(.init(channel: try ChannelName("b"), data: [1, 2])),
        ]
      ])
    #expect(
      replies(plan, [Self.published(1), Self.published(2)])
        == #"{"result":{"responses":[{"result":{"offset":1,"epoch":"e"}},"#
        + #"{"error":{"code":102,"message":"unknown channel"}},{"result":{"offset":2,"epoch":"e"}}]}}"#)
  }

  @Test("commands go one after another, publications that follow one another together; parallel ones all at once")
  func steps() throws {
    let commands =
      #""commands":[{"publish":{"channel":"a","data":1}},{"broadcast":{"channels":["b","c"],"data":2}},"#
      + #"{"history":{"channel":"a"}},{"publish":{"channel":"a","data":3}}]"#
    #expect(try plan("batch", "{\(commands)}").steps.map(\.count) == [3, 1, 1])
    #expect(try plan("batch", #"{\#(commands),"parallel":true}"#).steps.map(\.count) == [5])
  }

  @Test("a batch is answered command by command, whatever becomes of each")
  func batch() throws {
    let plan = try plan(
      "batch",
      #"{"commands":[{"publish":{"channel":"a","data":1}},{"publish":{"channel":"no","data":1}},{"dance":{}},"#
        + #"{},{"publish":[]},{"broadcast":{"channels":[]}}]}"#)
    let text = replies(plan, [Self.published(1)])
    #expect(text.hasPrefix(#"{"replies":[{"publish":{"offset":1,"epoch":"e"}},{"error":{"code":102,"#))
    let document = try #require(try JSONValue(parsing: Array(text.utf8)).object)
    let codes = (document["replies"]?.array ?? []).map { $0.object?["error"]?.object?["code"]?.text }
    #expect(codes == [nil, "102", "104", "107", "107", "107"])
    #expect(plan.commands.count { $0.isRefused } == 5)
  }

  @Test("a call may ask for so many things; the command that goes beyond is refused, and a batch of more as a whole")
  func limits() throws {
    #expect(throws: ClientError.self) { try plan("batch", #"{"commands":[{},{},{}]}"#, limit: 2) }
    let call = try plan(
      "batch",
      #"{"commands":[{"broadcast":{"channels":["a","b"],"data":1}},{"publish":{"channel":"a","data":1}}]}"#, limit: 2)
    #expect(call.steps.flatMap(\.self).count == 2)
    #expect(call.commands.map { $0.failure?.code } == [nil, 106])
  }

  @Test(
    "a body that is none of the method's is refused as a whole",
    arguments: [("publish", "{"), ("publish", "[]"), ("publish", "1"), ("batch", "{}"), ("batch", #"{"commands":{}}"#)])
  func malformed(_ method: String, _ body: String) {
    #expect(throws: ClientError.self) { try plan(method, body) }
  }

  @Test(
    "a command whose fields cannot be used is refused by itself",
    arguments: [
      #"{"channel":"a","b64data":"AQ"}"#, #"{"channel":"a","data":1,"skip_history":true}"#, #"{"channel":1}"#,
    ])
  func fields(_ body: String) throws {
    let plan = try plan("publish", body)
    #expect(plan.steps.flatMap(\.self).isEmpty && plan.commands.first?.isRefused == true)
    #expect(replies(plan, []).hasPrefix(#"{"error":{"code":107,"#))
  }

  @Test("a body that is cut short at any byte is refused, and never more than that")
  func cut() throws {
    let body = #"{"commands":[{"publish":{"channel":"a","data":{"x":[1,"é"]},"tags":{"a":"b"}}}],"parallel":false}"#
    for count in 1..<body.utf8.count {
      #expect(throws: ClientError.self) {
        try APIPlan("batch", body: Array(body.utf8.prefix(count)), limit: 10, Self.read)
      }
    }
  }

  @Test("what is read is written as Centrifugo's clients expect it")
  func answers() throws {
    let history = try plan("history", #"{"channel":"a"}"#)
    let page = HistoryPage(
      position: StreamPosition(epoch: "e", offset: 2), publications: [Publication(offset: 2, data: [0x31])])
    #expect(
      replies(history, [.history(page)]).hasPrefix(#"{"result":{"publications":[{"data":1,"offset":2}]"#))
    let member = ClientInfo(user: "ada", client: "c")
    #expect(
      replies(history, [.presence([member])])
        == #"{"result":{"presence":{"c":{"user":"ada","client":"c"}}}}"#)
    #expect(
      replies(history, [.presenceStats(clients: 2, users: 1)]) == #"{"result":{"num_clients":2,"num_users":1}}"#)
    #expect(replies(history, [.done]) == #"{"result":{}}"#)
  }
}
