import PostgreSQL
import Wire

/// What the database of a log says of the brokers that share it, for an operator who asks. Whoever reads it takes no
/// lease, and changes nothing.
public struct ClusterStatus: Sendable, Equatable {
  /// The broker that has the lease of a partition.
  public struct Owner: Sendable, Equatable {
    /// The process.
    public var name: String
    /// The broker's name among those of the log; empty: it has told none.
    public var broker: String
    /// The lease's number: the fence.
    public var epoch: Int64
    /// When it was taken, as the server writes a time.
    public var since: String
    /// Until it ends, unless it is renewed. Negative: it is over, in milliseconds.
    public var millisecondsLeft: Int64
  }

  public struct Partition: Sendable, Equatable {
    /// Nil: nobody has it.
    public var owner: Owner?
    /// Processes of brokers that wait for it.
    public var waiting: [String]

    /// Whether a broker has it, and its lease goes on.
    public var isKept: Bool { owner.map { $0.millisecondsLeft > 0 } ?? false }
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
  /// By number; one where the log is not shared out.
  public var partitions: [Partition]
  public var replicas: [Replica]
  public var shards: Int
  /// Publications of backends that wait to be published, in all partitions.
  public var outboxRows: Int64
  /// Those that were refused and are kept.
  public var refusedRows: Int64

  /// Asks the database.
  ///
  /// - Throws: a sentence for the operator.
  public static func read(_ options: PostgresStore.Options) throws(PostgresStartError) -> ClusterStatus {
    let home = try options.server(of: Partitioning.home)
    do {
      let connection = try home.connect()
      defer { connection.close() }
      return try ClusterReader(connection, home).status()
    } catch {
      throw PostgresStore.startError(for: error, home)
    }
  }
}
