import Foundation
import Logging
import SQLite
import TestSupport
import Testing
import Wire

@testable import Coverage

@Suite("The file of intervals")
struct CoverageFileTests {
  private static let channel = ExplanationTests.channel
  private static let query = CoverageQuery(
    user: "ada", channel: channel, position: StreamPosition(epoch: "e", offset: 5))

  private func key(_ connection: UInt64) -> CoverageKey { CoverageKey(connection: connection, channel: Self.channel) }

  private func began(_ connection: UInt64, user: String = "ada", from: UInt64 = 1) -> CoverageRecord {
    .began(
      key(connection), CoverageOwner(user: user, client: "c\(connection)"),
      CoverageStart(position: StreamPosition(epoch: "e", offset: from), at: 1000))
  }

  private func ended(_ connection: UInt64, at: Int64 = 2000) -> CoverageRecord {
    .ended(key(connection), CoverageReach(covered: 9, written: 8, unsure: 1), CoverageEnd(.removed, code: 2000, at: at))
  }

  @Test("an interval is found as it was recorded, open and ended")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    try file.write([began(7)], at: 2)
    var rows = try file.find(Self.query).rows
    #expect(rows.count == 1 && rows[0].interval.end == nil && rows[0].key == key(7))
    try file.write([ended(7)], at: 3)
    rows = try file.find(Self.query).rows
    #expect(rows.map(\.interval.reach) == [CoverageReach(covered: 9, written: 8, unsure: 1)])
    #expect(rows.map(\.interval.end) == [CoverageEnd(.removed, code: 2000, at: 2000)])
    #expect(rows.map(\.interval.client) == ["c7"])
    var other = Self.query
    other.user = "bob"
    #expect(try file.find(other).rows.isEmpty)
  }

  @Test("what a process that died left open has no known reach, and is ended at the time when it was last seen")
  func died() throws {
    let folder = try TemporaryFolder()
    do {
      let file = try CoverageFile(folder: folder.path, now: 1)
      try file.write([began(7)], at: 5000)
      try file.close()
    }
    let file = try CoverageFile(folder: folder.path, now: 9000)
    let rows = try file.find(Self.query).rows
    #expect(rows.map(\.interval.end) == [CoverageEnd(.died, at: 5000)])
    #expect(rows.map(\.interval.reach) == [nil])
  }

  @Test("how far a subscription was noted to be is known after the process died, and is no end while it lives")
  func noted() throws {
    let folder = try TemporaryFolder()
    do {
      let file = try CoverageFile(folder: folder.path, now: 1)
      try file.write([began(7), began(8), ended(8)], at: 4000)
      for covered in [3, 6] as [UInt64] {
        try file.write([.reached(key(7), CoverageReach(covered: covered, written: covered))], at: 5000)
      }
      // The one that is over is not touched.
      try file.write([.reached(key(8), CoverageReach(covered: 99, written: 99))], at: 5000)
      let open = try file.find(Self.query)
      #expect(open.rows.first?.interval.end == nil)
      // While the process lives, its event loops are asked, and what they said before counts for nothing.
      #expect(CoverageFindings(open, live: []).intervals.first?.reach == nil)
      try file.close()
    }
    let file = try CoverageFile(folder: folder.path, now: 9000)
    let intervals = try file.find(Self.query).rows.map(\.interval)
    #expect(intervals.map(\.reach?.covered) == [6, 9])
    #expect(intervals.map(\.end?.cause) == [.died, .removed])
  }

  @Test("a filter that changes ends one interval and begins the next where it ended")
  func refiltered() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    let audience = TagFilter.exists(key: "only")
    try file.write(
      [began(7), .refiltered(key(7), CoverageReach(covered: 4, written: 4), audience: audience, at: 1500), ended(7)],
      at: 2)
    let intervals = try file.find(Self.query).rows.map(\.interval)
    #expect(intervals.map(\.end?.cause) == [.refiltered, .removed])
    #expect(intervals.map(\.start.position.offset) == [1, 4])
    #expect(intervals.map(\.start.audience) == [nil, audience])
  }

  @Test("a refused subscribe is kept beside a subscription of the same connection, and does not end it")
  func refused() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    let owner = CoverageOwner(user: "ada", client: "c7")
    try file.write([began(7), .refused(key(7), owner, CoverageEnd(.refused, code: 106, at: 1200))], at: 2)
    #expect(try file.find(Self.query).rows.map(\.interval.end?.cause) == [nil, .refused])
  }

  @Test("a second process in the same folder takes a file of its own")
  func twoProcesses() throws {
    let folder = try TemporaryFolder()
    let first = try CoverageFile(folder: folder.path, now: 1)
    let second = try CoverageFile(folder: folder.path, now: 1)
    #expect(first.path != second.path)
    try first.write([began(7)], at: 2)
    #expect(try second.find(Self.query).rows.isEmpty)
  }

  @Test("rows go when they are too old, and the oldest go when the file is too large")
  func sweep() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    try file.write([began(1), ended(1, at: 100), began(2), ended(2, at: 300), began(3)], at: 2)
    #expect(try file.sweep(endedBefore: 200, maximumBytes: .max))
    var found = try file.find(Self.query)
    #expect(found.rows.map(\.key.connection) == [2, 3] && found.keptSince == 200)
    var records: [CoverageRecord] = []
    for number in 10..<6000 as Range<UInt64> { records += [began(number), ended(number, at: Int64(number))] }
    try file.write(records, at: 3)
    while try !file.sweep(endedBefore: 0, maximumBytes: 200_000) {}
    found = try file.find(Self.query)
    // What is open stays, whatever the limit.
    #expect(found.rows.contains { $0.key.connection == 3 })
    #expect(found.keptSince > 1000)
  }

  @Test("what is forgotten of a user cannot be found in any file of the folder")
  func forget() async throws {
    let folder = try TemporaryFolder()
    let store = try CoverageStore(
      folder: folder.path, options: .init(keepMilliseconds: 86_400_000, maximumBytes: 1 << 24),
      logger: Logger(label: "test"))
    for number in 0..<500 as Range<UInt64> {
      store.sink.record(began(number, user: number.isMultiple(of: 2) ? "ada-to-be-forgotten" : "bob-who-stays"))
    }
    let shared = try ChannelName("dm:x#ada-to-be-forgotten,bob-who-stays")
    store.sink.record(
      .began(
        CoverageKey(connection: 1000, channel: shared), CoverageOwner(user: "bob-who-stays", client: "c1000"),
        CoverageStart(position: StreamPosition(epoch: "e", offset: 1), at: 1000)))
    let isDone = await withCheckedContinuation { done in
      store.sink.forget(["ada-to-be-forgotten", "nobody"]) { done.resume(returning: $0) }
    }
    #expect(isDone)
    func holds(_ name: String) throws -> Bool {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).contains { file in
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)"))
        return bytes.range(of: Data(name.utf8)) != nil
      }
    }
    #expect(try !holds("ada-to-be-forgotten") && holds("bob-who-stays"))
    store.close()
    let isDoneAfterTheEnd = await withCheckedContinuation { done in
      store.sink.forget(["bob-who-stays"]) { done.resume(returning: $0) }
    }
    #expect(!isDoneAfterTheEnd)
  }

  @Test("a question is answered with everything that was recorded before it, and after the end with nothing")
  func order() async throws {
    let folder = try TemporaryFolder()
    let store = try CoverageStore(
      folder: folder.path, options: .init(keepMilliseconds: 86_400_000, maximumBytes: 1 << 24),
      logger: Logger(label: "test"))
    for number in 0..<50 as Range<UInt64> { store.sink.record(began(number)) }
    let found = await withCheckedContinuation { done in store.sink.find(Self.query) { done.resume(returning: $0) } }
    #expect(found.rows.count == 50 && found.lostRecords == 0)
    store.close()
    let late = await withCheckedContinuation { done in store.sink.find(Self.query) { done.resume(returning: $0) } }
    #expect(late.rows.isEmpty && late.keptSince == .max)
  }

  @Test("what is written in pieces is whole, and a question does not wait for the rests between them")
  func pieces() async throws {
    let folder = try TemporaryFolder()
    var options = CoverageStore.Options(keepMilliseconds: 86_400_000, maximumBytes: 1 << 24)
    options.gatherMilliseconds = 0
    let store = try CoverageStore(folder: folder.path, options: options, logger: Logger(label: "test"))
    // More than one answer holds of one user: each has some.
    for number in 0..<3000 as Range<UInt64> { store.sink.record(began(number, user: "u\(number % 50)")) }
    for user in 0..<50 {
      let query = CoverageQuery(user: "u\(user)", channel: Self.channel, position: Self.query.position)
      let found = await withCheckedContinuation { done in store.sink.find(query) { done.resume(returning: $0) } }
      #expect(found.rows.count == 60 && found.lostRecords == 0)
    }
    store.close()
  }

  @Test("where the disk is behind, records are dropped and counted")
  func bounded() async throws {
    let folder = try TemporaryFolder()
    var options = CoverageStore.Options(keepMilliseconds: 86_400_000, maximumBytes: 1 << 24)
    options.waitingLimit = 10
    options.gatherMilliseconds = 60_000
    let store = try CoverageStore(folder: folder.path, options: options, logger: Logger(label: "test"))
    for number in 0..<1000 as Range<UInt64> { store.sink.record(began(number)) }
    let found = await withCheckedContinuation { done in store.sink.find(Self.query) { done.resume(returning: $0) } }
    #expect(found.lostRecords > 0 && found.rows.count <= 64)
    store.close()
  }
}
