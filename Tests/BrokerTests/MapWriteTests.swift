import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore writes map channels")
struct MapWriteTests {
  @Test("a value is seen when the disk has it, and a later one takes its place")
  func values() {
    let scene = BrokerScene.maps()
    scene.write("p:1", "a", "1")
    #expect(scene.keys("p:1") == [])
    scene.finish()
    scene.write("p:1", "a", "2")
    scene.finish()
    #expect(scene.values("p:1") == ["a=2"])
  }

  @Test("a removal that has nothing to remove is acknowledged and publishes nothing")
  func removesNothing() {
    let scene = BrokerScene.maps()
    #expect(scene.write("m:1", "a", nil) == .published(.init(epoch: scene.epoch("m:1"), offset: 0)))
    #expect(scene.tapped == [])
  }

  @Test("a removed key is gone, also for the next broker")
  func removal() {
    let scene = BrokerScene.maps()
    for (key, value) in [("a", "1"), ("b", "2"), ("a", nil)] {
      scene.write("p:1", key, value)
      scene.finish()
    }
    #expect(scene.values("p:1") == ["b=2"])
    #expect(BrokerScene.maps(scene.disk).values("p:1") == ["b=2"])
  }

  @Test("a map channel is published to with a key, a stream without")
  func kinds() {
    let scene = BrokerScene.maps()
    #expect(scene.ask(.publish(.init(channel: "m:1", data: [0x31])))?.errorCode == 107)
    #expect(scene.ask(.publish(.init(channel: "d:1", data: [0x31], write: MapWrite(key: "a"))))?.errorCode == 107)
  }

  @Test("nobody publishes into a shared poll, services neither, for nobody would get it")
  func sharedPoll() {
    let scene = BrokerScene {
      var options = ChannelOptions()
      options.kind = .sharedPoll
      $0.namespaces.namespaces["votes"] = options
    }
    scene.hello(1)
    #expect(scene.ask(.publish(.init(channel: "votes:1", data: [0x31])))?.errorCode == 107)
    #expect(scene.ask(.publish(.init(channel: "votes:1", data: [0x31], write: MapWrite(key: "a"))))?.errorCode == 107)
    #expect(scene.tapped == [])
  }

  @Test("a key has 1 to 255 bytes and no control characters", arguments: ["", "a\u{1}", "\u{7F}"])
  func badKeys(key: String) {
    let scene = BrokerScene.maps()
    #expect(scene.write("m:1", key, "1")?.errorCode == 107)
    #expect(scene.write("m:1", String(repeating: "k", count: 256), "1")?.errorCode == 107)
    #expect(scene.write("m:1", String(repeating: "k", count: 255), "1")?.errorCode == nil)
  }

  @Test("canonically equal keys are two keys")
  func keyBytes() {
    let scene = BrokerScene.maps()
    scene.write("m:1", "\u{E9}", "1")
    scene.write("m:1", "e\u{301}", "2")
    #expect(scene.keys("m:1").count == 2)
  }

  @Test("a new key beyond the most entries is refused, one that is there is not")
  func mostEntries() {
    let scene = BrokerScene.maps { $0.mapMaximumEntries = 2 }
    for key in ["a", "b"] { scene.write("p:1", key, "1") }
    #expect(scene.write("p:1", "c", "1")?.errorCode == 106)
    let told = scene.core.tally.takeRefusals(isMinuteOver: false)
    #expect(told.map { "\($0.cause.name) \($0.source)" } == ["map_entries p:1"])
    scene.write("p:1", "a", "2")
    scene.finish(3)
    #expect(scene.values("p:1") == ["a=2", "b=1"])
    scene.write("p:1", "a", nil)
    scene.finish()
    scene.write("p:1", "c", "1")
    scene.finish()
    #expect(scene.keys("p:1") == ["b", "c"])
  }

  @Test("a write that failed on disk leaves the value before it")
  func failure() {
    let scene = BrokerScene.maps { $0.mapMaximumEntries = 1 }
    scene.write("p:1", "a", "1")
    scene.finish()
    scene.write("p:1", "a", "2")
    scene.finish(error: .full("x"))
    #expect(scene.values("p:1") == ["a=1"])
    scene.write("p:1", "a", nil)
    scene.finish()
    scene.write("p:1", "b", "1")
    scene.finish(error: .full("x"))
    scene.write("p:1", "c", "1")
    scene.finish()
    #expect(scene.keys("p:1") == ["c"])
  }

