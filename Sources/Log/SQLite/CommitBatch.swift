import GRDB
import Wire

/// The entries of one transaction.
///
/// `init` decides, on the channels' working states, which entries may go in; `write` performs it; `settle` or `revert`
/// tells the channels how it ended.
struct CommitBatch {
  let entries: ArraySlice<QueuedEntry>
  /// For each entry, whether its offset follows the one before it.
  private(set) var isContiguous: [Bool] = []
  private(set) var channels: [WriterChannel] = []

  init(_ entries: ArraySlice<QueuedEntry>) {
    self.entries = entries
    isContiguous.reserveCapacity(entries.count)
    for queued in entries {
      let channel = queued.channel
      let entry = queued.entry
      let follows = channel.working.top < UInt64.max && entry.publication.offset == channel.working.top + 1
      isContiguous.append(follows)
      guard follows else { continue }
      if !channel.isTouched {
        channel.isTouched = true
        channel.expires = nil
        channels.append(channel)
      }
      channel.working.top = entry.publication.offset
      channel.working.floor = max(channel.working.floor, entry.floor)
      channel.ttl = entry.historyTTLMilliseconds
      if entry.isKept {
        let expires = entry.publication.time.plus(ttl: entry.historyTTLMilliseconds)
        channel.expires = min(channel.expires ?? .max, expires)
      }
    }
  }

  var isEmpty: Bool { channels.isEmpty }

  /// To be called within a transaction.
  func write(_ db: Database, sequence: UInt64) throws {
    try writeChannels(db)
    try writeEntries(db)
    try trim(db)
    let statement = try RowStatement(db, "UPDATE meta SET value = ?1 WHERE key = 'sequence'")
    statement.bind(sequence, at: 1)
    try statement.run()
  }

  /// The transaction is on disk.
  func settle() {
    for channel in channels {
      channel.working.isRenewed = false
      channel.committed = channel.working
      channel.isTouched = false
    }
  }

  /// The transaction was rolled back.
  func revert() {
    for channel in channels {
      channel.working = channel.committed
      channel.isTouched = false
    }
  }

  private func writeChannels(_ db: Database) throws {
    for channel in channels {
      guard let id = channel.working.id else {
        try insert(channel, db)
        continue
      }
      let statement = try RowStatement(
        db,
        """
        UPDATE channels SET top = ?2, history_ttl = ?3,
          expires = CASE WHEN ?4 IS NULL THEN expires ELSE MIN(COALESCE(expires, ?4), ?4) END
        WHERE id = ?1
        """)
      statement.bind(id, at: 1)
      statement.bind(channel.working.top, at: 2)
      statement.bind(channel.ttl, at: 3)
      statement.bind(channel.expires, at: 4)
      try statement.run()
      if channel.working.isRenewed { try renew(channel, id: id, db) }
    }
  }

