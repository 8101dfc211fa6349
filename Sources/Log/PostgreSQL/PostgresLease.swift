import Dispatch
import Glibc
import PostgreSQL

/// The lease of a session: only its owner writes.
///
/// Two things make one: an advisory lock of the owner's session, which the server frees when the session ends, so that
/// a broker that dies is followed at once; and a row with an epoch and an end, by the database's clock, so that one that
/// is paused or cut off can be followed too. Who follows ends the former owner's session first. What decides in the end
/// is neither, but the fence in each transaction (``PostgresFunctions``).
///
/// An advisory lock can be taken again by the session that has it. So a session never asks twice: an owner that was
/// fenced closes its session before it tries again.
struct PostgresLease {
  enum Fault: Error {
    /// Another broker's lease goes on.
    case held(by: String, until: String)
    /// Another broker has taken the lease since.
    case taken
    /// The standby that must confirm a commit did not, so that nothing is sure.
    case unconfirmed
  }

  /// How somebody stands in line for the lease.
  enum Place {
    /// As all others do, of whom nothing is known.
    case unordered
    /// Before others, who are ``behind``.
    case first
    /// Takes the lease only where it is free, or where it has been over for a while and whoever is first did nothing.
    case behind
  }

  let epoch: Int64
  /// Random text, which tells the lease from another one of the same epoch (``LogMark``).
  let term: String
  /// Transactions that were committed under a lease so far.
  var seq: Int64

  /// How often a lock is tried that a session has which is being ended.
  private static let pause: UInt32 = 50_000

  /// How long whoever is first in line has time to end the session of a lease that is over, in seconds.
  private static let precedence = 2

  /// Leases that the database remembers.
  static let remembered = 1000

  /// Takes the lease for a new epoch.
  ///
  /// - Parameters:
  ///   - known: an epoch that is known to be over. A database that has lost it must not give it out again.
  ///   - place: where this broker stands in line.
  ///   - wait: how long to stand in line for the lock first, in milliseconds: whoever does has it in the moment in which
  ///     the owner's session ends.
  static func take(
    _ connection: Connection, of database: PostgresDatabase, owner: String, life: Int64, after known: Int64 = 0,
    as place: Place = .unordered, waiting wait: Int64 = 0
  ) throws -> PostgresLease {
    let grace = place == .behind ? precedence : 0
    let hasWaited = try wait > 0 && lock(connection, of: database, waiting: wait)
    let deadline = DispatchTime.now() + database.patience
    while try !hasWaited && !lock(connection, of: database, as: place) {
      let rows = try connection.query(
        """
        SELECT owner, to_char(expires, 'HH24:MI:SS TZ'), expires < clock_timestamp() - \(grace) * interval '1 second'
        FROM shards WHERE shard = 0
        """, within: database.patience)
      let (holder, end) = (rows.text(0, 0), rows.text(0, 1))
      guard rows.bool(0, 2), DispatchTime.now() < deadline else { throw Fault.held(by: holder, until: end) }
      try endHolder(connection, of: database, ifOver: true)
      if place != .first { usleep(pause) }
    }
    var random = SystemRandomNumberGenerator()
    let term = Epoch.random(using: &random)
    let rows = try connection.query(
      """
      WITH taken AS (
        UPDATE shards SET epoch = greatest(epoch, $3) + 1, owner = $1, pid = pg_backend_pid(),
          expires = clock_timestamp() + $2 * interval '1 millisecond'
        WHERE shard = 0 RETURNING epoch, seq
      ), noted AS (
        INSERT INTO leases SELECT epoch, $4, seq, $1, clock_timestamp() FROM taken
      ), forgotten AS (
        DELETE FROM leases WHERE epoch <= (SELECT epoch FROM taken) - \(remembered)
      )
      SELECT epoch, seq FROM taken
      """, [.text(owner), .int(life), .int(known), .text(term)], within: database.patience)
    if rows.isUnconfirmed { throw Fault.unconfirmed }
    return PostgresLease(epoch: rows.int(0, 0), term: term, seq: rows.int(0, 1))
  }

