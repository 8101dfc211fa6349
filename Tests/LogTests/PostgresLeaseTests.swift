import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// Of several brokers over one database exactly one is the owner, whatever happens to it and to its connections.
@Suite(
  "The lease of a log in PostgreSQL", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresLeaseTests {
  private let name: ChannelName = "chat:1"

  /// Where the channel stands for an owner, which may just have missed a renewal.
  private func position(_ subject: PostgresSubject) throws -> StreamPosition {
    var position: StreamPosition?
    try eventually {
      do throws(LogError) { position = try subject.store.open(name, durability: .durable).position } catch {
        if error != .fenced { throw error }
      }
      return position != nil
    }
    return try #require(position)
  }

  private func data(_ subject: PostgresSubject) throws -> [String] {
    let rows = try subject.query("SELECT data FROM publications ORDER BY off")
    return (0..<rows.count).map { rows.text($0, 0) }
  }

  private func append(_ subject: PostgresSubject, _ offsets: ClosedRange<UInt64>, by author: String, epoch: String) {
    for offset in offsets {
      #expect(
        subject.append(
          name, epoch: epoch, offset: offset, durability: .durable, size: 1000, data: Array("\(author)\(offset)".utf8))
          == .pending)
    }
  }

  // MARK: Who is the owner

  @Test("A second broker is told who keeps the log, and has it as soon as that one closes")
  func second() throws {
    let first = try PostgresSubject { $0.owner = "one" }
    let position = try first.store.open(name, durability: .durable).position
    append(first, 1...3, by: "one", epoch: position.epoch)
    try first.completions.wait(for: 3)
    do {
      _ = try PostgresSubject(schema: first.schema) { $0.leaseWaitMilliseconds = 0 }
      Issue.record("two brokers keep one log")
    } catch PostgresStartError.held(let owner, _) {
      #expect(owner == "one")
    }
    first.store.close()
    let second = try PostgresSubject(schema: first.schema) { $0.leaseWaitMilliseconds = 0 }
    let found = try second.store.open(name, durability: .durable).position
    #expect(found == StreamPosition(epoch: position.epoch, offset: 3))
  }

  @Test("A newer broker in line leaves the schema as the older one needs it that has the lease, until it has it itself")
  func olderOwner() throws {
    let schema = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
    var options = PostgresStore.Options(connection: try PostgresServer.shared().connection, schema: schema)
    options.owner = "older"
    let database = try options.server()
    let older = try PostgresServer.shared().connect()
    try older.run(
      script: """
        CREATE SCHEMA \(schema); SET search_path TO \(schema), pg_catalog; CREATE TABLE version (version bigint NOT NULL);
        INSERT INTO version VALUES (1);
        """)
    try older.run(script: PostgresSchema.migrations[0])
    _ = try PostgresLease.take(older, of: database, owner: "older", life: 600_000)
    let (lines, outcome) = (LogLines(), Outcome())
    Thread.detachNewThread {
      let newer = try? PostgresSubject(schema: schema, logger: Logger(label: "test") { _ in lines })
      newer?.store.close()
      outcome.hasBegun.withLock { $0 = newer != nil }
    }
    try eventually { lines.all.contains { $0.contains("this one waits until that has ended") } }
    #expect(try older.query("SELECT version FROM version").int(0, 0) == 1)
    older.close()
    try eventually { outcome.hasBegun.withLock { $0 } != nil }
    #expect(outcome.hasBegun.withLock { $0 } == true)
    let other = try PostgresServer.shared().connect()
    let version = try other.query("SELECT version FROM \(schema).version").int(0, 0)
    #expect(version == Int64(PostgresSchema.migrations.count))
  }

  @Test(
    "A broker that waits for the log outlives its connection to the server", arguments: [nil, SocketProxy.Mode.deaf])
  func waiting(mode: SocketProxy.Mode?) throws {
    let first = try PostgresSubject { $0.owner = "one" }
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let (schema, connection, lines, outcome) = (first.schema, proxy.connection, LogLines(), Outcome())
    let wait = "notice another broker keeps the log: this one waits until that has ended owner=one"
    Thread.detachNewThread {
      // The silence is short for the sake of the deaf connection. On a busy machine the server may take longer to answer
      // before this one stands in line; it starts again then, as a process that ends is started again.
      for _ in 0..<60 {
        let second = try? PostgresSubject(
          schema: schema, connection: connection, logger: Logger(label: "test") { _ in lines }
        ) { $0.silenceMilliseconds = 1000 }
        second?.store.close()
        if second != nil { return outcome.hasBegun.withLock { $0 = true } }
        if lines.all.contains(wait) { break }
      }
      outcome.hasBegun.withLock { $0 = false }
    }
    try eventually { lines.all.contains(wait) }
    if let mode {
      let before = proxy.accepted
      proxy.set(mode)
      // It has given up the connection on which nothing came.
      try eventually { proxy.accepted > before }
      proxy.set(.open)
    }
    proxy.cut()
    first.store.close()
    try eventually { outcome.hasBegun.withLock { $0 } != nil }
    #expect(outcome.hasBegun.withLock { $0 } == true)
  }

  /// What became of a start on another thread; nil: it is under way.
  private final class Outcome: Sendable {
    let hasBegun = Mutex<Bool?>(nil)
  }

  @Test("A broker that dies is followed at once, long before its lease is over")
  func death() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.silenceMilliseconds = 5000 }
    let begun = ContinuousClock.now
    // The process ends with its sessions, and does not come again.
    proxy.set(.mute)
    proxy.cut()
    let second = try PostgresSubject(schema: first.schema)
    #expect(ContinuousClock.now - begun < .seconds(30), "the lease would last for a minute")
    _ = try second.store.open(name, durability: .durable)
    second.store.close()
  }

  @Test("A paused owner is followed when its lease is over: what it goes on with fails, and nothing of it is written")
  func paused() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.leaseMilliseconds = 4000 }
    let epoch = try first.store.open(name, durability: .durable).position.epoch
    append(first, 1...5, by: "first", epoch: epoch)
    try first.completions.wait(for: 5)
    proxy.set(.paused)
    append(first, 6...9, by: "first", epoch: epoch)
    // The store sees by its own clock that its lease is over, before anybody tells it.
    let page = LogQuestion.page(name, LogRange(since: nil, through: 5, limit: 9))
    try eventually { first.store.ask(page) == .failed(.fenced) }
    let second = try PostgresSubject(schema: first.schema)
    let found = try position(second)
    #expect(found == StreamPosition(epoch: epoch, offset: 5))
    append(second, 6...7, by: "second", epoch: epoch)
    try second.completions.wait(for: 2)
    proxy.set(.open)
    let news = try first.news { $0.contains(.lost) }
    #expect(!news.contains(.regained))
    try first.completions.wait(for: 9)
    #expect(first.completions.all.map(\.error) == Array(repeating: nil, count: 5) + Array(repeating: .fenced, count: 4))
    #expect(first.store.ask(.open(name, .durable, withEntries: false, ifExists: false)) == .failed(.fenced))
    #expect(first.append(name, epoch: epoch, offset: 6, durability: .durable) == .refused(.fenced))
    #expect(try data(second) == (1...5).map { "first\($0)" } + ["second6", "second7"])
    // The former owner does not come back while the other one lives, though its session had the lock before.
    for _ in 0..<10 {
      usleep(100_000)
      #expect(!first.store.takeNews().contains(.regained))
    }
    #expect(second.completions.all.allSatisfy { $0.error == nil })
    second.store.close()
    _ = try first.news { $0.contains(.regained) }
    let again = try position(first)
    #expect(again == StreamPosition(epoch: epoch, offset: 7))
    append(first, 8...8, by: "first", epoch: epoch)
    try first.completions.wait(for: 10)
    #expect(first.completions.all.last?.error == nil)
    #expect(try data(first).last == "first8")
  }

  @Test(
    "Owners are paused at random under load, one after another: what is acknowledged is there, and nothing comes later",
    arguments: 1...2 as ClosedRange<UInt64>)
  func chain(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var proxy = try PostgresProxy()
    var owner = try PostgresSubject(connection: proxy.connection) {
      $0.leaseMilliseconds = 3000
      $0.entriesPerTransaction = 3
    }
    var position = try self.position(owner)
    for round in 0..<3 {
      let base = position.offset
      var taken: UInt64 = 0
      for index in 0..<Int.random(in: 20...200, using: &generator) {
        if index == 15 {
          usleep(.random(in: 0...2000, using: &generator))
          proxy.set(.paused)
        }
        let offset = base + taken + 1
        let outcome = owner.append(
          name, epoch: position.epoch, offset: offset, durability: .durable, size: 100_000,
          data: Array("\(round):\(offset)".utf8))
        if outcome == .pending { taken += 1 }
      }
      let nextProxy = try PostgresProxy()
      let next = try PostgresSubject(schema: owner.schema, connection: nextProxy.connection) {
        $0.leaseMilliseconds = 3000
        $0.entriesPerTransaction = 3
      }
      let found = try self.position(next)
      #expect(found.epoch == position.epoch)
      proxy.set(.open)
      _ = try owner.news { $0.contains(.lost) }
      try owner.completions.wait(for: Int(taken))
      // Those that were acknowledged come first, and the new owner found each; of the others it may have found some.
      let fates = owner.completions.all.map(\.error)
      let acknowledged = fates.prefix { $0 == nil }.count
      #expect(fates.dropFirst(acknowledged).allSatisfy { $0 == .fenced })
      #expect(fates.count == Int(taken))
      #expect(base + UInt64(acknowledged) <= found.offset && found.offset <= base + taken)
      let written = try data(next).suffix(Int(found.offset - base))
      #expect(Array(written) == (base..<found.offset).map { "\(round):\($0 + 1)" })
      #expect(try next.rows("publications") == Int(found.offset))
      owner.store.close()
      proxy.close()
      (owner, proxy, position) = (next, nextProxy, found)
    }
    owner.store.close()
    proxy.close()
  }

  @Test("Questions under way when the log is lost are answered once, as fenced")
  func questions() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try PostgresSubject(connection: proxy.connection) { $0.leaseMilliseconds = 4000 }
    let entry = LogQuestion.entry(name, IdentifierKey("k"))
    proxy.set(.paused)
    #expect(first.store.ask(entry) == nil)
    let second = try PostgresSubject(schema: first.schema)
    proxy.set(.open)
    let all = try first.news { $0.contains(.lost) }
    let answers = (all + first.store.takeNews()).filter { if case .answered(entry, _) = $0 { true } else { false } }
    #expect(answers.count == 1)
    second.store.close()
  }

  // MARK: Relaxed channels

  @Test("A relaxed channel keeps its epoch over a close, and gets another where its owner was lost")
  func relaxed() throws {
    var subject = try PostgresSubject()
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .relaxed)
    subject.store.close()
    subject = try PostgresSubject(schema: subject.schema)
    #expect(try subject.store.open(name, durability: .relaxed).position == StreamPosition(epoch: epoch, offset: 1))
    subject.store.close()
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    subject = try PostgresSubject(schema: subject.schema, connection: proxy.connection) {
      $0.silenceMilliseconds = 5000
    }
    #expect(try subject.store.open(name, durability: .relaxed).position.epoch == epoch)
    proxy.set(.mute)
    proxy.cut()
    #expect(subject.append(name, epoch: epoch, offset: 2, durability: .relaxed) == .kept)
    let second = try PostgresSubject(schema: subject.schema)
    let position = try second.store.open(name, durability: .relaxed).position
    #expect(position.offset == 1 && position.epoch != epoch)
    second.store.close()
  }
}
