import Foundation
import TestSupport
import Testing

@testable import SQLite

@Suite("What was deleted stands in no file once the write-ahead log was emptied")
struct ErasureTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/test.sqlite"
  }

  private func files(holding text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
      try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name)).range(of: Data(text.utf8)) != nil
    }
  }

  /// Writes rows of two kinds in random order and random sizes, so that pages are split, joined and filled anew, and
  /// deletes those of one kind.
  private func disturb(_ connection: DatabaseConnection, seed: UInt64, pageSize: Int) throws {
    var random = SeededGenerator(seed: seed)
    try connection.inDatabase { db in
      try db.execute(
        """
        PRAGMA page_size = \(pageSize);
        PRAGMA journal_mode = WAL;
        PRAGMA secure_delete = ON;
        PRAGMA wal_autocheckpoint = 20;
        PRAGMA synchronous = OFF;
        CREATE TABLE keyed (key TEXT PRIMARY KEY, data TEXT) STRICT, WITHOUT ROWID;
        CREATE TABLE numbered (id INTEGER PRIMARY KEY, data TEXT) STRICT;
        CREATE INDEX numbered_data ON numbered (data);
        """)
      var secret: Set<Int> = []
      for _ in 0..<3000 {
        let number = Int.random(in: 0..<1500, using: &random)
        let isSecret = number % 3 == 0
        let padding = String(repeating: "x", count: .random(in: 0...600, using: &random))
        let text = (isSecret ? "sEcReT" : "public") + padding
        try db.inTransaction {
          if isSecret, secret.remove(number) != nil {
            try db.execute("DELETE FROM keyed WHERE key = 'sEcReT\(number)'")
            try db.execute("DELETE FROM numbered WHERE id = \(number)")
          } else {
            try db.execute("REPLACE INTO keyed VALUES ('\(isSecret ? "sEcReT" : "")\(number)', '\(text)')")
            try db.execute("REPLACE INTO numbered VALUES (\(number), '\(text)')")
            if isSecret { secret.insert(number) }
          }
        }
      }
      for number in secret.shuffled(using: &random) {
        try db.inTransaction {
          try db.execute("DELETE FROM keyed WHERE key = 'sEcReT\(number)'")
          try db.execute("DELETE FROM numbered WHERE id = \(number)")
        }
      }
    }
  }

  @Test("no page keeps a copy of a row that was moved before it was deleted", arguments: [512, 4096, 65536])
  func overwritesGaps(pageSize: Int) throws {
    for seed in UInt64(0)..<4 {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
      let connection = try DatabaseConnection(path: path)
      try disturb(connection, seed: seed, pageSize: pageSize)
      try connection.inDatabase { db in try db.checkpointAndTruncate() }
      #expect(try files(holding: "sEcReT") == [])
      // Pages in memory must not bring back what the file has no more.
      try connection.inTransaction { db in try db.execute("UPDATE keyed SET data = data || 'y'") }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).contains("test.sqlite-wal"))
      #expect(try files(holding: "sEcReT") == [])
      #expect(try files(holding: "public") != [])
      #expect(try connection.inDatabase { db in try db.text("PRAGMA integrity_check") } == "ok")
      try connection.close()
      #expect(try files(holding: "sEcReT") == [])
    }
  }

  @Test("a database with maps of its pages is refused, since these look like pages of a tree")
  func autoVacuum() throws {
    let connection = try DatabaseConnection(path: path)
    try connection.inDatabase { db in
      #expect(try db.integer("PRAGMA auto_vacuum") == 0)
      // Fanfare never sets auto_vacuum, but somebody may with another program.
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT; PRAGMA auto_vacuum = FULL; VACUUM")
    }
    try connection.close()
    let error = try #require(throws: DatabaseError.self) { try DatabaseConnection(path: path) }
    #expect("\(error)".contains("auto_vacuum"))
    try DatabaseConnection(path: path, isReadOnly: true).close()
  }

  @Test("rows that are longer than a page keep every byte")
  func keepsLongRows() throws {
    let connection = try DatabaseConnection(path: path)
    var rows: [[UInt8]] = []
    for first: UInt8 in [2, 5, 10, 13] {
      for length in [5000, 40_000] {
        // A header with no free blocks and few rows, which begin near the end of the page.
        let header: [UInt8] = [first, 0, 0, 0, 1, 15, 0, 1]
        // An overflow page begins in the middle of a row: with eight shifts, some row's page begins with each byte of
        // the header.
        for shift in 0..<8 {
          let turned = Array(header[shift...] + header[..<shift])
          rows.append(Array(repeatElement(turned, count: length / 8).joined()))
        }
      }
    }
    try connection.inDatabase { db in
      try db.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB) STRICT")
      let insert = try db.statement("INSERT INTO t VALUES (?1, ?2)")
      for (index, row) in rows.enumerated() {
        insert.bind(Int64(index), at: 1)
        insert.bind(row, at: 2)
        try insert.run()
      }
      try db.checkpointAndTruncate()
    }
    try connection.close()
    try DatabaseConnection(path: path).inDatabase { db in
      let read = try db.statement("SELECT data FROM t ORDER BY id")
      for row in rows {
        #expect(try read.next())
        #expect(read.blob(0) == row)
      }
      read.reset()
      #expect(try db.text("PRAGMA integrity_check") == "ok")
    }
  }
}
