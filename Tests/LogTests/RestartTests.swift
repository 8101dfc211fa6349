import Foundation
import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

@Suite(.ownThread) struct RestartTests {
  @Test(
    "A clean restart keeps epochs, publications, keys and origins", arguments: [Durability.relaxed, .durable],
    DiskKind.allCases)
  func cleanRestart(_ durability: Durability, _ kind: DiskKind) throws {
    let name = try channel("a")
    let origin = RequestOrigin(gateway: 7, request: .max)
    let key = IdempotencyRecord(key: "k", offset: 3, digest: .max, expires: 9000)
    let first = try DiskSubject(kind, now: 1000)
    let epoch = try first.store.open(name, durability: durability).position.epoch
    for offset in 1...2 as ClosedRange<UInt64> {
      first.append(name, epoch: epoch, offset: offset, durability: durability)
    }
    first.append(name, epoch: epoch, offset: 3, durability: durability, key: key, origin: origin)
    let second = try first.again()
    let opened = try second.store.open(name, durability: durability)
    #expect(opened.position == StreamPosition(epoch: epoch, offset: 3))
    #expect(opened.idempotencyKeys == [key])
    #expect(opened.recentOrigins == [origin: 3])
    #expect(try second.offsets(name) == [1, 2, 3])
  }

  @Test(
    "Who asked for a publication is known for a minute, also where a short history has dropped it",
    arguments: DiskKind.allCases)
  func originsOutliveHistory(_ kind: DiskKind) throws {
    let name = try channel("a")
    let first = try DiskSubject(kind, now: 1000)
    let epoch = try first.store.open(name, durability: .durable).position.epoch
    for offset in 1...5 as ClosedRange<UInt64> {
      first.append(
        name, epoch: epoch, offset: offset, durability: .durable, size: 2, origin: .init(gateway: 7, request: offset))
      // One transaction for each entry, because a batch writes the origins of what it drops itself on another path.
      try first.completions.wait(for: Int(offset))
    }
    // Where a sweep is what drops it, it must have done so.
    first.store.sweep(now: 1000)
    try first.settle()
    #expect(try first.rows("publications") == 2)
    let second = try first.again()
    let opened = try second.store.open(name, durability: .durable)
    #expect(opened.recentOrigins.values.sorted() == [1, 2, 3, 4, 5])
  }

  @Test(
    "Who asked for a publication is known for a minute, also where the history was removed",
    arguments: DiskKind.allCases)
  func originsOutliveRemoval(_ kind: DiskKind) throws {
    let name = try channel("a")
    let first = try DiskSubject(kind, now: 1000)
    let epoch = try first.store.open(name, durability: .durable).position.epoch
    first.append(name, epoch: epoch, offset: 1, durability: .durable, origin: .init(gateway: 7, request: 1))
    try first.completions.wait(for: 1)
    try first.store.removeHistory(of: name)
    #expect(try first.rows("publications") == 0)
    let second = try first.again()
    #expect(try second.store.open(name, durability: .durable).recentOrigins == [.init(gateway: 7, request: 1): 1])
  }

  @Test("Keys that expired and origins older than a minute are not given back", arguments: DiskKind.allCases)
  func staleTraces(_ kind: DiskKind) throws {
    let name = try channel("a")
    let subject = try DiskSubject(kind, now: 100_000)
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    for (offset, time) in [(1, 39_999), (2, 40_000)] as [(UInt64, Int64)] {
      subject.append(
        name, epoch: epoch, offset: offset, durability: .durable, time: time,
        key: .init(key: "\(offset)", offset: offset, digest: 0, expires: time + 60_001),
        origin: .init(gateway: 1, request: offset))
    }
    try subject.completions.wait(for: 2)
    let opened = try subject.store.open(name, durability: .durable)
    #expect(opened.idempotencyKeys.map(\.key) == ["2"])
    #expect(opened.recentOrigins == [.init(gateway: 1, request: 2): 2])
  }

  @Test("Killed at any moment: what was completed is there, contiguous and once; relaxed channels start an epoch")
  func crashImages() throws { try Self.compareImages() }

