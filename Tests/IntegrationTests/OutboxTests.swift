import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

/// Backends that publish in transactions of their own, with the function in the schema of the log.
@Suite(
  "Publishing in a transaction of SQL", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct SQLOutboxTests {
  /// A backend's connection. It may have a transaction open. Unchecked: one thread at a time uses it.
  private struct Backend: @unchecked Sendable {
    let connection: Connection

    /// - Parameter connection: another way to the server than straight; nil: straight.
    init(_ settings: [String], through connection: String? = nil) throws {
      let schema = settings.compactMap { $0.hasPrefix("log.postgres.schema=") ? $0.split(separator: "=").last : nil }
      var parameters = ConnectionParameters(
        try connection ?? PostgresServer.shared().connection, applicationName: "backend")
      parameters.connectTimeoutSeconds = 60
      self.connection = try Connection(parameters)
      self.schema = schema.first.map(String.init) ?? "fanfare"
    }

    let schema: String

    func run(_ script: String) throws { try connection.run(script: script.replacing("fanfare.", with: schema + ".")) }

    func ask(_ sql: String) throws -> Rows { try connection.query(sql.replacing("fanfare.", with: schema + ".")) }
  }

  @Test("What a backend commits reaches subscribers, history and maps; what it rolls back and what is refused does not")
  func published() async throws {
    let settings = try Engine.postgres.settings()
    try await Deployment.with(.serve, settings: settings) { deployment in
      let backend = try Backend(settings)
      let ann = try await deployment.client("ann")
      for name in ["dur:room", "rel:room", "mem:room"] { try await ann.subscribe(name) }
      try backend.run(
        """
        CREATE TABLE fanfare.orders (id int);
        BEGIN; INSERT INTO fanfare.orders VALUES (17);
        SELECT fanfare.publish('dur:room', '"first"');
        SELECT fanfare.publish('rel:room', '"relaxed"'); SELECT fanfare.publish('mem:room', '"memory"');
        SELECT fanfare.publish_bytes('dur:room', '"second"'); COMMIT;
        BEGIN; SELECT fanfare.publish('dur:room', '"never"'); ROLLBACK;
        SELECT fanfare.publish('dur:room', '"third"', '{"idempotency_key": "order-17"}');
        """)
      #expect(await eventually { ann.data("dur:room") == ["first", "second", "third"] })
      #expect(await eventually { ann.data("rel:room") == ["relaxed"] && ann.data("mem:room") == ["memory"] })
      try backend.run(
        """
        SELECT fanfare.publish('dur:room', '"third"', '{"idempotency_key": "order-17"}');
        SELECT fanfare.publish('nowhere:room', '"nothing"'); SELECT fanfare.publish('dur:room', '"last"');
        """)
      #expect(await eventually { ann.data("dur:room") == ["first", "second", "third", "last"] })
      #expect(await eventually { (try? backend.ask("SELECT count(*) FROM fanfare.outbox").int(0, 0)) == 0 })
      let refused = try backend.ask("SELECT channel, reason FROM fanfare.outbox_refused")
      #expect(refused.count == 1 && refused.text(0, 0) == "nowhere:room", "\(refused.text(0, 1))")
      let history = try await deployment.service().wholeHistory("dur:room").map(\.data)
      #expect(history == ["first", "second", "third", "last"])
    }
  }

  @Test("A transaction that stays open moves nobody else's publications, and its own come with its commit")
  func open() async throws {
    let settings = try Engine.postgres.settings()
    try await Deployment.with(.serve, settings: settings) { deployment in
      let (slow, fast) = (try Backend(settings), try Backend(settings))
      let ann = try await deployment.client("ann")
      try await ann.subscribe("dur:room")
      try slow.run(#"BEGIN; SELECT fanfare.publish('dur:room', '"slow"')"#)
      for number in 1...200 {
        try fast.run("SELECT fanfare.publish('dur:room', '\"\(number)\"')")
        #expect(await eventually { ann.data("dur:room").count == number })
      }
      try slow.run("COMMIT")
      #expect(await eventually { ann.data("dur:room").last == "slow" })
      #expect(ann.data("dur:room").dropLast() == (1...200).map { "\($0)" }[...])
    }
  }

  /// Publishes in transactions, some of which are rolled back, on a thread of its own. Those who publish wait for each
  /// other's lock, which their order comes from.
  private static func publish(
    as publisher: Int, over backend: Backend, until isOver: @escaping @Sendable () -> Bool,
    onCommit: @escaping @Sendable () -> Void
  ) -> Thread {
    let thread = Thread {
      var random = SeededGenerator(seed: UInt64(publisher))
      var number = 0
      while !isOver() {
        number += 1
        let text = "\(publisher)-\(number)"
        let ends = Int.random(in: 0..<5, using: &random) > 0 ? "COMMIT" : "ROLLBACK"
        do {
          try backend.run(
            """
            BEGIN; SELECT fanfare.publish('dur:room', '"\(text)"');
            WITH next AS (UPDATE fanfare.counter SET n = n + 1 RETURNING n)
            INSERT INTO fanfare.truth SELECT n, '\(text)' FROM next;
            """)
          try backend.run(ends)
          if ends == "COMMIT" { onCommit() }
        } catch {
          Issue.record("\(error)")
          return
        }
      }
    }
    thread.start()
    return thread
  }

  @Test("Over kill -9 of the broker, rollbacks and late commits: each publication once, in the order of the commits")
  func underFire() async throws {
    let settings = try Engine.postgres.settings()
    try await Deployment.with(.ipc, settings: settings + ["backbone.heartbeat_interval=200ms"]) { deployment in
      let setup = try Backend(settings)
      try setup.run(
        """
        CREATE TABLE fanfare.counter (n bigint); INSERT INTO fanfare.counter VALUES (0);
        CREATE TABLE fanfare.truth (n bigint PRIMARY KEY, text text)
        """)
      let ann = try await deployment.client("ann", at: deployment.a)
      try await ann.subscribe("dur:room")
      let isOver = Mutex(false)
      let committed = Mutex(0)
      let publishers = try (0..<4).map { publisher in
        try Self.publish(as: publisher, over: Backend(settings), until: { isOver.withLock { $0 } }) {
          committed.withLock { $0 += 1 }
        }
      }
      for round in 1...6 {
        let before = (committed.withLock { $0 }, ann.data("dur:room").count)
        let goesOn = await eventually(within: .seconds(60)) {
          committed.withLock { $0 } > before.0 + 50 && ann.data("dur:room").count > before.1 + 50
        }
        try #require(goesOn, "round \(round)")
        await deployment.broker.kill()
        try await deployment.restartBroker()
      }
      isOver.withLock { $0 = true }
      #expect(await eventually { publishers.allSatisfy(\.isFinished) })
      let rows = try setup.ask("SELECT text FROM fanfare.truth ORDER BY n")
      let truth = (0..<rows.count).map { rows.text($0, 0) }
      #expect(truth.count == committed.withLock { $0 })
      #expect(await eventually(within: .seconds(60)) { ann.data("dur:room").count >= truth.count })
      let seen = ann.data("dur:room")
      let difference = zip(seen, truth).enumerated().first { $0.element.0 != $0.element.1 }
      #expect(seen == truth, "\(seen.count) seen of \(truth.count), different at \(String(describing: difference))")
      let history = try await deployment.service().wholeHistory("dur:room").map(\.data)
      #expect(history == truth)
      #expect(await eventually { (try? setup.ask("SELECT count(*) FROM fanfare.outbox").int(0, 0)) == 0 })
      print("outbox under fire: \(truth.count) committed by \(publishers.count) backends, all there in order")
    }
  }
}
