import Foundation
import Log
import Wire

extension MicroBenchmark {
  static let log = [
    MicroBenchmark(name: "log-append-memory", about: "one publication into the ring of a channel that keeps 100") {
      let scene = try LogScene(MemoryStore(), .memory)
      scene.append(5_000)
      return { iterations in scene.append(iterations) }
    },
    MicroBenchmark(
      name: "log-append-sqlite",
      about: "one publication handed to the writer thread; what that thread does is not counted"
    ) {
      let folder = try TemporaryFolder()
      var options = SQLiteStore.Options()
      // The writer sleeps throughout, so that its work is not counted too.
      options.relaxedDelayMilliseconds = 3_600_000
      let store = try SQLiteStore(folder: folder.url.path, options: options) { _ in }
      let scene = try LogScene(store, .relaxed, folder)
      scene.append(5_000)
      return { iterations in scene.append(iterations) }
    },
  ]
}

/// A store with one channel.
private final class LogScene {
  private let store: any LogStore
  private let channel: ChannelName
  private let durability: Durability
  private var position: StreamPosition
  /// Goes after the store.
  private let folder: TemporaryFolder?

  init(_ store: any LogStore, _ durability: Durability, _ folder: TemporaryFolder? = nil) throws {
    self.store = store
    self.durability = durability
    self.folder = folder
    channel = try Samples.channel()
    position = try store.open(channel, durability: durability).position
    append(1)
    guard try store.read(channel, LogRange(since: nil, through: 1, limit: 1)).count == 1 else {
      throw BrokenBenchmark("the log keeps nothing")
    }
  }

  deinit { store.close() }

  func append(_ iterations: Int) {
    var publication = Samples.publication
    for _ in 0..<iterations {
      position.offset += 1
      publication.offset = position.offset
      let entry = LogEntry(
        ticket: position.offset, channel: channel, epoch: position.epoch, publication: publication,
        durability: durability, historySize: 100, historyTTLMilliseconds: 60_000,
        origin: RequestOrigin(gateway: 1, request: position.offset))
      keep(store.append(entry))
    }
  }
}
