import GRDB

/// What the database knows of its own past, one row of `meta` each.
struct StoreMeta {
  /// Number of the last transaction.
  var sequence: UInt64
  /// The last shutdown wrote everything.
  var isClean: Bool
  /// Part of the epoch of each `durable` channel: changes when acknowledged transactions are missing.
  var era: String
  /// Part of the epoch of each `relaxed` channel: changes when the last shutdown was not clean too, because what had
  /// been delivered within the last milliseconds may never have been written.
  ///
  /// Both are random rather than counted: a restored backup would count to the same number again.
  var run: String
  /// Where the epochs of channels come from that have no row (see ``Epoch/derived(from:generation:durability:name:)``).
  var seed: String

  init(_ db: Database) throws {
    sequence = UInt64(bitPattern: try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'sequence'") ?? 0)
    isClean = try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'clean'") == 1
    era = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'era'") ?? ""
    run = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'run'") ?? ""
    seed = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'seed'") ?? ""
  }

  func write(_ db: Database) throws {
    let values: [(String, any DatabaseValueConvertible)] = [
      ("sequence", Int64(bitPattern: sequence)), ("clean", isClean ? 1 : 0), ("era", era), ("run", run),
      ("seed", seed),
    ]
    for (key, value) in values {
      try db.execute(sql: "UPDATE meta SET value = ? WHERE key = ?", arguments: [value, key])
    }
  }
}
