import Dispatch
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// Holds the writer thread until it is let go.
final class HeldWriter {
  private let release = DispatchSemaphore(value: 0)
  private let reply = Reply<Void>()

  init(_ subject: SQLiteSubject) {
    let (release, held) = (release, DispatchSemaphore(value: 0))
    let isAsked = subject.store.ask(
      .runInTest(
        { _ in
          held.signal()
          release.wait()
        }, reply))
    #expect(isAsked)
    held.wait()
  }

  /// A test that failed must not leave the writer held, because closing the store waits for the writer.
  deinit { release.signal() }

  func letGo() throws {
    release.signal()
    try reply.wait()
  }
}

@Suite(.ownThread) struct GroupCommitTests {
  @Test("What waits while the writer is busy goes into one transaction, and completes in order")
  func oneTransaction() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let names = try (0..<10).map { try channel("c\($0)") }
    let epochs = try names.map { try subject.store.open($0, durability: .durable).position.epoch }
    let held = HeldWriter(subject)
    for offset in 1...100 as ClosedRange<UInt64> {
      for (name, epoch) in zip(names, epochs) {
        #expect(subject.append(name, epoch: epoch, offset: offset, durability: .durable) == .pending)
      }
    }
    #expect(subject.completions.all.isEmpty)
    let before = subject.store.writer.transactionCount.load(ordering: .relaxed)
    try held.letGo()
    try subject.completions.wait(for: 1000)
    #expect(subject.completions.all == (1...1000).map { LogCompletion(ticket: $0) })
    #expect(subject.store.writer.transactionCount.load(ordering: .relaxed) == before + 1)
  }

  @Test("A transaction is bounded in entries")
  func boundedTransactions() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    let held = HeldWriter(subject)
    let count = LogWriter.entriesPerTransaction + 1
    for offset in 1...UInt64(count) {
      subject.append(name, epoch: epoch, offset: offset, durability: .durable, data: [])
    }
    try held.letGo()
    try subject.completions.wait(for: count)
    #expect(subject.store.writer.transactionCount.load(ordering: .relaxed) == 2)
    #expect(try subject.offsets(name) == Array(UInt64(count) - 99...UInt64(count)))
  }

  @Test("Relaxed entries are kept at once, and written together a moment later")
  func relaxedTogether() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.relaxedDelayMilliseconds = 300
    let subject = try SQLiteSubject(folder.path, options: options)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    let clock = ContinuousClock()
    let elapsed = clock.measure {
      for offset in 1...50 as ClosedRange<UInt64> {
        #expect(subject.append(name, epoch: epoch, offset: offset, durability: .relaxed) == .kept)
      }
    }
    #expect(try subject.offsets(name).count == 50)
    try eventually { subject.store.bytesWaiting == 0 }
    // One transaction, unless the appends themselves took longer than a relaxed entry may wait for others.
    let most = 1 + Int(elapsed / .milliseconds(300))
    #expect((1...most).contains(subject.store.writer.transactionCount.load(ordering: .relaxed)))
    #expect(subject.completions.all.isEmpty)
  }

  @Test("A durable entry takes the relaxed ones that wait along")
  func durableTakesRelaxed() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.relaxedDelayMilliseconds = 3_600_000
    let subject = try SQLiteSubject(folder.path, options: options)
    let (relaxed, durable) = (try channel("r"), try channel("d"))
    let relaxedEpoch = try subject.store.open(relaxed, durability: .relaxed).position.epoch
    let durableEpoch = try subject.store.open(durable, durability: .durable).position.epoch
    subject.append(relaxed, epoch: relaxedEpoch, offset: 1, durability: .relaxed)
    subject.append(durable, epoch: durableEpoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 1)
    #expect(subject.store.bytesWaiting == 0)
    #expect(subject.store.writer.transactionCount.load(ordering: .relaxed) == 1)
  }

  @Test("Closing writes what waits and completes it")
  func closeWrites() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.relaxedDelayMilliseconds = 3_600_000
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path, options: options)
    let name = try channel("r")
    let epoch = try #require(try subject?.store.open(name, durability: .relaxed).position.epoch)
    for offset in 1...5000 as ClosedRange<UInt64> {
      subject?.append(name, epoch: epoch, offset: offset, durability: .relaxed, size: 10_000)
    }
    subject?.store.close()
    subject = nil
    let again = try SQLiteSubject(folder.path)
    #expect(try again.store.open(name, durability: .relaxed).position == StreamPosition(epoch: epoch, offset: 5000))
    #expect(try again.offsets(name) == Array(1...5000))
  }

  @Test("More bytes than may wait are refused, and taken again when some are written")
  func backlog() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.backlogLimit = 100_000
    let subject = try SQLiteSubject(folder.path, options: options)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    let held = HeldWriter(subject)
    var offset: UInt64 = 1
    var outcome = AppendOutcome.pending
    while outcome == .pending, offset < 1000 {
      outcome = subject.append(
        name, epoch: epoch, offset: offset, durability: .durable, data: .init(repeating: 1, count: 1000))
      offset += 1
    }
    #expect(outcome == .refused(.backlog(bytes: subject.store.bytesWaiting)))
    #expect(subject.store.bytesWaiting <= 100_000)
    #expect(subject.store.bytesWaiting > 90_000)
    try held.letGo()
    try subject.completions.wait(for: Int(offset) - 2)
    #expect(subject.store.bytesWaiting == 0)
    #expect(subject.append(name, epoch: epoch, offset: offset - 1, durability: .durable) == .pending)
    try subject.completions.wait(for: Int(offset) - 1)
    #expect(subject.completions.all.allSatisfy { $0.error == nil })
  }
}
