import SQLite
import Wire

/// What to write into the tables for all that the journal holds of one channel: many commits at once, so that each page
/// is changed once, and what a short history has dropped meanwhile is never written at all.
struct FoldPlan: Equatable {
  let channel: Int64
  let top: UInt64
  let ttl: Int64
  /// Publications at or below this offset are not kept.
  let floor: UInt64
  /// When the newest publication was made. Milliseconds since 1970.
  let used: Int64
  /// When the oldest of ``kept`` expires; nil where nothing is kept.
  let expires: Int64?
  let kept: [JournalEntry]
  /// Entries whose publications are not kept, but whose requests are so recent that a gateway may repeat them.
  let traced: [JournalEntry]
  let keys: [IdempotencyRecord]

  /// - Parameters:
  ///   - entries: of one channel, in the order of their offsets. Without any there is no plan.
  ///   - now: milliseconds since 1970.
  init?(_ entries: some BidirectionalCollection<JournalEntry>, now: Int64) {
    guard let last = entries.last else { return nil }
    let floor = entries.reduce(0) { max($0, $1.floor) }
    let oldest = now.minus(ttl: RequestTraces.originLifetime)
    channel = last.channel
    top = last.publication.offset
    ttl = last.ttl
    self.floor = floor
    used = entries.reduce(.min) { max($0, $1.publication.time) }
    kept = entries.filter { $0.publication.offset > floor }
    expires = kept.lazy.map { $0.publication.time.plus(ttl: $0.ttl) }.min()
    traced = entries.filter {
      $0.publication.offset <= floor && $0.origin != nil && $0.publication.time >= oldest
    }
    keys = entries.compactMap(\.idempotency)
  }

  /// Writes the plan. To be called within a transaction.
  func write(_ db: Database, _ tables: TableWriter, now: Int64) throws {
    let row = try db.statement(
      """
      UPDATE channels SET top = ?2, history_ttl = ?3, used = max(used, ?5),
        expires = CASE WHEN ?4 IS NULL THEN expires ELSE min(COALESCE(expires, ?4), ?4) END
      WHERE id = ?1
      """)
    row.bind(channel, at: 1)
    row.bind(top, at: 2)
    row.bind(ttl, at: 3)
    row.bind(expires, at: 4)
    row.bind(used, at: 5)
    try row.run()
    if floor > 0 { try tables.trim(channel, through: floor, now: now) }
    for key in keys { try tables.write(key, channel: channel) }
    for entry in traced {
      if let origin = entry.origin { try tables.write(origin, of: entry.publication, channel: channel) }
    }
    for entry in kept { try tables.write(entry.publication, by: entry.origin, channel: channel) }
  }
}

/// A walk through the channels of which something stood in the journal when it began. Once it is through, the rows of
/// the journal up to there are needed no more.
struct FoldCycle {
  /// The journal's last row when the walk began.
  let through: UInt64
  /// Channels still to be folded, by their rows, so that neighbours in the tables come one after another. The next one
  /// stands last.
  private var channels: [Int64]

  init(through: UInt64, channels: [Int64]) {
    self.through = through
    self.channels = channels.sorted(by: >)
  }

  var isThrough: Bool { channels.isEmpty }

  /// The entries of the channels that come next, about `limit` of them; nothing moves on before ``advance(_:)``.
  func portion(of limit: Int, _ entries: (Int64) -> [JournalEntry]) -> [[JournalEntry]] {
    var portion: [[JournalEntry]] = []
    var count = 0
    for channel in channels.reversed() {
      if count >= limit { break }
      let found = entries(channel)
      // A channel costs the change of its row, however few entries it has.
      count += found.count + 1
      portion.append(found)
    }
    return portion
  }

  mutating func advance(_ count: Int) { channels.removeLast(count) }
}
