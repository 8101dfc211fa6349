import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

@Suite(.ownThread) struct TailTests {
  @Test("Recent publications are read without SQLite; after a restart once from it, then without")
  func hotReads() throws {
    let folder = try TemporaryFolder()
    let name = try channel("a")
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path)
    let epoch = try #require(try subject?.store.open(name, durability: .durable).position.epoch)
    for offset in 1...100 as ClosedRange<UInt64> {
      subject?.append(name, epoch: epoch, offset: offset, durability: .durable, size: 50)
    }
    try subject?.completions.wait(for: 100)
    #expect(try subject?.offsets(name) == Array(51...100))
    #expect(subject?.store.coldReadCount == 0)
    subject?.store.close()
    subject = nil
    let again = try SQLiteSubject(folder.path)
    _ = try again.store.open(name, durability: .durable)
    for _ in 0..<5 { #expect(try again.offsets(name) == Array(51...100)) }
    #expect(again.store.coldReadCount == 1)
  }

  @Test("A change of an old publication shows at once on a relaxed channel, though the disk does not take it yet")
  func relaxedEditOfOld() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    let count = UInt64(HotChannel.tailLimit) + 10
    for offset in 1...count { subject.append(name, epoch: epoch, offset: offset, durability: .relaxed, size: 2000) }
    try subject.perform("SELECT 1")
    #expect(subject.store.ask(.intercept { _ in throw DatabaseError(.full, "simulated") }))
    for (offset, text) in [(count + 1, "first"), (count + 2, "second")] {
      let replacement = Publication(offset: 1, time: 1000, data: Array(text.utf8))
      let notice = Publication(offset: offset, time: 1000, data: [])
      let entry = LogEntry(
        ticket: subject.nextTicket(), channel: name, epoch: epoch, publication: notice, durability: .relaxed,
        historySize: 2000, historyTTLMilliseconds: 1_000_000, edit: LogEdit(replacement: replacement))
      #expect(subject.store.append(entry) == .kept)
      let read = try subject.store.read(name, LogRange(since: 0, through: offset, limit: 1))
      #expect(read.map(\.data) == [Array(text.utf8)])
    }
    #expect(subject.store.ask(.intercept(nil)))
  }

  @Test("A tail holds at most 256 publications and 256 KiB of a channel; older ones come from SQLite")
  func channelBounds() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let (many, large) = (try channel("many"), try channel("large"))
    let manyEpoch = try subject.store.open(many, durability: .durable).position.epoch
    let largeEpoch = try subject.store.open(large, durability: .durable).position.epoch
    for offset in 1...1000 as ClosedRange<UInt64> {
      subject.append(many, epoch: manyEpoch, offset: offset, durability: .durable, size: 2000, data: [])
    }
    try subject.completions.wait(for: 1000)
    #expect(try subject.offsets(many) == Array(1...1000))
    #expect(subject.store.bytesKept == HotChannel.tailLimit * Publication(data: []).cost)
    let before = subject.store.bytesKept
    for offset in 1...50 as ClosedRange<UInt64> {
      subject.append(
        large, epoch: largeEpoch, offset: offset, durability: .durable, data: .init(repeating: 1, count: 10_000))
    }
    try subject.completions.wait(for: 1050)
    #expect(try subject.offsets(large) == Array(1...50))
    #expect(subject.store.bytesKept - before <= HotChannel.tailBytesLimit)
    #expect(subject.store.bytesKept - before > HotChannel.tailBytesLimit / 2)
  }

  @Test("All tails together are bounded; the least recently used channel loses its own first")
  func overallBounds() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.tailLimit = 100_000
    let subject = try SQLiteSubject(folder.path, options: options)
    let names = try (0..<30).map { try channel("c\($0)") }
    var count = 0
    for name in names {
      let epoch = try subject.store.open(name, durability: .durable).position.epoch
      for offset in 1...10 as ClosedRange<UInt64> {
        subject.append(
          name, epoch: epoch, offset: offset, durability: .durable, data: .init(repeating: 1, count: 1000))
        count += 1
      }
      try subject.completions.wait(for: count)
    }
    let last = try #require(names.last)
    #expect(try subject.offsets(last) == Array(1...10))
    #expect(subject.store.coldReadCount == 0)
    #expect(subject.store.bytesKept <= 100_000)
    for name in names { #expect(try subject.offsets(name) == Array(1...10)) }
    #expect(subject.store.coldReadCount > 0)
    #expect(subject.store.bytesKept <= 100_000)
  }

  @Test("A channel that was released goes on in its epoch", arguments: [Durability.relaxed, .durable])
  func idleChannel(_ durability: Durability) throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.now = { 1000 }
    let subject = try SQLiteSubject(folder.path, options: options)
    let (used, unused) = (try channel("used"), try channel("unused"))
    let epoch = try subject.store.open(used, durability: durability).position.epoch
    let unusedEpoch = try subject.store.open(unused, durability: durability).position.epoch
    subject.append(used, epoch: epoch, offset: 1, durability: durability, ttl: 100_000_000)
    try eventually { subject.store.bytesWaiting == 0 }
    for name in [used, unused] { subject.store.release(name) }
    #expect(subject.store.bytesKept == 0)
    #expect(try subject.offsets(used) == [1])
    #expect(try subject.store.open(used, durability: durability).position == .init(epoch: epoch, offset: 1))
    #expect(try subject.store.open(unused, durability: durability).position == .init(epoch: unusedEpoch, offset: 0))
    subject.append(used, epoch: epoch, offset: 2, durability: durability, ttl: 100_000_000)
    subject.append(unused, epoch: unusedEpoch, offset: 1, durability: durability)
    try eventually { subject.store.bytesWaiting == 0 }
    #expect(try subject.offsets(used) == [1, 2])
    #expect(try subject.offsets(unused) == [1])
    #expect(try subject.store.open(unused, durability: durability).position.epoch == unusedEpoch)
  }

  @Test(
    "Thousands of random operations read the same from disk, hot or cold, as from memory",
    arguments: DiskKind.allCases.flatMap { kind in [Durability.relaxed, .durable].map { (kind, $0) } },
    [1, 2, 3] as [UInt64])
  func sameAsMemory(_ store: (kind: DiskKind, durability: Durability), seed: UInt64) throws {
    var model = try DifferentialModel(store.kind, store.durability, seed: seed)
    for _ in 0..<3000 { try model.step() }
    #expect(model.readCount > 1000)
    #expect(model.coldReadCount > 0)
  }
}
