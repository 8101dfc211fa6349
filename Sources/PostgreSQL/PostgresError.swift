/// A code of five characters by which PostgreSQL names a kind of error.
///
/// Source: "PostgreSQL Error Codes", appendix A of its documentation.
public struct SQLState: Hashable, Sendable, CustomStringConvertible {
  public let code: String

  public init(_ code: String) { self.code = code }

  /// The first two characters, which name the kind of kind.
  public var group: Substring { code.prefix(2) }
  public var description: String { code }

  public static let warning = SQLState("01000")
  public static let invalidDatabase = SQLState("3D000")
  public static let invalidPassword = SQLState("28P01")
  public static let insufficientPrivilege = SQLState("42501")
  public static let undefinedTable = SQLState("42P01")
  public static let lockNotAvailable = SQLState("55P03")
  public static let readOnlyTransaction = SQLState("25006")
}

/// What went wrong on a connection to PostgreSQL. It never holds a password.
public struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// There is no connection, or the server was silent for too long. Of what was sent and not answered, nobody can say
    /// whether it was done.
    case lost
    /// The server refused the statement, and nothing of it was done.
    case refused(SQLState)
    /// The connection string cannot be read.
    case malformed
  }

  public let kind: Kind
  public let message: String

  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  public var isLost: Bool { kind == .lost }

  /// The server's code; nil where it did not answer.
  public var state: SQLState? { if case .refused(let state) = kind { state } else { nil } }

  public var description: String {
    if let state { "\(message), SQLSTATE \(state)" } else { message }
  }
}

/// A remark of the server's beside a result.
public struct Notice: Hashable, Sendable {
  public let state: SQLState
  /// Such as `WARNING`, in English whatever language the server speaks.
  public let severity: String
  public let message: String

  public init(state: SQLState, severity: String, message: String) {
    self.state = state
    self.severity = severity
    self.message = message
  }
}
