import PostgreSQL

/// Sorts the errors of PostgreSQL into those of one entry and those that pass by themselves. None is final: a server
/// whose disk has failed ends, and what comes up in its place has all that it confirmed.
enum PostgresFault {
  private static let undefinedColumn = SQLState("42703")

  static func logError(for error: PostgresError) -> LogError {
    guard case .refused(let state) = error.kind else { return .unavailable(error.description) }
    if state.code == PostgresFunctions.fenced { return .fenced }
    // An app has sent something to a partition whose tables are of an older version (``PostgresRelaySchema``).
    if state == undefinedColumn {
      return .unavailable("\(error.description); start the new version of Fanfare on all partitions")
    }
    switch state.group {
    // Values that a column does not take, a broken constraint, or more than a row holds.
    case "22", "23", "54": return .rejected(error.description)
    default: return .unavailable(error.description)
    }
  }

  /// Whether the same transaction may go well if it is simply done again.
  static func isPassing(_ error: PostgresError) -> Bool { error.state?.group == "40" }
}
