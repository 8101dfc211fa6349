import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Broker
@testable import Log

/// Channels over time: each is subscribed to, published on and left, and none of it stays.
///
/// As many as a suite can wait for; `FANFARE_CHANNELS` says how many otherwise. With a million, by itself (it looks at the
/// memory of the whole process then):
///
///     FANFARE_CHANNELS=1000000 swift test --disable-xctest --no-parallel --filter ManyChannelsTests
@Suite("Many channels, one after another", .ownThread)
struct ManyChannelsTests {
  private static let given = ProcessInfo.processInfo.environment["FANFARE_CHANNELS"].flatMap { Int($0) }

  /// The memory of the process after each of the rounds, where it is alone.
  private struct Memory {
    private var resident: [Int] = []

    mutating func look() {
      let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
      if fields.count > 1, let pages = Int(fields[1]) { resident.append(pages * 4096) }
    }

    /// What came first makes room for itself; from a tenth on, nothing is added but what an allocator leaves in holes.
    func checkFlat(_ name: String) {
      let early = resident[resident.count / 10..<resident.count / 5].max() ?? 0
      let late = resident.suffix(resident.count / 10).max() ?? 0
      print("\(name): \(early >> 20) MiB in the second tenth of the rounds, \(late >> 20) MiB in the last")
      #expect(late < early + (16 << 20))
    }
  }

  /// Subscribes, publishes and leaves.
  private func visit(_ scene: BrokerScene, _ name: String) {
    let name = ChannelName(stringLiteral: name)
    scene.lastID += 3
    let id = scene.lastID
    scene.request(id, .subscribe(name, member: "c"), oldest: id)
    scene.publish(id + 1, name, "1")
    scene.request(id + 2, .unsubscribe(name, member: "c", keeps: false), oldest: id + 2)
  }

  /// Five seconds pass, with as many turns as the broker asks for where one is not enough.
  private func endRound(_ scene: BrokerScene) {
    _ = scene.hears()
    scene.tapped = []
    scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
    scene.pass(Self.roundTime)
    while scene.core.channels.nextDeadline(at: scene.time) <= scene.time.monotonic + 5 { scene.pass(5) }
  }

  private static let roundTime: Int64 = 5000

  @Test("in memory: the broker and its store hold a few rounds of them at a time, and in the end none")
  func inMemory() {
    let (rounds, each) = (200, max(500, (Self.given ?? 0) / 200))
    let store = MemoryStore(randomness: FixedEpochs(), metaTTLMilliseconds: 60_000)
    let scene = BrokerScene(memory: store) { $0.idleChannelTimeout = 1000 }
    scene.hello(1)
    var (mostOpen, mostBytes, mostStored) = (0, 0, 0)
    var memory = Memory()
    for round in 0..<rounds {
      // Half of them keep a history, which ends after a minute.
      for index in 0..<each { visit(scene, (index % 2 == 0 ? "bare:" : "") + "\(round)-\(index)") }
      endRound(scene)
      mostOpen = max(mostOpen, scene.core.channels.count)
      mostBytes = max(mostBytes, scene.core.channels.memoryUse)
      mostStored = max(mostStored, store.channelCount)
      memory.look()
    }
    #expect(mostOpen <= each)
    // A minute until the history ends, another for which epoch and top are known: 24 rounds, and what sweeps leave.
    #expect(mostStored <= 30 * each / 2)
    #expect(mostBytes <= 30 * each / 2 * (MemoryStore.channelOverhead + 200) + each * ChannelTable.channelBytes)
    if Self.given != nil { memory.checkFlat("\(rounds * each) channels in memory") }
    for _ in 0..<9 { scene.pass(4_000_000) }
    #expect(scene.core.channels.isEmpty)
    #expect(scene.core.channels.capacity < 8192)
    #expect(scene.core.channels.waitingTimes == (0, 0, 0))
    #expect(store.channelCount == 0)
    #expect(scene.core.channels.memoryUse == 0)
  }

  @Test("on disk: the file grows no more once it holds those that are still kept, and in the end it holds none")
  func onDisk() throws {
    let (rounds, each) = (60, max(200, (Self.given ?? 0) / 60))
    let scene = try DiskScene()
    defer { scene.close() }
    var (sizes, memory) = ([Int](), Memory())
    for round in 0..<rounds {
      for index in 0..<each {
        visit(scene.broker, "d:\(round)-\(index)")
        if index % 100 == 99 { scene.runUntilQuiet() }
      }
      scene.runUntilQuiet()
      endRound(scene.broker)
      // What a log with a thread does by itself in five seconds: each portion of a sweep is followed by the next.
      for _ in 0..<8 + each / 500 { scene.sweep() }
      sizes.append(try scene.fileSize())
      memory.look()
    }
    // Half a minute until the history ends, and as long for which epoch and top are known: that is a fifth of the rounds.
    let (early, late) = (sizes[..<(rounds / 2)].max() ?? 0, sizes.max() ?? 0)
    print("\(rounds * each) channels on disk: \(early >> 10) KiB in the first half, \(late >> 10) KiB at most")
    #expect(late <= early + early / 8 + (64 << 10), "\(sizes)")
    #expect(late < 20 * each * 1024 + (256 << 10), "\(sizes)")
    if Self.given != nil { memory.checkFlat("\(rounds * each) channels on disk") }
    scene.broker.pass(60_000)
    for _ in 0..<2 * (8 + rounds * each / 500) { scene.sweep() }
    for round in [0, rounds / 2, rounds - 1] {
      for index in stride(from: 0, to: each, by: 17) {
        let name = ChannelName(stringLiteral: "d:\(round)-\(index)")
        #expect(try !scene.store.look(for: name, durability: .durable).exists)
      }
    }
    #expect(scene.broker.core.channels.isEmpty && scene.store.hot.count == 0)
  }

  /// A broker on an SQLite log whose writer works when it is told to.
  private final class DiskScene {
    let broker: BrokerScene
    let store: SQLiteStore
    private let folder: String
    private let completions = Completions()

    private final class Completions: Sendable {
      let all = Mutex<[LogCompletion]>([])
    }

    init() throws {
      folder = NSTemporaryDirectory() + "/fanfare-channels-" + UUID().uuidString
      var options = SQLiteStore.Options()
      options.isStepped = true
      options.metaTTLMilliseconds = 30_000
      options.quotaNamespaces = ["d"]
      let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      let completions = completions
      store = try SQLiteStore(folder: folder, options: options, logger: quiet) { done in
        completions.all.withLock { $0 += done }
      }
      broker = BrokerScene(store: store) { configuration in
        configuration.idleChannelTimeout = 1000
        configuration.namespaces.namespaces["d"]?.historyTTLMilliseconds = 30_000
      }
      broker.hello(1)
    }

    func runUntilQuiet() {
      repeat {
        store.step()
        let done = completions.all.withLock { all in
          defer { all = [] }
          return all
        }
        broker.perform { broker.core.complete(done, in: &$0) }
        store.stepReaders()
        broker.perform { broker.core.takeNews(in: &$0) }
      } while !broker.core.stores.room.isEmpty || store.bytesWaiting > 0
    }

    func sweep() {
      store.sweep(now: broker.time.wall)
      runUntilQuiet()
    }

    /// The bytes of the database, once nothing stands in the journal.
    func fileSize() throws -> Int {
      store.scrub()
      runUntilQuiet()
      let path = folder + "/" + DataFolder.databaseName
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    func close() {
      store.close()
      try? FileManager.default.removeItem(atPath: folder)
    }
  }
}
