import Logging
import PostgreSQL
import Wire

/// Tells the other brokers of a log, by way of home's schema, that this one lives and what it has, reads what they tell,
/// and asks for a lease as ``LeaseLine`` decides.
///
/// The log needs nothing of this: where a question fails, the broker stands in line as one without a name does, and where
/// an owner's word fails, others do not know who it is, and ask nothing of it.
struct PostgresLine {
  /// How long a broker lives after its last word, by the database's clock.
  static let life = "interval '3 seconds'"
  /// How often an owner tells that it lives, in milliseconds.
  static let beat: Int64 = 1000
  /// How often somebody who does not wait in the queue looks whether the lease is free, in milliseconds.
  static let pollMilliseconds: Int64 = 300
  /// How long nothing is asked after a question has failed, in milliseconds.
  private static let pause: Int64 = 5000
  /// How long a lease that an operator had handed over stays where it is, whoever is preferred.
  static let operatorsInterval = "interval '5 minutes'"

  /// Home's schema.
  private let home: String
  /// The process, as people are told.
  private let process: String
  private let patience: Double
  private let logger: Logger
  private(set) var decision: LeaseLine
  /// When it is asked again after a failure; nil: nothing has failed.
  private var resumes: Int64?

  /// - Parameter name: the broker's among those of the log.
  init(
    name: String, partition: Int, process: String, home: PostgresDatabase, logger: Logger
  ) {
    self.home = home.schema
    self.process = process
    patience = home.patience
    self.logger = logger
    decision = LeaseLine(name: name, partition: partition)
  }

  /// What a server that has crashed may forget, and what no standby of it has to confirm: all who live tell it again.
  static func tables(of home: String) -> String {
    """
    -- Brokers that live, by the names that they have among those of the log.
    CREATE UNLOGGED TABLE \(home).brokers (name text PRIMARY KEY, seen timestamptz NOT NULL);
    -- Who stands in line for the lease of which partition.
    CREATE UNLOGGED TABLE \(home).standing (
      partition bigint NOT NULL,
      broker text NOT NULL,
      process text NOT NULL, -- as shards.owner names one
      seen timestamptz NOT NULL,
      PRIMARY KEY (partition, broker)
    );
    CREATE UNLOGGED TABLE \(home).owners (
      partition bigint PRIMARY KEY,
      epoch bigint NOT NULL, -- the lease of which this is told: where it is over, so is this
      broker text NOT NULL,
      quiet timestamptz NOT NULL -- until then nobody asks for the lease
    );
    -- Until when no lease is asked for, since one was taken, or was asked for and is about to be.
    CREATE UNLOGGED TABLE \(home).moves (one boolean PRIMARY KEY, quiet timestamptz NOT NULL);
    """
  }

  // MARK: In line

  /// Says that this broker stands in line, and looks who else does.
  ///
  /// - Returns: how it is to stand there.
  mutating func stand(_ connection: Connection, now: Int64) -> PostgresLease.Place {
    if let resumes, now < resumes { return .unordered }
    do throws(PostgresError) {
      let view = try view(connection)
      if resumes != nil { logger.notice("the other brokers of the log can be seen again") }
      resumes = nil
      switch decision.look(view, now: now) {
      case .poll: return .behind
      case .queue: return .first
      case .ask(let epoch):
        if try ask(connection, epoch: epoch, of: view.owner ?? "") { decision.noteAsked(now: now) }
        return .first
      }
    } catch {
      if resumes == nil { logger.warning("the other brokers of the log cannot be seen: \(error)") }
      resumes = now + Self.pause
      return .unordered
    }
  }

  private func view(_ connection: Connection) throws(PostgresError) -> LeaseLine.View {
    let rows = try connection.query(
      """
      WITH told AS (
        INSERT INTO \(home).brokers AS b VALUES ($2, clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()
        WHERE b.seen < clock_timestamp() - interval '700 milliseconds'
      ), stood AS (
        INSERT INTO \(home).standing VALUES ($1, $2, $3, clock_timestamp())
        ON CONFLICT (partition, broker) DO UPDATE SET process = excluded.process, seen = excluded.seen
      ), names AS (
        SELECT broker AS name, true AS stands FROM \(home).standing
        WHERE partition = $1 AND seen > clock_timestamp() - \(Self.life)
        UNION ALL SELECT name, false FROM \(home).brokers WHERE seen > clock_timestamp() - \(Self.life)
      )
      SELECT s.epoch, CASE WHEN s.owner <> '' AND o.epoch = s.epoch THEN o.broker ELSE '' END,
        s.expires > clock_timestamp(),
        coalesce(ceil(extract(epoch FROM
          greatest(o.quiet, (SELECT quiet FROM \(home).moves)) - clock_timestamp()) * 1000)::bigint, 0),
        n.name, n.stands
      FROM shards AS s LEFT JOIN \(home).owners AS o ON o.partition = $1 LEFT JOIN names AS n ON true
      WHERE s.shard = 0
      """, [.int(Int64(decision.partition)), .text(decision.name), .text(process)], within: patience)
    let owner = rows.text(0, 1)
    var view = LeaseLine.View(
      epoch: rows.int(0, 0), owner: owner.isEmpty ? nil : owner, isRenewed: rows.bool(0, 2), standing: [], live: [],
      untilAllowed: rows.int(0, 3))
    for row in 0..<rows.count where !rows.isNull(row, 4) {
      if rows.bool(row, 5) { view.standing.insert(rows.text(row, 4)) } else { view.live.insert(rows.text(row, 4)) }
    }
    return view
  }

