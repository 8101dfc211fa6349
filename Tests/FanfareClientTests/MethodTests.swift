import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import FanfareClient

/// The typed calls against the documents that describe them: a method without a call, or another field, is found.
@Suite("Clique and State as they are documented", .timeLimit(.minutes(15)), .ownThread)
struct MethodTests {
  private static func document(_ name: String) throws -> String {
    try String(contentsOf: ServerProcess.repository.appendingPathComponent("docs/\(name).md"), encoding: .utf8)
  }

  /// The names of an app's methods that stand in its document as code.
  private static func methods(of app: String, in document: String) throws -> Set<String> {
    let pattern = try Regex("`(\(app)\\.[a-z.]+)`")
    let names = document.matches(of: pattern).compactMap { $0.output[1].substring.map(String.init) }
    return Set(names.filter { !$0.hasSuffix(".") })
  }

  /// Answers every call with what fits all of them, and keeps what was asked.
  private final class Record: Sendable {
    let calls = Mutex<[String: JSONObject]>([:])

    func answer(_ command: ClientCommand) -> ScriptedServer.Answer {
      switch command.body {
      case .connect:
        var result = ClientReply.ConnectResult()
        result.client = "c1"
        return .replies([.connect(id: command.id, result)])
      case .rpc(let method, let data):
        let object = (try? JSONValue(parsing: data))?.object
        calls.withLock { $0[method] = object }
        return .replies([.rpc(id: command.id, data: Array(Self.everything.utf8))])
      default: return .drop
      }
    }

    private static let everything = """
      {"conversation":"p1","offset":7,"visible":true,"report":"r1","messages":[],"people":[],"links":[],"user":"ada",\
      "link":"l","id":"i","ends":5,"at":1,"limit":2,"deadline":3,"now":4,"phase":"sent","since":1,"until":2}
      """
  }

  private func client(_ record: Record) async throws -> (RealtimeClient, ScriptedServer) {
    let server = try await ScriptedServer { _, command in record.answer(command) }
    var options = RealtimeClient.Options()
    options.timeout = .seconds(300)
    let client = try RealtimeClient(url: server.url, token: "t", options: options)
    try await client.connect()
    return (client, server)
  }

  @Test("Each method of CLIQUE.md has a call that says what the document shows")
  func clique() async throws {
    let record = Record()
    let (client, server) = try await client(record)
    let clique = client.clique
    let picture = Clique.NewPicture(id: "01", hash: "h")
    let sent = try await clique.send("hi", to: "bob", picture: picture, reply: 12, mentions: ["bob"], key: "k")
    #expect(sent == Clique.Sent(conversation: "p1", offset: 7, waiting: nil))
    _ = try await clique.accept("bob")
    _ = try await clique.decline(.conversation("p1"))
    _ = try await clique.disconnect("bob")
    try await clique.block("bob")
    try await clique.unblock("bob")
    try await clique.read("p1", upTo: 15)
    try await clique.delivered("p1", upTo: 15)
    try await clique.typing(in: "p1")
    try await clique.keep("p1", muted: true, archived: false, pinned: true)
    try await clique.draft("p1", "see y", reply: 12)
    try await clique.react(to: 12, in: "p1", with: "👍")
    try await clique.disappear("p1", after: 60_000)
    _ = try? await clique.totals()
    _ = try await clique.report("bob", for: .spam, text: "again", offset: 12)
    _ = try await clique.search("park", by: "bob", in: "p1", limit: 50)
    _ = try await clique.enter("park", token: "t")
    try await clique.leave("park")
    _ = try await clique.invisible(true)
    _ = try await clique.crossings(order: .time, limit: 100)
    _ = try await clique.setProfile(.init(name: .some(nil), fields: ["a": "b", "c": nil], picture: .init(id: "p")))
    _ = try await clique.profiles(["bob"])
    _ = try await clique.findPeople("an", limit: 50)
    try await groups(clique.group)
    let calls = record.calls.withLock { $0 }
    let documented = try Self.methods(of: "clique", in: Self.document("CLIQUE"))
      // What people are notified of.
      .subtracting(["message", "group", "mention", "request", "accepted"].map { "clique.\($0)" })
    #expect(documented.count > 30 && documented.subtracting(calls.keys) == [])
    #expect(calls["clique.send"]?["to"]?.string == "bob" && calls["clique.send"]?["key"]?.string == "k")
    #expect(calls["clique.send"]?["picture"]?.object?["hash"]?.string == "h")
    #expect(calls["clique.decline"]?["conversation"]?.string == "p1" && calls["clique.decline"]?["person"] == nil)
    #expect(calls["clique.profile.set"]?.has("name") == true && calls["clique.profile.set"]?["name"] == nil)
    #expect(calls["clique.profile.set"]?["fields"]?.object?.has("c") == true)
    #expect(calls["clique.keep"]?["archived"]?.bool == false)
    await client.disconnect()
    await server.stop()
  }

