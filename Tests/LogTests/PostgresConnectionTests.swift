import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// What is acknowledged is committed once, and in order, whatever becomes of connections.
@Suite(
  "A log in PostgreSQL over connections that break", .ownThread,
  .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresConnectionTests {
  private let name: ChannelName = "chat:1"

  @Test("A connection that breaks before or after the commit: what was in flight is there once, and acknowledged once")
  func inFlight() throws {
    for mode in [SocketProxy.Mode.deaf, .mute] {
      let proxy = try PostgresProxy()
      defer { proxy.close() }
      // Ten transactions, four of them on their way at a time.
      let subject = try PostgresSubject(connection: proxy.connection) { $0.entriesPerTransaction = 2 }
      let epoch = try subject.store.open(name, durability: .durable).position.epoch
      subject.append(name, epoch: epoch, offset: 1, durability: .durable)
      try subject.completions.wait(for: 1)
      proxy.set(mode)
      for offset in 2...21 as ClosedRange<UInt64> {
        subject.append(name, epoch: epoch, offset: offset, durability: .durable)
      }
      try eventually {
        mode == .deaf ? try subject.rows("publications") > 1 : proxy.droppedBytes > 0
      }
      #expect(subject.completions.all.count == 1, "nobody was told, so nothing is acknowledged")
      proxy.set(.open)
      proxy.cut()
      try subject.completions.wait(for: 21)
      #expect(subject.completions.all == (1...21).map { LogCompletion(ticket: $0) })
      #expect(try subject.offsets(name) == Array(1...21))
      #expect(try subject.rows("publications") == 21)
      #expect(!subject.store.takeNews().contains(.lost))
    }
  }

  @Test(
    "Sessions are ended at random under load: each entry is acknowledged once, in order, and is there", arguments: 1...3
  )
  func endedSessions(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let subject = try PostgresSubject { options in
      options.entriesPerTransaction = 7
      options.owner = options.schema
    }
    let names = try (0..<5).map { try channel("c:\($0)") }
    var positions = try names.map { try subject.store.open($0, durability: .durable).position }
    var appended = 0
    for _ in 0..<40 {
      for _ in 0..<Int.random(in: 1...40, using: &generator) {
        let index = Int.random(in: 0..<names.count, using: &generator)
        positions[index].offset += 1
        let position = positions[index]
        let outcome = subject.append(
          names[index], epoch: position.epoch, offset: position.offset, durability: .durable, size: 1_000_000,
          data: Array("\(position.offset)".utf8))
        #expect(outcome == .pending)
        appended += 1
      }
      if Int.random(in: 0..<3, using: &generator) == 0 {
        usleep(UInt32.random(in: 0...3000, using: &generator))
        try subject.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
          [.text("fanfare " + subject.schema)])
      }
      if Bool.random(using: &generator) {
        try subject.completions.wait(for: Int.random(in: 0...appended, using: &generator))
      }
      // What is acknowledged is there now.
      let acknowledged = subject.completions.all.count
      #expect(try subject.rows("publications") >= acknowledged)
    }
    try subject.completions.wait(for: appended)
    #expect(subject.completions.all == (1...UInt64(appended)).map { LogCompletion(ticket: $0) })
    for (name, position) in zip(names, positions) {
      #expect(try subject.store.open(name, durability: .durable).position == position)
      let read = try subject.store.read(name, LogRange(since: nil, through: .max, limit: .max))
      #expect(read.map { String(decoding: $0.data, as: UTF8.self) } == (1..<position.offset + 1).map { "\($0)" })
    }
  }

  @Test("A transaction that was sent behind one that failed commits nothing, though its epoch is right")
  func guardOfSequence() throws {
    let subject = try PostgresSubject()
    let before = try subject.query("SELECT epoch, seq FROM shards")
    let (epoch, seq) = (before.int(0, 0), before.int(0, 1))
    let server = try subject.server()
    let connection = try server.connect()
    let deadline = DispatchTime.now() + 30
    let sql = "SELECT fence($1, $2, $3)"
    try connection.send("SELECT 1 / 0 FROM fence($1, $2, $3)", [.int(epoch), .int(seq), .int(60_000)], by: deadline)
    for ahead in 1...3 as ClosedRange<Int64> {
      try connection.send(sql, [.int(epoch), .int(seq + ahead), .int(60_000)], by: deadline)
    }
    for state in ["22012", "FF001", "FF001", "FF001"] {
      do {
        _ = try connection.receive(by: deadline)
        Issue.record("committed")
      } catch {
        #expect(error.state?.code == state)
      }
    }
    #expect(try subject.query("SELECT seq FROM shards").int(0, 0) == seq)
    // An epoch of before commits nothing either, whatever the sequence.
    do {
      _ = try connection.query(sql, [.int(epoch - 1), .int(seq), .int(60_000)])
      Issue.record("committed")
    } catch {
      #expect(error.state?.code == "FF001")
    }
  }

  @Test("A commit that the standby did not confirm is not acknowledged until a later one is, and is there once")
  func unconfirmed() throws {
    let subject = try PostgresSubject()
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 1)
    // The warning that the server sends where somebody cancels the wait for a standby.
    try subject.query(
      """
      DO $do$ BEGIN
        CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE WARNING 'canceling wait for synchronous replication' USING ERRCODE = '01000'; RETURN NULL; END $$;
        CREATE TRIGGER warn AFTER UPDATE ON shards FOR EACH ROW EXECUTE FUNCTION warn();
      END $do$
      """)
    subject.append(name, epoch: epoch, offset: 2, durability: .durable)
    try eventually { try subject.rows("publications") == 2 }
    usleep(300_000)
    #expect(subject.completions.all.count == 1)
    try subject.query("DROP TRIGGER warn ON shards")
    try subject.completions.wait(for: 2)
    #expect(subject.completions.all.last == LogCompletion(ticket: 2))
    #expect(try subject.rows("publications") == 2)
  }

  @Test("A lock is taken again by the session that has it, so a session must never ask twice")
  func reentrantLock() throws {
    let subject = try PostgresSubject()
    subject.store.close()
    let connection = try subject.server().connect()
    let first = try PostgresLease.take(connection, of: subject.server(), owner: "a", life: 60_000)
    let second = try PostgresLease.take(connection, of: subject.server(), owner: "a", life: 60_000)
    #expect(second.epoch == first.epoch + 1, "which is why a fenced owner closes its session")
    do {
      _ = try PostgresLease.take(subject.server().connect(), of: subject.server(), owner: "b", life: 60_000)
      Issue.record("two sessions have the lease")
    } catch PostgresLease.Fault.held(let owner, _) {
      #expect(owner == "a")
    }
  }

  // MARK: The start

  @Test("What is wrong at the start is a sentence that says what to do, and names no password")
  func sentences() throws {
    func failure(_ connection: String, schema: String = "t") -> String {
      do {
        let options = PostgresStore.Options(connection: connection, schema: schema)
        _ = try PostgresStore(options: options, logger: quiet) { _ in }
        return ""
      } catch { return "\(error)" }
    }
    let folder = try PostgresServer.shared().folder
    #expect(failure("host=\(folder) user=fanfare dbname=none").contains("there is no database none"))
    #expect(failure("host=\(folder) user=none dbname=postgres password=secret").contains("does not let us in"))
    #expect(failure("host=/nowhere user=fanfare password=secret").contains("start the server"))
    #expect(failure("postgresql//ada:secret@host").contains("cannot be read"))
    #expect(failure("host=\(folder)", schema: "a; DROP").contains("schema's name"))
    for broken in ["postgresql//ada:secret@host", "host=/nowhere password=secret", "secret secret"] {
      #expect(!failure(broken).contains("secret"))
    }
    let subject = try PostgresSubject()
    subject.store.close()
    try subject.query("UPDATE version SET version = 999")
    #expect(throws: PostgresStartError.newerSchema(subject.schema)) { try PostgresSubject(schema: subject.schema) }
  }
}
