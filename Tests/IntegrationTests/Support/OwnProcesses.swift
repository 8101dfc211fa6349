import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Takes a turn with processes of a test's own, in a folder of their own, and ends them whatever becomes of it. Where the
/// test throws, what they have said is told.
///
/// - Parameters:
///   - make: nothing runs yet when it returns.
///   - account: what all of them have said at last.
func withProcesses<Processes>(
  _ make: (URL) throws -> Processes, start: (Processes) async throws -> Void, account: (Processes) -> String,
  end: (Processes) async -> Void, _ body: (Processes) async throws -> Void
) async throws {
  await Turn.shared.take()
  defer { Turn.shared.giveBack() }
  try await withTemporaryFolder { directory in
    let processes = try make(directory)
    do {
      try await start(processes)
      try await body(processes)
    } catch {
      Issue.record("\(account(processes))")
      await end(processes)
      throw error
    }
    await end(processes)
  }
}

extension Curve.SecretKey {
  /// Writes the key into a file that others may not read.
  func write(to name: String, in directory: URL) throws {
    let path = directory.appendingPathComponent(name).path
    let isWritten = FileManager.default.createFile(
      atPath: path, contents: Data(z85.utf8), attributes: [.posixPermissions: 0o600])
    if !isWritten { throw Failure("\(path) cannot be written") }
  }
}

/// The test's own way to a database.
final class OwnDatabase: Sendable {
  /// Unchecked: whoever holds the lock uses it.
  private struct Held: @unchecked Sendable {
    let connection: Connection
  }

  private let held: Mutex<Held>
  private let schema: String

  /// - Parameter schema: in which names are looked up.
  init(_ server: PostgresServer, schema: String) throws {
    self.schema = schema
    held = Mutex(try Self.connect(to: server, schema))
  }

  private static func connect(to server: PostgresServer, _ schema: String) throws -> Held {
    let connection = try Connection(ConnectionParameters(server.connection, applicationName: "test"))
    try connection.run(script: "SET search_path TO \(schema), pg_catalog")
    return Held(connection: connection)
  }

  /// Asks another server from now on.
  func follow(_ server: PostgresServer) throws {
    let other = try Self.connect(to: server, schema)
    held.withLock { $0 = other }
  }

  /// The first column of what the statement finds.
  func ask(_ statement: String) throws -> [String] {
    try held.withLock { held in
      let rows = try held.connection.query(statement)
      return (0..<rows.count).map { rows.text($0, 0) }
    }
  }

  /// The tables of a schema in which a text stands, as it is or in bytes.
  func tables(in schema: String, holding text: String) throws -> [String] {
    let hex = text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let quoted = text.replacing("'", with: "''")
    let tables = try ask("SELECT tablename::text FROM pg_tables WHERE schemaname = '\(schema)' ORDER BY 1")
    try #require(!tables.isEmpty)
    return try tables.filter { table in
      let rows = "SELECT r::text AS it FROM \(schema).\(table) AS r"
      let isThere = "position('\(quoted)' IN it) > 0 OR position('\(hex)' IN it) > 0"
      return try ask("SELECT count(*)::text FROM (\(rows)) AS rows WHERE \(isThere)") != ["0"]
    }
  }
}
