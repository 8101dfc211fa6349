import Dispatch
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// Channels that are read together are found as each of them is found alone.
@Suite("Reading many channels of PostgreSQL at once")
struct PostgresChannelsTests {
  @Test(
    "Rows, generations, keys and origins of each are its own",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
  func together() throws {
    let subject = try PostgresSubject { $0.now = { 100_000 } }
    var random = SeededGenerator(seed: 7)
    var names: [ChannelName] = []
    for number in 0..<40 {
      let name = try ChannelName("c:\(number)")
      names.append(name)
      // One in four is a channel that nothing is known of.
      if number % 4 == 3 { continue }
      let durability: Durability = number % 2 == 0 ? .durable : .relaxed
      let epoch = try subject.store.open(name, durability: durability).position.epoch
      for offset in 1...UInt64.random(in: 1...6, using: &random) {
        let entry = LogEntry(
          ticket: subject.nextTicket(), channel: name, epoch: epoch,
          publication: Publication(offset: offset, time: 99_000, data: [1]), durability: durability,
          // Without a history origins stand in a table of their own.
          historySize: number % 3 == 0 ? 0 : 3, historyTTLMilliseconds: 60_000,
          idempotency: Bool.random(using: &random)
            ? IdempotencyRecord(key: "k\(number)-\(offset)", offset: offset, digest: offset, expires: 200_000) : nil,
          origin: Bool.random(using: &random) ? RequestOrigin(gateway: 1, request: UInt64(number) * 10 + offset) : nil)
        #expect(subject.store.append(entry) != .refused(.notContiguous))
      }
    }
    try eventually { subject.store.bytesWaiting == 0 }
    try subject.query("INSERT INTO generations VALUES ($1, 5)", [.int(PostgresSchema.bucket(of: "c:3"))])
    let reader = PostgresReader(try subject.server())
    defer { reader.close() }
    let jobs = names.map { ReadJob.channel($0, now: 100_000, withEntries: false) }
    let together = reader.read(jobs)
    try #require(together.count == jobs.count)
    var (rows, keys, origins, generations) = (0, 0, 0, 0)
    for (index, job) in jobs.enumerated() {
      guard case .channel(let one) = reader.read(job), case .channel(let same) = together[index] else {
        Issue.record("\(names[index]) was not read: \(together[index])")
        continue
      }
      #expect(same.row?.id == one.row?.id && same.row?.epoch == one.row?.epoch && same.row?.top == one.row?.top)
      #expect(same.row?.durability == one.row?.durability && same.row?.ttl == one.row?.ttl)
      #expect(same.generation == one.generation)
      #expect(same.keys.map(\.key) == one.keys.map(\.key) && same.keys.map(\.offset) == one.keys.map(\.offset))
      #expect(same.keys.map(\.digest) == one.keys.map(\.digest) && same.keys.map(\.expires) == one.keys.map(\.expires))
      #expect(same.origins == one.origins)
      rows += same.row == nil ? 0 : 1
      keys += same.keys.count
      origins += same.origins.count
      generations += same.generation > 0 ? 1 : 0
    }
    #expect(rows == 30 && keys > 20 && origins > 20 && generations > 0, "\(rows) \(keys) \(origins) \(generations)")
  }

  @Test("What can be answered together comes to a reader together, and nothing else does")
  func batches() throws {
    let recorder = BatchRecorder()
    let answers = Answers()
    let threads = ReaderThreads([recorder], isStepped: false) { request, _ in answers.add(request.deletions) }
    // The first one keeps the reader busy until the others wait.
    let job = ReadJob.channel("c:1", now: 0, withEntries: false)
    let account = QuotaAccount(namespace: "n", user: "u")
    let other = ReadJob.channel("c:2", now: 0, withEntries: true)
    let jobs = [other] + Array(repeating: job, count: 10) + [other, job, job]
    for (index, job) in jobs.enumerated() {
      threads.ask(ReadRequest(job: job, purpose: .answer(.kept(account)), deletions: index))
    }
    recorder.go()
    try eventually { answers.all.count == jobs.count }
    threads.close()
    #expect(answers.all == Array(0..<jobs.count))
    #expect(recorder.sizes == [1, 4, 4, 2, 1, 2])
  }
}

/// A reader that begins when it is told to, and notes how many jobs come at once.
private final class BatchRecorder: JobReader {
  private let begin = DispatchSemaphore(value: 0)
  private let state = Mutex<[Int]>([])

  var batchSize: Int { 4 }
  var sizes: [Int] { state.withLock { $0 } }

  func go() { begin.signal() }

  func read(_ job: ReadJob) -> ReadJob.Found {
    let isFirst = state.withLock { sizes in
      sizes.append(1)
      return sizes.count == 1
    }
    if isFirst { begin.wait() }
    return .failed(.closed)
  }

  func read(_ jobs: [ReadJob]) -> [ReadJob.Found] {
    state.withLock { $0.append(jobs.count) }
    return jobs.map { _ in .failed(.closed) }
  }

  func close() {}
}

private final class Answers: Sendable {
  private let numbers = Mutex<[Int]>([])

  var all: [Int] { numbers.withLock { $0 } }

  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}
