import CSQLite

/// A prepared statement, whose values are bound and read without a box or an array per row: the log's writer binds
/// eight values per publication, a hundred thousand times a second.
///
/// Parameters count from 1 (`?1`), columns from 0. What is bound stays bound until it is bound anew. Reading coerces as
/// SQLite does and never traps, whatever a damaged file holds.
///
/// Owned by its ``Database``, which finalizes it when it closes: nobody keeps one beyond the turn in
/// which it was asked for.
@safe
public struct Statement {
  private let raw: OpaquePointer
  private let connection: OpaquePointer

  init(_ raw: OpaquePointer, of connection: OpaquePointer) {
    unsafe self.raw = unsafe raw
    unsafe self.connection = unsafe connection
  }

  public func bind(_ value: Int64, at index: CInt) { unsafe _ = sqlite3_bind_int64(raw, index, value) }

  public func bind(_ value: UInt64, at index: CInt) { bind(Int64(bitPattern: value), at: index) }

  public func bind(_ value: Int64?, at index: CInt) {
    if let value { bind(value, at: index) } else { unsafe _ = sqlite3_bind_null(raw, index) }
  }

  public func bind(_ text: String, at index: CInt) {
    var text = text
    text.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { chars in
        unsafe _ = sqlite3_bind_text(raw, index, chars.baseAddress ?? Self.emptyText, CInt(chars.count), Self.copies)
      }
    }
  }

  public func bind(_ blob: [UInt8]?, at index: CInt) {
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

  /// Runs the statement to its end, and ignores its rows.
  public func run() throws(DatabaseError) {
    while try next() {}
  }

  /// Steps to the next row, and returns false after the last one; the statement can be bound and run again then.
  public func next() throws(DatabaseError) -> Bool {
    switch unsafe sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE:
      reset()
      return false
    case let code:
      let error = unsafe Database.error(code, connection)
      reset()
      throw error
    }
  }

  /// Ends the statement before its last row.
  public func reset() { unsafe _ = sqlite3_reset(raw) }

  func finalize() { unsafe _ = sqlite3_finalize(raw) }

  public func int(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(raw, column) }

  public func unsigned(_ column: CInt) -> UInt64 { UInt64(bitPattern: int(column)) }

  public func isNull(_ column: CInt) -> Bool { unsafe sqlite3_column_type(raw, column) == SQLITE_NULL }

  public func blob(_ column: CInt) -> [UInt8] {
    guard let bytes = unsafe sqlite3_column_blob(raw, column) else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(raw, column))))
  }

  public func text(_ column: CInt) -> String { String(decoding: blob(column), as: UTF8.self) }

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
