import GRDB
import GRDBSQLite

/// A cached statement whose values are bound and read without a box or an array per row: the writer binds eight values
/// per publication, a hundred thousand times a second.
///
/// Reading coerces as SQLite does and never traps, whatever a damaged file holds.
package struct RowStatement {
  private let db: Database
  private let statement: Statement
  private var raw: SQLiteStatement { unsafe statement.sqliteStatement }

  package init(_ db: Database, _ sql: String) throws {
    self.db = db
    statement = try db.cachedStatement(sql: sql)
  }

  package func bind(_ value: Int64, at index: CInt) { unsafe _ = sqlite3_bind_int64(raw, index, value) }

  package func bind(_ value: UInt64, at index: CInt) { bind(Int64(bitPattern: value), at: index) }

  package func bind(_ value: Int64?, at index: CInt) {
    if let value { bind(value, at: index) } else { unsafe _ = sqlite3_bind_null(raw, index) }
  }

  package func bind(_ text: String, at index: CInt) {
    var text = text
    text.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { chars in
        unsafe _ = sqlite3_bind_text(raw, index, chars.baseAddress ?? Self.emptyText, CInt(chars.count), Self.copies)
      }
    }
  }

  package func bind(_ blob: [UInt8]?, at index: CInt) {
    guard let blob else {
      unsafe _ = sqlite3_bind_null(raw, index)
      return
    }
    unsafe blob.withUnsafeBytes { bytes in
      if unsafe bytes.isEmpty {
        unsafe _ = sqlite3_bind_zeroblob(raw, index, 0)
      } else {
        unsafe _ = sqlite3_bind_blob(raw, index, bytes.baseAddress, CInt(bytes.count), Self.copies)
      }
    }
  }

  /// Runs a statement that gives no rows.
  package func run() throws {
    while try next() {}
  }

  /// Steps to the next row. After the last one the statement can be bound and run again.
  package func next() throws -> Bool {
    switch unsafe sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE:
      reset()
      return false
    case let code:
      let message = db.lastErrorMessage
      reset()
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
  }

  /// Ends a statement before its last row.
  package func reset() { unsafe _ = sqlite3_reset(raw) }

  package func int(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(raw, column) }

  package func unsigned(_ column: CInt) -> UInt64 { UInt64(bitPattern: int(column)) }

  package func isNull(_ column: CInt) -> Bool { unsafe sqlite3_column_type(raw, column) == SQLITE_NULL }

  package func blob(_ column: CInt) -> [UInt8] {
    guard let bytes = unsafe sqlite3_column_blob(raw, column) else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(raw, column))))
  }

  package func text(_ column: CInt) -> String { String(decoding: blob(column), as: UTF8.self) }

  /// SQLITE_TRANSIENT: SQLite copies the bytes before the call returns. The macro is a cast that Swift cannot import.
  private static var copies: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  /// Text of no bytes; a null pointer would bind NULL instead.
  private static var emptyText: UnsafePointer<CChar> { unsafe emptyTextStorage }
}

private nonisolated(unsafe) let emptyTextStorage: UnsafePointer<CChar> = {
  let storage = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  unsafe storage.initialize(to: 0)
  return unsafe UnsafePointer(storage)
}()
