import PostgreSQL

/// Reads what ``ClusterStatus`` tells.
struct ClusterReader {
  let connection: Connection
  let home: PostgresDatabase
  /// In how many partitions the log is shared.
  let count: Int
  /// Whether brokers' names can be read. A standby of the server has none of them, and older brokers tell none.
  private let hasNames: Bool

  init(_ connection: Connection, _ home: PostgresDatabase) throws {
    self.connection = connection
    self.home = home
    count = try PostgresSharing.count(connection, home)
    hasNames = try connection.query(
      "SELECT NOT pg_is_in_recovery() AND to_regclass('\(home.schema).owners') IS NOT NULL", within: home.patience
    ).bool(0, 0)
  }

  private func ask(_ sql: String, _ parameters: [Parameter] = []) throws(PostgresError) -> Rows {
    try connection.query(sql, parameters, within: home.patience)
  }

  private func schema(of partition: Int) -> String { PostgresStore.Options.schema(home.schema, of: partition) }

  private func isThere(_ table: String, of partition: Int) throws(PostgresError) -> Bool {
    try ask("SELECT to_regclass('\(schema(of: partition)).\(table)') IS NOT NULL").bool(0, 0)
  }

  func status() throws -> ClusterStatus {
    let begun = try (0..<count).filter { partition throws(PostgresError) in
      try isThere("outbox", of: partition)
    }
    if count == 1, begun.isEmpty {
      throw PostgresStartError.refused(reason: "there is no log in the schema \(home.schema); start a broker on it")
    }
    let general = try ask(
      """
      SELECT current_setting('server_version'), pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'
      """)
    var (outboxRows, refusedRows): (Int64, Int64) = (0, 0)
    for partition in begun {
      let schema = schema(of: partition)
      let rows = try ask(
        "SELECT (SELECT count(*) FROM \(schema).outbox), (SELECT count(*) FROM \(schema).outbox_refused)")
      outboxRows += rows.int(0, 0)
      refusedRows += rows.int(0, 1)
    }
    return ClusterStatus(
      serverVersion: general.text(0, 0), isReadOnly: general.bool(0, 1),
      partitions: try (0..<count).map { number throws(PostgresError) in try partition(number) },
      replicas: try replicas(), shards: PostgresSchema.shardCount, outboxRows: outboxRows, refusedRows: refusedRows)
  }

  func partition(_ number: Int) throws(PostgresError) -> ClusterStatus.Partition {
    guard try isThere("shards", of: number) else { return ClusterStatus.Partition(owner: nil, waiting: []) }
    let owner = try owner(of: number)
    return ClusterStatus.Partition(owner: owner, waiting: try waiting(for: number, besides: owner?.name))
  }

  private func owner(of partition: Int) throws(PostgresError) -> ClusterStatus.Owner? {
    let schema = schema(of: partition)
    let told = "(SELECT broker FROM \(home.schema).owners AS o WHERE partition = \(partition) AND o.epoch = s.epoch)"
    let broker = hasNames ? told : "NULL"
    let rows = try ask(
      """
      SELECT s.owner, s.epoch, coalesce(to_char(l.taken, 'YYYY-MM-DD HH24:MI:SS TZ'), ''),
        (extract(epoch FROM s.expires - clock_timestamp()) * 1000)::bigint, coalesce(\(broker), '')
      FROM \(schema).shards AS s LEFT JOIN \(schema).leases AS l ON l.epoch = s.epoch
      WHERE s.shard = 0 AND s.owner <> ''
      """)
    if rows.count == 0 { return nil }
    return ClusterStatus.Owner(
      name: rows.text(0, 0), broker: rows.text(0, 4), epoch: rows.int(0, 1), since: rows.text(0, 2),
      millisecondsLeft: rows.int(0, 3))
  }

  /// Who waits in the lock's queue, and who has told that it stands in line.
  private func waiting(for partition: Int, besides owner: String?) throws(PostgresError) -> [String] {
    let queue = try PostgresLease.queue(connection, of: home.partition(schema: schema(of: partition)))
    var names: Set<String> = []
    if hasNames {
      let standing = try ask(
        """
        SELECT process FROM \(home.schema).standing
        WHERE partition = $1 AND seen > clock_timestamp() - \(PostgresLine.life)
        """, [.int(Int64(partition))])
      names = Set((0..<standing.count).map { standing.text($0, 0) }).subtracting(owner.map { [$0] } ?? [])
    }
    // The server cuts an application's name.
    for name in queue where name.isEmpty || !names.contains(where: { $0.hasPrefix(name) }) { names.insert(name) }
    return names.sorted()
  }

  private func replicas() throws(PostgresError) -> [ClusterStatus.Replica] {
    let rows = try ask(
      """
      SELECT coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, ''),
        CASE WHEN pg_is_in_recovery() THEN 0 ELSE coalesce(pg_current_wal_lsn() - flush_lsn, 0)::bigint END
      FROM pg_stat_replication ORDER BY 1
      """)
    return (0..<rows.count).map {
      ClusterStatus.Replica(
        name: rows.text($0, 0), state: rows.text($0, 1), synchrony: rows.text($0, 2), bytesBehind: rows.int($0, 3))
    }
  }
}
