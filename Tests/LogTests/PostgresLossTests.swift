import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// A database that lacks what was acknowledged is told of, and never taken for whole.
@Suite("A database that has lost what was acknowledged", .ownThread)
struct PostgresLossTests {
  private static let seed = "abcdefgh12345678"
  private let name: ChannelName = "chat:1"

  // MARK: The mark

  private static func lease(_ epoch: Int64, _ started: Int64, _ term: String = "mine") -> LogMark.Lease {
    LogMark.Lease(epoch: epoch, term: term, started: started)
  }

  @Test(
    "A mark is held against the leases that the database remembers",
    arguments: [
      // The next lease began with all of it, or with more, or too early.
      ([lease(5, 90), lease(6, 100, "next")], 1, false),
      ([lease(5, 90), lease(6, 130, "next")], 1, false),
      ([lease(5, 90), lease(6, 99, "next")], 1, true),
      // Another lease of the same number; none of that number among others; none at all.
      ([lease(5, 400, "other"), lease(6, 500, "next")], 1, true),
      ([lease(6, 400, "next")], 4, true),
      ([], 0, true),
      // It is forgotten, with all before it.
      ([lease(6, 100, "next"), lease(7, 300, "next")], 6, false),
      ([lease(6, 99, "next")], 6, true),
    ] as [([LogMark.Lease], Int64, Bool)])
  func mark(_ leases: [LogMark.Lease], oldest: Int64, isAhead: Bool) {
    let mark = LogMark(seed: Self.seed, epoch: 5, term: "mine", seq: 100)
    #expect(mark.isAhead(of: leases, oldest: oldest) == isAhead)
  }

