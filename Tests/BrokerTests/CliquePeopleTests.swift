import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Clique on the broker: people")
struct CliquePeopleTests {
  private let app = Clique()
  private let scene: BrokerScene

  init() {
    let app = app
    scene = BrokerScene(disk: ScriptedStore()) { $0.namespaces.add(app.namespaces, of: app.name) }
    scene.install(app)
    scene.hello(1)
  }

  private func call(_ id: UInt64, _ user: String, _ method: String, _ json: String) throws {
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    scene.request(id, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))))
    settle()
  }

  /// Lets everything be written, read and worked out that one thing leads to.
  private func settle() {
    for _ in 0..<12 {
      scene.finish(.max)
      scene.passHeard(1000)
    }
  }

  private func shown(_ channel: ChannelName) -> [String: String] {
    let entries = scene.core.channels[channel]?.map?.publications ?? []
    return Dictionary(
      uniqueKeysWithValues: entries.map { ($0.change?.key ?? "", String(decoding: $0.data, as: UTF8.self)) })
  }

  @Test("names are worked out when the channel is opened, follow changes, and cost nothing where nobody looks")
  func follows() throws {
    let people: ChannelName = "clique.people:bob"
    try call(1, "ann", "profile.set", #"{"name":"Ann"}"#)
    try call(2, "ann", "send", #"{"to":"bob","text":"hello"}"#)
    #expect(scene.core.channels[people] == nil)
    scene.request(3, .subscribe(.init(channel: people)))
    settle()
    #expect(shown(people) == ["ann": #"{"user":"ann","name":"Ann"}"#])
    try call(4, "ann", "profile.set", #"{"name":"Anna"}"#)
    #expect(shown(people) == ["ann": #"{"user":"ann","name":"Anna"}"#])
    try call(5, "ann", "block", #"{"person":"bob"}"#)
    try call(6, "ann", "profile.set", #"{"name":"Behind the block"}"#)
    #expect(shown(people) == ["ann": #"{"user":"ann","name":"Anna"}"#])
    try call(7, "bob", "decline", #"{"person":"ann"}"#)
    #expect(shown(people).isEmpty)
    #expect(scene.core.channels["clique.people:ann"] == nil)
  }

  @Test("people are found where nothing of them is in memory, in few rounds to the disk")
  func cold() throws {
    var id: UInt64 = 0
    func next(_ user: String, _ method: String, _ json: String) throws {
      id += 1
      try call(id, user, method, json)
    }
    let others = (10..<30).map { "u\($0)" }
    for other in others {
      try next(other, "profile.set", #"{"name":"An \#(other)"}"#)
      try next(other, "send", #"{"to":"bob","text":"hello"}"#)
    }
    scene.core.hosts["clique"]?.records.forgetAll()
    _ = scene.hears()
    scene.disk.delays = true
    try next("bob", "people", #"{"text":"an"}"#)
    var rounds = 0
    while !scene.disk.questions.isEmpty, rounds < 50 {
      scene.answer()
      rounds += 1
    }
    #expect((1...5).contains(rounds))
    let people = others.reversed().map { #"{"user":"\#($0)","name":"An \#($0)"}"# }.joined(separator: ",")
    #expect(scene.hears().contains(.result(id, #"{"people":[\#(people)]}"#)))
  }
}
