import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore reads map channels")
struct MapReadTests {
  private let member = ClientInfo(user: "u", client: "c")

  /// Reads along with a subscription, as a client's SDK does.
  private func subscribe(
    _ scene: BrokerScene, _ channel: ChannelName, _ read: MapRead, since: StreamPosition? = nil
  ) -> BrokerResponse? {
    _ = scene.hears()
    scene.request(1, .subscribe(.init(channel: channel, since: since, recoveryLimit: 300, member: member, map: read)))
    guard case .reply(1, let response)? = scene.hears().first else { return nil }
    return response
  }

  private func scene(
    _ change: (inout ChannelOptions) -> Void = { _ in }, broker: (inout BrokerConfiguration) -> Void = { _ in }
  ) -> BrokerScene {
    let scene = BrokerScene.maps(broker: broker, change)
    scene.hello(1)
    return scene
  }

  @Test(
    "entries are in the order of their keys or scores, and a reader may turn it around",
    arguments: [
      (MapOrder.key, ["a", "b", "c", "d"]), (.ascending, ["b", "c", "d", "a"]), (.descending, ["a", "d", "c", "b"]),
    ])
  func order(order: MapOrder, expected: [String]) {
    let scene = scene { $0.mapOrder = order }
    for (key, score) in [("a", 9), ("b", -1), ("d", 2), ("c", 2)] as [(String, Int64)] {
      scene.write("m:1", key, "1", score: score)
    }
    #expect(scene.keys("m:1") == expected)
    #expect(scene.page("m:1", isReversed: true).entries.map(\.change?.key) == expected.reversed())
  }

  @Test("keys that come and go between pages neither repeat nor hide the others", arguments: MapOrder.allCases)
  func cursors(order: MapOrder) {
    var random = FixedEpochs()
    for _ in 0..<200 {
      let scene = scene { $0.mapOrder = order }
      var stays: Set<String> = []
      for index in 0..<20 {
        stays.insert("k\(index)")
        scene.write("m:1", "k\(index)", "1", score: Int64.random(in: 0..<6, using: &random))
      }
      var seen: [String] = []
      var cursor = ""
      repeat {
        let page = scene.page("m:1", cursor: cursor, limit: 3)
        seen += page.entries.compactMap(\.change?.key)
        cursor = page.cursor
        let gone = "k\(Int.random(in: 0..<20, using: &random))"
        stays.remove(gone)
        scene.write("m:1", gone, nil)
        scene.write("m:1", "n\(Int.random(in: 0..<99, using: &random))", "1", score: .random(in: 0..<6, using: &random))
      } while !cursor.isEmpty
      #expect(Set(seen).count == seen.count, "a key twice: \(seen)")
      #expect(stays.isSubset(of: seen), "missing: \(stays.subtracting(seen))")
    }
  }

  @Test("a cursor that is not the broker's begins anew")
  func foreignCursor() {
    let scene = scene()
    scene.write("m:1", "a", "1")
    #expect(scene.page("m:1", cursor: "nonsense").entries.count == 1)
  }

  @Test("a page ends where it would be too large, with one entry at least")
  func pageBytes() {
    let scene = scene(broker: { $0.maximumPageBytes = 200 })
    for key in ["a", "b", "c"] { scene.write("m:1", key, "\"" + String(repeating: "x", count: 150) + "\"") }
    let page = scene.page("m:1")
    #expect(page.entries.compactMap(\.change?.key) == ["a"])
    #expect(!page.cursor.isEmpty)
  }

  @Test("an ephemeral map comes in one page, or not at all where that would be too large")
  func ephemeral() {
    let scene = scene(broker: {
      $0.maximumPageSize = 2
      $0.maximumPageBytes = 4000
    })
    for index in 0..<9 { scene.write("e:1", "k\(index)", "1") }
    guard case .subscribed(let answer)? = subscribe(scene, "e:1", MapRead(phase: .state, limit: 1)) else {
      Issue.record("a page")
      return
    }
    #expect(answer.entries.count == 9)
    for index in 0..<20 { scene.write("e:1", "l\(index)", "1") }
    #expect(subscribe(scene, "e:1", MapRead(phase: .state))?.errorCode == 106)
    #expect(scene.ask(.readMap(.init(channel: "e:1", read: .init(phase: .state))))?.errorCode == 106)
  }

  @Test("who reads the whole map at once is live; who reads pages catches up from the position of the first")
  func pagesThenStream() {
    let scene = scene()
    for key in ["a", "b", "c"] { scene.write("m:1", key, "1") }
    guard case .mapPage(let first)? = subscribe(scene, "m:1", MapRead(phase: .state, limit: 2)) else {
      Issue.record("no page")
      return
    }
    #expect(first.position.offset == 3)
    scene.write("m:1", "a", "2")
    let rest = MapRead(phase: .state, cursor: first.cursor, limit: 2)
    guard case .mapPage(let last)? = subscribe(scene, "m:1", rest, since: first.position) else {
      Issue.record("no second page")
      return
    }
    #expect(last.position == first.position)
    #expect(last.entries.compactMap(\.change?.key) == ["c"])
    #expect(last.cursor.isEmpty)
    scene.write("m:1", "d", "1")
    #expect(scene.hears() == [], "nothing is live before the stream is read")
    guard case .subscribed(let live)? = subscribe(scene, "m:1", MapRead(phase: .stream), since: last.position) else {
      Issue.record("not live")
      return
    }
    #expect(live.publications.map(\.offset) == [4, 5])
    scene.write("m:1", "e", "1")
    #expect(scene.hears() == [.publication("m:1", 6, "1")])
  }

