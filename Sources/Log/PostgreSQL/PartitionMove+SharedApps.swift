import PostgreSQL
import Wire

/// What a log that shares apps among its partitions keeps where it is (docs/decisions/0073-state-in-all-partitions.md,
/// docs/decisions/0074-clique-in-all-partitions.md).
///
/// Where a record of such an app belongs is in its contents, which the log does not know: so none is ever moved.
extension PartitionMove {
  /// The apps that can be shared.
  static let apps = ["clique", "state"]

  /// The hidden channels of an app's records and of its marks (`AppHost`). Each partition has its own.
  static func records(of app: String) -> String { "\(app).records:all" }
  private static func marks(of app: String) -> String { "\(app).marks:all" }

  /// What people call an app.
  static func title(of app: String) -> String { app.prefix(1).uppercased() + app.dropFirst() }

  func staysAsShared(_ name: String) -> Bool {
    options.sharedApps.contains { name == Self.records(of: $0) || name == Self.marks(of: $0) }
  }

  /// To be called when it is known which channels go where.
  func refuseSharedApps() throws {
    for app in Self.apps {
      let holders = try old.filter { try holds(app, $0) }
      if holders.isEmpty { continue }
      let isShared = options.sharedApps.contains(app) || holders.contains { $0 != Partitioning.home }
      // Channels of an app move where it was shared before and is not now, or the other way round.
      guard try isShared && to != from || moves(app) || wasAtHome(app) else { continue }
      throw ClusterPartitioning.Fault.sharedApp(app, partitions: from)
    }
  }

  /// Whether there are records of the app, or something is on its way to them.
  private func holds(_ app: String, _ partition: Int) throws(PostgresError) -> Bool {
    try ask(
      """
      SELECT EXISTS (
        SELECT FROM \(schema(partition)).channels AS c JOIN \(schema(partition)).entries AS e ON e.channel = c.id
        WHERE c.name = convert_to('\(Self.records(of: app))', 'UTF8')
      ) OR EXISTS (SELECT FROM \(schema(partition)).outbox WHERE app = '\(app)')
      """
    ).bool(0, 0)
  }

  /// Whether it is to be shared, and its channels were all at home so far. It may have records and no channel.
  private func wasAtHome(_ app: String) throws(PostgresError) -> Bool {
    let shared = options.sharedNamespaces.filter { $0.hasPrefix("\(app).") }
    return try ask(
      "SELECT EXISTS (SELECT FROM \(schema(Partitioning.home)).pinned WHERE namespace = ANY ($1))",
      [.texts(shared.sorted())]
    ).bool(0, 0)
  }

  private func moves(_ app: String) throws(PostgresError) -> Bool {
    try ask(
      """
      SELECT EXISTS (SELECT FROM pg_temp.moved
        WHERE position('\(app).'::bytea IN name) = 1 OR position('$\(app).'::bytea IN name) = 1)
      """
    ).bool(0, 0)
  }
}
