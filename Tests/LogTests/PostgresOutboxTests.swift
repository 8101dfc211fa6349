import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// What backends commit with the schema's function `publish` reaches the broker once, in the order of the commits.
@Suite("The outbox in PostgreSQL", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresOutboxTests {
  /// A backend with a connection of its own, which may have a transaction open. Unchecked: one thread at a time uses it.
  private struct Backend: @unchecked Sendable {
    let connection: Connection

    init(_ subject: PostgresSubject) throws {
      connection = try PostgresServer.shared().connect()
      try connection.run(script: "SET search_path TO \(subject.schema), pg_catalog")
    }

    func run(_ script: String) throws { try connection.run(script: script) }

    @discardableResult
    func publish(_ number: Int, on channel: String = "chat:1", _ options: String = "{}") throws -> Int64 {
      try connection.query(
        "SELECT publish($1, to_jsonb($2), $3::text::jsonb)", [.text(channel), .int(Int64(number)), .text(options)]
      ).int(0, 0)
    }
  }

  /// Takes messages as the broker does.
  private final class Taker {
    let subject: PostgresSubject
    private(set) var messages: [OutboxMessage] = []
    var numbers: [Int] { messages.compactMap { Int(String(decoding: $0.data ?? [], as: UTF8.self)) } }

    init(_ subject: PostgresSubject) { self.subject = subject }

    /// - Parameter conclude: what becomes of each.
    func take(until count: Int, _ conclude: (OutboxMessage) -> OutboxFate? = { _ in .published }) throws {
      try eventually {
        for case .outbox(let news) in subject.store.takeNews() {
          for message in news {
            messages.append(message)
            if let fate = conclude(message) { subject.store.conclude(message.id, fate) }
          }
        }
        return messages.count >= count
      }
    }

    func isEmpty() throws { try eventually { try subject.rows("outbox") == 0 } }
  }

  // MARK: Order

  @Test("Messages come in the order of the commits, not of the calls, also where one look finds all of them")
  func order() throws {
    let subject = try PostgresSubject { $0.outboxMilliseconds = 0 }
    let (late, early) = (try Backend(subject), try Backend(subject))
    try late.run("BEGIN")
    try late.publish(3)
    try early.publish(1)
    try early.publish(2)
    try late.publish(4)
    try late.run("COMMIT")
    try early.publish(5)
    subject.store.close()
    let taker = Taker(try PostgresSubject(schema: subject.schema))
    try taker.take(until: 5)
    #expect(taker.numbers == [1, 2, 3, 4, 5])
    try taker.isEmpty()
  }

  @Test("Who waits for another transaction's lock comes behind it, though it has called first")
  func locks() throws {
    let subject = try PostgresSubject { $0.outboxMilliseconds = 0 }
    try subject.query("CREATE TABLE orders (id int PRIMARY KEY, version int)")
    try subject.query("INSERT INTO orders VALUES (1, 0)")
    let (first, second) = (try Backend(subject), try Backend(subject))
    try second.run("BEGIN")
    try second.publish(2)
    try first.run("BEGIN; UPDATE orders SET version = 1")
    let waiting = Thread {
      try? second.run("UPDATE orders SET version = version + 1")
      try? second.run("COMMIT")
    }
    waiting.start()
    try eventually {
      try subject.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'").int(0, 0) > 0
    }
    try first.publish(1)
    try first.run("COMMIT")
    try eventually { waiting.isFinished }
    subject.store.close()
    let taker = Taker(try PostgresSubject(schema: subject.schema))
    try taker.take(until: 2)
    #expect(taker.numbers == [1, 2])
  }

  @Test("A transaction that commits late is not passed over, and holds nobody up")
  func late() throws {
    let subject = try PostgresSubject()
    let (slow, fast) = (try Backend(subject), try Backend(subject))
    let taker = Taker(subject)
    try slow.run("BEGIN")
    try slow.publish(1000)
    for number in 1...50 {
      try fast.publish(number)
      try taker.take(until: number)
    }
    try slow.run("COMMIT")
    try fast.publish(51)
    try taker.take(until: 52)
    #expect(taker.numbers.count == 52 && Set(taker.numbers) == Set(1...51).union([1000]))
    #expect(taker.numbers.filter { $0 < 1000 } == Array(1...51))
    try taker.isEmpty()
  }

  @Test("What is rolled back, wholly or to a savepoint, is not published")
  func rollback() throws {
    let subject = try PostgresSubject()
    let backend = try Backend(subject)
    let taker = Taker(subject)
    try backend.run("BEGIN")
    try backend.publish(1)
    try backend.run("ROLLBACK")
    try backend.run("BEGIN")
    try backend.publish(2)
    try backend.run("SAVEPOINT s")
    try backend.publish(3)
    try backend.run("ROLLBACK TO s")
    try backend.run("SAVEPOINT s")
    try backend.publish(4)
    try backend.run("COMMIT")
    try taker.take(until: 2)
    #expect(taker.numbers == [2, 4])
    try taker.isEmpty()
  }

  @Test("A transaction with more than there is room for comes whole and in order")
  func large() throws {
    let subject = try PostgresSubject()
    let (backend, other) = (try Backend(subject), try Backend(subject))
    try other.run("BEGIN")
    try other.publish(0)
    try backend.run("SELECT publish('chat:1', to_jsonb(n)) FROM generate_series(1, 5000) AS n")
    let taker = Taker(subject)
    try taker.take(until: 3000)
    try other.run("COMMIT")
    try taker.take(until: 5001)
    #expect(taker.numbers.count == 5001)
    #expect(taker.numbers.filter { $0 > 0 } == Array(1...5000))
    try taker.isEmpty()
  }

  @Test("Many backends at once, with rollbacks and late commits: each message once, in the order that their locks gave")
  func many() throws {
    let subject = try PostgresSubject()
    try subject.query("CREATE TABLE truth (n bigint, text text)")
    try subject.query("CREATE TABLE counter (n bigint)")
    try subject.query("INSERT INTO counter VALUES (0)")
    let (backends, each) = (8, 60)
    let threads = try (0..<backends).map { number in
      let backend = try Backend(subject)
      let thread = Thread {
        for turn in 1...each {
          let text = number * 1000 + turn
          do {
            try backend.run("BEGIN")
            try backend.publish(text)
            try backend.run(
              """
              WITH next AS (UPDATE counter SET n = n + 1 RETURNING n) INSERT INTO truth SELECT n, \(text) FROM next
              """)
            try backend.run((text * 7) % 5 == 0 ? "ROLLBACK" : "COMMIT")
          } catch {
            Issue.record("\(error)")
          }
        }
      }
      thread.start()
      return thread
    }
    let taker = Taker(subject)
    let all = (0..<backends).flatMap { number in (1...each).map { number * 1000 + $0 } }
    try taker.take(until: all.count { ($0 * 7) % 5 != 0 })
    try eventually { threads.allSatisfy(\.isFinished) }
    let rows = try subject.query("SELECT text::bigint FROM truth ORDER BY n")
    #expect(taker.numbers == (0..<rows.count).map { Int(rows.int($0, 0)) })
    try taker.isEmpty()
  }

  // MARK: Once

  @Test("A row goes in the transaction of its publication, and is handed out again where that does not come to be")
  func atomic() throws {
    let subject = try PostgresSubject()
    let backend = try Backend(subject)
    let epoch = try subject.store.open("chat:1", durability: .durable).position.epoch
    let taker = Taker(subject)
    let row = try backend.publish(1)
    try taker.take(until: 1) { _ in nil }
    #expect(taker.messages.first?.id.row == row)
    let origin = RequestOrigin(outboxRow: row)
    #expect(subject.append("chat:1", epoch: epoch, offset: 1, durability: .durable, origin: origin) == .pending)
    try subject.completions.wait(for: 1)
    #expect(try subject.rows("outbox") == 0 && subject.rows("publications") == 1)
    let again = subject.append("chat:1", epoch: epoch, offset: 2, durability: .durable, origin: origin)
    #expect(again == .refused(.notContiguous), "a row is published once")
    // Another broker takes the log over while an entry waits. What it cannot commit, the next owner is handed.
    let lost = try backend.publish(2)
    try taker.take(until: 2) { _ in nil }
    subject.store.close()
    let next = Taker(try PostgresSubject(schema: subject.schema))
    try next.take(until: 1)
    #expect(next.messages.map(\.id.row) == [lost])
    try next.isEmpty()
  }

  @Test("A row that is not in the table any more is not published, whoever has taken it")
  func gone() throws {
    let subject = try PostgresSubject()
    let backend = try Backend(subject)
    let epoch = try subject.store.open("chat:1", durability: .durable).position.epoch
    let taker = Taker(subject)
    let row = try backend.publish(1)
    try taker.take(until: 1) { _ in nil }
    try backend.run("DELETE FROM outbox")
    subject.append("chat:1", epoch: epoch, offset: 1, durability: .durable, origin: RequestOrigin(outboxRow: row))
    try subject.completions.wait(for: 1)
    guard case .rejected = try #require(subject.completions.all.first).error else {
      Issue.record("\(subject.completions.all)")
      return
    }
    #expect(try subject.rows("publications") == 0)
  }

  @Test("After a failure all come again, in order")
  func failed() throws {
    let subject = try PostgresSubject()
    let backend = try Backend(subject)
    try backend.run("SELECT publish('chat:1', to_jsonb(n)) FROM generate_series(1, 10) AS n")
    let taker = Taker(subject)
    var failures = 0
    try taker.take(until: 10) { message in
      // The third is not taken, and so nothing behind it.
      if message.id.round == 1, taker.messages.count >= 3 {
        failures += 1
        return .failed(.internalError)
      }
      return .published
    }
    try taker.take(until: 10 + failures)
    #expect(taker.numbers == Array(1...10) + Array(3...10))
    try taker.isEmpty()
  }

  @Test("Over connections that break, nothing is lost or comes twice")
  func connections() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let subject = try PostgresSubject(connection: proxy.connection)
    let epoch = try subject.store.open("chat:1", durability: .durable).position.epoch
    let backend = try Backend(subject)
    let taker = Taker(subject)
    var offset: UInt64 = 0
    for round in 0..<20 {
      try backend.run(
        "SELECT publish('chat:1', to_jsonb(n)) FROM generate_series(\(round * 10 + 1), \(round * 10 + 10)) AS n")
      if round % 3 == 1 { proxy.cut() }
      try taker.take(until: round * 10 + 10) { message in
        offset += 1
        let origin = RequestOrigin(outboxRow: message.id.row)
        let outcome = subject.append(
          "chat:1", epoch: epoch, offset: offset, durability: .durable, size: 1000, data: message.data ?? [],
          origin: origin)
        #expect(outcome == .pending)
        return nil
      }
      if round % 3 == 2 { proxy.cut() }
      try subject.completions.wait(for: round * 10 + 10)
    }
    #expect(subject.completions.all.allSatisfy { $0.error == nil })
    let rows = try subject.query("SELECT convert_from(data, 'UTF8')::bigint FROM publications ORDER BY off")
    #expect((0..<rows.count).map { rows.int($0, 0) } == Array(1...200))
    #expect(try subject.rows("outbox") == 0)
  }

  // MARK: What is refused

  @Test("A refused message is put aside with the reason, of which the newest are kept")
  func refused() throws {
    let subject = try PostgresSubject()
    let backend = try Backend(subject)
    let taker = Taker(subject)
    try backend.publish(1, on: "nowhere:1", #"{"tags": {"a": "b"}}"#)
    try taker.take(until: 1) { _ in .refused(.unknownChannel.saying("there is no namespace nowhere")) }
    try taker.isEmpty()
    let row = try subject.query(
      "SELECT channel, convert_from(data, 'UTF8'), options::text, code, reason, publisher FROM outbox_refused")
    #expect(row.text(0, 0) == "nowhere:1" && row.text(0, 1) == "1" && row.text(0, 2) == #"{"tags": {"a": "b"}}"#)
    #expect(row.int(0, 3) == 102 && row.text(0, 4) == "there is no namespace nowhere" && row.text(0, 5) == "fanfare")
    let extra = 3000
    try backend.run(
      """
      INSERT INTO outbox_refused SELECT 1000 + n, 'c', '', '{}', 'p', 1, 'r'
      FROM generate_series(1, \(PostgresOutboxSchema.mostRefused + extra)) AS n
      """)
    try backend.run("SELECT setval(pg_get_serial_sequence('outbox', 'id'), 1000000)")
    try backend.publish(2)
    try taker.take(until: 2) { _ in .refused(.badRequest) }
    try taker.isEmpty()
    #expect(try subject.rows("outbox_refused") == PostgresOutboxSchema.mostRefused)
  }

  @Test(
    "A call that cannot be right fails at once, with a sentence",
    arguments: [
      ("publish('', '1')", "the channel must have 1 to 255 bytes"),
      ("publish(NULL, '1')", "the channel must have 1 to 255 bytes"),
      ("publish(repeat('x', 256), '1')", "the channel must have 1 to 255 bytes"),
      ("publish('a', NULL)", "the data is missing"),
      ("publish('a', '1', '[]')", "the options must be a JSON object"),
      ("publish('a', '1', NULL)", "the options must be a JSON object"),
      (#"publish('a', '1', '{"tag": 1}')"#, #"there is no option "tag""#),
    ])
  func mistakes(_ call: String, _ sentence: String) throws {
    let subject = try PostgresSubject { $0.outboxMilliseconds = 0 }
    let error = #expect(throws: PostgresError.self) { try subject.query("SELECT \(call)") }
    #expect(error?.message.contains(sentence) == true, "\(String(describing: error))")
    #expect(try subject.rows("outbox") == 0)
  }

  @Test(
    "Through a PgBouncer in transaction mode, where a client's transactions are now on this connection, now on that one",
    .skipUnlessStrict(.pgbouncer, isThere: PgBouncer.isThere))
  func pooled() throws {
    let subject = try PostgresSubject()
    let bouncer = try PgBouncer(before: PostgresServer.shared(), connections: 2)
    defer { bouncer.end() }
    let (clients, each) = (4, 25)
    let connections = try (0..<clients).map { _ in
      var parameters = ConnectionParameters(bouncer.connection, applicationName: "pooled")
      parameters.connectTimeoutSeconds = 60
      return try Connection(parameters)
    }
    for turn in 0..<each {
      // Two of them have a transaction open at a time, so that all connections of the pool are used in every order.
      for pair in [0...1, 2...3] {
        for client in pair {
          let number = client * 1000 + turn
          try connections[client].run(script: "BEGIN; SELECT \(subject.schema).publish('chat:1', '\(number)')")
        }
        for client in pair.reversed() { try connections[client].run(script: turn % 5 == 0 ? "ROLLBACK" : "COMMIT") }
      }
    }
    let taker = Taker(subject)
    let kept = (0..<each).filter { $0 % 5 != 0 }
    try taker.take(until: clients * kept.count)
    for client in 0..<clients {
      #expect(taker.numbers.filter { $0 / 1000 == client } == kept.map { client * 1000 + $0 })
    }
    try taker.isEmpty()
  }

  @Test("A backend needs the right to call and none on the tables, and a temporary table of its own deceives nobody")
  func rights() throws {
    let subject = try PostgresSubject { $0.outboxMilliseconds = 0 }
    let role = "r" + subject.schema
    let backend = try Backend(subject)
    try backend.run("CREATE ROLE \(role); GRANT USAGE ON SCHEMA \(subject.schema) TO \(role)")
    defer { _ = try? subject.query("DROP OWNED BY \(role)") }
    try backend.run("SET ROLE \(role)")
    let error = #expect(throws: PostgresError.self) { try backend.publish(1) }
    #expect(error?.state == .insufficientPrivilege)
    try backend.run("RESET ROLE; GRANT EXECUTE ON FUNCTION publish, publish_bytes TO \(role); SET ROLE \(role)")
    try backend.run("CREATE TEMPORARY TABLE outbox (id int)")
    try backend.publish(1)
    #expect(throws: PostgresError.self) { try backend.run("SELECT * FROM \(subject.schema).outbox") }
    try backend.run("RESET ROLE")
    #expect(try subject.rows("outbox") == 1)
  }
}
