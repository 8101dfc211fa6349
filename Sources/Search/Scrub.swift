import GRDB

/// Overwrites what the file still holds of words that were removed.
///
/// A row's text goes from its page at once (`secure_delete`). The words stay in lists that FTS5 never changes but only
/// merges, where its version takes them out no sooner: so all lists are merged into one, a few pages at a time. The
/// journal, which holds pages as they were, is cut to nothing at the end.
struct Scrub {
  /// Pages that one step writes.
  static let pagesPerStep = 64

  /// What it took so far.
  var nanoseconds: UInt64 = 0
  /// More was removed meanwhile.
  private(set) var leavesSomething = false
  /// How much had been removed when it began; nil: not begun.
  private var removals: Int64?

  /// - Returns: whether that was the last step.
  mutating func step(_ index: DatabaseQueue) throws -> Bool {
    try index.inDatabase { db in
      let now = try Self.removals(db)
      guard now > 0 else { return try cut(db) }
      let isFirst = removals == nil
      if isFirst { removals = now }
      if try Self.merge(db, isFirst: isFirst) { return false }
      // Nothing is left to merge. What was removed after the beginning may be in a list that came after it.
      leavesSomething = now != removals
      if !leavesSomething { try db.execute(sql: "UPDATE meta SET value = 0 WHERE key = 'removals'") }
      return try cut(db)
    }
  }

  private func cut(_ db: Database) throws -> Bool {
    _ = try db.checkpoint(.truncate)
    return true
  }

  /// - Returns: whether there may be more to merge.
  private static func merge(_ db: Database, isFirst: Bool) throws -> Bool {
    let before = db.totalChangesCount
    // A negative number of pages begins the merge of all lists into one, a positive one goes on with it.
    try db.execute(
      sql: "INSERT INTO words (words, rank) VALUES ('merge', ?)", arguments: [isFirst ? -pagesPerStep : pagesPerStep])
    return db.totalChangesCount - before >= 2
  }

  private static func removals(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE key = 'removals'") ?? 0
  }
}
