import PostgreSQL
import Wire

/// The entries of one transaction on their way to PostgreSQL, and where their channels stand once it is committed.
///
/// Several are under way at once, so what a channel will be is noted here: its working state may be ahead by then.
struct PostgresBatch {
  let batch: CommitBatch
  /// For each channel of the batch.
  let states: [WriterChannel.State]
  let counts: [Int]
  /// Nil: no entry of the batch follows, so that there is nothing to write.
  let call: PostgresCall?
  /// Rows of the outbox that the transaction deletes.
  let outboxRows: [Int64]

  var entries: ArraySlice<QueuedEntry> { batch.entries }

  /// - Parameter home: home's schema, by which those of other partitions are named.
  init(_ entries: ArraySlice<QueuedEntry>, home: String) {
    batch = CommitBatch(entries)
    let arrays = BatchArrays(batch)
    call = batch.isEmpty ? nil : arrays.call(home: home)
    outboxRows = arrays.outboxRows
    for channel in batch.channels {
      // The row is there, or will be with this transaction, and is found by its name.
      channel.working.id = channel.working.id ?? 0
      channel.working.isRenewed = false
      channel.isTouched = false
    }
    states = batch.channels.map(\.working)
    counts = batch.channels.map(\.entryCount)
  }

  /// Tells the channels that the transaction is committed.
  func confirm() {
    for (channel, state) in zip(batch.channels, states) { channel.committed = state }
  }

  /// Tells the channels that the transaction, and all behind it, are not committed.
  func revert() { batch.revert() }
}

/// The rows of a batch as arrays, a column each: what the function `append` takes.
private struct BatchArrays {
  private var places: [ObjectIdentifier: Int64] = [:]
  private let channels: [WriterChannel]
  private let now: Int64
  private var publications = Publications()
  private var keys = Keys()
  private var origins = Origins()
  private var entries = Entries()
  private var edits = Edits()
  private(set) var outboxRows: [Int64] = []
  private var relays: [LogRelay] = []

  private struct Publications {
    var (channels, offsets, times): ([Int64?], [Int64?], [Int64?]) = ([], [], [])
    var (gateways, requests): ([Int64?], [Int64?]) = ([], [])
    var (data, infos, tags, changes): ([[UInt8]?], [[UInt8]?], [[UInt8]?], [[UInt8]?]) = ([], [], [], [])
  }

  private struct Keys {
    var places: [RowKey: Int] = [:]
    var rows: [(channel: Int64, record: IdempotencyRecord)] = []
  }

  private struct Origins {
    var (channels, gateways, requests): ([Int64?], [Int64?], [Int64?]) = ([], [], [])
    var (offsets, times): ([Int64?], [Int64?]) = ([], [])
    var seen: Set<OriginKey> = []
  }

  private struct Entries {
    var places: [RowKey: Int] = [:]
    var rows: [(channel: Int64, change: KeyChange, publication: Publication)] = []
  }

  private struct Edits {
    var places: [EditKey: Int] = [:]
    var rows: [(channel: Int64, replacement: Publication, erases: Bool)] = []
  }

  private struct RowKey: Hashable {
    var channel: Int64
    var key: [UInt8]
  }

  private struct EditKey: Hashable {
    var channel: Int64
    var offset: UInt64
  }

  private struct OriginKey: Hashable {
    var channel: Int64
    var origin: RequestOrigin
  }

  init(_ batch: CommitBatch) {
    channels = batch.channels
    now = batch.entries.last?.entry.publication.time ?? 0
    for (index, channel) in channels.enumerated() { places[ObjectIdentifier(channel)] = Int64(index + 1) }
    for (queued, follows) in zip(batch.entries, batch.isContiguous) where follows { add(queued) }
  }

  private mutating func add(_ queued: QueuedEntry) {
    guard let place = places[ObjectIdentifier(queued.channel)] else { return }
    let (entry, publication) = (queued.entry, queued.entry.publication)
    if let sent = queued.relays { relays += sent }
    if let key = entry.idempotency { add(key, of: place) }
    if entry.writesMap, let change = publication.change { add(change, by: publication, of: place) }
    if let edit = entry.edit { add(edit, of: place) }
    var origin = entry.origin
    if let row = origin?.outboxRow {
      outboxRows.append(row)
      // No gateway ever asks for it again.
      origin = nil
    }
    // A publication that the same transaction pushes out need not be written; the request it came from must be.
    if publication.offset > queued.channel.working.floor {
      add(publication, by: origin, of: place)
    } else if let origin {
      add(origin, of: publication, place)
    }
  }

  private mutating func add(_ publication: Publication, by origin: RequestOrigin?, of channel: Int64) {
    publications.channels.append(channel)
    publications.offsets.append(Int64(clamping: publication.offset))
    publications.times.append(publication.time)
    publications.gateways.append(origin.map { Int64(bitPattern: $0.gateway) })
    publications.requests.append(origin.map { Int64(bitPattern: $0.request) })
    publications.data.append(publication.data)
    publications.infos.append(publication.info.map { RowCodec.encode($0) })
    publications.tags.append(publication.tags.isEmpty ? nil : RowCodec.encode(publication.tags))
    publications.changes.append(publication.change.map { RowCodec.encode($0) })
  }

