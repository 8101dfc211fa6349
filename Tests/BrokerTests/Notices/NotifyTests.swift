import Apps
import Log
import Testing
import Wire

@testable import Broker

/// `push_notify`: a backend has people notified.
@Suite("Notices: push_notify")
struct NotifyTests {
  private let push = TinyPush()

  private static func read(_ json: String) throws(ClientError) -> BrokerRequest {
    try ServiceRequest.read([Array("push_notify".utf8), Array(json.utf8)]).request
  }

  @Test("It is answered when the notice is on disk, which says all that was asked")
  func takes() throws {
    let scene = BrokerScene.telling(push)
    let request = try Self.read(
      #"{"users":["ann","bob","ann"],"title":"T","body":"B","data":{"a":"1"},"link":"https://x.example","channel":"o:7","offset":3,"topic":"orders.sent","x":1}"#
    )
    #expect(scene.serve(1, request) == nil)
    scene.finish()
    #expect(scene.answers[1] == .done)
    let content = PushIntent.Content(title: "T", body: "B", data: ["a": "1"], link: "https://x.example", offset: 3)
    let expected = PushIntent(
      offset: 1, time: scene.time.wall, topic: "orders.sent", subject: "o:7", users: ["ann", "bob"], content: content)
    #expect(push.taken == [[expected]])
  }

  @Test("Without channel and collapse key each has a subject of its own; with a collapse key they share it")
  func subjects() throws {
    let scene = BrokerScene.telling(push)
    for json in [
      #"{"users":["ann"],"title":"T"}"#, #"{"users":["ann"],"title":"T"}"#,
      #"{"users":["ann"],"title":"T","collapse_key":"k"}"#, #"{"users":["ann"],"title":"T","collapse_key":"k"}"#,
    ] {
      _ = scene.ask(try Self.read(json))
      scene.settle()
    }
    let intents = push.taken.flatMap { $0 }
    #expect(intents.map(\.subject) == ["push:disk-1", "push:disk-2", "k", "k"])
    #expect(intents.allSatisfy { $0.topic == NotifyOrder.generalTopic && $0.content?.offset == nil })
  }

  @Test("A thousand users are taken; the same key is done once; the log's refusal is the answer")
  func bounds() throws {
    let scene = BrokerScene.telling(push)
    let users = (0..<1000).map { "\"u\($0)\"" }.joined(separator: ",")
    _ = scene.serve(1, try Self.read(#"{"users":[\#(users)],"title":"T","idempotency_key":"k"}"#))
    #expect(scene.disk.queue.count == 1)
    scene.settle()
    #expect(scene.answers[1] == .done && scene.sends.count == 1000)
    _ = scene.serve(2, try Self.read(#"{"users":[\#(users)],"title":"T","idempotency_key":"k"}"#))
    #expect(scene.answers[2] == .done && scene.disk.queue.isEmpty)
    scene.disk.refusal = .full("test")
    #expect(scene.ask(try Self.read(#"{"users":["ann"],"title":"T"}"#))?.errorCode == 100)
    scene.disk.refusal = nil
    _ = scene.serve(3, try Self.read(#"{"users":["ann"],"title":"T"}"#))
    scene.finish(1, error: .full("test"))
    #expect(scene.answers[3]?.errorCode == 100)
  }

  @Test("What cannot be read is error 107, and says what to write")
  func faults() {
    let long = String(repeating: "x", count: 5000)
    let users = Array(repeating: "\"a\"", count: 1001).joined(separator: ",")
    for json in [
      "{}", #"{"users":[],"title":"T"}"#, #"{"users":"ann","title":"T"}"#, #"{"users":["ann"]}"#,
      #"{"users":["ann"],"title":""}"#, #"{"users":[""],"title":"T"}"#, #"{"users":[\#(users)],"title":"T"}"#,
      #"{"users":["ann"],"title":"\#(long)"}"#, #"{"users":["ann"],"title":"T","body":"\#(long)"}"#,
      #"{"users":["ann"],"title":"T","data":{"a":"\#(long)"}}"#, #"{"users":["ann"],"title":"T","data":[]}"#,
      #"{"users":["ann"],"title":"T","link":"http://x"}"#, #"{"users":["ann"],"title":"T","offset":1}"#,
      #"{"users":["ann"],"title":"T","channel":"a","collapse_key":"b"}"#,
      #"{"users":["ann"],"title":"T","channel":"clique.chat:1"}"#,
      #"{"users":["ann"],"title":"T","collapse_key":"state.thread:1"}"#,
      #"{"users":["ann"],"title":"T","topic":"clique.message"}"#, #"{"users":["ann"],"title":"T","topic":"a*"}"#,
      #"{"users":["ann"],"title":"T","topic":"channel"}"#, #"{"users":["ann"],"title":"T","topic":""}"#,
      #"{"users":["ann"],"title":"T","topic":"channel.orders"}"#,
      #"{"users":["ann"],"title":"T","data":{"a b":"1"}}"#, #"{"users":["ann"],"title":"T","data":{"withdraw":"1"}}"#,
      #"{"users":["ann"],"title":"T","data":{"subject":"1"}}"#, #"{"users":["ann"],"title":"T","link":"https://a b"}"#,
      #"{"users":["ann"],"title":"T","link":"https://x/\#(long.prefix(600))"}"#,
      #"{"users":["ann"],"title":"T","data":{"a":"\#(long.prefix(1017))"}}"#,
      #"{"users":["ann"],"title":"T","channel":"a","offset":-1}"#,
    ] {
      do throws(ClientError) {
        _ = try Self.read(json)
        Issue.record("\(json.prefix(80)) was taken")
      } catch {
        #expect(error.code == 107, "\(json.prefix(80)): \(error)")
      }
    }
  }

  @Test("Data of just as many bytes as are allowed is taken, and none of it is left out of what goes to services")
  func whole() throws {
    let value = String(repeating: "x", count: NotifyOrder.mostDataBytes - #"{"a":""}"#.utf8.count)
    #expect(PushForm.bytes(of: ["a": value]) == NotifyOrder.mostDataBytes)
    #expect(PushForm.bytes(of: ["a": "\"", "b": ""]) == #"{"a":"\"","b":""}"#.utf8.count)
    #expect(PushForm.bytes(of: [:]) == 2)
    _ = try Self.read(#"{"users":["ann"],"title":"T","data":{"a":"\#(value)"}}"#)
  }

  @Test("A gateway, which asks in clients' names, has nobody notified, and neither has anybody where it is off")
  func refused() throws {
    let scene = BrokerScene.telling(push)
    let request = try Self.read(#"{"users":["ann"],"title":"T"}"#)
    scene.request(1, request)
    #expect(scene.hears() == [.reply(1, .failed(.methodNotFound))] && scene.disk.queue.isEmpty)
    #expect(BrokerScene().ask(request)?.errorCode == 108)
    var grant = ServiceGrant()
    #expect(grant.refusal(of: request) == "push")
    grant.mayPush = true
    #expect(grant.refusal(of: request) == nil)
  }

  @Test("Both methods cross the link as what they are")
  func link() throws {
    for method in PushRequest.Method.allCases {
      let request = LinkRequest(
        id: 1, oldestPending: 1, request: .push(PushRequest(arguments: Array("{}".utf8), method: method)))
      #expect(try LinkRequest(bytes: request.bytes) == request)
    }
  }
}
