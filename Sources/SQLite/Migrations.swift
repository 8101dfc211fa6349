/// The steps by which a schema came to be what it is. Each is done once per file, in a transaction of its own, and is
/// known by its name ever after: a step that shipped is never changed.
public struct Migrations: Sendable {
  public struct Step: Sendable {
    public let name: String
    public let sql: String

    public init(_ name: String, _ sql: String) {
      self.name = name
      self.sql = sql
    }
  }

  private let steps: [Step]

  public init(_ steps: [Step]) { self.steps = steps }

  /// Does the steps that the file has not seen, in their order.
  ///
  /// - Parameter last: the last step to do; nil: all of them.
  public func run(_ db: Database, upTo last: String? = nil) throws {
    // Files of the first versions have the table under this name, from the library that kept it.
    try db.execute("CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
    let done = try Self.done(db)
    for step in steps {
      if !done.contains(step.name) {
        try db.inTransaction {
          try db.execute(step.sql)
          let insert = try db.statement("INSERT INTO grdb_migrations (identifier) VALUES (?1)")
          insert.bind(step.name, at: 1)
          try insert.run()
        }
      }
      if step.name == last { return }
    }
  }

  /// Whether a newer version of the program did steps that this one does not know.
  public func areSuperseded(_ db: Database) throws -> Bool {
    if try !db.hasTable("grdb_migrations") { return false }
    return try !Self.done(db).isSubset(of: steps.map(\.name))
  }

  private static func done(_ db: Database) throws -> Set<String> {
    let rows = try db.statement("SELECT identifier FROM grdb_migrations")
    var names: Set<String> = []
    while try rows.next() { names.insert(rows.text(0)) }
    return names
  }
}

extension Database {
  public func hasTable(_ name: String) throws(DatabaseError) -> Bool {
    let rows = try statement("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")
    rows.bind(name, at: 1)
    let isFound = try rows.next()
    rows.reset()
    return isFound
  }
}
