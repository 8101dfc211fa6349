import Foundation
import TestSupport
import Testing

@testable import SQLite

@Suite("A connection to a database, its statements and its transactions")
struct DatabaseTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/test.sqlite"
  }

  private func connection() throws -> DatabaseConnection {
    let connection = try DatabaseConnection(path: path)
    try connection.inDatabase { try $0.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER, b TEXT, c BLOB) STRICT") }
    return connection
  }

  @Test("Values come back as they were bound: the largest numbers, NUL in text, empty text, empty blobs and NULL")
  func values() throws {
    let texts: [String] = ["", "a\u{0}b", "é🙂", String(repeating: "x", count: 100_000)]
    let blobs: [[UInt8]?] = [nil, [], [0, 255], [UInt8](repeating: 7, count: 100_000)]
    let numbers: [Int64] = [.min, -1, 0, .max]
    try connection().inDatabase { db in
      let insert = try db.statement("INSERT INTO t VALUES (?1, ?2, ?3)")
      for (index, number) in numbers.enumerated() {
        insert.bind(number, at: 1)
        insert.bind(texts[index], at: 2)
        insert.bind(blobs[index], at: 3)
        try insert.run()
      }
      let rows = try db.statement("SELECT a, b, c, typeof(c) FROM t ORDER BY rowid")
      for (index, number) in numbers.enumerated() {
        #expect(try rows.next())
        #expect(rows.int(0) == number && rows.unsigned(0) == UInt64(bitPattern: number))
        #expect(rows.text(1) == texts[index])
        #expect(rows.isNull(2) == (blobs[index] == nil) && rows.blob(2) == blobs[index] ?? [])
        #expect(rows.text(3) == (blobs[index] == nil ? "null" : "blob"))
      }
      #expect(try !rows.next())
    }
  }

  @Test("A transaction that throws leaves nothing, also where a statement stands within its rows")
  func rollback() throws {
    struct Stop: Error {}
    let connection = try connection()
    try connection.inDatabase { try $0.execute("INSERT INTO t (a) VALUES (1), (2)") }
    #expect(throws: Stop.self) {
      try connection.inTransaction { db in
        let rows = try db.statement("SELECT a FROM t")
        #expect(try rows.next())
        try db.execute("INSERT INTO t (a) VALUES (3)")
        throw Stop()
      }
    }
    try connection.inDatabase { db in
      let count = try db.integer("SELECT count(*) FROM t")
      #expect(!db.isInTransaction && count == 2)
    }
  }

  @Test("An error says what SQLite says, and the statement can be run again")
  func errors() throws {
    try connection().inDatabase { db in
      let insert = try db.statement("INSERT INTO t (a) VALUES (?1)")
      insert.bind("no number", at: 1)
      #expect { try insert.run() } throws: { error in
        guard let error = error as? DatabaseError else { return false }
        return error.code.primary == .constraint && error.message.contains("INTEGER")
      }
      insert.bind(Int64(1), at: 1)
      try insert.run()
      #expect(try db.integer("SELECT a FROM t") == 1)
      #expect(throws: DatabaseError.self) { try db.statement("SELEC") }
      #expect(throws: DatabaseError(.misuse, "a statement without SQL")) { try db.statement(" -- nothing") }
    }
  }

  @Test("The first value of the first row is nil where there is no row, or NULL in it")
  func firstValues() throws {
    try connection().inDatabase { db in
      #expect(try db.integer("SELECT a FROM t") == nil)
      try db.execute("INSERT INTO t (a) VALUES (NULL)")
      #expect(try db.integer("SELECT a FROM t") == nil)
      #expect(try db.text("SELECT b FROM t") == nil)
      try db.execute("UPDATE t SET a = 4, b = 'x'")
      #expect(try db.integer("SELECT a FROM t") == 4)
      #expect(try db.text("SELECT b FROM t") == "x")
    }
  }

  @Test("A connection that only reads neither makes a file nor writes into one")
  func readOnly() throws {
    #expect(throws: DatabaseError.self) { try DatabaseConnection(path: path, isReadOnly: true) }
    #expect(!FileManager.default.fileExists(atPath: path))
    try connection().close()
    let reader = try DatabaseConnection(path: path, isReadOnly: true)
    #expect {
      try reader.inDatabase { try $0.execute("INSERT INTO t (a) VALUES (1)") }
    } throws: { ($0 as? DatabaseError)?.code.primary == .readOnly }
  }

  @Test("A closed connection says so, and closing twice does nothing")
  func closed() throws {
    let connection = try connection()
    try connection.inDatabase { db in
      try db.execute("INSERT INTO t (a) VALUES (1), (2)")
      let isRow = try db.statement("SELECT a FROM t").next()
      #expect(isRow)
    }
    try connection.close()
    try connection.close()
    #expect(throws: DatabaseError(.misuse, "the database is closed")) { try connection.inDatabase { _ in } }
  }

  @Test("A commit that fails takes everything back, and the connection goes on")
  func failingCommit() throws {
    let connection = try connection()
    try connection.inDatabase { db in
      try db.execute(
        """
        PRAGMA foreign_keys = ON;
        CREATE TABLE child (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TABLE parents (id INTEGER PRIMARY KEY);
        """)
    }
    #expect {
      try connection.inTransaction { try $0.execute("INSERT INTO child VALUES (7)") }
    } throws: { ($0 as? DatabaseError)?.code.primary == .constraint }
    try connection.inTransaction { db in
      let count = try db.integer("SELECT count(*) FROM child")
      #expect(count == 0)
    }
  }

  @Test("A file that is no database is told when it is opened, and double quotes hold names alone")
  func openedWrongly() throws {
    try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: path))
    for isReadOnly in [false, true] {
      #expect {
        try DatabaseConnection(path: path, isReadOnly: isReadOnly)
      } throws: { ($0 as? DatabaseError)?.code.primary == .notADatabase }
    }
    try FileManager.default.removeItem(atPath: path)
    try connection().inDatabase { db in
      #expect(throws: DatabaseError.self) { try db.statement("SELECT \"nothing\" FROM t") }
      #expect(throws: DatabaseError.self) { try db.statement("SELECT 1; SELECT 2") }
      try db.execute("INSERT INTO t (a) VALUES (1)")
    }
  }

  @Test("A value that cannot be bound is an error of the next step, and of that alone")
  func failingBind() throws {
    try connection().inDatabase { db in
      let insert = try db.statement("INSERT INTO t (a) VALUES (?1)")
      insert.bind(Int64(1), at: 2)
      #expect { try insert.run() } throws: { ($0 as? DatabaseError)?.code.primary == .range }
      insert.bind(Int64(1), at: 1)
      try insert.run()
    }
  }

  @Test("Threads have their turns one after another, and lose no row")
  func turns() async throws {
    let connection = try connection()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            try connection.inTransaction { db in
              let insert = try db.statement("INSERT INTO t (a) VALUES (?1)")
              insert.bind(Int64(number), at: 1)
              try insert.run()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try connection.inDatabase { try $0.integer("SELECT count(*) FROM t") } == 400)
  }

  @Test("A connection waits for locks as long as every other, unless it is told how long")
  func busyTimeout() throws {
    func milliseconds(_ connection: DatabaseConnection) throws -> Int64? {
      try connection.inDatabase { try $0.integer("PRAGMA busy_timeout") }
    }
    let standard = Int64(Database.standardBusyTimeoutMilliseconds)
    #expect(try milliseconds(connection()) == standard)
    #expect(try milliseconds(DatabaseConnection(path: path, isReadOnly: true)) == standard)
    #expect(try milliseconds(DatabaseConnection(path: path, busyTimeoutMilliseconds: 7)) == 7)
  }

  @Test("A checkpoint that a reader keeps from its end is busy, and goes through once it is gone")
  func checkpoint() throws {
    let connection = try connection()
    try connection.inDatabase { db in
      try db.execute("PRAGMA journal_mode = WAL; INSERT INTO t (a) VALUES (1)")
      db.setBusyTimeout(milliseconds: 0)
    }
    let reader = try DatabaseConnection(path: path, isReadOnly: true)
    try reader.inDatabase { db in
      try db.execute("BEGIN")
      #expect(try db.integer("SELECT count(*) FROM t") == 1)
    }
    try connection.inDatabase { db in
      try db.execute("INSERT INTO t (a) VALUES (2)")
      #expect { try db.checkpointAndTruncate() } throws: { ($0 as? DatabaseError)?.code.primary == .busy }
    }
    try reader.close()
    try connection.inDatabase { try $0.checkpointAndTruncate() }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).isEmpty)
  }
}