  private func groups(_ group: Clique.Group) async throws {
    _ = try await group.create(members: ["bob"], name: "Sunday", key: "k")
    try await group.leave("g1")
    try await group.add(["joe"], to: "g1")
    try await group.remove("joe", from: "g1")
    try await group.rename("g1", to: "Monday")
    try await group.appoint("joe", in: "g1")
    try await group.dismiss("joe", in: "g1")
    _ = try await group.link(into: "g1", lifetime: 1000, uses: 5)
    _ = try await group.links("g1")
    try await group.revoke("i", of: "g1")
    _ = try await group.join("l")
  }

  @Test("Each method of STATE.md has a call that says what the document shows")
  func state() async throws {
    let record = Record()
    let (client, server) = try await client(record)
    let state = client.state
    #expect(try await state.begin(to: "bob") == .init(at: 1, limit: 2, deadline: 3, now: 4))
    let sent = try await state.send(to: "bob", front: "f", rear: "r", caption: "c", replyLimit: 60_000, key: "k1")
    #expect(sent == .init(phase: .sent, since: 1, until: 2))
    try await state.cancel(to: "bob", pictures: ["f"])
    try await state.discard(["f"])
    try await state.react(to: "bob", with: "🔥")
    try await state.seen("bob")
    try await state.delivered("bob")
    #expect(try await state.setLimit(60_000).limit == 2)
    try await state.block("bob")
    try await state.unblock("bob")
    let calls = record.calls.withLock { $0 }
    let documented = try Self.methods(of: "state", in: Self.document("STATE"))
      .subtracting(["sealed", "ends", "revealed", "reaction", "key"].map { "state.\($0)" })
    #expect(documented.count >= 10 && documented.subtracting(calls.keys) == [])
    #expect(calls["state.send"]?["reply_limit"]?.string == nil && calls["state.send"]?["reply_limit"]?.isNumber == true)
    #expect(calls["state.react"]?["with"]?.string == "bob")
    await client.disconnect()
    await server.stop()
  }

  @Test("The entries and events that the documents show are read whole")
  func shapes() throws {
    func read<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
      try JSON.decode(type, Array(text.utf8))
    }
    let entry = try read(
      Clique.Conversation.self,
      """
      {"conversation":"p3f","with":"bob","state":"active","last":"see you there","from":"bob","time":1700000000000,
       "unread":2,"read":41,"crossing":{"place":"park","time":1700000000000},"disappear_asked":{"after":1,"by":"bob"}}
      """)
    #expect(entry.state == .active && entry.read == 41 && entry.crossing?.place == "park")
    #expect(entry.disappearAsked == .init(after: 1, by: "bob"))
    let thread = try read(
      StateExchange.Thread.self,
      ##"{"with":"bob","phase":"received","colour":"#2F80ED","since":1700000000000,"until":1,"limit":120000}"##)
    #expect(thread.phase == .received && thread.limit == 120_000)
    let message = try read(Clique.Message.self, #"{"event":"disappear","user":"bob","after":86400000}"#)
    #expect(message.event == .disappear && message.text == nil)
    #expect(try read(Clique.Message.self, #"{"text":"x","expires":5}"#).isOver(at: 5))
    #expect(throws: RealtimeError.self) { try read(Clique.Report.self, #"{"report":"r"}"#) }
  }

  @Test("Edits and removals are told apart from new values")
  func events() {
    let value = Array(#""x""#.utf8)
    guard case .publication("x", _) = TypedEvent<String>(.publication(Publication(offset: 1, data: value))),
      case .edited(offset: 3, "x", _) = TypedEvent<String>(
        .publication(Publication(offset: 4, data: value, tags: ["edits": "3"]))),
      case .removed(offset: 3, _) = TypedEvent<String>(
        .publication(Publication(offset: 5, data: Array("null".utf8), tags: ["deletes": "3"]))),
      case .removed(offset: 6, _) = TypedEvent<String>(
        .publication(Publication(offset: 6, data: Array("null".utf8), tags: ["deleted": "1"]))),
      case .unreadable = TypedEvent<String>(.publication(Publication(offset: 7, data: Array("1".utf8))))
    else {
      Issue.record("an event was taken for another")
      return
    }
  }

  @Test("The user is read of a token, and of what is none nobody is")
  func user() {
    // {"sub":"ada/ü"}, with characters that base64 and base64url write differently.
    let claims = Base64.url.text(Array(#"{"sub":"ada/ü??>"}"#.utf8))
    #expect(TokenClaims.user(of: "h.\(claims).s") == "ada/ü??>")
    for token in ["", "a.b", "a.b.c", "a.!.c", "h.e30.s"] { #expect(TokenClaims.user(of: token) == nil, "\(token)") }
  }
}
