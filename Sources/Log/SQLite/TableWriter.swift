import SQLite
import Wire

/// Writes publications into the tables by channel, with the keys and origins by which a retry is recognised.
struct TableWriter {
  private let publication: Statement
  private let key: Statement
  private let origin: Statement
  private let keptOrigins: Statement
  private let trimmed: Statement

  init(_ db: Database) throws {
    publication = try db.statement(
      """
      INSERT INTO publications (channel_id, offset, time, data, info, tags, origin_gateway, origin_request, change)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      """)
    key = try db.statement(
      "INSERT OR REPLACE INTO idempotency (channel_id, key, offset, digest, expires) VALUES (?1, ?2, ?3, ?4, ?5)")
    origin = try db.statement(
      "INSERT OR REPLACE INTO origins (channel_id, gateway, request, offset, time) VALUES (?1, ?2, ?3, ?4, ?5)")
    keptOrigins = try db.statement(
      """
      INSERT OR REPLACE INTO origins (channel_id, gateway, request, offset, time)
      SELECT channel_id, origin_gateway, origin_request, offset, time FROM publications
      WHERE channel_id = ?1 AND offset <= ?2 AND origin_gateway IS NOT NULL AND time >= ?3
      """)
    trimmed = try db.statement("DELETE FROM publications WHERE channel_id = ?1 AND offset <= ?2")
  }

  func write(_ kept: Publication, by asker: RequestOrigin?, channel: Int64) throws {
    publication.bind(channel, at: 1)
    publication.bind(kept.offset, at: 2)
    publication.bind(kept.time, at: 3)
    publication.bind(kept.data, at: 4)
    publication.bind(kept.info.map { RowCodec.encode($0) }, at: 5)
    publication.bind(kept.tags.isEmpty ? nil : RowCodec.encode(kept.tags), at: 6)
    publication.bind(asker.map { Int64(bitPattern: $0.gateway) }, at: 7)
    publication.bind(asker.map { Int64(bitPattern: $0.request) }, at: 8)
    publication.bind(kept.change.map { RowCodec.encode($0) }, at: 9)
    try publication.run()
  }

  func write(_ record: IdempotencyRecord, channel: Int64) throws {
    key.bind(channel, at: 1)
    key.bind(record.key, at: 2)
    key.bind(record.offset, at: 3)
    key.bind(record.digest, at: 4)
    key.bind(record.expires, at: 5)
    try key.run()
  }

  /// Writes the origin of a publication that is not kept itself.
  func write(_ asker: RequestOrigin, of publication: Publication, channel: Int64) throws {
    origin.bind(channel, at: 1)
    origin.bind(asker.gateway, at: 2)
    origin.bind(asker.request, at: 3)
    origin.bind(publication.offset, at: 4)
    origin.bind(publication.time, at: 5)
    try origin.run()
  }

  /// Deletes publications through an offset, and keeps their origins for a minute, without which a retry after a crash
  /// would publish them twice: a short history drops a publication within moments, a history that is removed all of
  /// them.
  func trim(_ channel: Int64, through offset: UInt64, now: Int64) throws {
    keptOrigins.bind(channel, at: 1)
    keptOrigins.bind(Int64(clamping: offset), at: 2)
    keptOrigins.bind(now.minus(ttl: RequestTraces.originLifetime), at: 3)
    try keptOrigins.run()
    try delete(channel, through: offset)
  }

  /// Deletes publications through an offset without their origins, because they are too old for anybody to ask again.
  func delete(_ channel: Int64, through offset: UInt64) throws {
    trimmed.bind(channel, at: 1)
    trimmed.bind(Int64(clamping: offset), at: 2)
    try trimmed.run()
  }
}
