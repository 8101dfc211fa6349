import CLinuxIO
import Dispatch
import Foundation
import SQLite
import Logging
import Synchronization
import Wire

/// The writer thread: takes everything that waits and commits it as one transaction.
///
/// Unchecked: after `start` everything but the inbox and the counter is touched by the writer thread alone, and by the
/// closing thread after the writer thread has ended. A writer that is not started has no thread: whoever calls
/// ``step(_:)`` stands for it.
final class LogWriter: @unchecked Sendable {
  /// Entries in a transaction at most, so that the first of them does not wait for long.
  static let entriesPerTransaction = 4096
  /// Bytes in a transaction at most (or one entry): the WAL grows by about as much.
  static let bytesPerTransaction = 4 << 20
  /// Entries in a transaction while the disk refuses: few, because most tries are in vain.
  static let entriesPerTrial = 64

  let inbox: WriterInbox
  let folder: DataFolder
  let logger: Logger
  private let onCompletion: @Sendable ([LogCompletion]) -> Void
  private let ended = DispatchSemaphore(value: 0)
  private var hasThread = false
  /// Transactions that wrote publications.
  let transactionCount = Atomic<Int>(0)
  let metrics = LogMetrics()

  private let connection: DatabaseConnection
  /// Whether the connection syncs at the end of a transaction; nil: not known, because a change of that failed.
  private var isSynced: Bool? = true
  private var sequence: UInt64
  let journal: UnfoldedJournal
  var account = JournalAccount()
  let journalLimits: JournalLimits
  /// Relaxed entries that were delivered and are still to be written: they are tried again, in order.
  private var stranded: [QueuedEntry] = []
  /// Entries of the round that are next to be written.
  private var run: [QueuedEntry] = []
  /// Why the round under way can write no more.
  private(set) var refusal: LogError?
  /// Why the last attempt to write failed; nil where it went well.
  private var trouble: LogError?
  /// What broke the file; nothing is written after it. A sync that failed may have lost pages that nobody writes again,
  /// and what a later transaction puts behind them would not be found after a power cut, whatever its own sync says.
  private var failure: LogError?
  /// Something that was delivered cannot be written any more.
  private var hasLost = false
  private var beforeCommit: (@Sendable (Database) throws -> Void)?
  /// Work that goes on when there is a moment.
  var upkeep = Upkeep()
  let diskLimits: DiskLimits
  /// Namespaces in which what users keep is counted.
  let quotaNamespaces: Set<String>
  /// What the entries of the round did to accounts, to be told with their outcomes.
  private var quotaNews = QuotaNews()
  var nextRoomCheck = DispatchTime.now()
  var nextFileCheck = DispatchTime.now()
  var folderPath: String { folder.path }

  init(
    opened: OpenedDatabase, inbox: WriterInbox, limits: DiskLimits, journalLimits: JournalLimits,
    quotaNamespaces: Set<String>, logger: Logger, onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) {
    connection = opened.writer
    sequence = opened.meta.sequence
    folder = opened.folder
    journal = opened.journal
    self.journalLimits = journalLimits
    self.inbox = inbox
    diskLimits = limits
    self.quotaNamespaces = quotaNamespaces
    self.logger = logger
    self.onCompletion = onCompletion
  }

  func start() {
    hasThread = true
    let thread = Thread { [self] in
      unsafe linuxio_name_thread("fanfare-log")
      work()
      ended.signal()
    }
    thread.start()
  }

  /// Commits all that waits, and ends. Called once, by another thread.
  func close() {
    inbox.close()
    if hasThread { return ended.wait() }
    while step(.max) {}
    finish()
  }

  private func work() {
    var work: [WriterWork] = []
    while true {
      let stranding: DispatchTime? = stranded.isEmpty ? nil : .now() + .seconds(1)
      let folding = account.cycle == nil ? nil : account.next
      let retry = [stranding, upkeep.next, folding].compactMap { $0 }.min()
      let isClosed = inbox.waitForWork(into: &work, retry: retry)
      round(work)
      watchRoom()
      watchFiles()
      work.removeAll(keepingCapacity: true)
      if isClosed { return finish() }
    }
  }

  /// One round of a writer that has no thread.
  ///
  /// - Returns: false where nothing waited.
  func step(_ limit: Int) -> Bool {
    precondition(!hasThread, "a writer with a thread takes its own steps")
    var work: [WriterWork] = []
    let hasWork = inbox.takeNow(limit, into: &work)
    round(work)
    return hasWork
  }