  private static func compareImages() throws {
    let folder = try TemporaryFolder()
    var generator = SeededGenerator(seed: 11)
    let subject = try SQLiteSubject(folder.path)
    let durable = try channel("durable")
    let relaxed = try channel("relaxed")
    let durableEpoch = try subject.store.open(durable, durability: .durable).position.epoch
    let relaxedEpoch = try subject.store.open(relaxed, durability: .relaxed).position.epoch
    var offset: UInt64 = 0
    for round in 0..<25 {
      for _ in 0..<Int.random(in: 1...400, using: &generator) {
        offset += 1
        let data = [UInt8](repeating: UInt8(truncatingIfNeeded: offset), count: .random(in: 0...300, using: &generator))
        subject.append(durable, epoch: durableEpoch, offset: offset, durability: .durable, size: 1 << 20, data: data)
        subject.append(relaxed, epoch: relaxedEpoch, offset: offset, durability: .relaxed, size: 1 << 20, data: data)
      }
      if round % 3 == 0 { try subject.completions.wait(for: Int.random(in: 0...Int(offset), using: &generator)) }
      let completed = UInt64(subject.completions.all.count)
      let image = try TemporaryFolder()
      try CrashImage.copy(folder.path, to: image.path)

      let survivor = try SQLiteSubject(image.path)
      let opened = try survivor.store.open(durable, durability: .durable)
      #expect(opened.position.epoch == durableEpoch)
      #expect(opened.position.offset >= completed)
      let offsets = try survivor.offsets(durable)
      #expect(offsets == Array(1..<opened.position.offset + 1))
      let reopened = try survivor.store.open(relaxed, durability: .relaxed)
      #expect(reopened.position.epoch != relaxedEpoch)
      #expect(try survivor.offsets(relaxed) == Array(1..<reopened.position.offset + 1))
    }
    try subject.completions.wait(for: Int(offset))
    #expect(subject.completions.all.allSatisfy { $0.error == nil })
  }

  @Test("Each crash gives relaxed channels another epoch, and a clean restart after it keeps that one")
  func epochAfterEpoch() throws {
    let folders = try (0..<3).map { _ in try TemporaryFolder() }
    let name = try channel("a")
    var epochs: [String] = []
    for index in 0..<2 {
      let subject = try SQLiteSubject(folders[index].path)
      let position = try subject.store.open(name, durability: .relaxed).position
      epochs.append(position.epoch)
      subject.append(name, epoch: position.epoch, offset: position.offset + 1, durability: .relaxed)
      try eventually { subject.store.bytesWaiting == 0 }
      try CrashImage.copy(folders[index].path, to: folders[index + 1].path)
    }
    for _ in 0..<2 {
      let subject = try SQLiteSubject(folders[2].path)
      let position = try subject.store.open(name, durability: .relaxed).position
      #expect(position.offset == 2)
      epochs.append(position.epoch)
      subject.store.close()
    }
    #expect(epochs[2] == epochs[3])
    #expect(Set(epochs).count == 3)
  }

  @Test("A channel whose durability changes starts an epoch, and goes on counting", arguments: DiskKind.allCases)
  func changedDurability(_ kind: DiskKind) throws {
    let name = try channel("a")
    var epochs: [String] = []
    var subject = try DiskSubject(kind)
    for (index, durability) in [Durability.relaxed, .durable, .durable, .relaxed].enumerated() {
      if index > 0 { subject = try subject.again() }
      let position = try subject.store.open(name, durability: durability).position
      #expect(position.offset == UInt64(index))
      epochs.append(position.epoch)
      subject.append(name, epoch: position.epoch, offset: UInt64(index) + 1, durability: durability)
    }
    #expect(epochs[1] == epochs[2])
    #expect(Set(epochs).count == 3)
  }

