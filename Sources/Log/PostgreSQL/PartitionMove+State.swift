import PostgreSQL
import Wire

/// What a log that shares State among its partitions keeps where it is (docs/decisions/0073-state-in-all-partitions.md).
///
/// Where a record of State belongs is in its contents, which the log does not know: so none is ever moved.
extension PartitionMove {
  /// The hidden channels of State's records and of its marks (`AppHost`). Each partition has its own.
  private static let records = "state.records:all"
  private static let marks = "state.marks:all"

  func staysAsState(_ name: String) -> Bool { options.sharesState && (name == Self.records || name == Self.marks) }

  /// To be called when it is known which channels go where.
  func refuseSharedState() throws {
    let holders = try old.filter { try holdsState($0) }
    if holders.isEmpty { return }
    let isShared = options.sharesState || holders.contains { $0 != Partitioning.home }
    // Channels of State move where it was shared before and is not now, or the other way round.
    guard try isShared && to != from || movesState() else { return }
    throw ClusterPartitioning.Fault.sharedState(partitions: from)
  }

  /// Whether there are records of State, or something is on its way to them.
  private func holdsState(_ partition: Int) throws(PostgresError) -> Bool {
    try ask(
      """
      SELECT EXISTS (
        SELECT FROM \(schema(partition)).channels AS c JOIN \(schema(partition)).entries AS e ON e.channel = c.id
        WHERE c.name = convert_to('\(Self.records)', 'UTF8')
      ) OR EXISTS (SELECT FROM \(schema(partition)).outbox WHERE app IS NOT NULL)
      """
    ).bool(0, 0)
  }

  private func movesState() throws(PostgresError) -> Bool {
    try ask(
      """
      SELECT EXISTS (SELECT FROM pg_temp.moved
        WHERE position('state.'::bytea IN name) = 1 OR position('$state.'::bytea IN name) = 1)
      """
    ).bool(0, 0)
  }
}
