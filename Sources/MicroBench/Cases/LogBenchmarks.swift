import Foundation
import Log
import Wire

#if canImport(Glibc)
  import Glibc
#endif

extension MicroBenchmark {
  static let log = [
    MicroBenchmark(name: "log-append-memory", about: "one publication into the ring of a channel that keeps 100") {
      let scene = try LogScene(MemoryStore.measured(), .memory)
      scene.append(5_000)
      return { iterations in scene.append(iterations) }
    },
    MicroBenchmark(
      name: "log-append-sqlite",
      about: "one publication handed to the writer thread; what that thread does is not counted"
    ) {
      let folder = try TemporaryFolder()
      var options = SQLiteStore.Options.measured
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
  /// The store's folder, which is deleted after the store is closed.
  private let folder: TemporaryFolder?

  init(_ store: any LogStore, _ durability: Durability, _ folder: TemporaryFolder? = nil) throws {
    self.store = store
    self.durability = durability
    self.folder = folder
    channel = try Samples.channel()
    let open = LogQuestion.open(channel, durability, withEntries: false, ifExists: false)
    guard case .opened(let opened) = Self.answer(of: store, to: open) else {
      throw BrokenBenchmark("the log opens no channel")
    }
    position = opened.position
    append(1)
    let page = LogQuestion.page(channel, LogRange(since: nil, through: 1, limit: 1))
    guard case .page(let publications) = Self.answer(of: store, to: page), publications.count == 1 else {
      throw BrokenBenchmark("the log keeps nothing")
    }
  }

  deinit { store.close() }

  private static func answer(of store: any LogStore, to question: LogQuestion) -> LogAnswer {
    if let answer = store.ask(question) { return answer }
    while true {
      for case .answered(question, let answer) in store.takeNews() { return answer }
      sched_yield()
    }
  }

  func append(_ iterations: Int) {
    var publication = Samples.publication
    for _ in 0..<iterations {
      position.offset += 1
      publication.offset = position.offset
      let entry = LogEntry(
        ticket: position.offset, channel: channel, epoch: position.epoch, publication: publication,
        durability: durability, historySize: 100, historyTTLMilliseconds: 60_000,
        origin: RequestOrigin(gateway: 1, request: position.offset))
      keep(store.append(.one(entry)))
    }
  }
}