  /// Asks for the lease, unless another broker, or this one's process of another partition, has asked for one just now:
  /// of two that update the row of `moves` in the same moment, the second one sees what the first one wrote.
  ///
  /// - Returns: whether it has asked.
  private func ask(_ connection: Connection, epoch: Int64, of owner: String) throws(PostgresError) -> Bool {
    let granted = try connection.query(
      """
      INSERT INTO \(home).moves AS m VALUES (true, clock_timestamp() + $1 * interval '1 millisecond')
      ON CONFLICT (one) DO UPDATE SET quiet = excluded.quiet WHERE m.quiet < clock_timestamp() RETURNING 1
      """, [.int(LeaseLine.movePatience)], within: patience)
    if granted.count == 0 { return false }
    logger.notice(
      "this broker is preferred for the partition, and asks for its lease",
      metadata: ["partition": "\(decision.partition)", "owner": "\(owner)"])
    _ = try connection.query(
      "UPDATE \(home).owners SET quiet = clock_timestamp() + $2 * interval '1 millisecond' WHERE partition = $1",
      [.int(Int64(decision.partition)), .int(LeaseLine.betweenAsks)], within: patience)
    do throws(PostgresError) {
      _ = try connection.query(
        "UPDATE shards SET drain = epoch WHERE shard = 0 AND epoch = $1", [.int(epoch)], within: patience)
    } catch {
      if error.isLost { throw error }
      logger.warning("the lease's owner cannot be asked: \(error)")
    }
    return true
  }

  /// Has nobody ask for a lease that an operator has handed over, for a while. Where it cannot be said, because no broker
  /// tells its name, nobody asks anyway.
  static func leave(_ partition: Int, _ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) {
    do throws(PostgresError) {
      _ = try connection.query(
        """
        INSERT INTO \(home.schema).owners VALUES ($1, 0, '', clock_timestamp() + \(operatorsInterval))
        ON CONFLICT (partition) DO UPDATE SET quiet = excluded.quiet
        """, [.int(Int64(partition))], within: home.patience)
    } catch {
      if error.isLost { throw error }
    }
  }

  // MARK: The owner

  /// Says that the owner lives, and which lease it has. Does not wait for anybody's lock, so that the log never does.
  ///
  /// - Parameter isTaken: the lease was taken since it was last said.
  func tell(_ connection: Connection, epoch: Int64, isTaken: Bool) throws(PostgresError) {
    let name = Self.literal(decision.name)
    let moves = """
      INSERT INTO \(home).moves
      VALUES (true, clock_timestamp() + \(LeaseLine.betweenMoves) * interval '1 millisecond')
      ON CONFLICT (one) DO UPDATE SET quiet = excluded.quiet;
      DELETE FROM \(home).standing WHERE partition = \(decision.partition)
        AND (broker = \(name) OR seen < clock_timestamp() - interval '1 hour');
      DELETE FROM \(home).brokers WHERE seen < clock_timestamp() - interval '1 hour';
      """
    try connection.run(
      script: """
        SET LOCAL lock_timeout TO 100;
        \(isTaken ? moves : "")
        INSERT INTO \(home).brokers AS b VALUES (\(name), clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()
        WHERE b.seen < clock_timestamp() - interval '700 milliseconds';
        INSERT INTO \(home).owners AS o VALUES (\(decision.partition), \(epoch), \(name), 'epoch')
        ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch, broker = excluded.broker
        WHERE o.epoch <> excluded.epoch;
        """, within: patience)
  }

  /// The name in a script, which takes no parameters. No letter of it can end the literal.
  private static func literal(_ name: String) -> String {
    let digits = name.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "convert_from(decode('\(digits)', 'hex'), 'UTF8')"
  }
}

extension PostgresStore.Options {
  /// Nil: the broker has no name among those of the log.
  func line(_ logger: Logger) throws(PostgresStartError) -> PostgresLine? {
    if brokerName.isEmpty { return nil }
    return PostgresLine(
      name: brokerName, partition: partition, process: owner, home: try server(of: Partitioning.home), logger: logger)
  }
}
