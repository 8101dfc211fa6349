import SQLite
import Wire

/// Reads on a connection of its own. A read sees everything that was committed before it began: what the journal still
/// has comes from memory, and is asked for before the tables are (``UnfoldedJournal``).
struct ChannelReader: JobReader {
  /// A channel's row.
  struct Row {
    var id: Int64
    var epoch: String
    var top: UInt64
    var durability: String
    var ttl: Int64
  }

  let connection: DatabaseConnection
  let journal: UnfoldedJournal

  func read(_ job: ReadJob) -> ReadJob.Found { job.read(from: self) }

  func close() { try? connection.close() }

  func row(of channel: ChannelName) throws -> Row? {
    while true {
      let folds = journal.folds
      guard var row = try storedRow(of: channel) else { return nil }
      if let newest = journal.entries(of: row.id).last {
        row.top = max(row.top, newest.publication.offset)
        row.ttl = newest.ttl
        return row
      }
      // A fold may have come in between: what was not in the table yet is not in the journal any more.
      if journal.folds == folds { return row }
    }
  }

  private func storedRow(of channel: ChannelName) throws -> Row? {
    try connection.inDatabase { db in
      let statement = try db.statement("SELECT id, epoch, top, durability, history_ttl FROM channels WHERE name = ?1")
      statement.bind(channel.string, at: 1)
      guard try statement.next() else { return nil }
      defer { statement.reset() }
      return Row(
        id: statement.int(0), epoch: statement.text(1), top: statement.unsigned(2), durability: statement.text(3),
        ttl: statement.int(4))
    }
  }

  /// How many channels were deleted whose names fall into the same bucket (``Schema/epochBucket(of:)``).
  func epochGeneration(of channel: ChannelName) throws -> Int64 {
    try connection.inDatabase { db in
      let statement = try db.statement(Self.generationOfName)
      statement.bind(channel.string, at: 1)
      guard try statement.next() else { return 0 }
      defer { statement.reset() }
      return statement.int(0)
    }
  }

  private static let generationOfName =
    "SELECT generation FROM epoch_generations WHERE bucket = \(Schema.epochBucket(of: "?1"))"

  /// Keys that have not expired, in the order of their offsets.
  func keys(of id: Int64, at now: Int64) throws -> [IdempotencyRecord] {
    let unfolded = journal.entries(of: id).compactMap(\.idempotency).filter { $0.expires > now }
    let stored = try storedKeys(of: id, at: now)
    return unfolded.isEmpty ? stored : (stored + unfolded).newestPerKey()
  }

  private func storedKeys(of id: Int64, at now: Int64) throws -> [IdempotencyRecord] {
    try connection.inDatabase { db in
      let statement = try db.statement(
        "SELECT key, offset, digest, expires FROM idempotency WHERE channel_id = ?1 AND expires > ?2 ORDER BY offset")
      statement.bind(id, at: 1)
      statement.bind(now, at: 2)
      var keys: [IdempotencyRecord] = []
      while try statement.next() {
        keys.append(
          IdempotencyRecord(
            key: statement.text(0), offset: statement.unsigned(1), digest: statement.unsigned(2),
            expires: statement.int(3)))
      }
      return keys
    }
  }

  func origins(of id: Int64, at now: Int64) throws -> [RequestOrigin: UInt64] {
    let oldest = now.minus(ttl: RequestTraces.originLifetime)
    let unfolded = journal.entries(of: id)
    var origins = try storedOrigins(of: id, since: oldest)
    for entry in unfolded where entry.publication.time >= oldest {
      if let origin = entry.origin { origins[origin] = entry.publication.offset }
    }
    return origins
  }

  private func storedOrigins(of id: Int64, since oldest: Int64) throws -> [RequestOrigin: UInt64] {
    try connection.inDatabase { db in
      var origins: [RequestOrigin: UInt64] = [:]
      let unkept = try db.statement("SELECT gateway, request, offset FROM origins WHERE channel_id = ?1 AND time >= ?2")
      unkept.bind(id, at: 1)
      unkept.bind(oldest, at: 2)
      while try unkept.next() {
        origins[RequestOrigin(gateway: unkept.unsigned(0), request: unkept.unsigned(1))] = unkept.unsigned(2)
      }
      // The newest first, so that reading ends at the first publication that is too old, however long the history is.
      let kept = try db.statement(
        """
        SELECT origin_gateway, origin_request, offset, time FROM publications WHERE channel_id = ?1
        ORDER BY offset DESC LIMIT ?2
        """)
      kept.bind(id, at: 1)
      kept.bind(Int64(RequestTraces.originLimit), at: 2)
      while try kept.next() {
        if kept.int(3) < oldest {
          kept.reset()
          break
        }
        if kept.isNull(0) || kept.isNull(1) { continue }
        origins[RequestOrigin(gateway: kept.unsigned(0), request: kept.unsigned(1))] = kept.unsigned(2)
      }
      return origins
    }
  }