  private func insert(_ channel: WriterChannel, _ db: Database) throws {
    let statement = try RowStatement(
      db, "INSERT INTO channels (name, epoch, top, durability, history_ttl, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
    statement.bind(channel.name.string, at: 1)
    statement.bind(channel.storedEpoch, at: 2)
    statement.bind(channel.working.top, at: 3)
    statement.bind(channel.durability.rawValue, at: 4)
    statement.bind(channel.ttl, at: 5)
    statement.bind(channel.expires, at: 6)
    try statement.run()
    channel.working.id = db.lastInsertedRowID
  }

  private func renew(_ channel: WriterChannel, id: Int64, _ db: Database) throws {
    let statement = try RowStatement(db, "UPDATE channels SET epoch = ?2, durability = ?3 WHERE id = ?1")
    statement.bind(id, at: 1)
    statement.bind(channel.storedEpoch, at: 2)
    statement.bind(channel.durability.rawValue, at: 3)
    try statement.run()
  }

  private func writeEntries(_ db: Database) throws {
    let insert = try RowStatement(
      db,
      """
      INSERT INTO publications (channel_id, offset, time, data, info, tags, origin_gateway, origin_request)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      """)
    for (queued, follows) in zip(entries, isContiguous) where follows {
      guard let id = queued.channel.working.id else { continue }
      let entry = queued.entry
      let publication = entry.publication
      if let key = entry.idempotency { try write(key, channel: id, db) }
      // What the same transaction trims need not be written; who asked for it must be.
      guard publication.offset > queued.channel.working.floor else {
        if let origin = entry.origin { try write(origin, of: publication, channel: id, db) }
        continue
      }
      insert.bind(id, at: 1)
      insert.bind(publication.offset, at: 2)
      insert.bind(publication.time, at: 3)
      insert.bind(publication.data, at: 4)
      insert.bind(publication.info.map { RowCodec.encode($0) }, at: 5)
      insert.bind(publication.tags.isEmpty ? nil : RowCodec.encode(publication.tags), at: 6)
      insert.bind(entry.origin.map { Int64(bitPattern: $0.gateway) }, at: 7)
      insert.bind(entry.origin.map { Int64(bitPattern: $0.request) }, at: 8)
      try insert.run()
    }
  }

  private func write(_ key: IdempotencyRecord, channel: Int64, _ db: Database) throws {
    let statement = try RowStatement(
      db,
      "INSERT OR REPLACE INTO idempotency (channel_id, key, offset, digest, expires) VALUES (?1, ?2, ?3, ?4, ?5)")
    statement.bind(channel, at: 1)
    statement.bind(key.key, at: 2)
    statement.bind(key.offset, at: 3)
    statement.bind(key.digest, at: 4)
    statement.bind(key.expires, at: 5)
    try statement.run()
  }

  private func write(_ origin: RequestOrigin, of publication: Publication, channel: Int64, _ db: Database) throws {
    let statement = try RowStatement(
      db, "INSERT OR REPLACE INTO origins (channel_id, gateway, request, offset, time) VALUES (?1, ?2, ?3, ?4, ?5)")
    statement.bind(channel, at: 1)
    statement.bind(origin.gateway, at: 2)
    statement.bind(origin.request, at: 3)
    statement.bind(publication.offset, at: 4)
    statement.bind(publication.time, at: 5)
    try statement.run()
  }

  /// One ranged delete for each channel whose floor rose over something that was written before.
  private func trim(_ db: Database) throws {
    for channel in channels {
      guard let id = channel.committed.id, channel.working.floor > channel.committed.floor else { continue }
      try keepOrigins(of: id, through: channel.working.floor, db)
      try Self.delete(db, channel: id, through: channel.working.floor)
    }
  }

  /// A short history drops a publication within moments; who asked for it is still needed for a minute, or a retry
  /// after a crash would publish it twice. The newest publication of the batch tells the time.
  private func keepOrigins(of channel: Int64, through offset: UInt64, _ db: Database) throws {
    guard let now = entries.last?.entry.publication.time else { return }
    let statement = try RowStatement(
      db,
      """
      INSERT OR REPLACE INTO origins (channel_id, gateway, request, offset, time)
      SELECT channel_id, origin_gateway, origin_request, offset, time FROM publications
      WHERE channel_id = ?1 AND offset <= ?2 AND origin_gateway IS NOT NULL AND time >= ?3
      """)
    statement.bind(channel, at: 1)
    statement.bind(Int64(clamping: offset), at: 2)
    statement.bind(now.minus(ttl: RequestTraces.originLifetime), at: 3)
    try statement.run()
  }

  static func delete(_ db: Database, channel: Int64, through offset: UInt64) throws {
    let statement = try RowStatement(db, "DELETE FROM publications WHERE channel_id = ?1 AND offset <= ?2")
    statement.bind(channel, at: 1)
    statement.bind(Int64(clamping: offset), at: 2)
    try statement.run()
  }
}