  @Test("A WAL cut at any byte leaves a clean prefix, and new epochs where something acknowledged is missing")
  func cutLog() throws {
    let folder = try TemporaryFolder()
    let name = try channel("a")
    let subject = try SQLiteSubject(folder.path)
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    for offset in 1...30 as ClosedRange<UInt64> {
      subject.append(name, epoch: epoch, offset: offset, durability: .durable)
      try subject.completions.wait(for: Int(offset))
    }
    let whole = try TemporaryFolder()
    try CrashImage.copy(folder.path, to: whole.path)
    let wal = DataFolder.databaseName + "-wal"
    let size = try Data(contentsOf: URL(fileURLWithPath: whole.path + "/" + wal)).count
    var generator = SeededGenerator(seed: 3)
    var (opened, refused) = (0, 0)
    for _ in 0..<25 {
      let image = try TemporaryFolder()
      try CrashImage.copy(folder.path, to: image.path)
      let cut = Int.random(in: 0..<size, using: &generator)
      let handle = try #require(FileHandle(forWritingAtPath: image.path + "/" + wal))
      try handle.truncate(atOffset: UInt64(cut))
      try handle.close()
      let survivor: SQLiteSubject
      do {
        survivor = try SQLiteSubject(image.path)
      } catch let error as StartError {
        // To refuse the file is as good as to read a shorter log, which most cuts give, since a WAL's frames have
        // checksums.
        guard case .damaged = error else { throw error }
        refused += 1
        continue
      }
      opened += 1
      let position = try survivor.store.open(name, durability: .durable).position
      #expect(try survivor.offsets(name) == Array(1..<position.offset + 1))
      #expect(position.epoch != epoch)
    }
    #expect(opened >= 20, "\(opened) opened, \(refused) were refused as damaged")
  }

  @Test("A backup restored without its mark gives every channel a new epoch")
  func restoredBackup() throws {
    let folder = try TemporaryFolder()
    let name = try channel("a")
    for _ in 0..<2 {
      let subject = try SQLiteSubject(folder.path)
      let position = try subject.store.open(name, durability: .durable).position
      if position.offset > 0 { break }
      subject.append(name, epoch: position.epoch, offset: 1, durability: .durable)
      subject.store.close()
      try FileManager.default.removeItem(atPath: folder.path + "/" + DataFolder.markName)
      let restored = try SQLiteSubject(folder.path)
      let after = try restored.store.open(name, durability: .durable).position
      #expect(after.offset == 1)
      #expect(after.epoch != position.epoch)
      restored.store.close()
    }
  }

  @Test("A second broker on the same folder is refused, until the first has closed")
  func lock() throws {
    let folder = try TemporaryFolder()
    var first: SQLiteSubject? = try SQLiteSubject(folder.path)
    #expect(throws: StartError.inUse(folder: folder.path)) { try SQLiteSubject(folder.path) }
    first?.store.close()
    first = nil
    _ = try SQLiteSubject(folder.path)
  }

  @Test("A damaged, foreign or newer file is a sentence at the start, never a crash")
  func damagedFiles() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/" + DataFolder.databaseName
    try Data("not a database, by any means, however long one looks at it".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: StartError.self) { try SQLiteSubject(folder.path) }
    try FileManager.default.removeItem(atPath: path)

    let name = try channel("a")
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path)
    let epoch = try #require(try subject?.store.open(name, durability: .durable).position.epoch)
    for offset in 1...50 as ClosedRange<UInt64> {
      subject?.append(
        name, epoch: epoch, offset: offset, durability: .durable, data: .init(repeating: 9, count: 2000))
    }
    subject?.store.close()
    subject = nil
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    for share in 1..<10 {
      try whole.prefix(whole.count * share / 10).write(to: URL(fileURLWithPath: path))
      #expect(throws: StartError.self) { try SQLiteSubject(folder.path) }
    }
    try whole.write(to: URL(fileURLWithPath: path))
    try DatabaseConnection(path: path).inDatabase { try $0.execute("INSERT INTO grdb_migrations VALUES ('v999')") }
    #expect(throws: StartError.newerSchema(path)) { try SQLiteSubject(folder.path) }
  }

  @Test("Nobody but the owner may read the files of the log")
  func permissions() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 5)
    for name in names {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
    }
    subject.store.close()
  }

  @Test("A folder that cannot be made is a sentence at the start")
  func unusableFolder() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    #expect(throws: StartError.self) { try SQLiteSubject(folder.path + "/file/data") }
  }

  @Test("Commits are synchronous: the writer runs with synchronous=FULL in WAL mode")
  func pragmas() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let reply = Reply<Void>()
    let isAsked = subject.store.ask(
      .runInTest(
        { db in
          let mode = try db.text("PRAGMA journal_mode")
          let level = try db.integer("PRAGMA synchronous")
          if mode != "wal" || level != 2 { throw DeadlineExceeded() }
        }, reply))
    #expect(isAsked)
    try reply.wait()
  }
}
