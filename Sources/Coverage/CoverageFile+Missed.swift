import SQLite
import Wire

/// Deletions of users' data that were done while this gateway was away.
extension CoverageFile {
  /// Rows that are looked at with one step.
  private static let rowsPerStep = 2000
  private static let numberMoment = "deletions_number"
  private static let timeMoment = "deletions_time"

  /// Where a row stands in the index of users.
  struct RowPlace: Equatable {
    var user: String
    var channel: String
    var id: Int64

    /// Before every row.
    static let start = RowPlace(user: "", channel: "", id: 0)
  }

  /// Through which deletion this file holds nothing of deleted users; nil: through none.
  func mark() throws -> DeletionMark? {
    try connection.inDatabase { db in
      guard let number = try Self.moment(Self.numberMoment, db), let at = try Self.moment(Self.timeMoment, db) else {
        return nil
      }
      return DeletionMark(number: UInt64(bitPattern: number), at: at)
    }
  }

  /// Notes that deletions are carried out.
  func note(_ deletions: LinkDeletions) throws {
    try connection.inTransaction { db in
      try Self.set(Self.numberMoment, Int64(bitPattern: deletions.through.number), db)
      try Self.set(Self.timeMoment, deletions.through.at, db)
      // Answers must not take what went for what never was.
      guard let until = deletions.forgottenUntil, try Self.moment("kept_since", db) ?? .min < until else { return }
      try Self.set("kept_since", until, db)
    }
  }

  /// Deletes the rows that go among the next ones of the index.
  ///
  /// - Returns: the last row that was looked at; nil: there are no more.
  func forget(_ users: inout MissedUsers, after place: RowPlace) throws -> RowPlace? {
    try connection.inTransaction { db in
      let rows = try Self.rows(after: place, db)
      for row in rows {
        guard let end = users.end(of: row.user, on: row.channel), try Self.start(of: row, db) <= end else { continue }
        try Self.delete(row, db)
      }
      return rows.count < Self.rowsPerStep ? nil : rows.last
    }
  }

  private static func rows(after place: RowPlace, _ db: Database) throws -> [RowPlace] {
    let statement = try db.statement(
      """
      SELECT user, channel, id FROM intervals WHERE (user, channel, id) > (?1, ?2, ?3)
      ORDER BY user, channel, id LIMIT ?4
      """)
    statement.bind(place.user, at: 1)
    statement.bind(place.channel, at: 2)
    statement.bind(place.id, at: 3)
    statement.bind(Int64(rowsPerStep), at: 4)
    var rows: [RowPlace] = []
    while try statement.next() {
      rows.append(RowPlace(user: statement.text(0), channel: statement.text(1), id: statement.int(2)))
    }
    return rows
  }

  /// When a row's interval began, in milliseconds since 1970. One that cannot be read, as of another version, counts as
  /// old: nobody could find it by a question either.
  private static func start(of row: RowPlace, _ db: Database) throws -> Int64 {
    let statement = try db.statement("SELECT start FROM intervals WHERE id = ?1")
    statement.bind(row.id, at: 1)
    guard try statement.next() else { return .min }
    defer { statement.reset() }
    return (try? CoverageStart(bytes: statement.blob(0)))?.at ?? .min
  }

  private static func delete(_ row: RowPlace, _ db: Database) throws {
    let statement = try db.statement("DELETE FROM intervals WHERE id = ?1")
    statement.bind(row.id, at: 1)
    try statement.run()
  }
}
