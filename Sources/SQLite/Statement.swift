import CSQLite

/// A prepared statement, whose values are bound and read without a box or an array per row: the log's writer binds eight
/// values per publication, a hundred thousand times a second.
///
/// Parameters count from 1 (`?1`), columns from 0. What is bound stays bound until it is bound anew. Reading coerces as
/// SQLite does and never traps, whatever a damaged file holds.
///
/// Owned by its ``Database``, which finalizes it when it closes: whoever uses it after that ends the process with a
/// sentence, and nobody keeps one beyond the turn in which it was asked for.
@safe
public final class Statement {
  /// Nil: finalized.
  private var prepared: OpaquePointer?
  private let connection: OpaquePointer
  /// What the first bind that failed since the last run answered; 0: none did. ``next()`` throws it.
  private var bindFailure: CInt = SQLITE_OK

  init(_ prepared: OpaquePointer, of connection: OpaquePointer) {
    unsafe self.prepared = unsafe prepared
    unsafe self.connection = unsafe connection
  }

  private var raw: OpaquePointer {
    guard let prepared = unsafe prepared else { preconditionFailure("a statement of a database that is closed") }
    return unsafe prepared
  }

  // MARK: Binding

  public func bind(_ value: Int64, at index: CInt) { unsafe note(sqlite3_bind_int64(raw, index, value)) }

  public func bind(_ value: UInt64, at index: CInt) { bind(Int64(bitPattern: value), at: index) }

  public func bind(_ value: Int64?, at index: CInt) {
    if let value { bind(value, at: index) } else { unsafe note(sqlite3_bind_null(raw, index)) }
  }

  public func bind(_ text: String, at index: CInt) {
    var text = text
    text.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { chars in
        unsafe note(
          sqlite3_bind_text(raw, index, chars.baseAddress ?? Self.emptyText, CInt(chars.count), Self.copies))
      }
    }
  }

  public func bind(_ blob: [UInt8]?, at index: CInt) {
    guard let blob else { return unsafe note(sqlite3_bind_null(raw, index)) }
    unsafe blob.withUnsafeBytes { bytes in
      if unsafe bytes.isEmpty {
        unsafe note(sqlite3_bind_zeroblob(raw, index, 0))
      } else {
        unsafe note(sqlite3_bind_blob(raw, index, bytes.baseAddress, CInt(bytes.count), Self.copies))
      }
    }
  }

  private func note(_ code: CInt) {
    if code != SQLITE_OK, bindFailure == SQLITE_OK { bindFailure = code }
  }

  // MARK: Running

  /// Runs a statement whose rows nobody wants.
  public func run() throws(DatabaseError) {
    while try next() {}
  }

  /// Steps to the next row. After the last one the statement can be bound and run again.
  public func next() throws(DatabaseError) -> Bool {
    if bindFailure != SQLITE_OK {
      let code = bindFailure
      reset()
      throw DatabaseError(ResultCode(rawValue: code), "a value could not be bound")
    }
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

  /// Ends a statement before its last row.
  public func reset() {
    bindFailure = SQLITE_OK
    unsafe _ = sqlite3_reset(raw)
  }

  func finalize() {
    unsafe _ = sqlite3_finalize(prepared)
    unsafe prepared = nil
  }

  // MARK: Reading

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