  private func round(_ work: [WriterWork]) {
    refusal = inbox.failure
    run = stranded
    stranded.removeAll(keepingCapacity: true)
    for item in work {
      switch item {
      case .append(let queued): run.append(queued)
      case .remove(let channel, let most, let question):
        commitRun()
        inbox.post([.removed(question, remove(channel, through: most))], freeing: 0)
      case .sweep(let now):
        commitRun()
        beginFold()
        sweep(now)
      case .look(let sweep):
        commitRun()
        look(sweep)
      case .delete(let ids):
        commitRun()
        delete(ids)
      case .scrub:
        commitRun()
        scrub()
      case .erase(let question):
        commitRun()
        erase(question)
      case .resume: preconditionFailure("nobody else can take the channels of a folder that is locked")
      case .endOutbox: preconditionFailure("a file has no outbox that others write to")
      case .readKeys, .replaceKeys: preconditionFailure("keys beside a log in a file are in files themselves")
      case .intercept(let body):
        commitRun()
        beforeCommit = body
      case .runInTest(let body, let reply):
        commitRun()
        reply.send(
          attempt { db in
            try body(db)
            return false
          })
      }
    }
    commitRun()
    goOn(isStepped: !hasThread)
  }

  // MARK: Entries

  /// Commits the entries of the run in as few transactions as the limits allow.
  private func commitRun() {
    var start = 0
    while start < run.count {
      let limit = trouble == nil ? Self.entriesPerTransaction : Self.entriesPerTrial
      var end = start
      var bytes = 0
      while end < run.count, end - start < limit, end == start || bytes + run[end].cost <= Self.bytesPerTransaction {
        bytes += run[end].cost
        end += 1
      }
      // Entries that share a transaction are never parted, whatever the limits say.
      if end > start { end = run[...].endOfTransaction(at: end - 1) }
      commit(run[start..<end])
      start = end
    }
    run.removeAll(keepingCapacity: true)
  }

  private func commit(_ entries: ArraySlice<QueuedEntry>) {
    let batch = CommitBatch(entries)
    let error = write(batch)
    if error == nil { batch.confirm() } else { batch.revert() }
    if case .rejected = error, let middle = entries.middle {
      // One entry of the batch is at fault, and nothing was written: each half is tried by itself.
      commit(entries[..<middle])
      commit(entries[middle...])
    } else {
      report(batch, error)
    }
  }

  /// - Returns: nil where the batch is on disk, or there was nothing to write.
  private func write(_ batch: CommitBatch) -> LogError? {
    if let refusal { return refusal }
    if batch.isEmpty { return nil }
    if let error = makeRoom() { return error }
    let next = sequence &+ 1
    var change = JournalChange()
    var quotas = QuotaChanges()
    var totals: [QuotaAccount: KeptAmount] = [:]
    let begun = DispatchTime.now()
    let result = attempt { db in
      try db.inTransaction {
        change = try batch.write(db, sequence: next, &quotas, journal)
        totals = try quotas.write(db)
        try beforeCommit?(db)
      }
      return true
    }
    switch result {
    case .success:
      metrics.committed(batch.entries, since: begun)
      sequence = next
      journal.drop(change.folded)
      journal.add(change.entries)
      account.add(row: next, bytes: change.bytes)
      quotaNews.totals = totals
      folder.setMark(next)
      transactionCount.add(1, ordering: .relaxed)
      return nil
    case .failure(let error):
      metrics.failed()
      if case .rejected = error { return error }
      refusal = error
      return error
    }
  }

  /// Posts the outcomes first and then calls the handler: whoever it wakes finds them.
  private func report(_ batch: CommitBatch, _ failure: LogError?) {
    var completions: [LogCompletion] = []
    var outcomes: [WriterOutcome] = []
    var freed = 0
    for (queued, follows) in zip(batch.entries, batch.isContiguous) {
      let error: LogError? = follows ? failure : .notContiguous
      if queued.channel.durability == .durable {
        completions.append(LogCompletion(ticket: queued.entry.ticket, error: error))
      } else if let cause = failure ?? error {
        if strand(queued, after: cause) { continue }
      }
      freed += queued.cost
      if let claim = queued.entry.claim { quotaNews.decided.append(claim) }
      guard let error else { continue }
      outcomes.append(
        .failed(
          queued.channel.place, offset: queued.entry.publication.offset, ticket: queued.entry.ticket,
          isStale: error.isOfOneChannel))
    }
    if failure == nil {
      for channel in batch.channels {
        let state = channel.committed
        outcomes.append(
          .committed(channel.place, top: state.top, floor: state.floor, count: channel.entryCount))
      }
    }
    if !quotaNews.isEmpty {
      outcomes.append(.quotas(quotaNews))
      quotaNews = QuotaNews()
    }
    inbox.post(outcomes, freeing: freed)
    if !completions.isEmpty { onCompletion(completions) }
  }

