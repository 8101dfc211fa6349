import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Vault
import Wire

@testable import Log

/// Wrapped keys beside the log: only who has the lease changes them, and who has it anew has read them anew.
@Suite(
  "Keys in the log's database", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresKeysTests {
  private func row(_ name: String, _ version: Int64, _ text: String) -> KeyRow {
    KeyRow(name: name, version: version, box: Array(text.utf8))
  }

  private func boxes(_ subject: PostgresSubject) throws -> [String] {
    let rows = try subject.query("SELECT name, version, box FROM keys ORDER BY name")
    return (0..<rows.count).map { "\(rows.text($0, 0)) \(rows.int($0, 1)) \(rows.text($0, 2))" }
  }

  private func replace(_ subject: PostgresSubject, _ row: KeyRow, under lease: UInt64) -> LogError? {
    do throws(LogError) { try subject.store.keys.replace(row, under: lease) } catch { return error }
    return nil
  }

  @Test("What one store has saved the next one reads, whether the first closed or died")
  func takeover() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.silenceMilliseconds = 5000 }
    let lease = try first.store.keys.all().lease
    #expect(try first.store.keys.all().rows == [] && lease == first.store.term)
    #expect(replace(first, row("a", 1, "one"), under: lease) == nil)
    #expect(replace(first, row("b", 1, "other\0"), under: lease) == nil)
    #expect(replace(first, row("a", 2, "two"), under: lease) == nil)
    // The process ends with its sessions, and does not come again.
    proxy.set(.mute)
    proxy.cut()
    let second = try PostgresSubject(schema: first.schema)
    let found = try second.store.keys.all()
    #expect(found.rows == [row("a", 2, "two"), row("b", 1, "other\0")] && found.lease > lease)
    second.store.close()
    #expect(replace(second, row("a", 3, "three"), under: found.lease) == .closed)
    let third = try PostgresSubject(schema: first.schema)
    #expect(try third.store.keys.all().rows == found.rows)
    third.store.close()
  }

  @Test("A change whose number does not follow is refused, and nothing of it is there")
  func order() throws {
    let subject = try PostgresSubject()
    let lease = subject.store.term
    #expect(replace(subject, row("a", 1, "one"), under: lease) == nil)
    for version in [1, 3, 7] as [Int64] {
      guard case .rejected? = replace(subject, row("a", version, "other"), under: lease) else {
        Issue.record("version \(version) followed version 1")
        continue
      }
    }
    guard case .rejected? = replace(subject, row("b", 2, "other"), under: lease) else {
      Issue.record("version 2 followed none")
      return
    }
    #expect(replace(subject, row("a", 2, "two"), under: lease) == nil)
    #expect(try boxes(subject) == ["a 2 two"])
    subject.store.close()
  }

  @Test("The statement itself refuses who has another lease, or comes out of turn, whatever the number of the change")
  func fence() throws {
    let subject = try PostgresSubject()
    #expect(replace(subject, row("a", 1, "one"), under: subject.store.term) == nil)
    subject.store.close()
    let now = try subject.query("SELECT epoch, seq FROM shards WHERE shard = 0")
    let call = "SELECT replace_keys($1, $2, 1000, 'a', 2, 'other'::bytea)"
    for (epoch, seq) in [(now.int(0, 0) - 1, now.int(0, 1)), (now.int(0, 0), now.int(0, 1) - 1)] {
      do {
        try subject.query(call, [.int(epoch), .int(seq)])
        Issue.record("epoch \(epoch) and sequence \(seq) are not the lease's")
      } catch let error as PostgresError { #expect(error.state?.code == PostgresFunctions.fenced) }
    }
    #expect(try boxes(subject) == ["a 1 one"])
    try subject.query(call, [.int(now.int(0, 0)), .int(now.int(0, 1))])
    #expect(try boxes(subject) == ["a 2 other"])
  }

  @Test("A change that a connection broke off under way is made once, and its maker hears of it")
  func brokenConnection() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let subject = try PostgresSubject(connection: proxy.connection)
    for version in 1...20 as ClosedRange<Int64> {
      if version.isMultiple(of: 2) { proxy.cut() }
      #expect(replace(subject, row("a", version, "v\(version)"), under: subject.store.term) == nil)
    }
    #expect(try boxes(subject) == ["a 20 v20"])
    subject.store.close()
  }

  @Test(
    "A paused owner changes nothing when it wakes up, and has its successor's keys before it hears that it is owner again"
  )
  func fenced() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.leaseMilliseconds = 4000 }
    let lease = first.store.term
    let (waiting, table) = (FateBox(), first.store.keys)
    table.whenRegained { rows, lease in waiting.taken.withLock { $0.append(FoundKeys(rows: rows, lease: lease)) } }
    #expect(replace(first, row("a", 1, "first"), under: lease) == nil)
    proxy.set(.paused)
    Thread.detachNewThread {
      do throws(LogError) {
        try table.replace(KeyRow(name: "a", version: 2, box: Array("late".utf8)), under: lease)
        waiting.fate.withLock { $0 = .some(nil) }
      } catch { waiting.fate.withLock { $0 = .some(error) } }
    }
    let second = try PostgresSubject(schema: first.schema)
    var found = try second.store.keys.all()
    #expect(found.rows == [row("a", 1, "first")])
    proxy.set(.open)
    try eventually { waiting.fate.withLock { $0 } != nil }
    #expect(waiting.fate.withLock { $0 } == .some(.fenced))
    #expect(replace(first, row("a", 2, "late"), under: lease) == .fenced)
    #expect(try boxes(second) == ["a 1 first"])
    // The owner may have missed a renewal on a busy machine, and have the lease anew.
    try eventually {
      found = try second.store.keys.all()
      return replace(second, row("a", 2, "second"), under: found.lease) == nil
    }
    second.store.close()
    _ = try first.news { $0.contains(.regained) }
    let now = first.store.term
    let read = waiting.taken.withLock { $0.last }
    #expect(read?.rows == [row("a", 2, "second")] && read?.lease == now)
    // The number fits, and the lease does not.
    #expect(replace(first, row("a", 3, "late"), under: lease) == .fenced)
    #expect(replace(first, row("a", 3, "third"), under: now) == nil)
    #expect(try boxes(first) == ["a 3 third"])
    first.store.close()
  }

  @Test("In another partition home's rows are read, as soon as there are some, and nothing is ever written")
  func visitor() throws {
    let other = try PostgresSubject { ($0.partition, $0.partitions) = (1, 2) }
    #expect(try other.store.keys.all().rows == [])
    let home = try PostgresSubject(schema: other.schema) { $0.partitions = 2 }
    for version in 1...3 as ClosedRange<Int64> {
      #expect(replace(home, row("a", version, "v\(version)"), under: home.store.term) == nil)
      let found = try other.store.keys.all()
      #expect(found.rows == [row("a", version, "v\(version)")] && found.lease == other.store.term)
      for lease in [found.lease, home.store.term] {
        #expect(replace(other, row("a", version + 1, "other"), under: lease) == .fenced)
        #expect(replace(other, row("b", 1, "other"), under: lease) == .fenced)
      }
    }
    #expect(try boxes(home) == ["a 3 v3"] && home.rows("\(home.schema)_p1.keys") == 0)
    #expect(!other.store.takeNews().contains(.lost), "it has its partition as before")
    home.store.close()
    // As where home was never begun by a version that has the table.
    try home.query("DROP TABLE keys")
    #expect(try other.store.keys.all().rows == [])
    other.store.close()
  }

  /// What became of a change that another thread makes; nil: it is under way.
  private final class FateBox: Sendable {
    let fate = Mutex<LogError??>(nil)
    /// What was read whenever the lease was taken again.
    let taken = Mutex<[FoundKeys]>([])
  }

  @Test("Who cannot use the keys that it finds gives the lease back, so that another one has it")
  func unusable() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let lines = LogLines()
    let first = try PostgresSubject(
      connection: proxy.connection, logger: Logger(label: "test") { _ in lines }
    ) { $0.leaseMilliseconds = 4000 }
    first.store.keys.whenRegained { _, _ in throw VaultFault.unopened(name: "a", path: "m") }
    proxy.set(.paused)
    let second = try PostgresSubject(schema: first.schema)
    proxy.set(.open)
    _ = try first.news { $0.contains(.lost) }
    second.store.close()
    try eventually { lines.all.contains { $0.contains("could not be begun: no line of m opens a") } }
    let third = try PostgresSubject(schema: first.schema)
    #expect(!first.store.takeNews().contains(.regained))
    third.store.close()
    first.store.close()
  }

  // MARK: With the vault

  /// The table as a vault uses it: as in the server.
  private struct StoreBoxes: KeyBoxes {
    let table: PostgresKeys

    func all() throws(VaultFault) -> (boxes: [KeyBox], lease: UInt64) {
      do throws(LogError) {
        let (rows, lease) = try table.all()
        return (rows.map { KeyBox(name: $0.name, version: $0.version, box: $0.box) }, lease)
      } catch { throw error == .fenced ? .notOurs : .unavailable(reason: "\(error)") }
    }

    func replace(_ box: KeyBox, under lease: UInt64) throws(VaultFault) {
      do throws(LogError) {
        try table.replace(KeyRow(name: box.name, version: box.version, box: box.box), under: lease)
      } catch { throw error == .fenced ? .notOurs : .unavailable(reason: "\(error)") }
    }

    func whenRegained(_ take: @escaping @Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void) {
      table.whenRegained { rows, lease in
        try take(rows.map { KeyBox(name: $0.name, version: $0.version, box: $0.box) }, lease)
      }
    }
  }

  private func vault(_ subject: PostgresSubject, in folder: TemporaryFolder, at now: Int64) throws -> CliqueVault {
    let master = folder.path + "/master.key"
    if !FileManager.default.fileExists(atPath: master) {
      let text = String(repeating: "5a", count: 32) + "\n"
      _ = FileManager.default.createFile(
        atPath: master, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    }
    let keys = try SharedKeys(StoreBoxes(table: subject.store.keys), masterFile: master, logger: quiet)
    return try CliqueVault(in: keys.place(CliqueVault.name, takingOverFrom: folder.path), now: now)
  }

  @Test("A vault over it: sealed by one broker, opened by the next; destroyed by the next, and gone for the first")
  func vault() throws {
    let (hour, now): (Int64, Int64) = (3_600_000, 1_700_000_000_000)
    let (folder, proxy) = (try TemporaryFolder(), try PostgresProxy())
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.leaseMilliseconds = 4000 }
    let one = try vault(first, in: folder, at: now)
    let box = try one.seal([1, 2, 3], until: now, for: "x")
    let tomorrow = try one.seal([4, 5, 6], until: now + 24 * hour, for: "x")
    proxy.set(.paused)
    let second = try PostgresSubject(schema: first.schema)
    let two = try vault(second, in: folder, at: now)
    #expect(try two.open(box, until: now, for: "x") == [1, 2, 3])
    let size = try second.query("SELECT length(box), version FROM keys").int(0, 0)
    try eventually {
      do throws(VaultFault) { try two.prepare(at: now + 20 * hour) } catch { return false }
      return true
    }
    let rows = try second.query("SELECT length(box), version FROM keys")
    // Twenty keys were made, and nineteen destroyed: the last hour's stays for an hour.
    #expect(rows.int(0, 0) == size + 40 && rows.int(0, 1) == 2)
    proxy.set(.open)
    _ = try first.news { $0.contains(.lost) }
    #expect(throws: VaultFault.notOurs) { try one.prepare(at: now + 20 * hour) }
    second.store.close()
    _ = try first.news { $0.contains(.regained) }
    #expect(try one.open(tomorrow, until: now + 24 * hour, for: "x") == [4, 5, 6])
    #expect(throws: (any Error).self) { try one.open(box, until: now, for: "x") }
    #expect(try one.prepare(at: now + 20 * hour) == 0, "the second one's keys are here")
    try one.prepare(at: now + 30 * hour)
    first.store.close()
    let third = try PostgresSubject(schema: first.schema)
    let three = try vault(third, in: folder, at: now + 30 * hour)
    #expect(throws: (any Error).self) { try three.open(box, until: now, for: "x") }
    third.store.close()
  }
}
