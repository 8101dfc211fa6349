import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// What the store does beside entries, as SQLite's does.
@Suite(
  "Upkeep of a log in PostgreSQL", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresUpkeepTests {
  private static let day: Int64 = 24 * 3_600_000

  private func entry(
    _ subject: PostgresSubject, _ name: ChannelName, _ position: inout StreamPosition, data: String = "x",
    user: String? = nil, key: String? = nil, expires: Int64 = .max, time: Int64 = 1000, size: Int = 100,
    edit: LogEdit? = nil, idempotency: String? = nil
  ) -> LogEntry {
    position.offset += 1
    return LogEntry(
      ticket: subject.nextTicket(), channel: name, epoch: position.epoch,
      publication: Publication(
        offset: position.offset, time: time, data: Array(data.utf8),
        info: user.map { ClientInfo(user: $0, client: "c") }, change: key.map { KeyChange(key: $0, expires: expires) }),
      durability: .durable, historySize: size, historyTTLMilliseconds: 1000,
      idempotency: idempotency.map {
        IdempotencyRecord(key: $0, offset: position.offset, digest: 1, expires: 300_000)
      }, writesMap: key != nil, edit: edit)
  }

  private func append(_ subject: PostgresSubject, _ entry: LogEntry) throws {
    let count = subject.completions.all.count
    #expect(subject.store.append(.one(entry)) == .pending)
    try subject.completions.wait(for: count + 1)
    #expect(subject.completions.all.last?.error == nil)
  }

  @Test("A long history is trimmed by sweeps, a portion at a time, and reads as if it were at once")
  func trim() throws {
    let subject = try PostgresSubject()
    let name: ChannelName = "a"
    var position = try subject.store.open(name, durability: .durable).position
    for _ in 0..<5000 { _ = subject.store.append(.one(entry(subject, name, &position, size: 10))) }
    try subject.completions.wait(for: 5000)
    #expect(try subject.offsets(name) == Array(4991...5000))
    try eventually {
      subject.store.sweep(now: 1000)
      return try subject.rows("publications") == 10
    }
    #expect(try subject.offsets(name) == Array(4991...5000))
    subject.store.sweep(now: 10_000)
    try eventually { try subject.rows("publications") == 0 }
    #expect(try subject.store.open(name, durability: .durable).position == position)
  }

  @Test("The row of a channel of which nothing is kept goes, and the channel begins anew in another epoch")
  func stale() throws {
    let subject = try PostgresSubject {
      $0.followers = ["receipts:"]
      $0.keepsRow = { $0.string == "app:1" }
    }
    let names = ["gone", "used", "app:1", "talk", "receipts:talk"].map { ChannelName(stringLiteral: $0) }
    var epochs: [ChannelName: String] = [:]
    for name in names {
      var position = try subject.store.open(name, durability: .durable).position
      epochs[name] = position.epoch
      let key = name == "receipts:talk" ? "ann" : nil
      try append(subject, entry(subject, name, &position, key: key, size: key == nil ? 100 : 0))
      if name != "used" { subject.store.release(name) }
    }
    try eventually {
      subject.store.sweep(now: 2 * Self.day)
      return try subject.rows("channels") == 4
    }
    for _ in 0..<3 {
      subject.store.sweep(now: 2 * Self.day)
      _ = try subject.store.answer(to: .erasure(.settle))
    }
    #expect(try subject.rows("channels") == 4)
    let position = try subject.store.open("gone", durability: .durable).position
    #expect(position.offset == 0 && position.epoch != epochs["gone"])
    #expect(try subject.store.look(for: "talk", durability: .durable).position.offset == 1)
  }

  @Test("Maps that nobody opens are named when an entry's time is over")
  func due() throws {
    let subject = try PostgresSubject()
    for (name, expires) in [("map:soon", 5000), ("map:never", Int64.max)] as [(ChannelName, Int64)] {
      var position = try subject.store.open(name, durability: .durable).position
      try append(subject, entry(subject, name, &position, key: "k", expires: expires, size: 0))
    }
    subject.store.sweep(now: 4000)
    _ = try subject.store.answer(to: .erasure(.settle))
    #expect(subject.store.takeDueMaps() == [])
    var due: [ChannelName] = []
    try eventually {
      subject.store.sweep(now: 6000)
      due += subject.store.takeDueMaps()
      return !due.isEmpty
    }
    #expect(Set(due) == ["map:soon"])
  }

  // MARK: Deleting a user's data

  private func trace(_ subject: PostgresSubject, _ user: String, contents: [String] = []) throws -> [TracedRow] {
    var (rows, position): ([TracedRow], TracePosition?) = ([], .start)
    while let after = position {
      let question = ErasureQuestion.trace(users: [user], contents: contents, after: after)
      guard case .erasure(.page(let page)) = try subject.store.answer(to: .erasure(question)) else { break }
      rows += page.rows
      position = page.next
    }
    return rows
  }

  @Test("All that names a user is found, emptied, removed and dropped, and nothing of anybody else")
  func erasure() throws {
    let subject = try PostgresSubject { $0.quotaNamespaces = ["club"] }
    let (ann, bob) = ("ann-12345678", "bob-12345678")
    let (club, own, map): (ChannelName, ChannelName, ChannelName) = ("club:1", "diary:#ann-12345678", "club:m")
    var positions: [ChannelName: StreamPosition] = [:]
    for name in [club, own, map] { positions[name] = try subject.store.open(name, durability: .durable).position }
    // More than one page looks at.
    for number in 0..<600 {
      let user = number % 100 == 7 ? ann : bob
      let entry = entry(
        subject, club, &positions[club, default: StreamPosition(epoch: "", offset: 0)], data: "\(number)", user: user,
        size: 10_000, idempotency: "\(user)-\(number)")
      _ = subject.store.append(.one(entry))
    }
    for (name, user, key) in [(own, nil, nil), (map, bob, ann), (map, bob, bob), (map, bob, "about")]
      as [(ChannelName, String?, String?)]
    {
      var position = try #require(positions[name])
      let entry = entry(
        subject, name, &position, data: key == "about" ? "[\"\(ann)\"]" : "x", user: user, key: key, size: 0)
      _ = subject.store.append(.one(entry))
      positions[name] = position
    }
    _ = try subject.store.answer(to: .erasure(.settle))
    let found = try trace(subject, ann)
    #expect(found.filter { $0.kind == .channel }.map(\.channel) == [own])
    #expect(found.filter { $0.kind == .publication }.map(\.publication.offset) == [8, 108, 208, 308, 408, 508])
    #expect(found.filter { $0.kind == .entry }.map { $0.publication.change?.key } == [ann])
    #expect(try trace(subject, ann, contents: ["club:m"]).filter { $0.kind == .entry }.count == 2)
    // The entries of an open channel can only be removed by publications.
    #expect(try subject.store.answer(to: .erasure(.clear(found.filter { $0.kind == .entry }))) == .erasure(.busy))
    #expect(try subject.store.answer(to: .erasure(.drop([own]))) == .erasure(.busy))
    for name in [club, own, map] { subject.store.release(name) }
    let rows = found.filter { $0.kind != .channel }
    #expect(try subject.store.answer(to: .erasure(.clear(rows))) == .erasure(.done))
    #expect(try subject.store.answer(to: .erasure(.drop([own]))) == .erasure(.done))
    #expect(try subject.store.answer(to: .erasure(.forgetAccounts([ann]))) == .erasure(.done))
    #expect(try subject.store.answer(to: .erasure(.scrub)) == .erasure(.done))
    #expect(try trace(subject, ann) == [])
    let keys = try subject.query("SELECT count(*) FROM idempotency WHERE position('ann'::bytea IN key) > 0")
    #expect(keys.int(0, 0) == 0)
    #expect(try subject.rows("idempotency") == 594)
    let dropped = try subject.store.look(for: own, durability: .durable)
    #expect(!dropped.exists && dropped.position.epoch != positions[own]?.epoch)
    #expect(try subject.store.entries(of: map).count == 2)
    _ = try subject.store.open(club, durability: .durable)
    let emptied = try subject.store.read(club, LogRange(since: 7, through: 8, limit: 1)).first
    #expect(emptied == Publication(offset: 8, time: 1000, data: ErasureQuestion.emptied))
    #expect(try subject.accounts("SELECT namespace, payer, bytes, entries FROM kept").keys.map(\.user) == [bob])
    let sums = try subject.query("SELECT sum(length(data)) FROM publications WHERE info IS NOT NULL")
    #expect(sums.count == 1)
  }

  // MARK: Reading beside the broker

  @Test("A scan reads what is committed, in the epochs that the broker tells")
  func scan() throws {
    let subject = try PostgresSubject { $0.now = { 1000 } }
    let scan = try PostgresStore.scan(subject.options)
    #expect(try scan.channel("a", at: 1000) == nil)
    for durability in [Durability.durable, .relaxed] {
      let name: ChannelName = durability == .durable ? "a" : "b"
      let position = try subject.store.open(name, durability: durability).position
      for offset in 1...600 as ClosedRange<UInt64> {
        subject.append(name, epoch: position.epoch, offset: offset, durability: durability, size: 1000)
      }
      try eventually { subject.store.bytesWaiting == 0 }
      let found = try #require(try scan.channel(name, at: 1000))
      #expect(found.epoch == position.epoch && found.top == 600)
      #expect(try scan.oldest(of: found.id) == 1)
      var offsets: [UInt64] = []
      try scan.publications(of: found.id, in: 5...590, limit: 500, notBefore: 0) {
        offsets.append($0.offset)
        return $0.offset < 400
      }
      #expect(offsets == Array(5...400))
    }
    try scan.close()
  }
}
