import PostgreSQL
import Wire

/// What the database of a log says of the brokers that share it, for an operator who asks. Whoever reads it takes no
/// lease, and changes nothing.
public struct ClusterStatus: Sendable, Equatable {
  /// The broker that has the lease.
  public struct Owner: Sendable, Equatable {
    public var name: String
    /// The lease's number: the fence.
    public var epoch: Int64
    /// When it was taken, as the server writes a time.
    public var since: String
    /// Until it ends, unless it is renewed. Negative: it is over, in milliseconds.
    public var millisecondsLeft: Int64
  }

  /// A standby of the database server. What the user may not see is empty.
  public struct Replica: Sendable, Equatable {
    public var name: String
    /// As `pg_stat_replication` says it: `streaming`, for example.
    public var state: String
    /// `sync`, `quorum`, `potential` or `async`.
    public var synchrony: String
    /// Bytes that were written and that it has not on its disk yet.
    public var bytesBehind: Int64
  }

  /// Such as 15.4.
  public var serverVersion: String
  /// The server takes no writes: it is a standby.
  public var isReadOnly: Bool
  /// Nil: nobody has the log.
  public var owner: Owner?
  /// Brokers that wait for the log.
  public var waiting: [String]
  public var replicas: [Replica]
  public var shards: Int
  /// Publications of backends that wait to be published.
  public var outboxRows: Int64
  /// Those that were refused and are kept.
  public var refusedRows: Int64

  /// Asks the database.
  ///
  /// - Throws: a sentence for the operator.
  public static func read(_ options: PostgresStore.Options) throws(PostgresStartError) -> ClusterStatus {
    let server = try options.server()
    do {
      let connection = try server.connect()
      defer { connection.close() }
      // Of several partitions home's range of slots is rounded up.
      let shards = (Partitioning.slots + options.partitions - 1) / options.partitions
      return try status(of: server, connection, shards: shards)
    } catch {
      throw PostgresStore.startError(for: error, server)
    }
  }

  private static func status(
    of server: PostgresDatabase, _ connection: Connection, shards: Int
  ) throws -> ClusterStatus {
    func ask(_ sql: String, _ parameters: [Parameter] = []) throws -> Rows {
      try connection.query(sql, parameters, within: server.patience)
    }
    let found = try ask("SELECT to_regclass('\(server.schema).outbox') IS NULL")
    if found.bool(0, 0) {
      throw PostgresStartError.refused(reason: "there is no log in the schema \(server.schema); start a broker on it")
    }
    let general = try ask(
      """
      SELECT current_setting('server_version'), pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
        (SELECT count(*) FROM outbox), (SELECT count(*) FROM outbox_refused)
      """)
    let owner = try ask(
      """
      SELECT s.owner, s.epoch, coalesce(to_char(l.taken, 'YYYY-MM-DD HH24:MI:SS TZ'), ''),
        (extract(epoch FROM s.expires - clock_timestamp()) * 1000)::bigint
      FROM shards AS s LEFT JOIN leases AS l ON l.epoch = s.epoch WHERE s.shard = 0 AND s.owner <> ''
      """)
    let key = UInt64(bitPattern: server.lockKey("lease"))
    let waiting = try ask(
      """
      SELECT coalesce(a.application_name, '') FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND NOT l.granted AND l.objsubid = 1 AND l.classid::bigint = $1
        AND l.objid::bigint = $2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      ORDER BY 1
      """, [.int(Int64(key >> 32)), .int(Int64(key & 0xFFFF_FFFF))])
    let replicas = try ask(
      """
      SELECT coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, ''),
        CASE WHEN pg_is_in_recovery() THEN 0 ELSE coalesce(pg_current_wal_lsn() - flush_lsn, 0)::bigint END
      FROM pg_stat_replication ORDER BY 1
      """)
    return ClusterStatus(
      serverVersion: general.text(0, 0), isReadOnly: general.bool(0, 1),
      owner: owner.count == 0
        ? nil
        : Owner(
          name: owner.text(0, 0), epoch: owner.int(0, 1), since: owner.text(0, 2), millisecondsLeft: owner.int(0, 3)),
      waiting: (0..<waiting.count).map { PostgresStore.Options.owner(ofApplication: waiting.text($0, 0)) },
      replicas: (0..<replicas.count).map {
        Replica(
          name: replicas.text($0, 0), state: replicas.text($0, 1), synchrony: replicas.text($0, 2),
          bytesBehind: replicas.int($0, 3))
      }, shards: shards, outboxRows: general.int(0, 2), refusedRows: general.int(0, 3))
  }
}
