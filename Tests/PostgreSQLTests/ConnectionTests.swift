import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("A connection to PostgreSQL", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct ConnectionTests {
  private func connect() throws -> Connection {
    var parameters = ConnectionParameters(try PostgresServer.shared().connection, applicationName: "test")
    parameters.connectTimeoutSeconds = 60
    return try Connection(parameters)
  }

  private var soon: DispatchTime { .now() + 60 }

  @Test("Values come back as they went, whatever bytes they have")
  func values() throws {
    let connection = try connect()
    let ints: [Int64?] = [.min, -1, 0, 1, .max, nil]
    for value in ints {
      let rows = try connection.query("SELECT $1::bigint", [.int(value)])
      #expect(rows.isNull(0, 0) == (value == nil))
      #expect(rows.int(0, 0) == value ?? 0)
    }
    for value in [nil, [], [0], [0, 1, 255, 0], Array(repeating: 7, count: 100_000)] as [[UInt8]?] {
      #expect(try connection.query("SELECT $1::bytea", [.bytes(value)]).bytesIfAny(0, 0) == value)
    }
    #expect(try connection.query("SELECT $1::text", [.text("é\u{301}'; DROP")]).text(0, 0) == "é\u{301}'; DROP")
    #expect(try connection.query("SELECT $1", [.bool(true)]).bool(0, 0))
    #expect(try connection.query("SELECT (-2)::smallint, (-3)::integer").int(0, 0) == -2)
    #expect(try connection.query("SELECT (-2)::smallint, (-3)::integer").int(0, 1) == -3)
  }

  @Test("Arrays are rows' columns, with NULLs among them, and empty ones")
  func arrays() throws {
    let connection = try connect()
    let sql = "SELECT * FROM unnest($1, $2, $3, $4) WITH ORDINALITY"
    let none = try connection.query(sql, [.ints([]), .blobs([]), .texts([]), .bools([])])
    #expect(none.count == 0)
    let rows = try connection.query(
      sql, [.ints([.max, nil]), .blobs([nil, []]), .texts(["a", ""]), .bools([false, true])])
    #expect(rows.count == 2)
    #expect(rows.int(0, 0) == .max && rows.isNull(1, 0))
    #expect(rows.isNull(0, 1) && rows.bytesIfAny(1, 1) == [])
    #expect(rows.text(0, 2) == "a" && rows.bool(1, 3) && rows.int(1, 4) == 2)
  }

  @Test("What is not there reads as nothing")
  func beyond() throws {
    let rows = try connect().query("SELECT 5::bigint WHERE false")
    for (row, column) in [(0, 0), (-1, 0), (0, 7), (.max, .max)] {
      #expect(rows.int(row, column) == 0 && rows.bytes(row, column) == [] && rows.isNull(row, column))
    }
  }

  @Test("Results come in the order of sending, and one that is refused takes no other with it")
  func pipeline() throws {
    let connection = try connect()
    for number in 0..<20 as Range<Int64> {
      try connection.send(number == 7 ? "SELECT 1 / 0" : "SELECT $1", number == 7 ? [] : [.int(number)], by: soon)
    }
    #expect(connection.pendingCount == 20)
    for number in 0..<20 as Range<Int64> {
      do {
        #expect(try connection.receive(by: soon).int(0, 0) == number)
        #expect(number != 7)
      } catch {
        #expect(number == 7 && error.state == SQLState("22012"))
      }
    }
    #expect(try connection.query("SELECT $1", [.int(1)]).int(0, 0) == 1)
  }

  @Test("A statement that could not be prepared is prepared anew when it is sent again")
  func preparedAgain() throws {
    let connection = try connect()
    let sql = "SELECT count(*) FROM made_later"
    #expect(throws: PostgresError.self) { try connection.query(sql) }
    try connection.run(script: "CREATE TEMP TABLE made_later (a int); INSERT INTO made_later VALUES (1), (2)")
    #expect(try connection.query(sql).int(0, 0) == 2)
    #expect(throws: PostgresError.self) { try connection.run(script: "SELECT 1; SELECT nonsense") }
    #expect(try connection.query(sql).int(0, 0) == 2)
  }

  @Test("Warnings come with the result that they belong to")
  func notices() throws {
    let connection = try connect()
    try connection.send("SELECT 1", by: soon)
    try connection.send("DO $$ BEGIN RAISE WARNING 'careful' USING ERRCODE = '01000'; END $$", by: soon)
    try connection.send("SELECT 1", by: soon)
    #expect(try connection.receive(by: soon).notices == [])
    let notice = Notice(state: .warning, severity: "WARNING", message: "careful")
    #expect(try connection.receive(by: soon).notices == [notice])
    #expect(try connection.receive(by: soon).notices == [])
  }

  @Test("An ended session, a silent server and a closed connection are lost, which no refusal is")
  func lost() throws {
    let (first, second) = (try connect(), try connect())
    _ = try second.query("SELECT pg_terminate_backend($1::int)", [.text("\(first.processNumber)")])
    do {
      _ = try first.query("SELECT 1")
      Issue.record("a session that was ended answers")
    } catch { #expect(error.isLost) }
    do {
      _ = try second.query("SELECT pg_sleep(5)", within: 0.05)
      Issue.record("nobody waits for five seconds in so short a time")
    } catch { #expect(error.isLost) }
    second.close()
    do {
      _ = try second.query("SELECT 1")
      Issue.record("a closed connection answers")
    } catch { #expect(error.isLost) }
  }

  @Test("No error has the password")
  func password() throws {
    let folder = try PostgresServer.shared().folder
    for string in [
      "postgresql//ada:secret@host", "host=/nowhere password=secret", "host=\(folder) user=none password=secret",
    ] {
      do {
        _ = try Connection(ConnectionParameters(string, applicationName: "test"))
        Issue.record("connected to \(string)")
      } catch { #expect(!error.description.contains("secret@") && !error.description.contains("=secret")) }
    }
    let parameters = ConnectionParameters("postgresql://a:secret@host:5/base", applicationName: "")
    #expect(parameters.target == "database base of host:5")
  }
}