  /// Keeps a relaxed entry that could not be written: it was delivered, so it stays until it is written, or until
  /// nothing can be written any more.
  ///
  /// - Returns: whether the entry is tried again.
  private func strand(_ queued: QueuedEntry, after error: LogError) -> Bool {
    switch error {
    case .full, .readOnly:
      stranded.append(queued)
      return true
    default:
      hasLost = true
      return false
    }
  }

  // MARK: The disk

  /// Uses the connection, and keeps account of whether the disk takes what is written: `body` says whether it wrote.
  ///
  /// - Parameter isSynced: what `body` writes survives a power cut from the return on; otherwise it does from the next
  ///   synced call on.
  func attempt(isSynced: Bool = true, _ body: (Database) throws -> Bool) -> Result<Void, LogError> {
    // The round under way may have more to do than what failed.
    if let failure { return .failure(failure) }
    do {
      let hasWritten = try connection.inDatabase { db in
        do {
          if self.isSynced != isSynced {
            self.isSynced = nil
            try Schema.setSynchronous(isSynced, db)
            self.isSynced = isSynced
          }
          return try body(db)
        } catch {
          db.rollBack()
          throw error
        }
      }
      if hasWritten { note(nil) }
      return .success(())
    } catch {
      let error = StoreFault.logError(for: error)
      note(error)
      return .failure(error)
    }
  }

  /// Notes how a write ended, and logs it where that is a change.
  func note(_ error: LogError?) {
    switch (trouble, error) {
    case (nil, nil): return
    case (_, .rejected(let detail)):
      // The disk is not in trouble. While the batch is halved to find the publication, it is logged several times.
      return logger.error("the log rejects a publication", metadata: ["reason": "\(detail)"])
    case (.some, nil):
      logger.notice("the log can be written again")
    case (.full, .full), (.readOnly, .readOnly), (.failed, .failed): return
    case (_, .some(let error)):
      logger.error("\(error)")
    }
    trouble = error
    metrics.note(diskRefuses: error != nil)
    inbox.setRefusing(error != nil)
    guard case .failed = error, let error else { return }
    failure = failure ?? error
    refusal = error
    inbox.fail(error)
  }

  /// Ends the log after the last round. The shutdown is clean if everything that was delivered is on disk.
  private func finish() {
    if !stranded.isEmpty || hasLost {
      hasLost = true
      logger.error(
        "the log closes without everything that was delivered; its relaxed channels start a new epoch",
        metadata: ["unwritten": "\(stranded.count)"])
    }
    if inbox.failure == nil { _ = foldAll() }
    if !hasLost, inbox.failure == nil {
      _ = attempt { db in
        try db.execute("UPDATE meta SET value = 1 WHERE key = 'clean'")
        try? db.checkpointAndTruncate()
        return true
      }
    }
    do {
      try connection.close()
    } catch {
      logger.warning("the log did not close in order: \(error)")
    }
    // An error is ignored: the next start would find an older mark, which only proves less.
    try? folder.syncMark(sequence)
    folder.close()
  }
}

extension LogError {
  /// Whether the error says that the channel does not stand where it was thought to, or was given what it cannot hold:
  /// it is read from disk again.
  var isOfOneChannel: Bool {
    switch self {
    case .notContiguous, .rejected: true
    default: false
    }
  }
}

extension ArraySlice<QueuedEntry> {
  /// The index at which the entries can be cut in two without parting a transaction; nil where they cannot.
  var middle: Int? {
    var index = startIndex
    var last: Int?
    while index < endIndex {
      index = endOfTransaction(at: index)
      if index == endIndex { return last }
      last = index
      if index - startIndex >= count / 2 { return index }
    }
    return last
  }
}
