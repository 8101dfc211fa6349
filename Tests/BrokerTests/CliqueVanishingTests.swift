import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Clique on the broker: messages that disappear")
struct CliqueVanishingTests {
  private static let text = "nobody else may read this"

  private func clique(_ disk: ScriptedStore, _ vault: InvertingVault = InvertingVault()) -> BrokerScene {
    let app = Clique(CliqueRules(), vault: vault)
    let scene = BrokerScene(disk: disk) { $0.namespaces.add(app.namespaces, of: app.name) }
    scene.install(app)
    scene.hello(1)
    _ = scene.hears(1)
    return scene
  }

  private func call(_ scene: BrokerScene, _ user: String, _ method: String, _ json: String) throws {
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    scene.lastID += 1
    scene.request(scene.lastID, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))))
    scene.finish(.max)
  }

  private func change(_ scene: BrokerScene, _ chat: ChannelName, _ offset: UInt64, _ text: String) {
    let ann = ClientInfo(user: "ann", client: "c-ann")
    scene.lastID += 1
    scene.request(
      scene.lastID,
      .edit(.init(channel: chat, offset: offset, data: Array(#"{"text":"\#(text)"}"#.utf8), editor: ann)))
    scene.finish(.max)
  }

  /// The texts of a conversation, as somebody reads them.
  private func history(_ scene: BrokerScene, _ chat: ChannelName, of user: String) -> [String] {
    scene.lastID += 1
    scene.request(scene.lastID, .history(.init(channel: chat, limit: 100, viewer: user)))
    guard case .reply(_, .history(let page))? = scene.hears().last else { return ["no answer"] }
    return page.publications.map { String(decoding: $0.data, as: UTF8.self) }
  }

  /// Two people whose messages disappear after a minute, and their chat.
  private func begin(_ scene: BrokerScene) throws -> ChannelName {
    try call(scene, "ann", "send", #"{"to":"bob","text":"hello"}"#)
    try call(scene, "bob", "accept", #"{"person":"ann"}"#)
    guard case .reply(_, .result(let reply))? = scene.hears().last else { throw ClientError.internalError }
    let id = String(String(decoding: reply, as: UTF8.self).split(separator: "\"")[3])
    for (user, other) in [("ann", "bob"), ("bob", "ann")] {
      try call(scene, user, "disappear", #"{"person":"\#(other)","after":60000}"#)
    }
    return try ChannelName("clique.chat:\(id)")
  }

  /// Lets the time pass, and the log take all that comes of it.
  private func pass(_ scene: BrokerScene, _ milliseconds: Int64) {
    scene.passHeard(milliseconds)
    for _ in 0..<40 {
      scene.finish(.max)
      scene.pass(10)
    }
  }

  private func isReadable(_ disk: ScriptedStore, _ chat: ChannelName) -> Bool {
    disk.written(chat).contains { publication in
      ([String(decoding: publication.data, as: UTF8.self)] + publication.tags.values).contains {
        $0.contains(Self.text)
      }
    }
  }

  @Test("The log is given ciphertext, and people read the text, until its time, to the batch")
  func life() throws {
    let disk = ScriptedStore()
    let scene = clique(disk)
    let chat = try begin(scene)
    for count in 0..<20 {
      try call(scene, "ann", "send", #"{"to":"bob","text":"\#(Self.text) \#(count)"}"#)
    }
    #expect(history(scene, chat, of: "bob").count { $0.contains(Self.text) } == 20)
    #expect(!isReadable(disk, chat))
    change(scene, chat, 3, Self.text + ", changed")
    #expect(history(scene, chat, of: "bob").count { $0.contains("changed") } == 2, "in its place, and as a change")
    #expect(!isReadable(disk, chat))
    let scrubs = disk.scrubs
    pass(scene, 59_000)
    #expect(history(scene, chat, of: "bob").count { $0.contains(Self.text) } == 21)
    pass(scene, 2000)
    #expect(!history(scene, chat, of: "bob").contains { $0.contains(Self.text) })
    #expect(disk.written(chat).allSatisfy { $0.vanishes == nil }, "all are removed, the change too")
    #expect(disk.written(chat).contains { String(decoding: $0.data, as: UTF8.self).contains("hello") })
    #expect(disk.scrubs > scrubs)
    #expect(disk.written(chat).count { $0.tags["deletes"] != nil } >= 21, "and subscribers are told of each")
  }

  @Test("A message that is sent again with its key is taken once, however late")
  func again() throws {
    let scene = clique(ScriptedStore())
    let chat = try begin(scene)
    let message = #"{"to":"bob","text":"\#(Self.text)","key":"k"}"#
    try call(scene, "ann", "send", message)
    scene.pass(1000)
    try call(scene, "ann", "send", message)
    #expect(scene.hears().last?.internalError == nil)
    #expect(history(scene, chat, of: "bob").count { $0.contains(Self.text) } == 1)
  }

  @Test("The next broker goes on with it, and reads nothing whose key is gone")
  func restart() throws {
    let disk = ScriptedStore()
    let first = clique(disk)
    let chat = try begin(first)
    try call(first, "ann", "send", #"{"to":"bob","text":"\#(Self.text)"}"#)
    let second = clique(disk)
    second.pass(20)
    #expect(history(second, chat, of: "bob").contains { $0.contains(Self.text) })
    pass(second, 61_000)
    #expect(disk.written(chat).allSatisfy { $0.vanishes == nil })
    let other = ScriptedStore()
    let third = clique(other)
    let again = try begin(third)
    try call(third, "ann", "send", #"{"to":"bob","text":"\#(Self.text)"}"#)
    #expect(!history(clique(other, InvertingVault { _ in true }), again, of: "bob").contains { $0.contains(Self.text) })
  }
}