  @Test("a long stream comes in parts, and the last part makes live")
  func streamInParts() {
    let scene = scene()
    for index in 0..<5 { scene.write("m:1", "k\(index)", "1") }
    var position = StreamPosition(epoch: scene.epoch("m:1"), offset: 0)
    var offsets: [UInt64] = []
    while true {
      switch subscribe(scene, "m:1", MapRead(phase: .stream, limit: 2), since: position) {
      case .mapPage(let page)?:
        #expect(page.changes.count == 2)
        offsets += page.changes.map(\.offset)
        position = page.position
        continue
      case .subscribed(let live)?:
        offsets += live.publications.map(\.offset)
        #expect(live.position.offset == 5)
      case let other: Issue.record("\(String(describing: other))")
      }
      break
    }
    #expect(offsets == [1, 2, 3, 4, 5])
  }

  @Test("an epoch that is not the channel's, and changes that are not kept any more, are 112")
  func unrecoverable() {
    let scene = scene()
    for index in 0..<9 { scene.write("m:1", "k\(index)", "1") }
    let foreign = StreamPosition(epoch: "other", offset: 9)
    #expect(subscribe(scene, "m:1", MapRead(phase: .stream), since: foreign)?.errorCode == 112)
    let page = MapRead(phase: .state, cursor: "0:k1", limit: 2)
    #expect(subscribe(scene, "m:1", page, since: foreign)?.errorCode == 112)
    let old = StreamPosition(epoch: scene.epoch("m:1"), offset: 1)
    #expect(subscribe(scene, "m:1", MapRead(phase: .stream), since: old)?.errorCode == 112)
    #expect(subscribe(scene, "m:1", MapRead(phase: .stream))?.errorCode == 107)
  }

  @Test("a stream channel has no map")
  func streamChannel() {
    #expect(subscribe(scene(), "d:1", MapRead(phase: .state))?.errorCode == 107)
  }

  @Test("one key is read without the others")
  func oneKey() {
    let scene = scene()
    scene.write("m:1", "a", "1")
    scene.write("m:1", "b", "2")
    guard case .mapPage(let page)? = scene.ask(.readMap(.init(channel: "m:1", key: "b", read: .init(phase: .state))))
    else {
      Issue.record("no page")
      return
    }
    #expect(page.entries.map(\.data) == [Array("2".utf8)])
  }

  @Test(
    """
    a persistent map that keeps no changes keeps its epoch over a restart: a gateway goes on where nothing has changed, \
    and is told where something has, and the map is there as a whole
    """)
  func withoutChanges() {
    let disk = ScriptedStore()
    func broker() -> BrokerScene {
      let scene = BrokerScene.maps(disk) { $0.historySize = 0 }
      scene.hello(1)
      return scene
    }
    func resync(_ scene: BrokerScene, since offset: UInt64) -> [Heard] {
      _ = scene.hears()
      let since = StreamPosition(epoch: "disk", offset: offset)
      scene.request(1, .subscribe("p:1", since: since, limit: 10_000), isResync: true)
      return scene.hears()
    }
    let first = broker()
    first.write("p:1", "a", "1")
    first.finish()
    let second = broker()
    #expect(resync(second, since: 1) == [.reply(1, .subscribed(1, recovered: true))])
    second.write("p:1", "b", "2")
    second.finish()
    // The second one is gone as well, before it has told the gateway.
    let third = broker()
    let gap = RecoveryGap(2...2, .notKept)
    #expect(resync(third, since: 1) == [.reply(1, .subscribed(2, gap: gap))])
    #expect(third.values("p:1") == ["a=1", "b=2"])
    // What a client of it asks that goes on from where it was, and then what it asks instead.
    let since = StreamPosition(epoch: "disk", offset: 1)
    let stream = MapRead(phase: .stream)
    third.request(
      2, .subscribe(.init(channel: "p:1", since: since, recoveryLimit: 300, member: member, map: stream)))
    guard case .reply(2, let refused)? = third.hears().first else {
      Issue.record("no answer")
      return
    }
    #expect(refused.errorCode == ClientError.unrecoverablePosition.code)
    guard case .subscribed(let live)? = subscribe(third, "p:1", MapRead(phase: .state)) else {
      Issue.record("not live")
      return
    }
    #expect(live.position == StreamPosition(epoch: "disk", offset: 2) && live.entries.count == 2)
  }

  @Test("a recoverable map that holds something is not forgotten with its channel; a persistent one is read again")
  func idle() {
    let scene = scene(broker: { $0.idleChannelTimeout = 10 })
    scene.write("m:1", "a", "1")
    scene.write("p:1", "a", "1")
    scene.finish()
    let opened = scene.disk.opened.count
    for _ in 0..<5 { scene.pass(20) }
    #expect(scene.keys("m:1") == ["a"])
    #expect(scene.keys("p:1") == ["a"])
    #expect(scene.disk.opened.count == opened + 1)
  }
}