  /// Calls `body` for each publication of the span, in the order of reading, until it returns false.
  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, reverse: Bool, notBefore: Int64,
    _ body: (Publication) -> Bool
  ) throws {
    let unfolded = journal.entries(of: id)
    guard let first = unfolded.first, let last = unfolded.last else {
      return try stored(of: id, in: span, limit: limit, reverse: reverse, notBefore: notBefore, body)
    }
    // Publications before the journal's first entry are in the tables, and from there on the journal has all.
    let low = max(span.lowerBound, last.floor &+ 1)
    guard low <= span.upperBound else { return }
    let (border, high) = (first.publication.offset, span.upperBound)
    let found = low < border ? low...min(high, border - 1) : nil
    let rest = unfolded.lazy.map(\.publication).filter {
      $0.offset >= low && $0.offset <= high && $0.time >= notBefore
    }
    var left = limit
    if reverse {
      for publication in rest.reversed() {
        guard left > 0, body(publication) else { return }
        left -= 1
      }
    }
    if let found {
      var goesOn = true
      try stored(of: id, in: found, limit: left, reverse: reverse, notBefore: notBefore) {
        left -= 1
        goesOn = body($0)
        return goesOn
      }
      if !goesOn { return }
    }
    if reverse { return }
    for publication in rest {
      guard left > 0, body(publication) else { return }
      left -= 1
    }
  }

  /// As ``publications(of:in:limit:reverse:notBefore:_:)``, of the tables alone.
  private func stored(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, reverse: Bool, notBefore: Int64,
    _ body: (Publication) -> Bool
  ) throws {
    guard span.lowerBound <= UInt64(Int64.max), limit > 0 else { return }
    try connection.inDatabase { db in
      let statement = try db.statement(reverse ? Self.newestFirst : Self.oldestFirst)
      statement.bind(id, at: 1)
      statement.bind(Int64(clamping: span.lowerBound), at: 2)
      statement.bind(Int64(clamping: span.upperBound), at: 3)
      statement.bind(notBefore, at: 4)
      statement.bind(Int64(limit), at: 5)
      while try statement.next() {
        let publication = Publication(
          offset: statement.unsigned(0), time: statement.int(1), data: statement.blob(2),
          info: statement.isNull(3) ? nil : RowCodec.decodeInfo(statement.blob(3)),
          tags: statement.isNull(4) ? [:] : RowCodec.decodeTags(statement.blob(4)),
          change: statement.isNull(5) ? nil : RowCodec.decodeChange(statement.blob(5)))
        if !body(publication) {
          statement.reset()
          return
        }
      }
    }
  }

  private static let oldestFirst = """
    SELECT offset, time, data, info, tags, change FROM publications
    WHERE channel_id = ?1 AND offset BETWEEN ?2 AND ?3 AND time >= ?4 ORDER BY offset LIMIT ?5
    """
  private static let newestFirst = """
    SELECT offset, time, data, info, tags, change FROM publications
    WHERE channel_id = ?1 AND offset BETWEEN ?2 AND ?3 AND time >= ?4 ORDER BY offset DESC LIMIT ?5
    """

  /// The offset of the oldest publication that is kept.
  func oldest(of id: Int64) throws -> UInt64? {
    var oldest: UInt64?
    try publications(of: id, in: 1...UInt64(Int64.max), limit: 1, reverse: false, notBefore: .min) {
      oldest = $0.offset
      return false
    }
    return oldest
  }

  // MARK: Maps

  /// The entries of a map.
  ///
  /// - Parameter key: the only key to look for; nil: all of them.
  func entries(of id: Int64, key: String? = nil) throws -> [Publication] {
    try connection.inDatabase { db in
      let statement = try db.statement(key == nil ? Self.allEntries : Self.oneEntry)
      statement.bind(id, at: 1)
      if let key { statement.bind(key, at: 2) }
      var entries: [Publication] = []
      while try statement.next() {
        let change = KeyChange(
          key: statement.text(0), score: statement.int(6), expires: statement.isNull(7) ? .max : statement.int(7))
        entries.append(
          Publication(
            offset: statement.unsigned(1), time: statement.int(2), data: statement.blob(3),
            info: statement.isNull(4) ? nil : RowCodec.decodeInfo(statement.blob(4)),
            tags: statement.isNull(5) ? [:] : RowCodec.decodeTags(statement.blob(5)), change: change))
      }
      return entries
    }
  }

  func keys(of id: Int64, score: Int64, expiringBy time: Int64, limit: Int) throws -> [ExpiringKey] {
    try connection.inDatabase { db in
      let statement = try db.statement(
        """
        SELECT key, expires FROM entries WHERE channel_id = ?1 AND score = ?2 AND expires <= ?3
        ORDER BY expires LIMIT ?4
        """)
      statement.bind(id, at: 1)
      statement.bind(score, at: 2)
      statement.bind(time, at: 3)
      statement.bind(Int64(limit), at: 4)
      var keys: [ExpiringKey] = []
      while try statement.next() { keys.append(ExpiringKey(key: statement.text(0), expires: statement.int(1))) }
      return keys
    }
  }

  private static let allEntries = """
    SELECT key, offset, time, data, info, tags, score, expires FROM entries WHERE channel_id = ?1
    """
  private static let oneEntry = allEntries + " AND key = ?2"
}
