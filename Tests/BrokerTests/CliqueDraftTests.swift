import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Clique on the broker: a message and its author's draft")
struct CliqueDraftTests {
  private func clique(_ disk: ScriptedStore) throws -> BrokerScene {
    let app = Clique()
    let scene = BrokerScene(disk: disk) { $0.namespaces.add(app.namespaces, of: app.name) }
    scene.install(app)
    scene.hello(1)
    _ = scene.hears(1)
    return scene
  }

  private func call(_ scene: BrokerScene, _ id: UInt64, _ user: String, _ method: String, _ json: String) throws {
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    scene.request(id, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))))
  }

  private func draft(_ scene: BrokerScene, _ user: String, _ id: String) throws -> String? {
    let map = scene.core.channels[try ChannelName("clique.drafts:\(user)")]?.map
    return map?.entry(id).map { String(decoding: $0.data, as: UTF8.self) }
  }

  @Test("the message takes the draft with it, or neither; and one that is sent again leaves a newer draft alone")
  func sent() throws {
    let scene = try clique(ScriptedStore())
    try call(scene, 1, "ann", "send", #"{"to":"bob","text":"hello"}"#)
    scene.finish(.max)
    try call(scene, 2, "bob", "accept", #"{"person":"ann"}"#)
    scene.finish(.max)
    guard case .reply(_, .result(let reply))? = scene.hears().last else { throw ClientError.internalError }
    let id = String(String(decoding: reply, as: UTF8.self).split(separator: "\"")[3])
    let chat = try ChannelName("clique.chat:\(id)")
    try call(scene, 3, "ann", "draft", #"{"person":"bob","text":"see"}"#)
    scene.finish(.max)
    #expect(try draft(scene, "ann", id)?.contains("\"see\"") == true)

    let message = #"{"to":"bob","text":"see you","key":"k1"}"#
    try call(scene, 4, "ann", "send", message)
    scene.finish(.max, error: .failed("the disk is full"))
    #expect(try draft(scene, "ann", id)?.contains("\"see\"") == true, "neither is done")
    #expect(scene.core.channels[chat]?.sequencer.top.offset == 1)
    try call(scene, 5, "ann", "send", message)
    scene.finish(.max)
    #expect(try draft(scene, "ann", id) == nil)
    #expect(scene.core.channels[chat]?.sequencer.top.offset == 2)

    try call(scene, 6, "ann", "draft", #"{"person":"bob","text":"what came next"}"#)
    scene.finish(.max)
    try call(scene, 7, "ann", "send", message)
    scene.finish(.max)
    #expect(scene.hears().last?.error == nil)
    #expect(scene.core.channels[chat]?.sequencer.top.offset == 2)
    #expect(try draft(scene, "ann", id)?.contains("what came next") == true)
  }
}
