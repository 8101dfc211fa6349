import Foundation
import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

extension LogError {
  fileprivate var isFull: Bool { if case .full = self { true } else { false } }
  fileprivate var isReadOnly: Bool { if case .readOnly = self { true } else { false } }
  fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
}

/// How a test keeps the database from being written, and lets it be written again.
enum Refusal: CaseIterable, CustomTestStringConvertible {
  case full
  case readOnly

  var testDescription: String { self == .full ? "full" : "read-only" }

  var begin: String { self == .full ? "PRAGMA max_page_count = 1" : "PRAGMA query_only = 1" }
  var end: String { self == .full ? "PRAGMA max_page_count = 1000000" : "PRAGMA query_only = 0" }

  func matches(_ error: LogError?) -> Bool {
    guard let error else { return false }
    return self == .full ? error.isFull : error.isReadOnly
  }
}

private let large = [UInt8](repeating: 7, count: 20_000)

@Suite(.ownThread) struct FaultTests {
  @Test(
    "A disk that refuses fails the batch and what follows in it, reading goes on, and it heals by itself",
    arguments: Refusal.allCases)
  func durableRefused(_ refusal: Refusal) throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .durable, data: large)
    try subject.completions.wait(for: 1)
    try subject.perform(refusal.begin)
    let held = HeldWriter(subject)
    for offset in 2...3 as ClosedRange<UInt64> {
      subject.append(name, epoch: epoch, offset: offset, durability: .durable, data: large)
    }
    try held.letGo()
    try subject.completions.wait(for: 3)
    #expect(subject.completions.all.dropFirst().allSatisfy { refusal.matches($0.error) })
    // This entry was appended before the broker heard of the failures: its offset would leave a hole, now and after the
    // disk healed.
    subject.append(name, epoch: epoch, offset: 4, durability: .durable, data: large)
    try subject.completions.wait(for: 4)
    #expect(subject.completions.all.last == LogCompletion(ticket: 4, error: .notContiguous))
    #expect(try subject.offsets(name) == [1])
    try subject.perform(refusal.end)
    subject.append(name, epoch: epoch, offset: 5, durability: .durable)
    subject.append(name, epoch: epoch, offset: 2, durability: .durable)
    try subject.completions.wait(for: 6)
    #expect(subject.completions.all.suffix(2).map(\.error) == [.notContiguous, nil])
    #expect(try subject.offsets(name) == [1, 2])
    #expect(subject.store.bytesWaiting == 0)
  }

  @Test(
    "Relaxed entries that were refused by the disk are read, kept in order and written when it heals",
    arguments: Refusal.allCases)
  func relaxedRefused(_ refusal: Refusal) throws {
    let folder = try TemporaryFolder()
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path)
    let (name, durable) = (try channel("r"), try channel("d"))
    let epoch = try #require(try subject?.store.open(name, durability: .relaxed).position.epoch)
    let durableEpoch = try #require(try subject?.store.open(durable, durability: .durable).position.epoch)
    try subject?.perform(refusal.begin)
    for offset in 1...300 as ClosedRange<UInt64> {
      let outcome = subject?.append(name, epoch: epoch, offset: offset, durability: .relaxed, size: 1000)
      #expect(outcome == .kept)
    }
    subject?.append(durable, epoch: durableEpoch, offset: 1, durability: .durable)
    try subject?.completions.wait(for: 1)
    #expect(refusal.matches(subject?.completions.all.first?.error))
    #expect(try subject?.offsets(name) == Array(1...300))
    #expect((subject?.store.bytesWaiting ?? 0) > 0)
    #expect(subject?.store.isRefusing == true)
    try subject?.perform(refusal.end)
    try eventually { subject?.store.bytesWaiting == 0 }
    #expect(subject?.store.isRefusing == false)
    subject?.store.close()
    subject = nil
    let again = try SQLiteSubject(folder.path)
    #expect(try again.store.open(name, durability: .relaxed).position == StreamPosition(epoch: epoch, offset: 300))
    #expect(try again.offsets(name) == Array(1...300))
  }

  @Test("A shutdown that could not write what was delivered is not clean: the relaxed channel starts an epoch")
  func closedWhileFull() throws {
    let folder = try TemporaryFolder()
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path)
    let name = try channel("r")
    let epoch = try #require(try subject?.store.open(name, durability: .relaxed).position.epoch)
    subject?.append(name, epoch: epoch, offset: 1, durability: .relaxed)
    try eventually { subject?.store.bytesWaiting == 0 }
    try subject?.perform(Refusal.readOnly.begin)
    subject?.append(name, epoch: epoch, offset: 2, durability: .relaxed)
    subject?.store.close()
    subject = nil
    let again = try SQLiteSubject(folder.path)
    let position = try again.store.open(name, durability: .relaxed).position
    #expect(position.offset == 1)
    #expect(position.epoch != epoch)
  }

  @Test("Relaxed entries that the disk refuses are bounded in bytes, and none is dropped")
  func relaxedBacklog() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.backlogLimit = 50_000
    let subject = try SQLiteSubject(folder.path, options: options)
    let name = try channel("r")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    try subject.perform(Refusal.readOnly.begin)
    var offset: UInt64 = 1
    while subject.append(
      name, epoch: epoch, offset: offset, durability: .relaxed, size: 1000, data: .init(repeating: 1, count: 100))
      == .kept
    {
      offset += 1
      try #require(offset < 1000)
    }
    #expect(try subject.offsets(name) == Array(1..<offset))
    try subject.perform(Refusal.readOnly.end)
    try eventually { subject.store.bytesWaiting == 0 }
    #expect(subject.append(name, epoch: epoch, offset: offset, durability: .relaxed, size: 1000) == .kept)
    #expect(try subject.offsets(name) == Array(1...offset))
  }

  @Test(
    "After an fsync that failed nothing is acknowledged until a restart",
    arguments: [ResultCode.ioErrorSync, .ioErrorWrite, .corrupt, .notADatabase].map(\.rawValue))
  func failed(_ code: Int32) throws {
    let folder = try TemporaryFolder()
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path)
    let (durable, relaxed) = (try channel("d"), try channel("r"))
    let epoch = try #require(try subject?.store.open(durable, durability: .durable).position.epoch)
    let relaxedEpoch = try #require(try subject?.store.open(relaxed, durability: .relaxed).position.epoch)
    subject?.append(durable, epoch: epoch, offset: 1, durability: .durable)
    subject?.append(relaxed, epoch: relaxedEpoch, offset: 1, durability: .relaxed)
    try subject?.completions.wait(for: 1)
    _ = subject?.store.ask(.intercept { _ in throw DatabaseError(ResultCode(rawValue: code)) })
    subject?.append(durable, epoch: epoch, offset: 2, durability: .durable)
    try subject?.completions.wait(for: 2)
    #expect(subject?.completions.all.last?.error?.isFailed == true)
    _ = subject?.store.ask(.intercept(nil))
    for (name, epoch, durability) in [(durable, epoch, Durability.durable), (relaxed, relaxedEpoch, .relaxed)] {
      guard case .refused(let error) = subject?.append(name, epoch: epoch, offset: 2, durability: durability) else {
        Issue.record("an append was taken after the disk had failed")
        continue
      }
      #expect(error.isFailed)
    }
    #expect(throws: LogError.self) { try subject?.store.removeHistory(of: durable) }
    #expect(try subject?.offsets(durable) == [1])
    subject?.store.close()
    subject = nil
    let again = try SQLiteSubject(folder.path)
    #expect(try again.store.open(durable, durability: .durable).position == StreamPosition(epoch: epoch, offset: 1))
    #expect(try again.store.open(relaxed, durability: .relaxed).position.epoch != relaxedEpoch)
  }

  @Test("History that could not be removed is an error, and still there")
  func removeRefused() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 1)
    try subject.perform(Refusal.readOnly.begin)
    #expect(throws: LogError.self) { try subject.store.removeHistory(of: name) }
    #expect(try subject.offsets(name) == [1])
  }

  @Test(
    "A real file system without room refuses and heals", .skipUnlessStrict(.tmpfs, isThere: SmallDisk.isPossible))
  func fullFileSystem() throws {
    let disk = try SmallDisk()
    let filler = disk.path + "/filler"
    try Data(count: 1 << 20).write(to: URL(fileURLWithPath: filler))
    let subject = try SQLiteSubject(disk.path + "/data")
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    var offset: UInt64 = 0
    var count = 0
    repeat {
      offset += 1
      count += 1
      subject.append(name, epoch: epoch, offset: offset, durability: .durable, size: 10_000, data: large)
      try subject.completions.wait(for: count)
      try #require(count < 1000)
    } while subject.completions.all.last?.error == nil
    #expect(subject.completions.all.last?.error?.isFull == true)
    #expect(try subject.offsets(name) == Array(1..<offset))
    try FileManager.default.removeItem(atPath: filler)
    subject.append(name, epoch: epoch, offset: offset, durability: .durable, size: 10_000, data: large)
    try subject.completions.wait(for: count + 1)
    #expect(subject.completions.all.last?.error == nil)
    #expect(try subject.offsets(name) == Array(1...offset))
    subject.store.close()
  }
}

/// A file system of four megabytes.
final class SmallDisk {
  private let folder: TemporaryFolder
  var path: String { folder.path }

  init() throws {
    folder = try TemporaryFolder()
    guard mount("tmpfs", folder.path, "tmpfs", 0, "size=4m") == 0 else { throw CocoaError(.fileWriteNoPermission) }
  }

  deinit { _ = umount2(path, Int32(MNT_DETACH)) }

  static let isPossible: Bool = (try? SmallDisk()) != nil
}