  @Test("A mark is as long whatever it says, and half of one is none")
  func file() throws {
    let small = LogMark(seed: Self.seed, epoch: 1, term: "abcdefgh", seq: 0)
    let large = LogMark(seed: Self.seed, epoch: .max, term: "abcdefgh", seq: .max)
    #expect(small.bytes.count == large.bytes.count)
    for mark in [small, large] {
      #expect(LogMark(bytes: mark.bytes) == mark)
      for count in 0..<mark.bytes.count { #expect(LogMark(bytes: Array(mark.bytes.prefix(count))) == nil) }
    }
    #expect(LogMark(bytes: small.bytes + [0]) == nil)
    #expect(LogMark(bytes: Array("a -000000000000000001 b 0000000000000000001\n".utf8)) == nil)
  }

  // MARK: Promotions

  /// A server and its standby, with three publications that both have.
  private final class Pair {
    let primary: PostgresServer
    let standby: PostgresServer
    let folder: TemporaryFolder
    let lines = LogLines()

    init() throws {
      primary = try PostgresServer.new()
      do {
        standby = try primary.standby()
        folder = try TemporaryFolder()
      } catch {
        primary.end()
        throw error
      }
    }

    func end() {
      standby.end()
      primary.end()
    }

    func subject(through connection: String, _ folder: DataFolderLock?) throws -> PostgresSubject {
      try PostgresSubject(
        schema: "fanfare", connection: connection, folder: folder,
        logger: Logger(label: "test") { [lines] _ in lines })
    }

    private func ask(_ server: PostgresServer, _ sql: String) throws -> Rows {
      try server.connect().query(sql, within: 60)
    }

    /// All that is committed now.
    func untilStandbyHasAll() throws {
      let place = try ask(primary, "SELECT pg_current_wal_lsn()::text").text(0, 0)
      try eventually {
        try ask(standby, "SELECT pg_last_wal_replay_lsn() >= '\(place)'::pg_lsn").bool(0, 0)
      }
    }

    /// From here on the standby misses what the primary does.
    ///
    /// - Returns: its way back, for ``rejoin(by:)``.
    @discardableResult
    func part() throws -> String {
      let way = try ask(standby, "SELECT quote_literal(current_setting('primary_conninfo'))").text(0, 0)
      _ = try ask(standby, "ALTER SYSTEM SET primary_conninfo = ''")
      _ = try ask(standby, "SELECT pg_reload_conf()")
      try eventually { try ask(standby, "SELECT count(*) FROM pg_stat_wal_receiver").int(0, 0) == 0 }
      return way
    }

    func rejoin(by way: String) throws {
      _ = try ask(standby, "ALTER SYSTEM SET primary_conninfo = \(way)")
      _ = try ask(standby, "SELECT pg_reload_conf()")
    }

    /// From here on a commit waits until the standby has it on its disk.
    func demandStandby() throws {
      _ = try ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
      _ = try ask(primary, "SELECT pg_reload_conf()")
      try eventually { try ask(primary, "SELECT current_setting('synchronous_standby_names')").text(0, 0) == "*" }
    }

    /// Cancels what waits for the standby, as an impatient operator would.
    ///
    /// - Returns: how many waited.
    func cancelWaits() throws -> Int64 {
      try ask(primary, "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        .int(0, 0)
    }

    func publicationsOnStandby() throws -> Int64 {
      try ask(standby, "SELECT count(*) FROM fanfare.publications").int(0, 0)
    }

    func promote() throws {
      _ = try ask(standby, "SELECT pg_promote()")
      try eventually { try !ask(standby, "SELECT pg_is_in_recovery()").bool(0, 0) }
    }

    var losses: Int { lines.all.count { $0.contains("critical transactions that were acknowledged are missing") } }
  }

  private func publish(_ subject: PostgresSubject, _ offsets: ClosedRange<UInt64>, epoch: String) throws {
    let before = subject.completions.all.count
    for offset in offsets { subject.append(name, epoch: epoch, offset: offset, durability: .durable) }
    try subject.completions.wait(for: before + offsets.count)
    #expect(subject.completions.all.allSatisfy { $0.error == nil })
  }

  @Test(
    "A standby is promoted while the broker runs: with all that was acknowledged nothing changes, and without some of it all channels begin anew",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), arguments: [false, true])
  func promotion(losing: Bool) throws {
    let pair = try Pair()
    defer { pair.end() }
    let proxy = try PostgresProxy(to: pair.primary)
    defer { proxy.close() }
    let subject = try pair.subject(through: proxy.connection, DataFolderLock(pair.folder.path))
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    try publish(subject, 1...3, epoch: epoch)
    try pair.untilStandbyHasAll()
    if losing { try pair.part() }
    try publish(subject, 4...5, epoch: epoch)
    // An idle owner's renewals are acknowledged, too.
    proxy.set(.paused)
    if !losing { try pair.untilStandbyHasAll() }
    try pair.promote()
    proxy.lead(to: pair.standby)
    proxy.set(.open)
    guard losing else {
      try publish(subject, 6...6, epoch: epoch)
      #expect(pair.losses == 0)
      return subject.store.close()
    }
    let news = try subject.news { $0.contains(.regained) }
    #expect(news.contains(.lost) && pair.losses == 1)
    let found = try subject.store.open(name, durability: .durable).position
    #expect(found.offset == 3 && found.epoch != epoch)
    try publish(subject, 4...4, epoch: found.epoch)
    // It is told once: what was lost is known now.
    subject.store.close()
    let again = try pair.subject(through: proxy.connection, nil)
    #expect(try again.store.open(name, durability: .durable).position == StreamPosition(epoch: found.epoch, offset: 4))
    #expect(pair.losses == 1)
    again.store.close()
  }

  @Test(
    "A broker that was killed and comes back finds it out by its folder, though others have gone on meanwhile",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), arguments: [false, true])
  func restart(losing: Bool) throws {
    let pair = try Pair()
    defer { pair.end() }
    var first: PostgresSubject? = try pair.subject(
      through: pair.primary.connection, DataFolderLock(pair.folder.path))
    let epoch = try #require(try first?.store.open(name, durability: .durable).position.epoch)
    try publish(#require(first), 1...3, epoch: epoch)
    try pair.untilStandbyHasAll()
    if losing { try pair.part() }
    try publish(#require(first), 4...5, epoch: epoch)
    // What a kill leaves is the mark as it is now; closing writes it once more.
    let image = try TemporaryFolder()
    try FileManager.default.copyItem(
      atPath: "\(pair.folder.path)/\(DataFolderLock.markName)", toPath: "\(image.path)/\(DataFolderLock.markName)")
    if !losing { try pair.untilStandbyHasAll() }
    first = nil
    try pair.promote()
    // A broker on another machine knows nothing of it, and goes on for longer than the first one had.
    let second = try pair.subject(through: pair.standby.connection, nil)
    let found = try second.store.open(name, durability: .durable).position
    #expect(found == StreamPosition(epoch: epoch, offset: losing ? 3 : 5))
    for offset in found.offset + 1...found.offset + 20 { try publish(second, offset...offset, epoch: epoch) }
    second.store.close()
    #expect(pair.losses == 0)
    let third = try pair.subject(through: pair.standby.connection, DataFolderLock(image.path))
    let last = try third.store.open(name, durability: .durable).position
    #expect(last.offset == found.offset + 20)
    #expect((last.epoch != epoch) == losing && pair.losses == (losing ? 1 : 0))
    third.store.close()
  }

  @Test(
    "What the standby has not confirmed is not acknowledged, however often the wait is cancelled, and is there once when it has",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
  func confirmation() throws {
    let pair = try Pair()
    defer { pair.end() }
    let subject = try pair.subject(through: pair.primary.connection, nil)
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    try pair.demandStandby()
    try publish(subject, 1...3, epoch: epoch)
    let way = try pair.part()
    subject.append(name, epoch: epoch, offset: 4, durability: .durable)
    var cancelled: Int64 = 0
    try eventually {
      cancelled += try pair.cancelWaits()
      return cancelled >= 3
    }
    #expect(subject.completions.all.count == 3)
    try pair.rejoin(by: way)
    try subject.completions.wait(for: 4)
    #expect(subject.completions.all.map(\.error) == [nil, nil, nil, nil])
    // It is on the standby's disk; to be read there takes a moment.
    try eventually { try pair.publicationsOnStandby() == 4 }
    subject.store.close()
  }

  /// What became of a change of keys that another thread makes; nil: it is under way.
  private final class Fate: Sendable {
    let error = Mutex<LogError??>(nil)
  }

  @Test(
    "Keys that the standby has not confirmed do not count as saved, however often the wait is cancelled",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
  func keys() throws {
    let pair = try Pair()
    defer { pair.end() }
    let subject = try pair.subject(through: pair.primary.connection, nil)
    try pair.demandStandby()
    let (keys, lease, fate) = (subject.store.keys, subject.store.term, Fate())
    try keys.replace(KeyRow(name: "a", version: 1, box: [1]), under: lease)
    let way = try pair.part()
    Thread.detachNewThread {
      do throws(LogError) {
        try keys.replace(KeyRow(name: "a", version: 2, box: [2]), under: lease)
        fate.error.withLock { $0 = .some(nil) }
      } catch { fate.error.withLock { $0 = .some(error) } }
    }
    var cancelled: Int64 = 0
    try eventually {
      cancelled += try pair.cancelWaits()
      return cancelled >= 3
    }
    #expect(fate.error.withLock { $0 } == nil)
    try pair.rejoin(by: way)
    try eventually { fate.error.withLock { $0 } != nil }
    #expect(fate.error.withLock { $0 } == .some(nil))
    #expect(try keys.all().rows == [KeyRow(name: "a", version: 2, box: [2])])
    subject.store.close()
  }

  @Test(
    "A folder that knows another log says nothing of this one",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
  func anotherLog() throws {
    let folder = try TemporaryFolder()
    var subject: PostgresSubject? = try PostgresSubject(folder: DataFolderLock(folder.path))
    var epoch = try #require(try subject?.store.open(name, durability: .durable).position.epoch)
    try publish(#require(subject), 1...3, epoch: epoch)
    subject = nil
    let lines = LogLines()
    subject = try PostgresSubject(
      folder: DataFolderLock(folder.path), logger: Logger(label: "test") { _ in lines })
    epoch = try #require(try subject?.store.open(name, durability: .durable).position.epoch)
    try publish(#require(subject), 1...1, epoch: epoch)
    #expect(lines.all.contains { $0.contains("another one than before") })
    #expect(!lines.all.contains { $0.hasPrefix("critical") })
  }
}
