import CLinuxIO
import Dispatch
import Foundation
import Logging
import PostgreSQL

/// The thread that looks for publications which backends have committed to the outbox.
///
/// It remembers the snapshot of its last look: what is visible now and was not then was committed since. Late commits
/// are found that way whatever their numbers, where a cursor over numbers would have passed them; the look costs nothing
/// for what was deleted, also where a transaction that stays open keeps the server from clearing it away; and nothing
/// has to be told at a commit, since `NOTIFY` would have all commits wait for each other.
///
/// States:
/// - whole: all that the snapshot shows was handed out. Can transition to: partial (there was more than there is room
///   for).
/// - partial: the snapshot before counts on, and rows that are under way are left out. Can transition to: whole.
///
/// Unchecked: after `start` its thread alone touches everything.
final class OutboxReader: @unchecked Sendable {
  private let database: PostgresDatabase
  private let ledger: OutboxLedger
  private let pause: DispatchTimeInterval
  private let post: ([OutboxMessage]) -> Void
  private let logger: Logger
  private let ended = DispatchSemaphore(value: 0)
  private var connection: Connection?
  /// The round of the snapshot.
  private var round = 0
  private var snapshot = OutboxReader.beginning
  private var hasFailed = false

  /// A snapshot in which nothing is visible.
  private static let beginning = "1:1:"
  /// Between two attempts to connect.
  private static let retryPause = DispatchTimeInterval.milliseconds(200)

  /// - Parameters:
  ///   - pause: between two looks that found nothing.
  ///   - post: takes what was found.
  init(
    _ database: PostgresDatabase, _ ledger: OutboxLedger, pause: DispatchTimeInterval, logger: Logger,
    post: @escaping ([OutboxMessage]) -> Void
  ) {
    self.database = database
    self.ledger = ledger
    self.pause = pause
    self.logger = logger
    self.post = post
  }

  func start() {
    let thread = Thread { [self] in
      unsafe linuxio_name_thread("fanfare-outbox")
      work()
      connection?.close()
      ended.signal()
    }
    thread.start()
  }

  /// Ends the thread. Called once, by another one.
  func close() {
    ledger.close()
    ended.wait()
  }

  private func work() {
    var pause = self.pause
    while let order = ledger.next(after: pause) {
      do {
        pause = try read(order) ? .nanoseconds(0) : self.pause
        if hasFailed { logger.notice("the outbox can be read again") }
        hasFailed = false
      } catch {
        if !hasFailed { logger.error("the outbox cannot be read: \(error)") }
        hasFailed = true
        connection?.close()
        connection = nil
        pause = Self.retryPause
      }
    }
  }

  /// - Returns: whether it found anything.
  private func read(_ order: OutboxLedger.Order) throws -> Bool {
    let connection = try connected()
    if round != order.round { (round, snapshot) = (order.round, Self.beginning) }
    let rows = try connection.query(
      Self.look, [.text(snapshot), .ints(order.taken), .int(Int64(order.bytes)), .int(Int64(order.rows))],
      within: database.patience)
    var found: [OutboxMessage] = []
    for row in 0..<rows.count where !rows.isNull(row, 1) {
      found.append(
        OutboxMessage(
          id: .init(row: rows.int(row, 1), round: round), channel: rows.text(row, 2), data: rows.bytesIfAny(row, 3),
          options: rows.bytes(row, 4), app: rows.isNull(row, 6) ? nil : rows.text(row, 6)))
    }
    // The statement tells of each row whether more stands behind it, which there was no room for.
    if !rows.bool(max(0, rows.count - 1), 5) { snapshot = rows.text(0, 0) }
    if found.isEmpty { return false }
    if ledger.handOut(found.map { ($0.id.row, $0.cost, $0.app != nil) }, in: round) { post(found) }
    return true
  }

  private func connected() throws -> Connection {
    if let connection { return connection }
    let connection = try database.connect()
    // The table is empty nearly always, and full of what was deleted where a transaction stays open: the planner, which
    // knows the former alone, would read all of it each time.
    try connection.run(script: "SET enable_seqscan TO off; SET jit TO off", within: database.patience)
    self.connection = connection
    // The server may be another one, whose snapshots have other numbers.
    snapshot = Self.beginning
    return connection
  }

  /// Rows that the snapshot $1 does not show, but those in $2: so many that their bytes do not go beyond $3, one at
  /// least, and $4 at most. In the order in which their transactions were committed.
  ///
  /// There is one row of the result at least, for the snapshot.
  private static let look = """
    WITH news AS (
      SELECT id, channel, data, options, position, app FROM outbox WHERE tx >= pg_snapshot_xmax($1::pg_snapshot)
      UNION ALL
      SELECT id, channel, data, options, position, app FROM outbox
      WHERE tx = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
    ), counted AS (
      SELECT *, row_number() OVER w AS number, count(*) OVER () AS total,
        sum(coalesce(octet_length(data), 0) + \(OutboxMessage.overhead)) OVER w AS bytes
      FROM news WHERE NOT id = ANY ($2) WINDOW w AS (ORDER BY position, id)
    )
    SELECT s.snapshot::text, c.id, c.channel, c.data, c.options::text, coalesce(c.number < c.total, false),
      c.app
    FROM (SELECT pg_current_snapshot() AS snapshot) AS s
    LEFT JOIN (SELECT * FROM counted WHERE number = 1 OR bytes <= $3 ORDER BY number LIMIT $4) AS c ON true
    ORDER BY c.number
    """
}

extension OutboxMessage {
  /// What a message counts for beside its data, in bytes.
  static let overhead = 512

  var cost: Int { Self.overhead + (data?.count ?? 0) }
}
