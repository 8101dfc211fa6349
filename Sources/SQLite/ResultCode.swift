/// What SQLite answered: an extended code, which says more than the primary one in its low byte.
///
/// Source: "Result and Error Codes" of SQLite's documentation.
public struct ResultCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: CInt

  public init(rawValue: CInt) { self.rawValue = rawValue }

  /// The kind of error, without what the extended code adds.
  public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

  public static let error = ResultCode(rawValue: 1)
  public static let permission = ResultCode(rawValue: 3)
  public static let busy = ResultCode(rawValue: 5)
  public static let locked = ResultCode(rawValue: 6)
  public static let noMemory = ResultCode(rawValue: 7)
  public static let readOnly = ResultCode(rawValue: 8)
  public static let interrupted = ResultCode(rawValue: 9)
  public static let corrupt = ResultCode(rawValue: 11)
  public static let full = ResultCode(rawValue: 13)
  public static let cannotOpen = ResultCode(rawValue: 14)
  public static let tooBig = ResultCode(rawValue: 18)
  public static let constraint = ResultCode(rawValue: 19)
  public static let mismatch = ResultCode(rawValue: 20)
  public static let misuse = ResultCode(rawValue: 21)
  public static let format = ResultCode(rawValue: 24)
  public static let range = ResultCode(rawValue: 25)
  public static let notADatabase = ResultCode(rawValue: 26)

  /// A file could not be written.
  public static let ioErrorWrite = ResultCode(rawValue: 10 | 3 << 8)
  /// The disk did not confirm what was written.
  public static let ioErrorSync = ResultCode(rawValue: 10 | 4 << 8)
  /// The index of the write-ahead log could not grow.
  public static let ioErrorSharedMemorySize = ResultCode(rawValue: 10 | 19 << 8)
  /// The file was moved or deleted while it was open.
  public static let readOnlyMoved = ResultCode(rawValue: 8 | 4 << 8)
}

/// An error of SQLite, with SQLite's message about it.
public struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
  public let code: ResultCode
  public let message: String
  /// The `errno` of the system call behind it; 0 where there was none.
  public let systemErrno: CInt

  public init(_ code: ResultCode, _ message: String = "no message", systemErrno: CInt = 0) {
    self.code = code
    self.message = message
    self.systemErrno = systemErrno
  }

  public var description: String { "\(message), SQLite code \(code.rawValue)" }
}
