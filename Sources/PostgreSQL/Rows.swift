import CPostgreSQL

/// What a statement gave, in PostgreSQL's binary format. Rows and columns count from 0.
///
/// Reading a column that is not there, or as another type, gives 0, false or nothing, whatever the server sent.
@safe
public final class Rows {
  /// Nil: the statement gave no rows.
  private let result: OpaquePointer?
  /// What the server remarked on the way to this result.
  public let notices: [Notice]

  /// - Parameter result: freed with this object.
  init(_ result: OpaquePointer?, notices: [Notice]) {
    unsafe self.result = unsafe result
    self.notices = notices
  }

  deinit { unsafe PQclear(result) }

  public var count: Int {
    guard let result = unsafe result else { return 0 }
    return Int(unsafe PQntuples(result))
  }

  public func isNull(_ row: Int, _ column: Int) -> Bool { unsafe value(row, column) == nil }

  /// A number of 2, 4 or 8 bytes.
  public func int(_ row: Int, _ column: Int) -> Int64 {
    guard let bytes = unsafe value(row, column) else { return 0 }
    guard let first = unsafe bytes.first else { return 0 }
    // The first byte has the sign.
    return unsafe bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
  }

  public func unsigned(_ row: Int, _ column: Int) -> UInt64 { UInt64(bitPattern: int(row, column)) }

  public func bool(_ row: Int, _ column: Int) -> Bool { int(row, column) != 0 }

  /// Nothing where the value is NULL.
  public func bytes(_ row: Int, _ column: Int) -> [UInt8] {
    guard let bytes = unsafe value(row, column) else { return [] }
    return unsafe Array(bytes)
  }

  public func bytesIfAny(_ row: Int, _ column: Int) -> [UInt8]? {
    guard let bytes = unsafe value(row, column) else { return nil }
    return unsafe Array(bytes)
  }

  public func text(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

  /// The bytes of a value, which are good while this object lives; nil: NULL, or no such value.
  private func value(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8>? {
    guard let result = unsafe result else { return nil }
    let (row, column) = (CInt(clamping: row), CInt(clamping: column))
    guard row >= 0, column >= 0, unsafe row < PQntuples(result), unsafe column < PQnfields(result),
      unsafe PQgetisnull(result, row, column) == 0, let start = unsafe PQgetvalue(result, row, column)
    else { return nil }
    let length = Int(unsafe PQgetlength(result, row, column))
    return unsafe UnsafeRawBufferPointer(start: start, count: length).assumingMemoryBound(to: UInt8.self)
  }
}
