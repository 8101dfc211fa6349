import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Asking about a channel creates nothing")
struct AskingTests {
  private static let reads: [BrokerRequest] = ["m", "d:1", "e:1", "p:1"].flatMap { (name: ChannelName) in
    [
      .history(.init(channel: name, limit: 9)), .presence(name), .presenceStats(name), .historyRemove(name),
      .readMap(.init(channel: name, read: .init(phase: .state))),
      .readMap(.init(channel: name, key: "k", read: .init(phase: .state))),
      .edit(.init(channel: name, offset: 1, data: [0x31], editor: ClientInfo(user: "u", client: "c"))),
      .unread(user: "u", [ChannelName(stringLiteral: "receipts:\(name)")]),
      .receipt(
        .init(
          channel: ChannelName(stringLiteral: "receipts:\(name)"), read: 5, reader: ClientInfo(user: "u", client: "c"))),
    ]
  }

  @Test("channels that do not exist are not opened by whoever only looks", arguments: reads)
  func looking(request: BrokerRequest) {
    let scene = BrokerScene.maps()
    _ = scene.ask(request)
    #expect(scene.core.channels.isEmpty)
    #expect((scene.core.stores.memory as? MemoryStore)?.channelCount == 0)
    #expect(scene.disk.opened.isEmpty)
  }

  @Test("what is read of a channel that does not exist is empty")
  func empty() {
    let scene = BrokerScene.maps()
    guard case .history(let history)? = scene.ask(.history(.init(channel: "m", limit: 9))) else {
      Issue.record("no page")
      return
    }
    #expect(history.publications.isEmpty && history.position.offset == 0 && !history.position.epoch.isEmpty)
    #expect(scene.ask(.presence("m")) == .presence([]))
    #expect(scene.ask(.presenceStats("m")) == .presenceStats(clients: 0, users: 0))
    #expect(scene.page("m:1").entries.isEmpty)
    #expect(scene.ask(.unread(user: "u", ["receipts:m"])) == .unread([0]))
    #expect(scene.ask(.historyRemove("m")) == .done)
    #expect(scene.ask(.history(.init(channel: "no:1", limit: 1)))?.errorCode == 102)
  }

  @Test("whoever read that nothing is there recovers from that position, and is told when the channel began anew")
  func epochs() {
    let scene = BrokerScene()
    scene.hello(1)
    guard case .history(let history)? = scene.ask(.history(.init(channel: "m", limit: 9))) else {
      Issue.record("no page")
      return
    }
    _ = scene.ask(.publish(.init(channel: "m", data: [0x31])))
    _ = scene.hears()
    scene.request(1, .subscribe("m", since: history.position))
    guard case .reply(1, .subscribed(let first))? = scene.hears().first else {
      Issue.record("not subscribed")
      return
    }
    #expect(first.recovered && first.publications.map(\.offset) == [1])
    scene.request(2, .unsubscribe("m", member: nil, keeps: false))
    // The publication ends, and an hour later what was known of the channel.
    for _ in 0..<3 { scene.pass(4_000_000) }
    #expect((scene.core.stores.memory as? MemoryStore)?.channelCount == 0)
    scene.hello(1, session: 2)
    _ = scene.hears()
    scene.request(1, .subscribe("m", since: history.position))
    guard case .reply(1, .subscribed(let second))? = scene.hears().first else {
      Issue.record("not subscribed again")
      return
    }
    #expect(!second.recovered && second.position.offset == 0)
    #expect(second.position.epoch != first.position.epoch)
  }

  // MARK: Apps

  /// An app that has carried out one command, and has it on disk.
  private static func scene(after command: String) -> BrokerScene {
    let scene = BrokerScene(TinyApp())
    scene.hello(1)
    scene.call(1, command)
    scene.finish(.max)
    return scene
  }

  @Test("who is refused an app's channel leaves nothing behind, whatever they try")
  func refused() {
    let scene = Self.scene(after: "bar bob")
    let opened = scene.disk.opened
    let bob = ClientInfo(user: "bob", client: "b")
    for channel in [TinyApp.chat, TinyApp.list, TinyApp.live, "tiny.chat:other"] as [ChannelName] {
      let requests: [BrokerRequest] = [
        .subscribe(.init(channel: channel, member: bob)),
        .history(.init(channel: channel, limit: 1, viewer: "bob")), .presence(channel, viewer: "bob"),
        .presenceStats(channel, viewer: "bob"),
        .edit(.init(channel: channel, offset: 1, data: [0x31], editor: bob)),
        .publish(.init(channel: channel, data: [0x31], info: bob)),
        .readMap(.init(channel: channel, read: .init(phase: .state), viewer: "bob")),
        .unread(user: "bob", [channel]),
      ]
      for (index, request) in requests.enumerated() { scene.request(UInt64(10 + index), request) }
    }
    let answers = scene.hears().compactMap { heard -> UInt32? in
      if case .reply(let id, let response) = heard, id >= 10 { return response.errorCode ?? 0 }
      return nil
    }
    #expect(answers.count == 32)
    #expect(answers.allSatisfy { $0 == 103 || $0 == 107 || $0 == 108 }, "\(answers)")
    #expect(scene.disk.opened == opened)
  }

  @Test("an app's map in memory that nobody is subscribed to is worked out for who reads it, and not kept")
  func derivedMap() {
    let scene = Self.scene(after: "soon a 1")
    scene.pass(500)
    scene.finish(.max)
    scene.pass(60_000)
    #expect(scene.core.channels[TinyApp.live] == nil)
    #expect(scene.shown(TinyApp.live) == ["a": "\"1\""])
    #expect(scene.core.channels[TinyApp.live] == nil)
  }

