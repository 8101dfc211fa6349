import Dispatch
import SQLite
import Wire

/// How much may stand in the journal.
struct JournalLimits: Sendable {
  /// Bytes in memory from which on the journal is folded without waiting for a sweep of the log.
  var foldAt = 4 << 20
  /// Bytes in memory from which on the next commit waits for a fold.
  var most = 16 << 20
  /// Entries that are folded at a time, between commits: a millisecond or two.
  var portion = 128
  /// Bytes of rows that are deleted at a time.
  var deletedBytes = 256 << 10
}

/// The writer's account of the journal.
///
/// States:
/// - resting: commits append. Can transition to: folding, with a sweep of the log, or with ``JournalLimits/foldAt``.
/// - folding: a ``FoldCycle`` is under way; commits append. Can transition to: deleting.
/// - deleting: what stands in the rows up to the cycle's last is in the tables, and the rows are deleted. Can
///   transition to: resting.
struct JournalAccount {
  /// The rows, the oldest first.
  private(set) var rows = Ring<(sequence: UInt64, bytes: Int)>()
  var cycle: FoldCycle?
  /// When the cycle goes on.
  var next = DispatchTime.now()
  /// Channels are to be deleted, and may begin anew at offset 0 while rows of the journal speak of their former life:
  /// the journal is emptied before anything else is written.
  var mustEmpty = false

  /// Time between two portions, in which entries go first: as much as some portions take.
  static let pause = DispatchTimeInterval.milliseconds(4)
  /// Time between two portions where the journal is half full: only entries that wait already go first.
  static let shortPause = DispatchTimeInterval.nanoseconds(0)
  static let pauseAfterRefusal = DispatchTimeInterval.seconds(1)

  mutating func add(row sequence: UInt64, bytes: Int) {
    if bytes > 0 { rows.append((sequence, bytes)) }
  }

  /// The last of the rows that are deleted next, about `limit` bytes, and how many they are; nil: none may be.
  func deletable(_ limit: Int) -> (sequence: UInt64, count: Int)? {
    guard let cycle, cycle.isThrough else { return nil }
    var (count, bytes) = (0, 0)
    while count < rows.count, rows[count].sequence <= cycle.through, bytes < limit {
      bytes += rows[count].bytes
      count += 1
    }
    return count == 0 ? nil : (rows[count - 1].sequence, count)
  }

  mutating func deleted(_ count: Int) {
    for _ in 0..<count { rows.popFirst() }
  }
}

extension LogWriter {
  /// Folds one portion, where it is time for it; begins a fold where the journal is large enough.
  ///
  /// - Parameter isStepped: the writer has no thread, so that no time is waited for.
  func foldOn(isStepped: Bool) {
    if account.cycle == nil, journal.bytes >= journalLimits.foldAt { beginFold() }
    guard account.cycle != nil, isStepped || account.next <= .now() else { return }
    // A disk that has just refused is left alone too: without a pause the writer would come back at once, and again.
    let isDone = refusal == nil && foldPortion() == nil
    let isUrgent = journal.bytes > journalLimits.most / 2
    let pause = isUrgent ? JournalAccount.shortPause : JournalAccount.pause
    account.next = .now() + (isDone ? pause : JournalAccount.pauseAfterRefusal)
  }

  func beginFold() {
    guard account.cycle == nil, let last = account.rows.last else { return }
    account.cycle = FoldCycle(through: last.sequence, channels: journal.channels)
    account.next = .now()
  }

  /// Folds all that the journal holds.
  ///
  /// - Returns: why that could not be done; nil: the journal is empty.
  func foldAll() -> LogError? {
    while !account.rows.isEmpty {
      beginFold()
      if let error = foldPortion() { return error }
    }
    account.mustEmpty = false
    return nil
  }

  /// Folds before a commit, where so much stands in the journal that the commit has to wait, or where the journal must
  /// be emptied first.
  ///
  /// - Returns: why the commit cannot be; nil: it may go on.
  func makeRoom() -> LogError? {
    if account.mustEmpty { return foldAll() }
    while journal.bytes >= journalLimits.most {
      beginFold()
      if let error = foldPortion() { return error }
    }
    return nil
  }

  /// - Returns: why the portion is not done; nil: it is.
  private func foldPortion() -> LogError? {
    guard let cycle = account.cycle else { return nil }
    let error = cycle.isThrough ? deleteRows() : foldChannels(cycle)
    if error == nil, let cycle = account.cycle, cycle.isThrough, account.deletable(1) == nil { account.cycle = nil }
    // The tables take whatever the journal took, so a rejection is not the fault of one publication but of the file.
    guard case .rejected(let detail) = error else { return error }
    note(.failed(detail))
    return .failed(detail)
  }

