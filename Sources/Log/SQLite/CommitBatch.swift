import SQLite
import Wire

/// The entries of one transaction.
///
/// `init` decides, on the channels' working states, which entries may go in; `write` writes them; `confirm` or `revert`
/// tells the channels how the transaction ended.
///
/// An entry that only adds a publication to a channel that has a row goes into the journal (``JournalEntry``). Others
/// go into the tables: first publications, entries of maps, edits, and what is counted for a quota, so that none of
/// these is ever in two places. What the journal holds of such a channel is folded in the same transaction.
struct CommitBatch {
  let entries: ArraySlice<QueuedEntry>
  /// For each entry, whether its offset follows the one before it.
  private(set) var isContiguous: [Bool] = []
  private(set) var channels: [WriterChannel] = []

  init(_ entries: ArraySlice<QueuedEntry>) {
    self.entries = entries
    isContiguous.reserveCapacity(entries.count)
    var index = entries.startIndex
    while index < entries.endIndex {
      let end = entries.endOfTransaction(at: index)
      let follows = entries[index..<end].followWhatIsWorked
      for queued in entries[index..<end] {
        isContiguous.append(follows)
        if follows { stage(queued) }
      }
      index = end
    }
  }

  private mutating func stage(_ queued: QueuedEntry) {
    let channel = queued.channel
    let entry = queued.entry
    if !channel.isTouched {
      channel.isTouched = true
      channel.isStored = channel.working.id == nil || channel.working.isRenewed || channel.quota != nil
      channel.expires = nil
      channel.entryCount = 0
      channels.append(channel)
    }
    channel.entryCount += 1
    if entry.isNotForJournal { channel.isStored = true }
    // A relaxed entry after one that was rejected was delivered: the channel goes on, and its history begins anew here.
    if entry.publication.offset - 1 > channel.working.top {
      channel.working.floor = max(channel.working.floor, entry.publication.offset - 1)
    }
    channel.working.top = entry.publication.offset
    channel.working.floor = max(channel.working.floor, entry.floor)
    channel.ttl = entry.historyTTLMilliseconds
    channel.used = max(channel.used, entry.publication.time)
    if entry.isKept {
      let expires = entry.publication.time.plus(ttl: entry.historyTTLMilliseconds)
      channel.expires = min(channel.expires ?? .max, expires)
    }
  }

  var isEmpty: Bool { channels.isEmpty }

  /// Writes the entries that follow. To be called within a transaction.
  ///
  /// - Returns: what that changes in the journal, once it is committed.
  func write(
    _ db: Database, sequence: UInt64, _ quotas: inout QuotaChanges, _ journal: UnfoldedJournal
  ) throws -> JournalChange {
    var change = JournalChange()
    let stored = channels.filter(\.isStored)
    if !stored.isEmpty {
      let tables = try TableWriter(db)
      change.folded = try fold(stored, journal, tables, db)
      try writeChannels(stored, db)
      try writeEntries(tables, db, &quotas)
      try trim(stored, tables, db, &quotas)
    }
    if stored.count < channels.count {
      change.entries = zip(entries, isContiguous).compactMap { $1 ? $0.journalled : nil }
      let bytes = JournalCodec.encode(change.entries)
      change.bytes = bytes.count
      try JournalRow.insert(bytes, as: sequence, db)
    } else {
      let statement = try db.statement("UPDATE meta SET value = ?1 WHERE key = 'sequence'")
      statement.bind(sequence, at: 1)
      try statement.run()
    }
    return change
  }

  /// Folds what the journal holds of the channels.
  ///
  /// - Returns: the rows of channels of which something was folded.
  private func fold(
    _ channels: [WriterChannel], _ journal: UnfoldedJournal, _ tables: TableWriter, _ db: Database
  ) throws -> [Int64] {
    guard let now = entries.last?.entry.publication.time else { return [] }
    let plans = channels.compactMap { channel in
      channel.working.id.flatMap { FoldPlan(journal.entries(of: $0), now: now) }
    }
    for plan in plans { try plan.write(db, tables, now: now) }
    return plans.map(\.channel)
  }

  /// Tells the channels that the transaction is on disk.
  func confirm() {
    for channel in channels {
      channel.working.isRenewed = false
      channel.committed = channel.working
      channel.isTouched = false
    }
  }