  @Test("scores are the client's, the time of the first write, or the time of the last", arguments: MapScore.allCases)
  func scores(kind: MapScore) {
    let scene = BrokerScene.maps {
      $0.mapScore = kind
      $0.mapOrder = .ascending
    }
    let start = scene.time.wall
    scene.write("m:1", "a", "1", score: 5)
    scene.pass(10)
    scene.write("m:1", "a", "2")
    let expected: Int64 =
      switch kind {
      case .client: 5
      case .created: start
      case .updated: start + 10
      }
    #expect(scene.page("m:1").entries.map(\.change?.score) == [expected])
  }

  // MARK: The end of entries

  @Test("an entry goes by itself, and subscribers are told")
  func expiry() {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 100 }
    scene.hello(1)
    scene.request(1, .subscribe(.init(channel: "m:1", recoveryLimit: 300, map: MapRead(phase: .state))))
    _ = scene.hears()
    scene.write("m:1", "a", "1")
    #expect(scene.core.nextDeadline(at: scene.time) == scene.time.monotonic + 100)
    scene.pass(99)
    #expect(scene.keys("m:1") == ["a"])
    scene.pass(1)
    #expect(scene.keys("m:1") == [])
    #expect(scene.hears() == [.publication("m:1", 1, "1"), .publication("m:1", 2, "null")])
  }

  @Test("an entry that is written again stays as long again")
  func renewed() {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 100 }
    scene.write("m:1", "a", "1")
    scene.pass(60)
    scene.write("m:1", "a", "2")
    scene.pass(60)
    #expect(scene.keys("m:1") == ["a"])
    scene.pass(40)
    #expect(scene.keys("m:1") == [])
  }

  @Test("an entry on disk whose time came while the broker was away goes when its channel is opened")
  func persistedExpiry() {
    let before = BrokerScene.maps { $0.mapTTLMilliseconds = 100 }
    before.write("p:1", "a", "1")
    before.finish()
    let after = BrokerScene.maps(before.disk) { $0.mapTTLMilliseconds = 100 }
    after.time.wall += 1000
    _ = after.keys("p:1")
    after.pass(1)
    after.finish()
    #expect(after.keys("p:1") == [])
    #expect(BrokerScene.maps(before.disk).keys("p:1") == [])
  }

  @Test("an entry whose removal the disk did not take goes when it does", arguments: [true, false])
  func expiryOnFullDisk(refusedAtOnce: Bool) {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 100 }
    scene.write("p:1", "a", "1")
    scene.finish()
    if refusedAtOnce { scene.disk.refusal = .full("x") }
    scene.pass(100)
    scene.finish(error: .full("x"))
    scene.disk.refusal = nil
    #expect(scene.keys("p:1") == ["a"])
    scene.pass(1000)
    scene.finish()
    #expect(scene.keys("p:1") == [])
  }

  @Test("an entry whose next value the disk did not take goes at its own time")
  func expiryAfterFailedWrite() {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 100 }
    scene.write("p:1", "a", "1")
    scene.finish()
    scene.pass(50)
    scene.write("p:1", "a", "2")
    scene.pass(50)
    scene.finish(error: .full("x"))
    for _ in 0..<3 {
      scene.pass(1000)
      scene.finish()
    }
    #expect(scene.keys("p:1") == [])
  }

  // MARK: Receipts

  @Test("receipts only go forward, no further than what was said, and reading is having got it")
  func receipts() {
    let scene = BrokerScene.maps()
    for _ in 0..<5 { _ = scene.ask(.publish(.init(channel: "talk", data: [0x31]))) }
    scene.mark(delivered: 3)
    #expect(scene.marks == [#"{"delivered":3,"read":0}"#])
    scene.mark(read: 2)
    scene.mark(delivered: 1)
    #expect(scene.marks == [#"{"delivered":3,"read":2}"#])
    scene.mark(read: 99)
    #expect(scene.marks == [#"{"delivered":5,"read":5}"#])
    #expect(scene.ask(.unread(user: "ann", ["receipts:talk"])) == .unread([0]))
    #expect(scene.ask(.unread(user: "bob", ["receipts:talk"])) == .unread([5]))
  }

  @Test("a receipt that moves nothing publishes nothing")
  func sameReceipt() {
    let scene = BrokerScene.maps()
    _ = scene.ask(.publish(.init(channel: "talk", data: [0x31])))
    scene.mark(read: 1)
    let count = scene.tapped.count
    #expect(scene.mark(read: 1) == .done)
    #expect(scene.mark(delivered: 1) == .done)
    #expect(scene.tapped.count == count)
  }

  @Test("a receipt reckons with the one before it that is still on its way to the disk")
  func twoReceipts() {
    let scene = BrokerScene.maps()
    for _ in 0..<5 { _ = scene.ask(.publish(.init(channel: "talk", data: [0x31]))) }
    scene.mark("kept:talk", read: 4)
    scene.mark("kept:talk", delivered: 5)
    scene.mark("kept:talk", read: 2)
    scene.finish(.max)
    #expect(scene.values("kept:talk") == [#"ann={"delivered":5,"read":4}"#])
  }

  @Test("nobody learns by receipts how much is said in an app's channel that they may not see")
  func receiptsOfApps() {
    let app = TinyApp()
    let scene = BrokerScene(app) { $0.namespaces.namespaces["receipts"] = BrokerScene.receipts(.ephemeral) }
    scene.hello(1)
    scene.call(1, "say 1 x")
    scene.call(2, "bar bob")
    scene.finish(.max)
    #expect(scene.ask(.unread(user: "ann", ["receipts:tiny.chat:1"])) == .unread([1]))
    #expect(scene.ask(.unread(user: "bob", ["receipts:tiny.chat:1"]))?.errorCode == 103)
    let reader = ClientInfo(user: "bob", client: "b")
    #expect(scene.ask(.receipt(.init(channel: "receipts:tiny.chat:1", read: 1, reader: reader)))?.errorCode == 103)
  }
}

