import Glibc
import SQLite
import Wire

/// The file of intervals of one gateway process: rows in SQLite, bounded in age and in bytes.
///
/// A row is written when a subscription begins and once more when it ends. A row that has no end when the file is opened
/// belongs to a process that died: nobody saw how far it came.
///
/// Several processes may use one data folder. Each takes the first of `coverage.sqlite`, `coverage-2.sqlite` and so on
/// that no other has; the lock of the file beside it goes with the process, however that ends.
///
/// Not Sendable: ``CoverageStore`` owns one on its thread.
final class CoverageFile {
  /// Most rows of one user on one channel that are looked through for a question, newest first.
  static let lookedThrough = 10_000
  /// Rows that are deleted at a time where the file has grown too large.
  private static let trimStep = 2_000
  private static let mostFiles = 32

  let path: String
  let connection: DatabaseConnection
  /// Released with the process.
  private let lock: CInt

  /// - Parameters:
  ///   - folder: the data folder, which exists.
  ///   - now: milliseconds since 1970.
  init(folder: String, now: Int64) throws {
    (path, lock) = try Self.choose(in: folder)
    do {
      do {
        connection = try Self.open(path, now)
      } catch let error as DatabaseError where Self.isUseless(error) {
        // Intervals are for looking back a day: a damaged file is not worth a start that fails.
        for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
        connection = try Self.open(path, now)
      }
    } catch {
      Glibc.close(lock)
      throw error
    }
  }

  deinit {
    // A child process that is just being started may have the descriptor for a moment longer.
    _ = flock(lock, LOCK_UN)
    Glibc.close(lock)
  }

  private static func isUseless(_ error: DatabaseError) -> Bool {
    switch error.code.primary {
    case .corrupt, .notADatabase, .format, .error: true
    default: false
    }
  }

  private static func choose(in folder: String) throws -> (String, CInt) {
    for number in 1...mostFiles {
      let path = "\(folder)/coverage\(number == 1 ? "" : "-\(number)").sqlite"
      let lock = unsafe Glibc.open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard lock >= 0 else {
        throw DatabaseError(.cannotOpen, "\(path).lock cannot be made; is the folder writable?", systemErrno: errno)
      }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { return (path, lock) }
      Glibc.close(lock)
    }
    throw DatabaseError(
      .busy, "\(mostFiles) processes use \(folder) already; give this one a data.directory of its own")
  }

