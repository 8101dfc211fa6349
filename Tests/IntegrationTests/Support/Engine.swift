import Foundation
import TestSupport
import Testing

/// What keeps a deployment's log.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite
  case postgres

  var testDescription: String { self == .sqlite ? "SQLite" : "PostgreSQL" }

  /// Those that this machine has.
  static let here = allCases.filter {
    $0 == .sqlite || runsUnlessLacking(.postgresql, isThere: PostgresServer.isThere)
  }

  /// Settings of a server with a log of its own.
  func settings() throws -> [String] {
    guard self == .postgres else { return [] }
    let schema = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
    return [
      "log.engine=postgres", "log.postgres.connection=\(try PostgresServer.shared().connection)",
      "log.postgres.schema=\(schema)",
    ]
  }
}
