import SQLite

/// What the database knows of its own past, one row of `meta` each.
struct StoreMeta {
  /// The number of the last transaction.
  var sequence: UInt64
  /// The last shutdown wrote everything.
  var isClean: Bool
  /// Part of the epoch of each `durable` channel: changes when acknowledged transactions are missing.
  var era: String
  /// Part of the epoch of each `relaxed` channel: changes when the last shutdown was not clean too, because what had
  /// been delivered within the last milliseconds may never have been written.
  ///
  /// Era and run are random rather than counted: a restored backup would count to the same number again.
  var run: String
  /// Random text from which the epochs of channels without a row follow (see
  /// ``Epoch/derived(from:generation:durability:name:)``).
  var seed: String

  var epochs: EpochParts { EpochParts(seed: seed, era: era, run: run) }

  init(_ db: Database) throws {
    sequence = UInt64(bitPattern: try db.integer("SELECT value FROM meta WHERE key = 'sequence'") ?? 0)
    isClean = try db.integer("SELECT value FROM meta WHERE key = 'clean'") == 1
    era = try db.text("SELECT value FROM meta WHERE key = 'era'") ?? ""
    run = try db.text("SELECT value FROM meta WHERE key = 'run'") ?? ""
    seed = try db.text("SELECT value FROM meta WHERE key = 'seed'") ?? ""
  }

  func write(_ db: Database) throws {
    try Self.put("sequence", db) { $0.bind(sequence, at: $1) }
    try Self.put("clean", db) { $0.bind(isClean ? Int64(1) : 0, at: $1) }
    for (key, value) in [("era", era), ("run", run), ("seed", seed)] { try Self.put(value, as: key, db) }
  }

  /// Writes text into the row of a key, which a migration made.
  static func put(_ value: String, as key: String, _ db: Database) throws {
    try put(key, db) { $0.bind(value, at: $1) }
  }

  private static func put(_ key: String, _ db: Database, _ bind: (Statement, CInt) -> Void) throws {
    let update = try db.statement("UPDATE meta SET value = ?1 WHERE key = ?2")
    bind(update, 1)
    update.bind(key, at: 2)
    try update.run()
  }
}