  private func foldChannels(_ cycle: FoldCycle) -> LogError? {
    let portion = cycle.portion(of: journalLimits.portion) { journal.entries(of: $0) }
    let now = portion.reduce(Int64.min) { max($0, $1.last?.publication.time ?? .min) }
    let error = writeUnsynced { db in
      let tables = try TableWriter(db)
      for entries in portion { try FoldPlan(entries, now: now)?.write(db, tables, now: now) }
    }
    if error != nil { return error }
    journal.drop(portion.compactMap { $0.first?.channel })
    account.cycle?.advance(portion.count)
    return nil
  }

  private func deleteRows() -> LogError? {
    guard let (sequence, count) = account.deletable(journalLimits.deletedBytes) else { return nil }
    let error = writeUnsynced { db in try JournalRow.delete(through: sequence, db) }
    if error == nil { account.deleted(count) }
    return error
  }

  /// Writes without a sync, which comes with the next commit or checkpoint. A power cut until then takes back the fold,
  /// and the deletion of rows, which stands after it in the WAL; the rows stand before both and are synced.
  private func writeUnsynced(_ body: (Database) throws -> Void) -> LogError? {
    let result = attempt(isSynced: false) { db in
      try db.inTransaction {
        try body(db)
      }
      return true
    }
    if case .failure(let error) = result { return error }
    return nil
  }
}

/// Rows of the journal's table.
enum JournalRow {
  static func insert(_ bytes: [UInt8], as sequence: UInt64, _ db: Database) throws {
    let insert = try db.statement("INSERT INTO journal (sequence, entries) VALUES (?1, ?2)")
    insert.bind(sequence, at: 1)
    insert.bind(bytes, at: 2)
    try insert.run()
  }

  /// Deletes the rows through a transaction. The number of the last transaction is that of the journal's last row, so
  /// it is put into `meta` when that row goes.
  static func delete(through sequence: UInt64, _ db: Database) throws {
    let delete = try db.statement("DELETE FROM journal WHERE sequence <= ?1")
    delete.bind(sequence, at: 1)
    try delete.run()
    let meta = try db.statement("UPDATE meta SET value = max(value, ?1) WHERE key = 'sequence'")
    meta.bind(sequence, at: 1)
    try meta.run()
  }
}

/// Folds what the last process left in the journal, before anybody reads.
enum JournalReplay {
  /// Bytes of rows that one transaction folds.
  private static let portion = 4 << 20

  /// - Returns: how many entries were folded.
  /// - Throws: ``JournalDamage`` where a row is not whole.
  static func run(_ connection: DatabaseConnection) throws -> Int {
    var total = 0
    while true {
      let (rows, last) = try connection.inDatabase { try next($0) }
      guard let last else { return total }
      var channels: [Int64: [JournalEntry]] = [:]
      var now = Int64.min
      for row in rows {
        for entry in try JournalCodec.decode(row) {
          channels[entry.channel, default: []].append(entry)
          now = max(now, entry.publication.time)
        }
      }
      try connection.inTransaction { db in
        let tables = try TableWriter(db)
        for (channel, entries) in channels.sorted(by: { $0.key < $1.key }) {
          // The top in the channel's row says which of the entries the tables have already.
          guard let top = try top(of: channel, db) else { continue }
          let unfolded = entries.drop { $0.publication.offset <= top }
          total += unfolded.count
          try FoldPlan(unfolded, now: now)?.write(db, tables, now: now)
        }
        try JournalRow.delete(through: last, db)
      }
    }
  }

  private static func next(_ db: Database) throws -> (rows: [[UInt8]], last: UInt64?) {
    let statement = try db.statement("SELECT sequence, entries FROM journal ORDER BY sequence")
    var rows: [[UInt8]] = []
    var last: UInt64?
    var bytes = 0
    while bytes < portion, try statement.next() {
      last = statement.unsigned(0)
      rows.append(statement.blob(1))
      bytes += rows[rows.count - 1].count
    }
    statement.reset()
    return (rows, last)
  }

  private static func top(of channel: Int64, _ db: Database) throws -> UInt64? {
    let statement = try db.statement("SELECT top FROM channels WHERE id = ?1")
    statement.bind(channel, at: 1)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.unsigned(0)
  }
}