@Suite("Steps of a schema")
struct MigrationTests {
  private static let first = Migrations([.init("one", "CREATE TABLE a (x)")])
  private static let second = Migrations([
    .init("one", "CREATE TABLE a (x)"), .init("two", "ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES (1, 2)"),
  ])

  @Test("Each is done once, in order, and a file of a newer version is known")
  func once() throws {
    let folder = try TemporaryFolder()
    try DatabaseConnection(path: folder.path + "/test.sqlite").inDatabase { db in
      #expect(try !Self.first.areSuperseded(db))
      try Self.second.run(db, upTo: "one")
      #expect(try db.hasTable("a"))
      #expect(try !db.hasTable("b"))
      for _ in 0..<2 { try Self.second.run(db) }
      #expect(try db.integer("SELECT sum(y) FROM a") == 2)
      #expect(try Self.first.areSuperseded(db))
      #expect(try !Self.second.areSuperseded(db))
    }
  }

  @Test("A step that fails leaves nothing of itself, and the steps before it")
  func failing() throws {
    let folder = try TemporaryFolder()
    let broken = Migrations([
      .init("one", "CREATE TABLE a (x)"), .init("two", "INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (1)"),
    ])
    try DatabaseConnection(path: folder.path + "/test.sqlite").inDatabase { db in
      #expect(throws: DatabaseError.self) { try broken.run(db) }
      let count = try db.integer("SELECT count(*) FROM a")
      #expect(count == 0)
      #expect(try !Self.first.areSuperseded(db))
    }
  }
}
