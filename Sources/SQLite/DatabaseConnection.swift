import Synchronization

/// A connection to a database that threads may share: one of them has its turn at a time.
///
/// Unchecked: `database` is used by nobody but within `turn`.
public final class DatabaseConnection: @unchecked Sendable {
  private let turn = Mutex(())
  /// Nil: the connection is closed.
  private var database: Database?

  public init(
    path: String, isReadOnly: Bool = false, busyTimeoutMilliseconds: CInt = Database.standardBusyTimeoutMilliseconds
  ) throws(DatabaseError) {
    database = try Database(
      path: path, isReadOnly: isReadOnly, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
  }

  deinit { try? database?.close() }

  /// Runs `body` on the database, which it must not keep. Not to be called within itself.
  public func inDatabase<Result>(_ body: (Database) throws -> Result) throws -> Result {
    var result: Result?
    try turn.withLock { _ in
      guard let database else { throw DatabaseError(.misuse, "the database is closed") }
      do {
        result = try body(database)
      } catch {
        // What a transaction left is not ended here: one that goes on over several turns is somebody's intention.
        if !database.isInTransaction { database.resetStatements() }
        throw error
      }
    }
    guard let result else { preconditionFailure("the body neither returned nor threw") }
    return result
  }

  /// Runs `body` in a transaction of its own: what it reads is of one moment, what it writes is written whole or not.
  public func inTransaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try inDatabase { db in try db.inTransaction { try body(db) } }
  }

  /// Closes the file. A second time does nothing.
  public func close() throws {
    try turn.withLock { _ in
      try database?.close()
      database = nil
    }
  }
}
