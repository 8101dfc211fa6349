import Dispatch
import Glibc
import PostgreSQL
public import Wire

/// Shares a log out in another number of partitions, while no broker runs.
///
/// One session has the lock of the number, under which brokers begin, and the leases of all partitions that there are and
/// that there will be. So nobody writes into the log meanwhile, and a broker that was only paused finds that its lease is
/// over. All rows are moved in one transaction (``PartitionMove``): it is done wholly, or nothing is changed.
///
/// A partition that there is no more keeps its schema, without channels: its leases go on where they ended if it comes to
/// be again, so that neither a broker of long ago can write into it, nor one with a mark of it (``LogMark``) takes it for
/// a database that has lost something.
public enum ClusterPartitioning {
  public struct Outcome: Sendable, Equatable {
    /// Partitions before, and now.
    public var from: Int
    public var to: Int
    /// Channels that are in another partition now.
    public var movedChannels: Int
    /// Publications of backends that wait in another partition's outbox now.
    public var movedMessages: Int
    /// Events that webhooks have given up, or that no configured one sends, in partitions that there are no more: they
    /// are there again when the partition is.
    public var restingEvents: Int
  }

  /// Why it was not done. The description is a sentence for the operator.
  public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// A broker has a partition, or stands in line for it.
    case held(partition: Int, owner: String)
    case inLine(partition: Int, broker: String)
    /// Another one shares the log out, or a broker is just beginning.
    case busy
    /// A transaction that has published something is not over.
    case openTransaction
    case waitingEvents(webhook: String, events: Int, partition: Int, partitions: Int)
    case deletionsUnderWay(Int, partition: Int, partitions: Int)
    /// The app is shared, or was, or is to be, and has records.
    case sharedApp(String, partitions: Int)
    /// A channel stands in two partitions.
    case doubled(channel: String, partitions: [Int])
    /// The standby that must confirm the commit did not.
    case unconfirmed(to: Int)

    public var description: String {
      switch self {
      case .held(let partition, let owner):
        "\(Self.name(owner)) has partition \(partition) of the log: stop all brokers, and then share it out"
      case .inLine(let partition, let broker):
        "\(Self.name(broker)) stands in line for partition \(partition) of the log: stop all brokers, and then share it out"
      case .busy: "somebody else is just about to begin with the log, or shares it out: stop all brokers, and try again"
      case .openTransaction:
        """
        a backend's transaction that has published something has not ended within a minute, so nothing was changed: end it \
        (pg_stat_activity names it), and try again
        """
      case .waitingEvents(let webhook, let events, let partition, let partitions):
        """
        the webhook \(webhook) has \(events) event\(events == 1 ? "" : "s") still to send from partition \(partition), \
        which would be sent too late, or never: start brokers with cluster.partitions \(partitions) until fanfare webhooks \
        says that none wait
        """
      case .deletionsUnderWay(let count, let partition, let partitions):
        """
        partition \(partition) has \(count) deletion\(count == 1 ? "" : "s") of users' data under way, which would miss \
        channels that move: start brokers with cluster.partitions \(partitions) until that is done
        """
      case .sharedApp(let app, let partitions):
        """
        \(PartitionMove.title(of: app)) has records, and where it is shared among partitions they stay in those in which they \
        are: neither their number nor \(app).partitioned can be changed any more; leave the log shared in \
        \(partitions), and set \(app).partitioned to what it was
        """
      case .doubled(let channel, let partitions):
        """
        the channel \(channel) stands in the partitions \(partitions.map(String.init).joined(separator: " and ")), as \
        happens where its namespace was configured otherwise while brokers ran: delete one of the two, with brokers that \
        are configured as they were then
        """
      case .unconfirmed(let count):
        """
        the log is shared in \(count) partitions on the database's own disk, and the standby that must have it did not \
        confirm that: see that the standby is there before brokers start
        """
      }
    }

