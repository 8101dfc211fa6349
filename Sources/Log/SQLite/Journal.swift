import Wire

/// A publication of a commit that is not in the tables by channel yet.
///
/// A chat server's commit holds a publication each for many channels. Written into the tables by channel, it changes a
/// page for each of them, and more for their rows. So a commit appends one row to the journal instead, whatever it
/// holds, and many commits are folded into the tables at once (``FoldPlan``).
///
/// States of a publication, and what a crash in each leaves:
/// - waiting: in memory alone (``WriterInbox``). A crash forgets it: nobody was told of a durable one, and relaxed
///   channels begin a new epoch after a crash. Can transition to: journalled, stored.
/// - journalled: in a row of the journal and in ``UnfoldedJournal``. A crash leaves the row, and the next start folds
///   it. Can transition to: folded, trimmed.
/// - folded: in the tables, and still in a row of the journal. A crash leaves both; the next start sees by the
///   channel's top that the tables have it. Can transition to: stored, trimmed.
/// - stored: in the tables alone. Can transition to: trimmed.
/// - trimmed: not kept. The request that it came from may be known for a minute longer, and nothing else is.
struct JournalEntry: Sendable, Equatable {
  /// Bytes of data that a publication in the journal has at most. Larger data fills pages of its own wherever it is
  /// written, so it is written once, into the tables.
  static let largestData = 8 << 10

  /// The channel's row in `channels`.
  var channel: Int64
  var publication: Publication
  /// Publications of the channel at or below this offset are not kept any more once the entry is.
  var floor: UInt64
  /// Milliseconds that publications of the channel are kept.
  var ttl: Int64
  var idempotency: IdempotencyRecord?
  var origin: RequestOrigin?

  /// Bytes of memory that the entry takes until it is folded.
  var cost: Int { publication.cost + 128 + (idempotency?.key.utf8.count ?? 0) }
}

/// A row of the journal is not what was written.
struct JournalDamage: Error, Equatable {}

/// How the entries of a commit stand in a row of the journal. All numbers are little-endian.
///
///     row   = 1 byte version, 4 bytes count, entry*
///     entry = 8 bytes each: channel offset floor time ttl; 1 byte flags; field data
///             [field info] [field tags] [field change] [8 bytes gateway, 8 bytes request]
///             [field key, 8 bytes each: offset digest expires]
///     flags = 1 info, 2 tags, 4 change, 8 origin, 16 key: which of those in brackets there are
///     field = as in ``RowCodec``
enum JournalCodec {
  static let version: UInt8 = 1

  private enum Flag {
    static let info: UInt8 = 1
    static let tags: UInt8 = 2
    static let change: UInt8 = 4
    static let origin: UInt8 = 8
    static let key: UInt8 = 16
    static let all: UInt8 = 31
  }

  static func encode(_ entries: [JournalEntry]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(5 + entries.reduce(0) { $0 + $1.publication.data.count + 160 })
    bytes.append(version)
    append(UInt32(entries.count), to: &bytes)
    for entry in entries { append(entry, to: &bytes) }
    return bytes
  }

  private static func append(_ entry: JournalEntry, to bytes: inout [UInt8]) {
    let publication = entry.publication
    let (info, tags, change) = (publication.info, publication.tags, publication.change)
    append(UInt64(bitPattern: entry.channel), to: &bytes)
    append(publication.offset, to: &bytes)
    append(entry.floor, to: &bytes)
    append(UInt64(bitPattern: publication.time), to: &bytes)
    append(UInt64(bitPattern: entry.ttl), to: &bytes)
    var flags: UInt8 = info == nil ? 0 : Flag.info
    if !tags.isEmpty { flags |= Flag.tags }
    if change != nil { flags |= Flag.change }
    if entry.origin != nil { flags |= Flag.origin }
    if entry.idempotency != nil { flags |= Flag.key }
    bytes.append(flags)
    RowCodec.append(publication.data, to: &bytes)
    if let info { RowCodec.append(RowCodec.encode(info), to: &bytes) }
    if !tags.isEmpty { RowCodec.append(RowCodec.encode(tags), to: &bytes) }
    if let change { RowCodec.append(RowCodec.encode(change), to: &bytes) }
    if let origin = entry.origin {
      append(origin.gateway, to: &bytes)
      append(origin.request, to: &bytes)
    }
    if let key = entry.idempotency {
      RowCodec.append(key.key.utf8, to: &bytes)
      append(key.offset, to: &bytes)
      append(key.digest, to: &bytes)
      append(UInt64(bitPattern: key.expires), to: &bytes)
    }
  }

  private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  /// - Throws: ``JournalDamage`` where a byte is missing, or one too many.
  static func decode(_ row: [UInt8]) throws(JournalDamage) -> [JournalEntry] {
    var reader = Reader(rest: row[...])
    guard try reader.bytes(1).first == version else { throw JournalDamage() }
    let count = Int(try reader.number(4))
    var entries: [JournalEntry] = []
    // An entry has 45 bytes at least, so a damaged count cannot reserve more memory than the row could fill.
    entries.reserveCapacity(min(count, row.count / 45))
    for _ in 0..<count { entries.append(try reader.entry()) }
    guard reader.rest.isEmpty else { throw JournalDamage() }
    return entries
  }

  private struct Reader {
    private(set) var rest: ArraySlice<UInt8>

    mutating func bytes(_ count: Int) throws(JournalDamage) -> ArraySlice<UInt8> {
      guard rest.count >= count else { throw JournalDamage() }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func number(_ width: Int = 8) throws(JournalDamage) -> UInt64 {
      try bytes(width).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func signed() throws(JournalDamage) -> Int64 { Int64(bitPattern: try number()) }

    mutating func field() throws(JournalDamage) -> [UInt8] {
      let length = Int(try number(4))
      guard length > 0 else { throw JournalDamage() }
      return Array(try bytes(length - 1))
    }

    mutating func entry() throws(JournalDamage) -> JournalEntry {
      let (channel, offset, floor) = (try signed(), try number(), try number())
      let (time, ttl, flags) = (try signed(), try signed(), try bytes(1).first ?? 0)
      guard flags & ~Flag.all == 0 else { throw JournalDamage() }
      let data = try field()
      var (info, tags, change): (ClientInfo?, [String: String], KeyChange?) = (nil, [:], nil)
      if flags & Flag.info != 0 {
        info = RowCodec.decodeInfo(try field())
        if info == nil { throw JournalDamage() }
      }
      if flags & Flag.tags != 0 { tags = RowCodec.decodeTags(try field()) }
      if flags & Flag.change != 0 {
        change = RowCodec.decodeChange(try field())
        if change == nil { throw JournalDamage() }
      }
      var entry = JournalEntry(
        channel: channel,
        publication: Publication(offset: offset, time: time, data: data, info: info, tags: tags, change: change),
        floor: floor, ttl: ttl)
      if flags & Flag.origin != 0 { entry.origin = RequestOrigin(gateway: try number(), request: try number()) }
      if flags & Flag.key != 0 {
        entry.idempotency = IdempotencyRecord(
          key: String(decoding: try field(), as: UTF8.self), offset: try number(), digest: try number(),
          expires: try signed())
      }
      return entry
    }
  }
}