  /// Takes the lock again after a connection was lost, if nobody has taken the lease meanwhile. From then on nothing
  /// that was sent on the former session can come to be committed, and what is committed is counted in ``seq``.
  static func reclaim(
    _ former: PostgresLease, _ connection: Connection, of database: PostgresDatabase, life: Int64
  ) throws -> PostgresLease {
    let deadline = DispatchTime.now() + database.patience
    let epoch = former.epoch
    while try !lock(connection, of: database) {
      let rows = try connection.query("SELECT epoch FROM shards WHERE shard = 0", within: database.patience)
      if rows.int(0, 0) != epoch { throw Fault.taken }
      if DispatchTime.now() > deadline { throw PostgresError(.lost, "our former session does not end") }
      try endHolder(connection, of: database, ifOver: false)
      usleep(pause)
    }
    let rows = try connection.query(
      """
      UPDATE shards SET pid = pg_backend_pid(), expires = clock_timestamp() + $2 * interval '1 millisecond'
      WHERE shard = 0 AND epoch = $1 RETURNING seq
      """, [.int(epoch), .int(life)], within: database.patience)
    if rows.count == 0 { throw Fault.taken }
    if rows.isUnconfirmed { throw Fault.unconfirmed }
    // Less is committed than this broker knows of: another database, or one that has lost something. Whoever takes the
    // lease anew finds out what (``LogMark``).
    if rows.int(0, 0) < former.seq { throw Fault.taken }
    return PostgresLease(epoch: epoch, term: former.term, seq: rows.int(0, 0))
  }

  /// Brokers that wait for the lock, as far as the server's list of connections names them, and the user may see it; else
  /// an empty name.
  static func queue(_ connection: Connection, of database: PostgresDatabase) throws(PostgresError) -> [String] {
    let key = UInt64(bitPattern: database.lockKey("lease"))
    let rows = try connection.query(
      """
      SELECT coalesce(a.application_name, '') FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND NOT l.granted AND l.objsubid = 1 AND l.classid::bigint = $1
        AND l.objid::bigint = $2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      ORDER BY 1
      """, [.int(Int64(key >> 32)), .int(Int64(key & 0xFFFF_FFFF))], within: database.patience)
    return (0..<rows.count).map { PostgresStore.Options.owner(ofApplication: rows.text($0, 0)) }
  }

  /// Who is first does not leave the queue while the holder's session ends.
  private static func lock(
    _ connection: Connection, of database: PostgresDatabase, as place: Place
  ) throws(PostgresError) -> Bool {
    if place == .first { return try lock(connection, of: database, waiting: Int64(pause) / 1000) }
    return try lock(connection, of: database)
  }

  private static func lock(_ connection: Connection, of database: PostgresDatabase) throws(PostgresError) -> Bool {
    let key = Parameter.int(database.lockKey("lease"))
    return try connection.query("SELECT pg_try_advisory_lock($1)", [key], within: database.patience).bool(0, 0)
  }

  /// - Returns: false where somebody else has it all the time.
  private static func lock(
    _ connection: Connection, of database: PostgresDatabase, waiting wait: Int64
  ) throws(PostgresError) -> Bool {
    let key = Parameter.int(database.lockKey("lease"))
    try connection.run(script: "SET lock_timeout TO \(wait)", within: database.patience)
    var isOurs = true
    do throws(PostgresError) {
      _ = try connection.query(
        "SELECT pg_advisory_lock($1)", [key], within: database.patience + Double(wait) / 1000)
    } catch {
      guard error.state == .lockNotAvailable else { throw error }
      isOurs = false
    }
    try connection.run(script: "SET lock_timeout TO 0", within: database.patience)
    return isOurs
  }

  /// Ends the session that has the lock, where it is the one of the lease that is over, or has done nothing for a second:
  /// another one in line may have got the lock just now, and be about to take the lease. The server shows a lock's number
  /// as two halves.
  ///
  /// - Parameter isOver: the lease is looked at again: who has got it since must not be ended.
  private static func endHolder(
    _ connection: Connection, of database: PostgresDatabase, ifOver isOver: Bool
  ) throws(PostgresError) {
    let key = UInt64(bitPattern: database.lockKey("lease"))
    _ = try connection.query(
      """
      SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.classid::bigint = $1 AND l.objid::bigint = $2
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND ($3 = 0 OR (SELECT expires < clock_timestamp() FROM shards WHERE shard = 0))
        AND (l.pid = (SELECT pid FROM shards WHERE shard = 0)
          OR a.state_change < clock_timestamp() - interval '1 second')
      """, [.int(Int64(key >> 32)), .int(Int64(key & 0xFFFF_FFFF)), .int(isOver ? 1 : 0)], within: database.patience)
  }
}

extension Rows {
  /// The commit is on the server's own disk, and the standby that must have it did not confirm it: somebody cancelled
  /// the wait. The server tells so in a warning, and of the commit as if it had gone well.
  var isUnconfirmed: Bool { notices.contains { $0.state == .warning && $0.severity == "WARNING" } }
}
