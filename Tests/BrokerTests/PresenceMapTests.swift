import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore: presence as a map")
struct PresenceMapTests {
  private let ada = ClientInfo(user: "ada", client: "a1", channelInfo: Array("{\"n\":1}".utf8))
  private let tablet = ClientInfo(user: "ada", client: "a2")
  private let bob = ClientInfo(user: "bob", client: "b1")

  private func scene(_ change: (inout BrokerConfiguration) -> Void = { _ in }) -> BrokerScene {
    let scene = BrokerScene { configuration in
      for kind in [MapPresence.clients, .users] {
        var options = ChannelOptions()
        options.kind = .map
        options.followsChannel = true
        options.mapPresence = kind
        configuration.namespaces.namespaces[kind.rawValue] = options
      }
      change(&configuration)
    }
    scene.hello(1)
    return scene
  }

  private func enter(_ scene: BrokerScene, _ member: ClientInfo, _ channel: ChannelName = "chat", from: UInt64 = 1) {
    scene.lastID += 1
    scene.request(scene.lastID, .subscribe(.init(channel: channel, recoveryLimit: 0, member: member)), from: from)
  }

  private func leave(_ scene: BrokerScene, _ member: ClientInfo, _ channel: ChannelName = "chat") {
    scene.lastID += 1
    scene.request(scene.lastID, .unsubscribe(.init(channel: channel, member: member, keepsInterest: true)))
  }

  /// Subscribes to a map, as a client's SDK does.
  private func watch(
    _ scene: BrokerScene, _ channel: ChannelName, phase: MapRead.Phase = .state, since: StreamPosition? = nil
  ) -> BrokerResponse? {
    scene.lastID += 1
    let id = scene.lastID
    _ = scene.hears()
    scene.request(
      id, .subscribe(.init(channel: channel, since: since, recoveryLimit: 300, map: MapRead(phase: phase))))
    for case .reply(id, let response) in scene.hears() { return response }
    return nil
  }

  private func keys(_ response: BrokerResponse?) -> [String]? {
    guard case .subscribed(let answer)? = response else { return nil }
    return answer.entries.compactMap(\.change?.key)
  }

  /// What the map holds, as somebody reads it who does not watch.
  private func page(_ scene: BrokerScene, _ channel: ChannelName) -> [String]? {
    guard case .mapPage(let page)? = scene.ask(.readMap(.init(channel: channel, read: MapRead(phase: .state)))) else {
      return nil
    }
    return page.entries.compactMap(\.change?.key)
  }

  /// What came live: the channel and the offset in it.
  private func live(_ scene: BrokerScene) -> [String] {
    scene.hears().compactMap { if case .publication(let name, let offset, _) = $0 { "\(name)@\(offset)" } else { nil } }
  }

  @Test("a subscriber reads who is there, by client with all that is known of it, and hears who comes and goes")
  func clients() throws {
    let scene = scene()
    for member in [ada, tablet] { enter(scene, member) }
    guard case .subscribed(let answer)? = watch(scene, "clients:chat") else {
      Issue.record("no snapshot")
      return
    }
    #expect(answer.entries.map(\.change?.key) == ["a1", "a2"])
    #expect(answer.entries.map(\.info) == [ada, tablet])
    enter(scene, bob)
    #expect(live(scene) == ["clients:chat@1"])
    leave(scene, tablet)
    #expect(live(scene) == ["clients:chat@2"])
    let map = try #require(scene.core.channels["clients:chat"]?.map)
    #expect(map.keys.sorted() == ["a1", "b1"])
    #expect(map.entry("b1")?.info == bob)
  }

  @Test("a user is there as long as one of the clients is, and the map says nothing of clients")
  func users() {
    let scene = scene()
    for member in [ada, tablet] { enter(scene, member) }
    guard case .subscribed(let answer)? = watch(scene, "users:chat") else {
      Issue.record("no snapshot")
      return
    }
    #expect(answer.entries.map(\.info) == [ClientInfo(user: "ada", client: "")])
    enter(scene, bob)
    #expect(live(scene) == ["users:chat@1"])
    leave(scene, ada)
    #expect(live(scene) == [])
    #expect(page(scene, "users:chat") == ["ada", "bob"])
    leave(scene, tablet)
    #expect(live(scene) == ["users:chat@2"])
    #expect(page(scene, "users:chat") == ["bob"])
  }

  @Test("users whose ids are no keys, anonymous ones first of all, are not in the map by user")
  func unnamed() {
    let scene = scene()
    for (index, user) in ["", "a\u{7}", String(repeating: "x", count: 256)].enumerated() {
      enter(scene, ClientInfo(user: user, client: "c\(index)"))
    }
    #expect(keys(watch(scene, "users:chat")) == [])
    #expect(keys(watch(scene, "clients:chat")) == ["c0", "c1", "c2"])
    enter(scene, ClientInfo(user: "", client: "c3"))
    #expect(live(scene) == ["clients:chat@1"])
  }