  @Test("an app's map in memory is forgotten when the last subscriber has left, with entries in it")
  func forgottenMap() {
    let scene = Self.scene(after: "soon a 1")
    scene.request(2, .subscribe(TinyApp.live))
    scene.pass(500)
    #expect(scene.core.channels[TinyApp.live]?.map?.isEmpty == false)
    scene.request(3, .unsubscribe(TinyApp.live, member: nil, keeps: false))
    scene.pass(60_000)
    #expect(scene.core.channels[TinyApp.live] == nil)
  }

  @Test("keys of 60 KB that clients invent are not looked up, and others fill no more than the cache may hold")
  func inventedKeys() throws {
    let app = TinyApp()
    let scene = BrokerScene(app) { $0.appCacheBytes = 1 << 20 }
    scene.hello(1)
    let long = String(repeating: "k", count: 60_000)
    for id in 1...1000 as ClosedRange<UInt64> { scene.call(id, "get \(id)\(long)") }
    let records = try #require(scene.core.hosts["tiny"]).records
    #expect(records.bytes == 0)
    for id in 1001...25_000 as ClosedRange<UInt64> { scene.call(id, "get \(id)\(long.prefix(500))") }
    let full = try #require(scene.core.hosts["tiny"]).records.bytes
    #expect(full > 1 << 18 && full <= 1 << 20)
    scene.call(30_000, "set \(long) 1")
    #expect(scene.hears().last == .reply(30_000, .failed(Self.tooLong)))
  }

  private static let tooLong = ClientError.limitExceeded.saying(
    "what the command names is too long to be kept; use a shorter name")
}

@Suite("What the broker holds of channels comes to an end")
struct ForgettingTests {
  @Test("a channel that subscribers come to and leave all the time waits once for its end")
  func comingAndGoing() {
    let scene = BrokerScene()
    scene.hello(1)
    for id in 0..<1000 as Range<UInt64> {
      scene.request(2 * id + 1, .subscribe("bare:1", member: "c"))
      scene.request(2 * id + 2, .unsubscribe("bare:1", member: "c", keeps: false))
    }
    #expect(scene.core.channels.waitingTimes.idle == 1)
    scene.pass(59_999)
    #expect(scene.core.channels["bare:1"] != nil)
    scene.pass(1)
    #expect(scene.core.channels["bare:1"] == nil && scene.core.channels.waitingTimes.idle == 0)
  }

  @Test("a key that is written ten thousand times has one end, and a channel that is opened again no second one")
  func ends() {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 100_000 }
    for index in 0..<10_000 { scene.write("m:1", "a", "\(index)") }
    #expect(scene.core.channels.waitingTimes.entries == 1)
    #expect(scene.core.channels["m:1"]?.map?.endCount == 1)
    scene.write("p:1", "a", "1")
    scene.finish()
    for _ in 0..<5 {
      scene.pass(10_000)
      scene.pass(60_000)
      _ = scene.keys("p:1")
      #expect(scene.core.channels.waitingTimes.entries <= 2)
    }
  }

  @Test("a map in memory that nobody writes or watches for a day is forgotten, a busy one is not")
  func abandonedMap() {
    let scene = BrokerScene.maps(broker: { $0.idleMapLifetime = 500_000 })
    scene.write("m:1", "a", "1")
    scene.write("m:2", "a", "1")
    for _ in 0..<9 {
      scene.pass(60_000)
      scene.write("m:2", "a", "1")
    }
    #expect(scene.core.channels["m:1"] == nil)
    #expect(scene.keys("m:2") == ["a"])
  }

  // MARK: Idempotency keys

  private func publish(_ scene: BrokerScene, _ channel: ChannelName, key: Int, by user: String) -> UInt32 {
    let response = scene.ask(
      .publish(
        .init(channel: channel, data: [0x31], info: ClientInfo(user: user, client: "c"), idempotencyKey: "\(key)")))
    return response?.errorCode ?? 0
  }

  @Test("keys are held for a channel, a user and the broker up to a limit; beyond it a new one is refused for a while")
  func keyLimits() {
    var limits = IdempotencyLimits()
    (limits.ofChannel, limits.ofUser, limits.inAll) = (4, 6, 8)
    let scene = BrokerScene { $0.idempotencyKeys = limits }
    for key in 0..<4 { #expect(publish(scene, "m", key: key, by: "ann") == 0) }
    #expect(publish(scene, "m", key: 4, by: "ann") == 111, "of the channel")
    #expect(publish(scene, "m", key: 0, by: "ann") == 0, "a key that is held is answered")
    for key in 0..<2 { #expect(publish(scene, "n", key: key, by: "ann") == 0) }
    #expect(publish(scene, "n", key: 9, by: "ann") == 111, "of the user")
    for key in 10..<12 { #expect(publish(scene, "n", key: key, by: "bob") == 0) }
    #expect(publish(scene, "o", key: 0, by: "eve") == 111, "of the broker")
    #expect(scene.ask(.publish(.init(channel: "o", data: [0x31])))?.errorCode == nil, "without a key")
    #expect(scene.core.counters.keysRefused == 3)
    scene.pass(5 * 60_000)
    #expect(scene.core.channels.keyShares.total == 0)
    #expect(publish(scene, "m", key: 4, by: "ann") == 0)
  }
}