  private mutating func add(_ record: IdempotencyRecord, of channel: Int64) {
    let key = RowKey(channel: channel, key: Array(record.key.utf8))
    if let place = keys.places[key] {
      keys.rows[place].record = record
    } else {
      keys.places[key] = keys.rows.count
      keys.rows.append((channel, record))
    }
  }

  private mutating func add(_ origin: RequestOrigin, of publication: Publication, _ channel: Int64) {
    // A request makes one publication; should one name two, the first stays.
    guard origins.seen.insert(OriginKey(channel: channel, origin: origin)).inserted else { return }
    origins.channels.append(channel)
    origins.gateways.append(Int64(bitPattern: origin.gateway))
    origins.requests.append(Int64(bitPattern: origin.request))
    origins.offsets.append(Int64(clamping: publication.offset))
    origins.times.append(publication.time)
  }

  private mutating func add(_ change: KeyChange, by publication: Publication, of channel: Int64) {
    let key = RowKey(channel: channel, key: Array(change.key.utf8))
    if let place = entries.places[key] {
      entries.rows[place] = (channel, change, publication)
    } else {
      entries.places[key] = entries.rows.count
      entries.rows.append((channel, change, publication))
    }
  }

  private mutating func add(_ edit: LogEdit, of channel: Int64) {
    let key = EditKey(channel: channel, offset: edit.replacement.offset)
    if let place = edits.places[key] {
      edits.rows[place] = (channel, edit.replacement, edits.rows[place].erases || edit.erases)
    } else {
      edits.places[key] = edits.rows.count
      edits.rows.append((channel, edit.replacement, edit.erases))
    }
  }

  // MARK: Parameters

  func call(home: String) -> PostgresCall {
    PostgresCall(
      "append",
      [.int(now.minus(ttl: RequestTraces.originLifetime))] + channelParameters + publicationParameters + keyParameters
        + originParameters + entryParameters + editParameters + [.ints(outboxRows)],
      relays: relayParameters(home: home))
  }

  private func relayParameters(home: String) -> [Parameter] {
    if relays.isEmpty { return [] }
    return [
      .texts(relays.map { PostgresStore.Options.schema(home, of: $0.partition) }), .texts(relays.map(\.app)),
      .blobs(relays.map(\.data)),
    ]
  }

  private var channelParameters: [Parameter] {
    let accounts = channels.map(\.quota?.columns)
    return [
      .bools(channels.map { $0.working.id == nil }), .bools(channels.map(\.working.isRenewed)),
      .ints(channels.map { PostgresSchema.bucket(of: $0.name.string) }), .blobs(channels.map(\.name.bytes)),
      .texts(channels.map(\.storedEpoch)), .ints(channels.map { Int64(clamping: $0.working.top) }),
      .ints(channels.map { Int64(clamping: $0.working.floor) }), .texts(channels.map(\.durability.rawValue)),
      .ints(channels.map(\.ttl)), .ints(channels.map(\.expires)), .ints(channels.map(\.used)),
      .blobs(accounts.map { $0?.namespace }), .blobs(accounts.map { $0?.owner }),
    ]
  }

  private var publicationParameters: [Parameter] {
    [
      .ints(publications.channels), .ints(publications.offsets), .ints(publications.times),
      .ints(publications.gateways), .ints(publications.requests), .blobs(publications.data),
      .blobs(publications.infos), .blobs(publications.tags), .blobs(publications.changes),
    ]
  }

  private var keyParameters: [Parameter] {
    [
      .ints(keys.rows.map(\.channel)), .blobs(keys.rows.map { Array($0.record.key.utf8) }),
      .ints(keys.rows.map { Int64(clamping: $0.record.offset) }),
      .ints(keys.rows.map { Int64(bitPattern: $0.record.digest) }), .ints(keys.rows.map(\.record.expires)),
    ]
  }

  private var originParameters: [Parameter] {
    [
      .ints(origins.channels), .ints(origins.gateways), .ints(origins.requests), .ints(origins.offsets),
      .ints(origins.times),
    ]
  }

  private var entryParameters: [Parameter] {
    let publications = entries.rows.map(\.publication)
    return [
      .ints(entries.rows.map(\.channel)), .bools(entries.rows.map(\.change.removed)),
      .blobs(entries.rows.map { Array($0.change.key.utf8) }),
      .ints(publications.map { Int64(clamping: $0.offset) }), .ints(publications.map(\.time)),
      .ints(entries.rows.map(\.change.score)),
      .ints(entries.rows.map { $0.change.expires == .max ? nil : $0.change.expires }),
      .blobs(publications.map(\.data)), .blobs(publications.map { $0.info.map { RowCodec.encode($0) } }),
      .blobs(publications.map { $0.tags.isEmpty ? nil : RowCodec.encode($0.tags) }),
    ]
  }

  private var editParameters: [Parameter] {
    let replacements = edits.rows.map(\.replacement)
    return [
      .ints(edits.rows.map(\.channel)), .ints(replacements.map { Int64(clamping: $0.offset) }),
      .bools(edits.rows.map(\.erases)), .blobs(replacements.map(\.data)),
      .blobs(replacements.map { $0.tags.isEmpty ? nil : RowCodec.encode($0.tags) }),
    ]
  }
}