extension BrokerScene {
  /// Namespaces `e` (ephemeral), `m` (recoverable) and `p` (persistent), and receipts of both kinds.
  static func maps(
    _ disk: ScriptedStore = ScriptedStore(), _ change: (inout ChannelOptions) -> Void = { _ in }
  ) -> BrokerScene {
    maps(disk, broker: { _ in }, change)
  }

  static func maps(
    _ disk: ScriptedStore = ScriptedStore(), broker: (inout BrokerConfiguration) -> Void,
    _ change: (inout ChannelOptions) -> Void = { _ in }
  ) -> BrokerScene {
    BrokerScene(disk: disk) { configuration in
      for (name, mode) in [("e", MapMode.ephemeral), ("m", .recoverable), ("p", .persistent)] {
        var options = ChannelOptions()
        options.kind = .map
        options.mapMode = mode
        if mode != .ephemeral {
          options.historySize = 5
          options.historyTTLMilliseconds = 60_000
        }
        if mode == .persistent { options.durability = .durable }
        change(&options)
        configuration.namespaces.namespaces[name] = options
      }
      configuration.namespaces.namespaces["receipts"] = receipts(.ephemeral)
      configuration.namespaces.namespaces["kept"] = receipts(.persistent)
      broker(&configuration)
    }
  }

  static func receipts(_ mode: MapMode) -> ChannelOptions {
    var options = ChannelOptions()
    options.kind = .map
    options.mapMode = mode
    options.followsChannel = true
    if mode == .persistent { options.durability = .durable }
    return options
  }

  @discardableResult
  func write(_ channel: ChannelName, _ key: String, _ value: String?, score: Int64? = nil) -> BrokerResponse? {
    let write = MapWrite(key: key, removed: value == nil, score: score)
    return ask(.publish(.init(channel: channel, data: Array((value ?? "null").utf8), write: write)))
  }

  @discardableResult
  func mark(_ channel: ChannelName = "receipts:talk", delivered: UInt64 = 0, read: UInt64 = 0) -> BrokerResponse? {
    let reader = ClientInfo(user: "ann", client: "c")
    return ask(.receipt(.init(channel: channel, delivered: delivered, read: read, reader: reader)))
  }

  var marks: [String] { page("receipts:talk").entries.map { String(decoding: $0.data, as: UTF8.self) } }

  func page(_ channel: ChannelName, cursor: String = "", limit: UInt32 = 0, isReversed: Bool = false) -> MapPage {
    let read = MapRead(phase: .state, cursor: cursor, limit: limit, isReversed: isReversed)
    guard case .mapPage(let page)? = ask(.readMap(.init(channel: channel, read: read))) else {
      return MapPage(phase: .state, position: .init(epoch: "", offset: 0))
    }
    return page
  }

  func keys(_ channel: ChannelName) -> [String] { page(channel).entries.compactMap(\.change?.key) }

  func values(_ channel: ChannelName) -> [String] {
    page(channel).entries.map { "\($0.change?.key ?? "")=\(String(decoding: $0.data, as: UTF8.self))" }
  }

  func epoch(_ channel: ChannelName) -> String { page(channel).position.epoch }
}