    private static func name(_ owner: String) -> String { owner.isEmpty ? "a broker" : "the broker \(owner)" }
  }

  /// How long it is waited for a broker that is just beginning, and for transactions of backends, in milliseconds.
  private static let beginningPatience = 5000
  static let transactionPatience = 60_000
  /// The server ends the session of a broker that has just been stopped a moment after that, in milliseconds.
  private static let endingPatience = 2000
  /// Between two looks whether it has, in microseconds.
  private static let pause: UInt32 = 20_000
  /// A lease as long as the work may take. Nobody waits for its end: it goes with the session.
  private static let leaseMilliseconds: Int64 = 7 * 86_400_000
  /// No statement takes longer: the time to move all rows is not limited.
  static let unlimited = 7 * 86_400.0

  /// Moves all channels to where they belong among so many partitions, and has the database say so. The number that there
  /// is already moves those that are elsewhere, as after a change of what is configured of namespaces.
  ///
  /// Backends that publish in transactions of their own wait while the last of it is done.
  ///
  /// - Parameters:
  ///   - options: what is said of namespaces in them must fit `placement`: the database is told it.
  ///   - count: 1 to ``Partitioning/most``.
  ///   - webhooks: those that are configured; nil: all that anything is known of. Events of others hold nothing up, and stay
  ///     in the schema in which they are.
  ///   - placement: the partition of a channel, from 0. It is not asked about the server's own channels.
  /// - Throws: ``Fault``, or ``PostgresStartError``; nothing is changed then, but for ``Fault/unconfirmed(to:)``.
  public static func perform(
    _ options: PostgresStore.Options, to count: Int, webhooks: Set<String>? = nil,
    placement: @escaping (ChannelName) -> Int
  ) throws -> Outcome {
    precondition((1...Partitioning.most).contains(count), "a log has 1 to \(Partitioning.most) partitions")
    let home = try options.server(of: Partitioning.home)
    do {
      let connection = try home.connect()
      // With the session go its locks.
      defer { connection.close() }
      try lockNumber(connection, home)
      let isThere = try connection.query("SELECT to_regclass('\(home.schema).channels') IS NOT NULL").bool(0, 0)
      guard isThere else {
        throw PostgresStartError.refused(reason: "there is no log in the schema \(home.schema); start a broker on it")
      }
      try PostgresSharing.makeTables(connection, home)
      let from = try PostgresSharing.count(connection, home)
      let partitions = try (0..<max(from, count)).map { try options.server(of: $0) }
      try takeLeases(connection, partitions, as: options.owner)
      defer { release(connection, partitions) }
      for partition in partitions {
        try partition.enter(connection)
        try partition.migrate(connection)
      }
      var move = PartitionMove(
        connection, partitions, options, from: from, to: count, webhooks: webhooks, placement: placement)
      return try move.perform()
    } catch let error as Fault {
      throw error
    } catch {
      throw PostgresStore.startError(for: error, home)
    }
  }

  private static func lockNumber(_ connection: Connection, _ home: PostgresDatabase) throws {
    try connection.run(
      script: """
        SET statement_timeout TO 0; SET idle_in_transaction_session_timeout TO 0;
        SET lock_timeout TO \(beginningPatience)
        """)
    do throws(PostgresError) {
      _ = try connection.query("SELECT pg_advisory_lock($1)", [.int(home.lockKey("sharing"))])
    } catch {
      throw error.state == .lockNotAvailable ? Fault.busy : error
    }
    try connection.run(script: "SET lock_timeout TO 0")
  }

  /// Takes the locks of all partitions before anything is written into one of them.
  private static func takeLeases(
    _ connection: Connection, _ partitions: [PostgresDatabase], as owner: String
  ) throws {
    let deadline = DispatchTime.now() + .milliseconds(endingPatience)
    for (number, partition) in partitions.enumerated() {
      let key = Parameter.int(partition.lockKey("lease"))
      while try !connection.query("SELECT pg_try_advisory_lock($1)", [key]).bool(0, 0) {
        guard DispatchTime.now() < deadline else {
          throw Fault.held(partition: number, owner: try Self.owner(of: partition, connection))
        }
        usleep(pause)
      }
    }
    for (number, partition) in partitions.enumerated() {
      if let broker = try PostgresLease.queue(connection, of: partition).first {
        throw Fault.inLine(partition: number, broker: broker)
      }
    }
    for partition in partitions {
      try partition.enter(connection)
      try partition.prepare(connection)
      _ = try PostgresLease.take(connection, of: partition, owner: owner, life: leaseMilliseconds)
    }
  }

  /// Who has the lease, as its row says; empty where it says nothing.
  private static func owner(of partition: PostgresDatabase, _ connection: Connection) throws(PostgresError) -> String {
    let table = "\(partition.schema).shards"
    if try connection.query("SELECT to_regclass('\(table)') IS NULL").bool(0, 0) { return "" }
    let rows = try connection.query("SELECT owner FROM \(table) WHERE shard = 0")
    return rows.count > 0 ? rows.text(0, 0) : ""
  }

  /// Ends the leases. Where that fails the locks go with the session all the same, and whoever gets one asks for no more.
  private static func release(_ connection: Connection, _ partitions: [PostgresDatabase]) {
    let ends = partitions.map {
      "UPDATE \($0.schema).shards SET expires = clock_timestamp(), owner = '' WHERE shard = 0 AND pid = pg_backend_pid();"
    }
    try? connection.run(script: ends.joined(separator: "\n"))
  }
}