  private static func open(_ path: String, _ now: Int64) throws -> DatabaseConnection {
    // SQLite gives its other files the permissions of this one.
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Glibc.close(descriptor) }
    let connection = try DatabaseConnection(path: path)
    try connection.inDatabase { db in
      try db.execute(
        """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL; -- what a power cut takes are the last intervals
        PRAGMA secure_delete = ON;
        PRAGMA wal_autocheckpoint = 1000;
        PRAGMA journal_size_limit = 4194304;
        PRAGMA temp_store = MEMORY;
        """)
      try Migrations([.init("intervals", tables)]).run(db)
      try db.inTransaction { try closeOpenRows(db, now) }
    }
    return connection
  }

  private static let tables = """
    CREATE TABLE intervals (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user TEXT NOT NULL,
      channel TEXT NOT NULL,
      client TEXT NOT NULL,
      connection INTEGER NOT NULL,
      start BLOB NOT NULL,
      ended INTEGER,
      cause INTEGER,
      code INTEGER,
      covered INTEGER,
      written INTEGER,
      unsure INTEGER,
      unsent INTEGER
    ) STRICT;
    CREATE INDEX intervals_of_user ON intervals (user, channel, id);
    CREATE INDEX intervals_open ON intervals (connection, channel) WHERE ended IS NULL;
    CREATE INDEX intervals_ended ON intervals (ended) WHERE ended IS NOT NULL;
    -- kept_since: from when on rows are there; alive: when the process that has the file was last seen to live;
    -- deletions_number, deletions_time: through which deletion nothing of deleted users is there.
    CREATE TABLE moments (name TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """

  /// What the process before left open ended with it, at some time after it was last known to live.
  private static func closeOpenRows(_ db: Database, _ now: Int64) throws {
    let alive = try moment("alive", db) ?? now
    let statement = try db.statement("UPDATE intervals SET ended = ?1, cause = ?2, code = 0 WHERE ended IS NULL")
    statement.bind(alive, at: 1)
    statement.bind(Int64(CoverageEnd.Cause.died.rawValue), at: 2)
    try statement.run()
    if try moment("kept_since", db) == nil { try set("kept_since", now, db) }
    try set("alive", now, db)
  }

  static func moment(_ name: String, _ db: Database) throws -> Int64? {
    let statement = try db.statement("SELECT at FROM moments WHERE name = ?1")
    statement.bind(name, at: 1)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.int(0)
  }

  static func set(_ name: String, _ at: Int64, _ db: Database) throws {
    let statement = try db.statement("INSERT OR REPLACE INTO moments (name, at) VALUES (?1, ?2)")
    statement.bind(name, at: 1)
    statement.bind(at, at: 2)
    try statement.run()
  }

  func close() throws { try connection.close() }

  // MARK: Records

  /// Writes records, all or none.
  ///
  /// - Parameter now: milliseconds since 1970; the process is known to live then.
  func write(_ records: [CoverageRecord], at now: Int64) throws {
    try connection.inTransaction { db in
      for record in records { try Self.write(record, db) }
      try Self.set("alive", now, db)
    }
  }

  private static func write(_ record: CoverageRecord, _ db: Database) throws {
    switch record {
    case .began(let key, let owner, let start): try begin(key, owner, start, db)
    case .reached(let key, let reach): try reached(key, reach, db)
    case .ended(let key, let reach, let end): try self.end(key, reach, end, db)
    case .refiltered(let key, let reach, let audience, let at):
      guard let (owner, start) = try open(key, db) else { return }
      try end(key, reach, CoverageEnd(.refiltered, at: at), db)
      var next = start
      next.position.offset = max(reach.covered, start.position.offset)
      (next.since, next.recovered, next.audience, next.at) = (nil, false, audience, at)
      try begin(key, owner, next, db)
    case .refused(let key, let owner, let end):
      try begin(key, owner, CoverageStart(position: StreamPosition(epoch: "", offset: 0), at: end.at), db)
      try self.end(key, nil, end, db)
    }
  }

  private static func begin(_ key: CoverageKey, _ owner: CoverageOwner, _ start: CoverageStart, _ db: Database) throws {
    let statement = try db.statement(
      "INSERT INTO intervals (user, channel, client, connection, start) VALUES (?1, ?2, ?3, ?4, ?5)")
    statement.bind(owner.user, at: 1)
    statement.bind(key.channel.string, at: 2)
    statement.bind(owner.client, at: 3)
    statement.bind(key.connection, at: 4)
    statement.bind(start.bytes, at: 5)
    try statement.run()
  }

  private static func end(_ key: CoverageKey, _ reach: CoverageReach?, _ end: CoverageEnd, _ db: Database) throws {
    // The newest one: a subscribe that is refused while the subscription stands must not end that one.
    let statement = try db.statement(
      """
      UPDATE intervals SET ended = ?3, cause = ?4, code = ?5, covered = ?6, written = ?7, unsure = ?8, unsent = ?9
      WHERE id = (SELECT max(id) FROM intervals WHERE connection = ?1 AND channel = ?2 AND ended IS NULL)
      """)
    statement.bind(key.connection, at: 1)
    statement.bind(key.channel.string, at: 2)
    statement.bind(end.at, at: 3)
    statement.bind(Int64(end.cause.rawValue), at: 4)
    statement.bind(Int64(end.code), at: 5)
    statement.bind(reach.map { Int64(bitPattern: $0.covered) }, at: 6)
    statement.bind(reach.map { Int64(bitPattern: $0.written) }, at: 7)
    statement.bind(reach.map { Int64(bitPattern: $0.unsure) }, at: 8)
    statement.bind(reach.map { $0.isUnsent ? 1 : 0 }, at: 9)
    try statement.run()
  }

  /// Notes how far an open row is. What is noted stands where the process dies.
  private static func reached(_ key: CoverageKey, _ reach: CoverageReach, _ db: Database) throws {
    let statement = try db.statement(
      """
      UPDATE intervals SET covered = ?3, written = ?4, unsure = ?5, unsent = ?6
      WHERE id = (SELECT max(id) FROM intervals WHERE connection = ?1 AND channel = ?2 AND ended IS NULL)
      """)
    statement.bind(key.connection, at: 1)
    statement.bind(key.channel.string, at: 2)
    statement.bind(Int64(bitPattern: reach.covered), at: 3)
    statement.bind(Int64(bitPattern: reach.written), at: 4)
    statement.bind(Int64(bitPattern: reach.unsure), at: 5)
    statement.bind(Int64(reach.isUnsent ? 1 : 0), at: 6)
    try statement.run()
  }

  private static func open(_ key: CoverageKey, _ db: Database) throws -> (CoverageOwner, CoverageStart)? {
    let statement = try db.statement(
      """
      SELECT user, client, start FROM intervals WHERE connection = ?1 AND channel = ?2 AND ended IS NULL
      ORDER BY id DESC LIMIT 1
      """)
    statement.bind(key.connection, at: 1)
    statement.bind(key.channel.string, at: 2)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    guard let start = try? CoverageStart(bytes: statement.blob(2)) else { return nil }
    return (CoverageOwner(user: statement.text(0), client: statement.text(1)), start)
  }

  // MARK: Questions

  /// The rows of a user on a channel that say something about a position, in the order in which they began.
  func find(_ query: CoverageQuery) throws -> CoverageSink.Found {
    try connection.inDatabase { db in
      let statement = try db.statement(
        """
        SELECT client, connection, start, ended, cause, code, covered, written, unsure, unsent
        FROM intervals WHERE user = ?1 AND channel = ?2 ORDER BY id DESC LIMIT ?3
        """)
      statement.bind(query.user, at: 1)
      statement.bind(query.channel.string, at: 2)
      statement.bind(Int64(Self.lookedThrough), at: 3)
      var rows: [CoverageRow] = []
      while try statement.next() {
        if let row = Self.row(statement, query.channel) { rows.append(row) }
      }
      return CoverageSink.Found(
        rows: CoverageFindings.telling(rows.reversed(), of: query.position),
        keptSince: try Self.moment("kept_since", db) ?? 0)
    }
  }

  /// Nil where the row cannot be read, as one of another version.
  private static func row(_ statement: Statement, _ channel: ChannelName) -> CoverageRow? {
    guard let start = try? CoverageStart(bytes: statement.blob(2)) else { return nil }
    var interval = CoverageInterval(client: statement.text(0), start: start)
    if !statement.isNull(3) {
      guard let cause = CoverageEnd.Cause(rawValue: UInt8(clamping: statement.int(4))) else { return nil }
      interval.end = CoverageEnd(cause, code: UInt32(clamping: statement.int(5)), at: statement.int(3))
    }
    if !statement.isNull(6) {
      interval.reach = CoverageReach(
        covered: statement.unsigned(6), written: statement.unsigned(7), unsure: statement.unsigned(8),
        isUnsent: statement.int(9) != 0)
    }
    return CoverageRow(key: CoverageKey(connection: statement.unsigned(1), channel: channel), interval: interval)
  }

  // MARK: What is not kept

  /// Deletes every row of users, and everybody's on channels that are limited to one of them by name, and overwrites
  /// what stood there.
  func forget(_ users: [String]) throws {
    let sought = SoughtUsers(users)
    try connection.inTransaction { db in
      for user in users { try Self.run("DELETE FROM intervals WHERE user = ?1", user, db) }
      for channel in try Self.channels(of: sought, db) {
        try Self.run("DELETE FROM intervals WHERE channel = ?1", channel, db)
      }
    }
    try overwrite()
  }

  /// Leaves nothing of rows that were deleted. SQLite has overwritten them in its pages; copies of them stand in its
  /// write-ahead log until that is emptied.
  func overwrite() throws { try connection.inDatabase { db in try db.checkpointAndTruncate() } }

  private static func channels(of sought: SoughtUsers, _ db: Database) throws -> [String] {
    let statement = try db.statement("SELECT DISTINCT channel FROM intervals WHERE instr(channel, '#')")
    var channels: [String] = []
    while try statement.next() {
      let text = statement.text(0)
      if let name = try? ChannelName(text, limit: .max), sought.own(name) { channels.append(text) }
    }
    return channels
  }

  private static func run(_ sql: String, _ text: String, _ db: Database) throws {
    let statement = try db.statement(sql)
    statement.bind(text, at: 1)
    try statement.run()
  }

  /// Deletes rows that ended before a time, and the oldest ones where the file is larger than it may be.
  ///
  /// - Returns: false where something is left to do, which is done with the next call.
  func sweep(endedBefore oldest: Int64, maximumBytes: Int64) throws -> Bool {
    try connection.inTransaction { db in
      let expired = try Self.delete("ended < ?1", oldest, db)
      let kept = try Self.moment("kept_since", db) ?? oldest
      if kept < oldest { try Self.set("kept_since", oldest, db) }
      guard try Self.usedBytes(db) > maximumBytes else { return expired < Self.trimStep }
      let last = try db.integer(
        "SELECT max(ended) FROM (SELECT ended FROM intervals WHERE ended IS NOT NULL ORDER BY ended LIMIT 2000)")
      guard let last else { return true }
      _ = try Self.delete("ended <= ?1", last, db)
      try Self.set("kept_since", max(kept, oldest, last), db)
      return false
    }
  }

  private static func delete(_ condition: StaticString, _ time: Int64, _ db: Database) throws -> Int {
    let before = db.totalChanges
    let statement = try db.statement(
      """
      DELETE FROM intervals WHERE id IN
        (SELECT id FROM intervals WHERE ended IS NOT NULL AND \(condition) ORDER BY ended LIMIT \(trimStep))
      """)
    statement.bind(time, at: 1)
    try statement.run()
    return Int(db.totalChanges - before)
  }

  private static func usedBytes(_ db: Database) throws -> Int64 {
    let pages = try db.integer("PRAGMA page_count") ?? 0
    let free = try db.integer("PRAGMA freelist_count") ?? 0
    return (pages - free) * (try db.integer("PRAGMA page_size") ?? 4096)
  }
}
