import SQLite

/// Overwrites what the index's file still holds of words that were removed.
///
/// A row's text goes from its page at once (`secure_delete`). The words stay in lists that FTS5 never changes but only
/// merges, unless its version takes them out sooner (``IndexFile/forgetsWords``): so all lists are merged into one, a
/// few pages at a time. SQLite's write-ahead log, which holds pages as they were, is cut to nothing at the end.
struct Scrub {
  /// Pages that one step writes.
  static let pagesPerStep: Int64 = 64

  /// Time that the scrub took so far.
  var nanoseconds: UInt64 = 0
  /// More words were removed meanwhile.
  private(set) var leavesSomething = false
  /// How many removals there had been when the scrub began; nil: it has not begun.
  private var removals: Int64?

  /// Does the next step.
  ///
  /// - Returns: whether that was the last one.
  mutating func step(_ index: DatabaseConnection) throws -> Bool {
    try index.inDatabase { db in
      let now = try Self.removals(db)
      guard now > 0 else { return try cut(db) }
      let isFirst = removals == nil
      if isFirst { removals = now }
      if try Self.merge(db, isFirst: isFirst) { return false }
      // Nothing is left to merge. Words that were removed after the scrub began may be in a list that is newer than
      // that.
      leavesSomething = now != removals
      if !leavesSomething { try db.execute("UPDATE meta SET value = 0 WHERE key = 'removals'") }
      return try cut(db)
    }
  }

  private func cut(_ db: Database) throws -> Bool {
    try db.checkpointAndTruncate()
    return true
  }

  /// - Returns: whether there may be more to merge.
  private static func merge(_ db: Database, isFirst: Bool) throws -> Bool {
    let before = db.totalChanges
    // A negative number of pages begins the merge of all lists into one, a positive one goes on with it.
    let merge = try db.statement("INSERT INTO words (words, rank) VALUES ('merge', ?1)")
    merge.bind(isFirst ? -pagesPerStep : pagesPerStep, at: 1)
    try merge.run()
    return db.totalChanges - before >= 2
  }

  private static func removals(_ db: Database) throws -> Int64 {
    try db.integer("SELECT value FROM meta WHERE key = 'removals'") ?? 0
  }
}