  @Test("who reads without subscribing leaves no map behind, and a channel that nobody watches has none to write")
  func unwatched() {
    let scene = scene()
    enter(scene, ada)
    #expect(page(scene, "clients:chat") == ["a1"])
    #expect(page(scene, "users:chat") == ["ada"])
    #expect(scene.core.channels["clients:chat"] == nil)
    #expect(scene.core.channels["chat"]?.presenceMaps == [])
    enter(scene, bob)
    #expect(scene.core.tally.counters.published == 0)
  }

  @Test("a map may be watched before anybody is there")
  func early() {
    let scene = scene()
    #expect(keys(watch(scene, "clients:chat")) == [])
    enter(scene, ada)
    #expect(live(scene) == ["clients:chat@1"])
  }

  @Test("who comes again unchanged changes nothing; what is new about a client is told")
  func again() {
    let scene = scene()
    enter(scene, ada)
    _ = watch(scene, "clients:chat")
    enter(scene, ada)
    #expect(live(scene) == [])
    enter(scene, ClientInfo(user: "ada", client: "a1"))
    #expect(live(scene) == ["clients:chat@1"])
  }

  @Test("a gateway that is not heard of any more takes its clients out of the maps")
  func lostGateway() {
    let scene = scene()
    scene.hello(2)
    enter(scene, ada)
    enter(scene, bob, from: 2)
    _ = watch(scene, "clients:chat")
    scene.send(.goodbye, from: 2)
    #expect(live(scene) == ["clients:chat@1"])
    #expect(page(scene, "clients:chat") == ["a1"])
  }

  @Test("a map that was forgotten is worked out anew, and a position in the former one recovers nothing")
  func forgotten() throws {
    let scene = scene()
    enter(scene, ada)
    guard case .subscribed(let first)? = watch(scene, "clients:chat") else {
      Issue.record("no snapshot")
      return
    }
    scene.lastID += 1
    scene.request(scene.lastID, .unsubscribe(.init(channel: "clients:chat", member: nil, keepsInterest: false)))
    scene.passHeard(scene.core.configuration.idleChannelTimeout + 2000)
    try #require(scene.core.channels["clients:chat"] == nil)
    leave(scene, ada)
    enter(scene, bob)
    // Nothing was published in either life of the map, so both begin at the same position.
    #expect(watch(scene, "clients:chat", phase: .stream, since: first.position)?.errorCode == 112)
    scene.lastID += 1
    scene.request(
      scene.lastID, .subscribe(.init(channel: "clients:chat", since: first.position, recoveryLimit: 300)),
      isResync: true)
    for case .reply(_, .subscribed(let answer)) in scene.hears() { #expect(!answer.recovered) }
    #expect(keys(watch(scene, "clients:chat")) == ["b1"])
  }

  @Test("nobody but the broker writes to such a map, in use or not", arguments: [false, true])
  func readOnly(isInUse: Bool) {
    let scene = scene()
    if isInUse { _ = watch(scene, "clients:chat") }
    let write = BrokerRequest.PublishRequest(channel: "clients:chat", data: [0x31], write: MapWrite(key: "a1"))
    #expect(scene.ask(.publish(write))?.errorCode == 103)
    scene.lastID += 1
    scene.request(scene.lastID, .publish(write))
    #expect(scene.hears().contains { if case .reply(_, let it) = $0 { it.errorCode == 103 } else { false } })
    let receipt = BrokerRequest.ReceiptRequest(channel: "clients:chat", delivered: 1, read: 1, reader: ada)
    #expect(scene.ask(.receipt(receipt))?.errorCode == 107)
    #expect(scene.ask(.unread(user: "ada", ["users:chat"]))?.errorCode == 107)
    #expect(page(scene, "clients:chat") == [])
  }

  @Test(
    "presence that is shown to nobody is no map either",
    arguments: [("clients:bare:1", 108), ("clients:tiny:1", 108), ("clients:clients:chat", 102), ("clients:", 102)]
      as [(ChannelName, UInt32)])
  func hidden(channel: ChannelName, code: UInt32) {
    let scene = scene { configuration in
      var options = ChannelOptions()
      options.app = "tiny"
      options.presence = true
      configuration.namespaces.namespaces["tiny"] = options
    }
    #expect(watch(scene, channel)?.errorCode == code)
    #expect(scene.ask(.readMap(.init(channel: channel, read: MapRead(phase: .state))))?.errorCode == code)
    #expect(scene.core.channels[channel] == nil)
  }

  @Test("more than one answer lists are refused, as by presence")
  func tooMany() {
    let scene = scene { $0.maximumPageBytes = 400 }
    for index in 0..<20 { enter(scene, ClientInfo(user: "u", client: "client-\(index)")) }
    #expect(scene.ask(.readMap(.init(channel: "clients:chat", read: MapRead(phase: .state))))?.errorCode == 106)
    #expect(page(scene, "users:chat") == ["u"])
  }

  @Test("more are there than map_max_entries, which is for what is written")
  func manyEntries() {
    let scene = scene { $0.namespaces.namespaces["clients"]?.mapMaximumEntries = 1 }
    _ = watch(scene, "clients:chat")
    for member in [ada, bob, tablet] { enter(scene, member) }
    #expect(page(scene, "clients:chat") == ["a1", "a2", "b1"])
  }
}
