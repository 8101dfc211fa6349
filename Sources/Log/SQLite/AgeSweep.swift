import GRDB
import Wire

/// Deletes what is too old, a bounded amount at a time: the next sweep goes on.
struct AgeSweep {
  static let channelsPerSweep = 256
  static let publicationsPerChannel = 2000

  let now: Int64

  /// Whether there is anything to do, so that an idle log writes nothing.
  func isDue(_ db: Database) throws -> Bool {
    let statement = try RowStatement(
      db,
      """
      SELECT EXISTS (SELECT 1 FROM channels WHERE expires < ?1)
        OR EXISTS (SELECT 1 FROM idempotency WHERE expires <= ?1)
        OR EXISTS (SELECT 1 FROM origins WHERE time < ?2)
      """)
    statement.bind(now, at: 1)
    statement.bind(now.minus(ttl: RequestTraces.originLifetime), at: 2)
    defer { statement.reset() }
    return try statement.next() && statement.int(0) != 0
  }

  /// To be called within a transaction.
  func write(_ db: Database) throws {
    let due = try RowStatement(
      db, "SELECT id, history_ttl FROM channels WHERE expires < ?1 ORDER BY expires LIMIT ?2")
    due.bind(now, at: 1)
    due.bind(Int64(Self.channelsPerSweep), at: 2)
    var channels: [(id: Int64, ttl: Int64)] = []
    while try due.next() { channels.append((due.int(0), due.int(1))) }
    for channel in channels { try trim(channel.id, ttl: channel.ttl, db) }

    let keys = try RowStatement(db, "DELETE FROM idempotency WHERE expires <= ?1")
    keys.bind(now, at: 1)
    try keys.run()
    let origins = try RowStatement(db, "DELETE FROM origins WHERE time < ?1")
    origins.bind(now.minus(ttl: RequestTraces.originLifetime), at: 1)
    try origins.run()
  }

  private func trim(_ id: Int64, ttl: Int64, _ db: Database) throws {
    let oldest = try RowStatement(
      db, "SELECT offset, time FROM publications WHERE channel_id = ?1 ORDER BY offset LIMIT ?2")
    oldest.bind(id, at: 1)
    oldest.bind(Int64(Self.publicationsPerChannel), at: 2)
    var stale: UInt64?
    var expires: Int64?
    var count = 0
    while try oldest.next() {
      let time = oldest.int(1)
      if time >= now.minus(ttl: ttl) {
        expires = time.plus(ttl: ttl)
        oldest.reset()
        break
      }
      stale = oldest.unsigned(0)
      count += 1
    }
    if count == Self.publicationsPerChannel { expires = .min }  // There may be more: due again at once.
    if let stale { try CommitBatch.delete(db, channel: id, through: stale) }
    let update = try RowStatement(db, "UPDATE channels SET expires = ?2 WHERE id = ?1")
    update.bind(id, at: 1)
    update.bind(expires, at: 2)
    try update.run()
  }
}
