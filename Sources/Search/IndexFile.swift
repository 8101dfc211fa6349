import Foundation
import SQLite
import Glibc

/// The file `search.sqlite`, which is made anew where it is missing, damaged or of another version.
struct IndexFile {
  static let name = "search.sqlite"
  /// The version of the file: it changes with the tables and with what is indexed.
  static let version = 2
  /// Characters of the longest prefix that has an index. Prefixes of one character have one too: a search begins with
  /// the first letter that is typed, which half of all messages hold.
  static let longestPrefix = 3
  /// Whether FTS5 takes words out of its lists when their row is deleted, as it does from SQLite 3.42 on. Before, words
  /// stay there, struck out, until the lists are merged.
  static let forgetsWords = Database.libraryVersion >= 3_042_000

  let path: String

  init(folder: String) { path = folder + "/" + Self.name }

  var exists: Bool { unsafe access(path, F_OK) == 0 }

  func open() throws -> DatabaseConnection {
    do {
      return try openAsItIs()
    } catch let error as DatabaseError where Self.isUseless(error) {
      remove()
      return try openAsItIs()
    }
  }

  /// Whether an error says that the file has to be made anew.
  static func isUseless(_ error: DatabaseError) -> Bool {
    switch error.code.primary {
    case .corrupt, .notADatabase, .format, .error: true
    default: error.code == .readOnlyMoved
    }
  }

  func remove() {
    for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
  }

  private func openAsItIs() throws -> DatabaseConnection {
    // SQLite gives its other files the permissions of this one.
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Glibc.close(descriptor) }
    let connection = try DatabaseConnection(path: path)
    try connection.inDatabase { db in
      try db.execute(
        """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL; -- what a power cut takes is indexed again
        PRAGMA secure_delete = ON;
        PRAGMA wal_autocheckpoint = 1000;
        PRAGMA journal_size_limit = 16777216;
        PRAGMA temp_store = MEMORY;
        """)
      switch try db.integer("PRAGMA user_version") {
      case Int64(Self.version): break
      case 0: try Self.create(db)
      default: throw DatabaseError(.format, "the index is of another version")
      }
      if Self.forgetsWords { try db.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', 1)") }
      // A process that was killed may have left words that it had removed in SQLite's write-ahead log.
      try db.checkpointAndTruncate()
    }
    return connection
  }

  /// Makes the tables. The number of a message's row in `words` is made of its channel's id and its offset
  /// (``MessagePlace``).
  private static func create(_ db: Database) throws {
    try db.inTransaction {
      try db.execute(
        """
        CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO meta VALUES ('removals', 0);

        -- A name of null: of a former epoch, its messages are to be deleted. Ids are never given out twice.
        CREATE TABLE channels (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          name TEXT UNIQUE,
          log_id INTEGER NOT NULL,
          epoch TEXT NOT NULL,
          through INTEGER NOT NULL
        ) STRICT;

        CREATE VIRTUAL TABLE words USING fts5 (
          text, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
        );
        PRAGMA user_version = \(version);
        """)
    }
  }
}

/// Where a message stands in the index: the messages of a channel are next to each other, in their order.
///
///     row = channel's id (27 bits), offset (36 bits)
struct MessagePlace {
  static let offsetBits: Int64 = 36
  static let largestOffset: UInt64 = (1 << 36) - 1
  static let largestID: Int64 = (1 << 27) - 1

  let row: Int64

  init(row: Int64) { self.row = row }

  /// - Parameter channel: the channel's id in the index.
  /// - Returns: nil where one of the numbers is larger than any channel gets.
  init?(_ channel: Int64, _ offset: UInt64) {
    guard channel > 0, channel <= Self.largestID, offset <= Self.largestOffset else { return nil }
    row = channel << Self.offsetBits | Int64(offset)
  }

  var channel: Int64 { row >> Self.offsetBits }
  var offset: UInt64 { UInt64(bitPattern: row) & Self.largestOffset }

  static func first(of channel: Int64) -> Int64 { channel << offsetBits }
  static func last(of channel: Int64) -> Int64 { first(of: channel) | Int64(largestOffset) }
}
