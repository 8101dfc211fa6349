import CSQLite

/// An open database, as whoever has its connection's turn sees it (``DatabaseConnection/inDatabase(_:)``).
///
/// Not Sendable: it and its statements belong to one thread at a time, which the connection sees to. Safe: the handle
/// stands from `init` to ``close()``, after which the connection gives nobody the database again; whoever kept
/// it finds its statements gone.
@safe
public final class Database {
  private let handle: OpaquePointer
  /// Prepared statements by their text: as many as the program has, since none is made up of values.
  private var statements: [String: Statement] = [:]

  /// - Parameters:
  ///   - isReadOnly: the file must exist, and is not written.
  ///   - busyTimeoutMilliseconds: how long a statement waits for another connection's lock.
  init(path: String, isReadOnly: Bool, busyTimeoutMilliseconds: CInt) throws(DatabaseError) {
    // NOMUTEX: the connection's lock takes the place of SQLite's own.
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    var opened: OpaquePointer?
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened = unsafe opened else { throw DatabaseError(.noMemory, "no memory to open \(path)") }
    unsafe handle = unsafe opened
    if code != SQLITE_OK {
      let error = unsafe Self.error(code, opened)
      unsafe sqlite3_close_v2(opened)
      throw error
    }
    unsafe csqlite_refuse_double_quoted_text(opened)
    setBusyTimeout(milliseconds: busyTimeoutMilliseconds)
    // SQLite opens whatever it is given: a file that is no database is told by the first page that is read.
    do throws(DatabaseError) {
      if !isReadOnly { try unsafe OverwritingFiles.take(opened) }
      // Has an effect on a database that is about to be made.
      if !isReadOnly { try execute("PRAGMA auto_vacuum = NONE") }
      _ = try integer("SELECT count(*) FROM sqlite_master")
      if !isReadOnly { try checkPages(of: path) }
    } catch {
      try? close()
      throw error
    }
  }

  /// Refuses a database with maps of its pages, which SQLite keeps for `auto_vacuum`: they may begin as pages of a tree do,
  /// and ``OverwritingFiles`` would take them for such.
  private func checkPages(of path: String) throws(DatabaseError) {
    if try integer("PRAGMA auto_vacuum") ?? 0 == 0 { return }
    throw DatabaseError(
      .misuse,
      "\(path) has auto_vacuum, with which deleted data cannot be overwritten; turn it off with: "
        + "sqlite3 \(path) 'PRAGMA auto_vacuum = NONE; VACUUM'")
  }

  /// How long a statement waits for another connection's lock, unless whoever opens the database says otherwise.
  public static let standardBusyTimeoutMilliseconds: CInt = 5000

  /// The version of the system's SQLite, such as 3040001 for 3.40.1.
  public static let libraryVersion = Int(sqlite3_libversion_number())

  /// How long a statement waits for another connection's lock from now on.
  public func setBusyTimeout(milliseconds: CInt) { unsafe sqlite3_busy_timeout(handle, milliseconds) }

  // MARK: Statements

  /// The statement of that text, prepared once. A statement that is asked for again must have been run to its end, or
  /// reset, since the last time.
  public func statement(_ sql: String) throws(DatabaseError) -> Statement {
    if let known = statements[sql] { return known }
    var prepared: OpaquePointer?
    var isWhole = true
    let code = unsafe sql.withCString { text in
      var rest: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v3(
        handle, text, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &prepared, &rest)
      if let rest = unsafe rest { isWhole = unsafe rest.pointee == 0 }
      return code
    }
    guard code == SQLITE_OK else { throw error(code) }
    if !isWhole {
      unsafe sqlite3_finalize(prepared)
      throw DatabaseError(.misuse, "more than one statement; execute() runs several")
    }
    guard let prepared = unsafe prepared else { throw DatabaseError(.misuse, "a statement without SQL") }
    let statement = unsafe Statement(prepared, of: handle)
    statements[sql] = statement
    return statement
  }

  /// Runs statements that bind nothing, one after another, and ignores their rows.
  public func execute(_ script: String) throws(DatabaseError) {
    let code = unsafe sqlite3_exec(handle, script, nil, nil, nil)
    if code != SQLITE_OK { throw error(code) }
  }

  /// The first column of the first row; nil where there is no row, or NULL in it.
  public func integer(_ sql: String) throws(DatabaseError) -> Int64? {
    let statement = try statement(sql)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.isNull(0) ? nil : statement.int(0)
  }

  /// The first column of the first row; nil where there is no row, or NULL in it.
  public func text(_ sql: String) throws(DatabaseError) -> String? {
    let statement = try statement(sql)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.isNull(0) ? nil : statement.text(0)
  }

  public var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  /// Rows inserted, changed and deleted since the database was opened, those of triggers included.
  public var totalChanges: Int64 { unsafe sqlite3_total_changes64(handle) }

  // MARK: Transactions

  public var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  /// Runs `body` and commits; takes back everything where `body` throws, or where the commit fails. The lock to write is
  /// taken at once, so that no later statement is refused because another connection has it.
  public func inTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try statement("BEGIN IMMEDIATE").run()
    do {
      let result = try body()
      try statement("COMMIT").run()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Takes back what the transaction did, if there is one. SQLite may have done so by itself, after a full disk for
  /// example.
  public func rollBack() {
    resetStatements()
    if isInTransaction { try? statement("ROLLBACK").run() }
  }

  /// Ends statements that an error left within their rows: they would hold what they read, and refuse a rollback.
  func resetStatements() {
    for statement in statements.values { statement.reset() }
  }

  /// Writes the write-ahead log into the database, waits for readers, and cuts the log to nothing. Where the database
  /// has `secure_delete`, no file holds anything then of rows that were deleted before.
  ///
  /// When this returns, no power cut brings anything of it back.
  ///
  /// - Throws: ``ResultCode/busy`` where a reader is in the way for longer than the busy timeout.
  public func checkpointAndTruncate() throws(DatabaseError) {
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    if code != SQLITE_OK { throw error(code) }
    try syncLog()
    // Pages in memory still have in their gaps what the file has no more (OverwritingFiles), and would bring it back.
    unsafe sqlite3_db_release_memory(handle)
  }

  /// SQLite cuts the write-ahead log without a sync, since all of it is in the database. A power cut a moment later would
  /// bring back what stood in it.
  private func syncLog() throws(DatabaseError) {
    var pointer: UnsafeMutablePointer<sqlite3_file>?
    let code = unsafe withUnsafeMutablePointer(to: &pointer) { place in
      unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, place)
    }
    if code != SQLITE_OK { throw error(code) }
    // A database in memory alone has none.
    guard let file = unsafe pointer, let sync = unsafe file.pointee.pMethods?.pointee.xSync else { return }
    let synced = unsafe sync(file, SQLITE_SYNC_NORMAL)
    if synced != SQLITE_OK { throw DatabaseError(ResultCode(rawValue: synced), "the write-ahead log cannot be synced") }
  }

  // MARK: The end

  func close() throws(DatabaseError) {
    for statement in statements.values { statement.finalize() }
    statements = [:]
    let code = unsafe sqlite3_close(handle)
    if code != SQLITE_OK { throw error(code) }
  }

  private func error(_ code: CInt) -> DatabaseError { unsafe Self.error(code, handle) }

  static func error(_ code: CInt, _ handle: OpaquePointer) -> DatabaseError {
    unsafe DatabaseError(
      ResultCode(rawValue: code), String(cString: sqlite3_errmsg(handle)), systemErrno: sqlite3_system_errno(handle))
  }
}
