import Foundation
import SQLite
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// The work that the writer does beside entries: it comes to an end, and holds nobody up.
@Suite(.ownThread) struct UpkeepTests {
  @Test("A scrub that meets a reader is done when the reader is through, and publications go on meanwhile")
  func scrubMeetsReader() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 1)
    let journal = folder.path + "/" + DataFolder.databaseName + "-wal"
    func size() throws -> Int { try Data(contentsOf: URL(fileURLWithPath: journal)).count }

    let reader = try DatabaseConnection(path: folder.path + "/" + DataFolder.databaseName, isReadOnly: true)
    try reader.inDatabase { db in
      try db.execute("BEGIN")
      #expect(try db.integer("SELECT count(*) FROM publications") == 1)
    }
    subject.append(name, epoch: epoch, offset: 2, durability: .durable)
    subject.store.scrub()
    subject.append(name, epoch: epoch, offset: 3, durability: .durable)
    try subject.completions.wait(for: 3)
    #expect(subject.completions.all.allSatisfy { $0.error == nil })
    #expect(try size() > 0)
    try reader.inDatabase { try $0.execute("COMMIT") }
    try reader.close()
    try eventually { try size() == 0 }
  }

  @Test("A sweep deletes a bounded number of rows at a time, goes on by itself, and publications go in between")
  func sweepInPortions() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let (old, new) = (try channel("old"), try channel("new"))
    let count = 2 * AgeSweep.rowsPerPortion + 500
    let oldEpoch = try subject.store.open(old, durability: .durable).position.epoch
    for offset in 1...UInt64(count) {
      subject.append(
        old, epoch: oldEpoch, offset: offset, durability: .durable, time: 1000, size: count, ttl: 1000, data: [],
        key: IdempotencyRecord(key: "\(offset)", offset: offset, digest: 0, expires: 2000),
        origin: RequestOrigin(gateway: 1, request: offset))
    }
    try subject.completions.wait(for: count)
    subject.store.scrub()  // So that all of them are in the tables.
    let now: Int64 = 1_000_000
    let deleted = Mutex(0)
    let reply = Reply<Void>()
    let isAsked = subject.store.ask(
      .runInTest(
        { db in
          let before = db.totalChanges
          try db.inTransaction {
            var quotas = QuotaChanges()
            let leavesSome = try AgeSweep(now: now).write(db, &quotas)
            #expect(leavesSome)
          }
          deleted.withLock { $0 = Int(db.totalChanges - before) }
        }, reply))
    #expect(isAsked)
    try reply.wait()
    // One more row that changes is the channel's.
    #expect(deleted.withLock { $0 } <= AgeSweep.rowsPerPortion + 1)

    subject.store.sweep(now: now)
    let newEpoch = try subject.store.open(new, durability: .durable).position.epoch
    subject.append(new, epoch: newEpoch, offset: 1, durability: .durable, time: now)
    try subject.completions.wait(for: count + 1)
    try eventually {
      try ["publications WHERE channel_id = 1", "idempotency", "origins"].allSatisfy { try subject.rows($0) == 0 }
    }
    #expect(try subject.offsets(new) == [1])
  }

  /// Fails a commit that holds the poisoned publication, whether that goes into the tables or into the journal.
  @Sendable private static func rejectPoison(_ db: Database) throws {
    let isFound = try db.integer(
      """
      SELECT EXISTS (SELECT 1 FROM publications WHERE data = x'BAD0')
        OR EXISTS (SELECT 1 FROM journal WHERE instr(entries, x'BAD0'))
      """)
    if isFound == 1 { throw DatabaseError(.constraint, "poisoned") }
  }

  @Test("A publication that the database rejects fails alone, and its channel goes on")
  func rejectedAlone() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let (a, b) = (try channel("a"), try channel("b"))
    let (epochA, epochB) = (
      try subject.store.open(a, durability: .durable).position.epoch,
      try subject.store.open(b, durability: .durable).position.epoch
    )
    let poison: [UInt8] = [0xBA, 0xD0]
    _ = subject.store.ask(
      .intercept(Self.rejectPoison))
    let held = HeldWriter(subject)
    for offset in 1...3 as ClosedRange<UInt64> {
      subject.append(a, epoch: epochA, offset: offset, durability: .durable, data: offset == 2 ? poison : [1])
      subject.append(b, epoch: epochB, offset: offset, durability: .durable)
    }
    try held.letGo()
    try subject.completions.wait(for: 6)
    // Tickets count both channels' entries: 3 is the poisoned one, 5 the one after it.
    let failed = subject.completions.all.filter { $0.error != nil }
    #expect(failed.map(\.ticket) == [3, 5])
    #expect(failed.last?.error == .notContiguous)
    #expect(try subject.offsets(b) == [1, 2, 3])
    subject.append(a, epoch: epochA, offset: 2, durability: .durable)
    try subject.completions.wait(for: 7)
    #expect(subject.completions.all.last?.error == nil)
    #expect(try subject.offsets(a) == [1, 2])
    #expect(try subject.store.open(a, durability: .durable).position == StreamPosition(epoch: epochA, offset: 2))
  }

  @Test("A relaxed publication that the database rejects takes the history before it along, and nothing after it")
  func rejectedRelaxed() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    _ = subject.store.ask(
      .intercept(Self.rejectPoison))
    for offset in 1...4 as ClosedRange<UInt64> {
      let data: [UInt8] = offset == 2 ? [0xBA, 0xD0] : [1]
      #expect(subject.append(name, epoch: epoch, offset: offset, durability: .relaxed, data: data) == .kept)
      try eventually { subject.store.bytesWaiting == 0 }
    }
    let offsets = try subject.offsets(name)
    #expect(offsets == [3, 4])
    #expect(subject.append(name, epoch: epoch, offset: 5, durability: .relaxed) == .kept)
    try eventually { subject.store.bytesWaiting == 0 }
    #expect(try subject.rows("publications") == 3)
  }
}

extension SQLiteSubject {
  /// How many rows a table has once the journal is folded into it.
  func rows(_ table: String) throws -> Int {
    store.scrub()
    let count = Mutex(0)
    let reply = Reply<Void>()
    let isAsked = store.ask(
      .runInTest(
        { db in
          let found = Int(try db.integer("SELECT count(*) FROM \(table)") ?? 0)
          count.withLock { $0 = found }
        }, reply))
    #expect(isAsked)
    try reply.wait()
    return count.withLock { $0 }
  }
}
