import Dispatch
import PostgreSQL

/// How the log's connections are made: to which server, and into which schema.
struct PostgresDatabase: Sendable {
  let parameters: ConnectionParameters
  let schema: String
  /// Home's schema, where the number of partitions stands, and which one this was opened for (``PostgresSharing``).
  let home: String
  let partitions: Int
  var isHome: Bool { schema == home }
  /// How long a server may be silent before a connection is given up, in seconds.
  let patience: Double

  /// The database and where it is, for a sentence.
  var target: String { parameters.target ?? "database" }

  static func isValid(schema: String) -> Bool {
    guard let first = schema.utf8.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else { return false }
    return schema.utf8.count <= 40
      && schema.utf8.allSatisfy {
        $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
          || $0 == UInt8(ascii: "_")
      }
  }

  /// A connection whose names are looked up in the log's schema.
  ///
  /// The server is told to find a dead client as fast as we find a dead server: an owner that is gone without a word
  /// keeps its advisory lock for as long as the server takes it for alive.
  func connect() throws(PostgresError) -> Connection {
    let connection = try Connection(parameters)
    let milliseconds = Int(patience * 1000)
    try connection.run(
      script: """
        SET search_path TO \(schema), pg_catalog; SET client_min_messages TO warning;
        SET tcp_user_timeout TO \(milliseconds); SET tcp_keepalives_idle TO 1; SET tcp_keepalives_interval TO 1;
        SET tcp_keepalives_count TO 3;
        """, within: patience)
    return connection
  }

  /// The same database, and another partition's schema.
  func partition(schema: String) -> PostgresDatabase {
    PostgresDatabase(parameters: parameters, schema: schema, home: home, partitions: partitions, patience: patience)
  }

  /// Has names looked up in the log's schema from now on, on a connection of another one.
  func enter(_ connection: Connection) throws(PostgresError) {
    try connection.run(script: "SET search_path TO \(schema), pg_catalog", within: patience)
  }

  /// A number for advisory locks, which are named by numbers: FNV-1a of the schema and what is locked.
  func lockKey(_ purpose: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in "fanfare \(purpose) \(schema)".utf8 {
      hash ^= UInt64(byte)
      hash &*= 0x0000_0100_0000_01b3
    }
    return Int64(bitPattern: hash)
  }

  /// Makes the schema where there is none, as its first version: what a lease needs. Several brokers may do so at once.
  ///
  /// - Throws: where the schema is newer than this broker.
  func prepare(_ connection: Connection) throws { try migrate(connection, through: 1) }

  /// Brings the schema up to date. Only who has the lease may do so: an older broker that had it could not append any more.
  func migrate(_ connection: Connection) throws {
    try migrate(connection, through: PostgresSchema.migrations.count)
  }

  /// Makes the schema where there is none. Whoever may not make schemas can use one that is there, so that is looked at
  /// first. To be called under a lock.
  func makeSchema(_ connection: Connection) throws(PostgresError) {
    let found = try connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(schema)], within: patience)
    if found.count == 0 { try connection.run(script: "CREATE SCHEMA \(schema)") }
  }

  private func migrate(_ connection: Connection, through newest: Int) throws {
    let key = lockKey("migration")
    _ = try connection.query("SELECT pg_advisory_lock($1)", [.int(key)], within: 60)
    defer { _ = try? connection.query("SELECT pg_advisory_unlock($1)", [.int(key)]) }
    try makeSchema(connection)
    if try connection.query("SELECT to_regclass('\(schema).version') IS NULL", within: patience).bool(0, 0) {
      try connection.run(script: "CREATE TABLE version (version bigint NOT NULL); INSERT INTO version VALUES (0)")
    }
    let version = Int(try connection.query("SELECT version FROM version", within: patience).int(0, 0))
    if version > PostgresSchema.migrations.count { throw PostgresStartError.newerSchema(schema) }
    for (index, script) in PostgresSchema.migrations.enumerated().prefix(newest).dropFirst(version) {
      // Statements of one script are one transaction.
      try connection.run(script: script + "\nUPDATE version SET version = \(index + 1)", within: 60)
    }
  }
}