  /// Tells the channels that the transaction was rolled back.
  func revert() {
    for channel in channels {
      channel.working = channel.committed
      channel.isTouched = false
    }
  }

  private func writeChannels(_ channels: [WriterChannel], _ db: Database) throws {
    for channel in channels {
      guard let id = channel.working.id else {
        try insert(channel, db)
        continue
      }
      let statement = try db.statement(
        """
        UPDATE channels SET top = ?2, history_ttl = ?3, used = ?5,
          expires = CASE WHEN ?4 IS NULL THEN expires ELSE MIN(COALESCE(expires, ?4), ?4) END
        WHERE id = ?1
        """)
      statement.bind(id, at: 1)
      statement.bind(channel.working.top, at: 2)
      statement.bind(channel.ttl, at: 3)
      statement.bind(channel.expires, at: 4)
      statement.bind(channel.used, at: 5)
      try statement.run()
      if channel.working.isRenewed { try renew(channel, id: id, db) }
    }
  }

  private func insert(_ channel: WriterChannel, _ db: Database) throws {
    // The name has a row already only where that was to be deleted and the disk refused: nothing is kept of it.
    let statement = try db.statement(
      """
      INSERT INTO channels (name, epoch, top, durability, history_ttl, expires, used)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, top = excluded.top, durability = excluded.durability,
        history_ttl = excluded.history_ttl, expires = excluded.expires, used = excluded.used
      RETURNING id
      """)
    statement.bind(channel.name.string, at: 1)
    statement.bind(channel.storedEpoch, at: 2)
    statement.bind(channel.working.top, at: 3)
    statement.bind(channel.durability.rawValue, at: 4)
    statement.bind(channel.ttl, at: 5)
    statement.bind(channel.expires, at: 6)
    statement.bind(channel.used, at: 7)
    while try statement.next() { channel.working.id = statement.int(0) }
  }

  private func renew(_ channel: WriterChannel, id: Int64, _ db: Database) throws {
    let statement = try db.statement("UPDATE channels SET epoch = ?2, durability = ?3 WHERE id = ?1")
    statement.bind(id, at: 1)
    statement.bind(channel.storedEpoch, at: 2)
    statement.bind(channel.durability.rawValue, at: 3)
    try statement.run()
  }

  private func writeEntries(_ tables: TableWriter, _ db: Database, _ quotas: inout QuotaChanges) throws {
    for (queued, follows) in zip(entries, isContiguous) where follows && queued.channel.isStored {
      guard let id = queued.channel.working.id else { continue }
      let entry = queued.entry
      let publication = entry.publication
      if let key = entry.idempotency { try tables.write(key, channel: id) }
      if let scope = queued.channel.quota { try note(entry, channel: id, in: scope, &quotas, db) }
      if entry.writesMap, let change = publication.change { try write(change, by: publication, channel: id, db) }
      if let edit = entry.edit { try write(edit, channel: id, db) }
      // A publication that the same transaction trims need not be written; the request that it came from must be.
      guard publication.offset > queued.channel.working.floor else {
        if let origin = entry.origin { try tables.write(origin, of: publication, channel: id) }
        continue
      }
      try tables.write(publication, by: entry.origin, channel: id)
      if let scope = queued.channel.quota { quotas.add(publication.keptInHistory, of: publication.info, in: scope) }
    }
  }

  /// Counts for the quota what an entry is about to replace, and what it puts in its place.
  private func note(
    _ entry: LogEntry, channel: Int64, in scope: QuotaScope, _ quotas: inout QuotaChanges, _ db: Database
  ) throws {
    let publication = entry.publication
    if entry.writesMap, let change = publication.change {
      try quotas.willReplace(key: change.key, of: channel, in: scope, db)
      if !change.removed { quotas.add(publication.keptAsEntry, of: publication.info, in: scope) }
    }
    if let replacement = entry.edit?.replacement {
      // A publication that is not kept any more is not changed either.
      let isKept = try quotas.willReplace(replacement.offset, of: channel, in: scope, db)
      if isKept { quotas.add(replacement.keptInHistory, of: replacement.info, in: scope) }
    }
  }

