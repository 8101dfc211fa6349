import SQLite
import Wire

/// Deletes what is too old, a portion at a time: a transaction of a sweep must not keep publications waiting.
struct AgeSweep {
  /// Rows that one portion deletes at most: some milliseconds.
  static let rowsPerPortion = 2000
  static let channelsPerPortion = 256

  let now: Int64
  /// Namespaces in which what users keep is counted.
  var quotaNamespaces: Set<String> = []

  private var oldestOrigin: Int64 { now.minus(ttl: RequestTraces.originLifetime) }

  /// Whether there is anything to do, so that an idle log writes nothing.
  func isDue(_ db: Database) throws -> Bool {
    let statement = try db.statement(
      """
      SELECT EXISTS (SELECT 1 FROM channels WHERE expires < ?1)
        OR EXISTS (SELECT 1 FROM idempotency WHERE expires <= ?1)
        OR EXISTS (SELECT 1 FROM origins WHERE time < ?2)
      """)
    statement.bind(now, at: 1)
    statement.bind(oldestOrigin, at: 2)
    defer { statement.reset() }
    return try statement.next() && statement.int(0) != 0
  }

  /// Deletes one portion. To be called within a transaction.
  ///
  /// - Returns: whether there may be more to delete.
  func write(_ db: Database, _ quotas: inout QuotaChanges) throws -> Bool {
    var budget = Self.rowsPerPortion
    let due = try db.statement(
      "SELECT id, history_ttl, name FROM channels WHERE expires < ?1 ORDER BY expires LIMIT ?2")
    due.bind(now, at: 1)
    due.bind(Int64(Self.channelsPerPortion), at: 2)
    var channels: [(id: Int64, ttl: Int64, quota: QuotaScope?)] = []
    while try due.next() { channels.append((due.int(0), due.int(1), scope(of: due))) }
    for channel in channels where budget > 0 {
      budget -= try trim(channel.id, ttl: channel.ttl, quota: channel.quota, limit: budget, db, &quotas)
    }
    let mayHaveMore = budget <= 0 || channels.count == Self.channelsPerPortion
    budget -= try delete(
      """
      DELETE FROM idempotency WHERE (channel_id, key) IN
        (SELECT channel_id, key FROM idempotency WHERE expires <= ?1 ORDER BY expires LIMIT ?2)
      """, upTo: now, limit: budget, db)
    budget -= try delete(
      """
      DELETE FROM origins WHERE (channel_id, gateway, request) IN
        (SELECT channel_id, gateway, request FROM origins WHERE time < ?1 ORDER BY time LIMIT ?2)
      """, upTo: oldestOrigin, limit: budget, db)
    return mayHaveMore || budget <= 0
  }

  private func scope(of row: Statement) -> QuotaScope? {
    if quotaNamespaces.isEmpty { return nil }
    return (try? ChannelName(row.text(2), limit: .max)).flatMap { QuotaScope(of: $0, in: quotaNamespaces) }
  }

  /// - Returns: how many rows it deleted.
  private func delete(_ sql: String, upTo time: Int64, limit: Int, _ db: Database) throws -> Int {
    guard limit > 0 else { return 0 }
    let statement = try db.statement(sql)
    statement.bind(time, at: 1)
    statement.bind(Int64(limit), at: 2)
    let before = db.totalChanges
    try statement.run()
    return Int(db.totalChanges - before)
  }

  /// - Returns: how many rows it deleted.
  private func trim(
    _ id: Int64, ttl: Int64, quota: QuotaScope?, limit: Int, _ db: Database, _ quotas: inout QuotaChanges
  ) throws -> Int {
    let oldest = try db.statement(
      "SELECT offset, time FROM publications WHERE channel_id = ?1 ORDER BY offset LIMIT ?2")
    oldest.bind(id, at: 1)
    oldest.bind(Int64(limit), at: 2)
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
    if count == limit { expires = .min }  // More may be too old: the channel is due again at once.
    if let stale {
      if let quota { try quotas.willDelete(through: stale, of: id, in: quota, db) }
      try TableWriter(db).delete(id, through: stale)
    }
    let update = try db.statement("UPDATE channels SET expires = ?2 WHERE id = ?1")
    update.bind(id, at: 1)
    update.bind(expires, at: 2)
    try update.run()
    return count
  }
}
