import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Clique on the broker: totals")
struct CliqueTotalsTests {
  private func call(_ scene: BrokerScene, _ id: UInt64, _ user: String, _ method: String, _ json: String) throws {
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    scene.request(id, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))))
    settle(scene)
  }

  /// Lets everything be written and worked out that one thing leads to.
  private func settle(_ scene: BrokerScene) {
    for _ in 0..<4 {
      scene.finish(.max)
      scene.pass(1000)
    }
  }

  private func shown(_ scene: BrokerScene, _ channel: ChannelName) -> String? {
    scene.core.channels[channel]?.map?.entry("all").map { String(decoding: $0.data, as: UTF8.self) }
  }

  @Test("totals are worked out while somebody has them open, after the list that they sum up, and not otherwise")
  func open() throws {
    let app = Clique()
    let scene = BrokerScene(disk: ScriptedStore()) { $0.namespaces.add(app.namespaces, of: app.name) }
    scene.install(app)
    scene.hello(1)
    let totals: ChannelName = "clique.totals:bob"
    try call(scene, 1, "ann", "send", #"{"to":"bob","text":"hello"}"#)
    #expect(scene.core.channels[totals] == nil)
    #expect(scene.core.hosts["clique"]?.followers.count == 0)
    scene.request(2, .subscribe(.init(channel: totals)))
    settle(scene)
    #expect(shown(scene, totals) == #"{"conversations":0,"messages":0,"requests":1}"#)
    try call(scene, 3, "bob", "accept", #"{"person":"ann"}"#)
    #expect(shown(scene, totals) == #"{"conversations":0,"messages":0,"requests":0}"#)
    for number: UInt64 in 0..<5 { try call(scene, 4 + number, "ann", "send", #"{"to":"bob","text":"m"}"#) }
    #expect(shown(scene, totals) == #"{"conversations":1,"messages":5,"requests":0}"#)
    _ = scene.hears()
    try call(scene, 20, "bob", "totals", "{}")
    #expect(
      scene.hears().contains(.result(20, #"{"conversations":1,"messages":5,"requests":0}"#)))
  }

  @Test("lists whose followers are no longer open are not kept in mind")
  func bounded() throws {
    var followers = ListFollowers()
    for number in 0..<5000 {
      followers.add(
        try ChannelName("clique.totals:\(number)"), of: try ChannelName("clique.list:\(number)"), unless: { _ in false }
      )
    }
    #expect(followers.count <= 1025)
    #expect(followers.follower(of: "clique.list:4999")?.string == "clique.totals:4999")
  }
}
