import Dispatch
import SQLite
import Wire

/// Work that the writer has begun beside entries, and when it goes on with it.
struct Upkeep {
  /// Time between two portions of a sweep, in which entries go first: as much as a portion takes at most.
  static let sweepPause = DispatchTimeInterval.milliseconds(10)
  /// Milliseconds until a scrub that could not be done is tried again: from the first time to the longest, doubled each
  /// time.
  static let scrubPauses = 20...1000

  /// A sweep that is not through: the time that it was asked for with, and when it goes on.
  var sweep: (now: Int64, next: DispatchTime)?
  /// A scrub that could not be done, and when it is tried again.
  var scrub: (pause: Int, next: DispatchTime)?

  var next: DispatchTime? { [sweep?.next, scrub?.next].compactMap { $0 }.min() }
}

extension LogWriter {
  /// Deletes a channel's history.
  ///
  /// - Parameter most: publications after this offset stay.
  /// - Returns: the offset through which it is deleted.
  func remove(_ channel: WriterChannel, through most: UInt64) -> Result<UInt64, LogError> {
    if let refusal { return .failure(refusal) }
    let top = min(most, channel.committed.top)
    guard let id = channel.committed.id else { return .success(top) }
    var quotas = QuotaChanges()
    var totals: [QuotaAccount: KeptAmount] = [:]
    let result = attempt { db in
      try db.inTransaction {
        let tables = try TableWriter(db)
        let now = journal.entries(of: id).last?.publication.time ?? 0
        try FoldPlan(journal.entries(of: id), now: now)?.write(db, tables, now: now)
        if let scope = channel.quota { try quotas.willDelete(through: top, of: id, in: scope, db) }
        totals = try quotas.write(db)
        if let newest = try Self.newestTime(of: id, db) { try tables.trim(id, through: top, now: newest) }
      }
      return true
    }
    switch result {
    case .success:
      journal.drop([id])
      channel.committed.floor = max(channel.committed.floor, top)
      channel.working = channel.committed
      tell(totals)
      return .success(top)
    case .failure(let error): return .failure(error)
    }
  }

  private static func newestTime(of channel: Int64, _ db: Database) throws -> Int64? {
    let statement = try db.statement("SELECT time FROM publications WHERE channel_id = ?1 ORDER BY offset DESC LIMIT 1")
    statement.bind(channel, at: 1)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.int(0)
  }

  /// Does the next portion of the sweep, the scrub and the fold, where they are due.
  ///
  /// - Parameter isStepped: the writer has no thread, so that no time is waited for.
  func goOn(isStepped: Bool) {
    let now = DispatchTime.now()
    if let sweep = upkeep.sweep, isStepped || sweep.next <= now { self.sweep(sweep.now) }
    if let scrub = upkeep.scrub, isStepped || scrub.next <= now { self.scrub() }
    foldOn(isStepped: isStepped)
  }

  /// Does one portion of a sweep; the rest follows after the entries that came meanwhile.
  func sweep(_ now: Int64) {
    upkeep.sweep = nil
    guard refusal == nil else { return }
    let sweep = AgeSweep(now: now, quotaNamespaces: quotaNamespaces)
    var leavesSome = false
    var totals: [QuotaAccount: KeptAmount] = [:]
    let result = attempt { db in
      guard try sweep.isDue(db) else { return false }
      try db.inTransaction {
        var quotas = QuotaChanges()
        leavesSome = try sweep.write(db, &quotas)
        totals = try quotas.write(db)
      }
      return true
    }
    if case .success = result { tell(totals) }
    // Should the disk refuse, the next sweep is soon enough.
    if leavesSome { upkeep.sweep = (now, .now() + Upkeep.sweepPause) }
  }

  private func tell(_ totals: [QuotaAccount: KeptAmount]) {
    if !totals.isEmpty { inbox.post([.quotas(QuotaNews(totals: totals))], freeing: 0) }
  }

  /// Pages in the database are overwritten as they are changed (`secure_delete`), and rows of the journal as they go;
  /// the WAL still holds what they were before, until it is emptied. While somebody reads, who needs the WAL as it is,
  /// or the disk refuses, the scrub is tried again until it is done.
  func scrub() {
    var isDone = false
    if refusal == nil, foldAll() == nil {
      _ = attempt { db in
        isDone = try Self.emptyWAL(db)
        return isDone
      }
    }
    let pause = min(upkeep.scrub.map { $0.pause * 2 } ?? Upkeep.scrubPauses.lowerBound, Upkeep.scrubPauses.upperBound)
    upkeep.scrub = isDone ? nil : (pause, .now() + .milliseconds(pause))
  }

  /// - Returns: false where a reader is in the way.
  private static func emptyWAL(_ db: Database) throws -> Bool {
    // Publications do not wait until a reader is through.
    db.setBusyTimeout(milliseconds: 0)
    defer { db.setBusyTimeout(milliseconds: Database.standardBusyTimeoutMilliseconds) }
    do {
      try db.checkpointAndTruncate()
      return true
    } catch let error where error.code.primary == .busy {
      return false
    }
  }
}
