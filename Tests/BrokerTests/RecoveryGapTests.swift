import Log
import Testing
import Wire

@testable import Broker

/// What a recovery lacks, and why: nothing is said that is not certain.
@Suite("BrokerCore: what a recovery lacks")
struct RecoveryGapTests {
  private let memory: ChannelName = "m"
  private let disk: ChannelName = "d:1"

  /// The answer to a subscriber who had everything up to an offset.
  private func recover(
    _ scene: BrokerScene, _ channel: ChannelName, since offset: UInt64, epoch: String? = nil, limit: UInt32 = 300
  ) throws -> BrokerResponse.Subscribed {
    scene.lastID += 1
    let since = StreamPosition(epoch: epoch ?? "", offset: offset)
    _ = scene.hears()
    scene.request(scene.lastID, .subscribe(channel, since: since, limit: limit))
    guard case .reply(_, .subscribed(let answer))? = scene.hears().first else { throw Unanswered() }
    return answer
  }

  private struct Unanswered: Error {}

  private func publish(_ count: Int, _ channel: ChannelName, _ scene: BrokerScene) {
    for _ in 0..<count { _ = scene.ask(.publish(.init(channel: channel, data: [0x31]))) }
    if channel == disk { scene.finish(count) }
  }

  private func scene(_ disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let scene = BrokerScene(disk: disk)
    scene.hello(1)
    return scene
  }

  @Test("What the history has no room for: its size")
  func size() throws {
    let scene = scene()
    publish(12, memory, scene)
    // Five are kept: 8 to 12.
    let answer = try recover(scene, memory, since: 2)
    #expect(!answer.recovered && answer.publications.isEmpty)
    #expect(answer.gap == RecoveryGap(3...7, .size))
    #expect(try recover(scene, memory, since: 7).recovered)
    #expect(try recover(scene, memory, since: 7).gap == nil)
  }

  @Test("What is too old, and came since the channel was opened: expired")
  func expired() throws {
    let scene = scene()
    // Somebody is there, so that the broker does not forget the channel.
    _ = try recover(scene, memory, since: 0)
    publish(3, memory, scene)
    scene.passHeard(61_000)
    publish(1, memory, scene)
    #expect(try recover(scene, memory, since: 1).gap == RecoveryGap(2...3, .expired))
    scene.passHeard(61_000)
    #expect(try recover(scene, memory, since: 1).gap == RecoveryGap(2...4, .expired))
  }

  @Test("A history that was removed: removed, also where more came since")
  func removed() throws {
    let scene = scene()
    publish(3, disk, scene)
    #expect(scene.ask(.historyRemove(disk)) == .done)
    #expect(try recover(scene, disk, since: 2).gap == RecoveryGap(3...3, .removed))
    publish(1, disk, scene)
    #expect(try recover(scene, disk, since: 1).gap == RecoveryGap(2...3, .removed))
    #expect(try recover(scene, disk, since: 3).recovered)
  }

  @Test("After a restart nobody knows of a removal: it is said that nothing is kept, and later that it is too old")
  func restarted() throws {
    let store = ScriptedStore()
    let before = scene(store)
    publish(3, disk, before)
    _ = before.ask(.historyRemove(disk))
    let scene = scene(store)
    #expect(try recover(scene, disk, since: 1).gap == RecoveryGap(2...3, .notKept))
    scene.passHeard(60_001)
    #expect(try recover(scene, disk, since: 1).gap == RecoveryGap(2...3, .expired))
  }

  @Test("Another epoch, and a position ahead of the channel: nothing is known of offsets")
  func positions() throws {
    let scene = scene()
    publish(3, disk, scene)
    #expect(try recover(scene, disk, since: 1, epoch: "other").gap == RecoveryGap(.epoch))
    #expect(try recover(scene, disk, since: 9, epoch: "disk").gap == RecoveryGap(.ahead))
  }

  @Test("More than a recovery may carry: the limit, in publications and in bytes")
  func limits() throws {
    let scene = BrokerScene { $0.maximumPageBytes = 2000 }
    scene.hello(1)
    publish(4, disk, scene)
    #expect(try recover(scene, disk, since: 1, limit: 2).gap == RecoveryGap(2...4, .limit))
    let tags = ["k": String(repeating: "x", count: 1500)]
    for _ in 0..<2 { _ = scene.ask(.publish(.init(channel: disk, data: [0x31], tags: tags))) }
    scene.finish(2)
    #expect(try recover(scene, disk, since: 4).gap == RecoveryGap(5...6, .bytes))
  }

  @Test("Nobody who recovers nothing is told of a gap")
  func fresh() throws {
    let scene = scene()
    publish(3, disk, scene)
    scene.request(1, .subscribe(disk))
    guard case .reply(1, .subscribed(let answer))? = scene.hears().last else { throw Unanswered() }
    #expect(answer.gap == nil)
  }

  // MARK: The decisions alone

  @Test(
    "The missing offsets are those from the first hole to the last",
    arguments: [
      ([3, 4, 5], false, nil), ([], false, 3...5), ([4, 5], false, 3...3), ([3, 4], false, 5...5),
      ([3, 5], false, 4...4), ([4], false, 3...5), ([3, 4], true, nil), ([4], true, 3...3), ([], true, nil),
    ] as [([UInt64], Bool, ClosedRange<UInt64>?)])
  func missing(found: [UInt64], isCut: Bool, expected: ClosedRange<UInt64>?) {
    let publications = found.map { Publication(offset: $0, data: []) }
    #expect(missingOffsets(in: publications, after: 2, through: 5, isCut: isCut) == expected)
  }

  @Test("The ends of the numbers change nothing")
  func ends() {
    let last = UInt64.max
    #expect(missingOffsets(in: [], after: last - 1, through: last, isCut: false) == last...last)
    let options = ChannelOptions()
    #expect(ChannelPast().reason(forMissing: last, newest: last, options, oldest: 0) != .expired)
  }

  @Test("Why one is not kept is said only as far as it is certain")
  func reasons() {
    var options = ChannelOptions()
    options.historySize = 5
    var past = ChannelPast(openedTop: 10, openedAt: 1000)
    func reason(_ offset: UInt64, newest: UInt64 = 20, oldest: Int64 = 500) -> RecoveryGap.Reason {
      past.reason(forMissing: offset, newest: newest, options, oldest: oldest)
    }
    #expect(reason(15) == .size)
    #expect(reason(16) == .expired)
    #expect(reason(10, newest: 12) == .notKept)
    #expect(reason(10, newest: 12, oldest: 1000) == .notKept)
    #expect(reason(10, newest: 12, oldest: 1001) == .expired)
    past.removalIsAsked(through: 17)
    #expect(reason(17) == .notKept, "it may have been removed, and may not")
    #expect(reason(18) == .expired)
    past.removed(through: 17)
    #expect(reason(17) == .removed)
    options.durability = .relaxed
    #expect(reason(18) == .notKept, "the disk may have refused it after it was delivered")
  }
}