  private func write(_ change: KeyChange, by publication: Publication, channel: Int64, _ db: Database) throws {
    if change.removed {
      let delete = try db.statement("DELETE FROM entries WHERE channel_id = ?1 AND key = ?2")
      delete.bind(channel, at: 1)
      delete.bind(change.key, at: 2)
      return try delete.run()
    }
    let statement = try db.statement(
      """
      INSERT OR REPLACE INTO entries (channel_id, key, offset, time, data, info, tags, score, expires)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      """)
    statement.bind(channel, at: 1)
    statement.bind(change.key, at: 2)
    statement.bind(publication.offset, at: 3)
    statement.bind(publication.time, at: 4)
    statement.bind(publication.data, at: 5)
    statement.bind(publication.info.map { RowCodec.encode($0) }, at: 6)
    statement.bind(publication.tags.isEmpty ? nil : RowCodec.encode(publication.tags), at: 7)
    statement.bind(change.score, at: 8)
    statement.bind(change.expires == .max ? nil : change.expires, at: 9)
    try statement.run()
  }

  private func write(_ edit: LogEdit, channel: Int64, _ db: Database) throws {
    let statement = try db.statement(
      "UPDATE publications SET data = ?3, tags = ?4 WHERE channel_id = ?1 AND offset = ?2")
    statement.bind(channel, at: 1)
    statement.bind(edit.replacement.offset, at: 2)
    statement.bind(edit.replacement.data, at: 3)
    statement.bind(edit.replacement.tags.isEmpty ? nil : RowCodec.encode(edit.replacement.tags), at: 4)
    try statement.run()
    if edit.erases { try ErasedRows.forgetSender(of: edit.replacement.offset, channel: channel, db) }
  }

  /// One ranged delete for each channel whose floor rose over something that was written before.
  private func trim(
    _ channels: [WriterChannel], _ tables: TableWriter, _ db: Database, _ quotas: inout QuotaChanges
  ) throws {
    for channel in channels {
      guard let id = channel.committed.id, channel.working.floor > channel.committed.floor else { continue }
      // The newest publication of the batch tells the time.
      guard let now = entries.last?.entry.publication.time else { return }
      if let scope = channel.quota { try quotas.willDelete(through: channel.working.floor, of: id, in: scope, db) }
      try tables.trim(id, through: channel.working.floor, now: now)
    }
  }
}

/// What a transaction does to the journal. Readers are told (``UnfoldedJournal``) once it is committed.
struct JournalChange {
  /// Entries that it appends, as one row.
  var entries: [JournalEntry] = []
  /// Bytes of the row.
  var bytes = 0
  /// Rows of the channels whose entries it moves from the journal into the tables, all of them.
  var folded: [Int64] = []
}

extension LogEntry {
  fileprivate var isNotForJournal: Bool {
    writesMap || edit != nil || publication.data.count > JournalEntry.largestData
  }
}

extension QueuedEntry {
  /// The entry as it goes into the journal; nil where it goes into the tables.
  fileprivate var journalled: JournalEntry? {
    guard !channel.isStored, let id = channel.working.id else { return nil }
    return JournalEntry(
      channel: id, publication: entry.publication, floor: channel.working.floor, ttl: channel.ttl,
      idempotency: entry.idempotency, origin: entry.origin)
  }
}

extension ArraySlice<QueuedEntry> {
  /// The index after the last entry that shares the transaction of the one at `index`.
  func endOfTransaction(at index: Int) -> Int {
    let transaction = self[index].transaction
    var end = index + 1
    while transaction != 0, end < endIndex, self[end].transaction == transaction { end += 1 }
    return end
  }

  /// Whether each entry has the offset after the one before it in its channel. A relaxed entry may leave a hole: it
  /// followed when it was delivered, and the entry that is missing before it was rejected since.
  fileprivate var followWhatIsWorked: Bool {
    var tops: [ObjectIdentifier: UInt64] = [:]
    for queued in self {
      let before = (count > 1 ? tops[ObjectIdentifier(queued.channel)] : nil) ?? queued.channel.working.top
      let isNext = queued.entry.publication.offset == before &+ 1
      let isBeyond = queued.channel.durability == .relaxed && queued.entry.publication.offset > before
      guard before < UInt64.max, isNext || isBeyond else { return false }
      if count > 1 { tops[ObjectIdentifier(queued.channel)] = before + 1 }
    }
    return true
  }
}
