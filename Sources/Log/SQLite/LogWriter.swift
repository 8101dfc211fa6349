import Dispatch
import Foundation
import GRDB
import Logging
import Synchronization
import Wire

/// The writer thread: takes everything that waits and commits it as one transaction.
///
/// Unchecked: after `start` everything but the inbox and the counter is touched by the writer thread alone, and by the
/// closing thread after the writer thread has ended.
final class LogWriter: @unchecked Sendable {
  /// At most this many entries in a transaction, so that the first of them does not wait for long.
  static let entriesPerTransaction = 4096
  /// At most this many bytes in a transaction (or one entry): the WAL grows by about as much.
  static let bytesPerTransaction = 4 << 20
  /// While the disk refuses, little is tried at a time: most of it is in vain.
  static let entriesPerTrial = 64

  let inbox: WriterInbox
  private let folder: DataFolder
  private let logger: Logger
  private let onCompletion: @Sendable ([LogCompletion]) -> Void
  private let ended = DispatchSemaphore(value: 0)
  /// Transactions that wrote publications.
  let transactionCount = Atomic<Int>(0)

  private var queue: DatabaseQueue
  private var sequence: UInt64
  /// Relaxed entries that were delivered and are still to be written: they are tried again, in order.
  private var stranded: [QueuedEntry] = []
  /// Entries of the round that are next to be written.
  private var run: [QueuedEntry] = []
  /// Why the round under way can write no more.
  private var refusal: LogError?
  /// Why the last attempt to write failed; nil where it went well.
  private var trouble: LogError?
  /// Something that was delivered cannot be written any more.
  private var hasLost = false
  private var beforeCommit: (@Sendable (Database) throws -> Void)?

  init(
    queue: DatabaseQueue, sequence: UInt64, folder: DataFolder, inbox: WriterInbox, logger: Logger,
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) {
    self.queue = queue
    self.sequence = sequence
    self.folder = folder
    self.inbox = inbox
    self.logger = logger
    self.onCompletion = onCompletion
  }

  func start() {
    let thread = Thread { [self] in
      work()
      ended.signal()
    }
    thread.name = "fanfare-log"
    thread.start()
  }

  /// Commits all that waits, and ends. Called once, by another thread.
  func close() {
    inbox.close()
    ended.wait()
  }

  private func work() {
    var work: [WriterWork] = []
    while true {
      let retry: DispatchTime? = stranded.isEmpty ? nil : .now() + .seconds(1)
      let isClosed = inbox.take(into: &work, retry: retry)
      round(work)
      work.removeAll(keepingCapacity: true)
      if isClosed { return finish() }
    }
  }

  private func round(_ work: [WriterWork]) {
    refusal = inbox.failure
    run = stranded
    stranded.removeAll(keepingCapacity: true)
    for item in work {
      switch item {
      case .append(let queued): run.append(queued)
      case .remove(let channel, let reply):
        commitRun()
        reply.send(remove(channel))
      case .sweep(let now):
        commitRun()
        sweep(now)
      case .scrub:
        commitRun()
        scrub()
      case .intercept(let body):
        commitRun()
        beforeCommit = body
      case .perform(let body, let reply):
        commitRun()
        reply.send(
          attempt { db in
            try body(db)
            return false
          })
      }
    }
    commitRun()
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
      // What belongs together is never cut, whatever the limits say.
      if end > start { end = run[...].endOfTransaction(at: end - 1) }
      commit(CommitBatch(run[start..<end]))
      start = end
    }
    run.removeAll(keepingCapacity: true)
  }

  private func commit(_ batch: CommitBatch) {
    if refusal == nil, !batch.isEmpty {
      let next = sequence &+ 1
      let result = attempt { db in
        try db.inTransaction(.immediate) {
          try batch.write(db, sequence: next)
          try beforeCommit?(db)
          return .commit
        }
        return true
      }
      switch result {
      case .success:
        sequence = next
        folder.setMark(next)
        transactionCount.add(1, ordering: .relaxed)
      case .failure(let error): refusal = error
      }
    }
    if refusal == nil { batch.settle() } else { batch.revert() }
    report(batch)
  }

  /// Posts the outcomes first and then calls the handler: whoever it wakes finds them.
  private func report(_ batch: CommitBatch) {
    var completions: [LogCompletion] = []
    var outcomes: [WriterOutcome] = []
    var freed = 0
    for (queued, follows) in zip(batch.entries, batch.isContiguous) {
      let error: LogError? = follows ? refusal : .notContiguous
      if queued.channel.durability == .durable {
        completions.append(LogCompletion(ticket: queued.entry.ticket, error: error))
      } else if let cause = refusal ?? error {
        keep(queued, after: cause)
        continue
      }
      freed += queued.cost
      if error != nil {
        outcomes.append(
          .failed(
            slot: queued.channel.slot, offset: queued.entry.publication.offset, ticket: queued.entry.ticket))
      }
    }
    if refusal == nil {
      for channel in batch.channels {
        let state = channel.committed
        outcomes.append(.committed(slot: channel.slot, top: state.top, floor: state.floor))
      }
    }
    inbox.post(outcomes, freeing: freed)
    if !completions.isEmpty { onCompletion(completions) }
  }

  /// A relaxed entry was delivered, so it stays until it is written, or until nothing can be.
  private func keep(_ queued: QueuedEntry, after error: LogError) {
    switch error {
    case .full, .readOnly: stranded.append(queued)
    default: hasLost = true
    }
  }

  // MARK: Other work

  private func remove(_ channel: WriterChannel) -> Result<UInt64, LogError> {
    if let refusal { return .failure(refusal) }
    let top = channel.committed.top
    guard let id = channel.committed.id else { return .success(top) }
    let result = attempt { db in
      try db.inTransaction(.immediate) {
        try CommitBatch.delete(db, channel: id, through: top)
        return .commit
      }
      return true
    }
    switch result {
    case .success:
      channel.committed.floor = max(channel.committed.floor, top)
      channel.working = channel.committed
      return .success(top)
    case .failure(let error): return .failure(error)
    }
  }

  private func sweep(_ now: Int64) {
    guard refusal == nil else { return }
    let sweep = AgeSweep(now: now)
    _ = attempt { db in
      guard try sweep.isDue(db) else { return false }
      try db.inTransaction(.immediate) {
        try sweep.write(db)
        return .commit
      }
      return true
    }
  }

  /// Pages in the database are overwritten as they are changed (`secure_delete`); the journal still holds what they
  /// were before, until it is written from its beginning again.
  private func scrub() {
    guard refusal == nil else { return }
    _ = attempt { db in
      _ = try db.checkpoint(.truncate)
      return true
    }
  }

  // MARK: The disk

  /// Uses the connection, and keeps account of whether the disk takes what is written: `body` says whether it wrote.
  private func attempt(_ body: (Database) throws -> Bool) -> Result<Void, LogError> {
    var systemErrno: Int32 = 0
    do {
      let hasWritten = try queue.inDatabase { db in
        do {
          return try body(db)
        } catch {
          systemErrno = StoreFault.systemErrno(of: db)
          if db.isInsideTransaction { try? db.rollback() }
          throw error
        }
      }
      if hasWritten { note(nil) }
      return .success(())
    } catch {
      let error = StoreFault.logError(for: error, systemErrno: systemErrno)
      note(error)
      return .failure(error)
    }
  }

  /// Logs each change once.
  private func note(_ error: LogError?) {
    switch (trouble, error) {
    case (nil, nil): return
    case (.some, nil):
      logger.notice("the log can be written again")
    case (.full, .full), (.readOnly, .readOnly), (.failed, .failed): return
    case (_, .some(let error)):
      logger.error("\(error)")
    }
    trouble = error
    inbox.setRefusing(error != nil)
    if case .failed = error, let error { inbox.fail(error) }
  }

  /// The last round is over. The shutdown is clean if everything that was delivered is on disk.
  private func finish() {
    if !stranded.isEmpty || hasLost {
      hasLost = true
      logger.error(
        "the log closes without everything that was delivered; its relaxed channels start a new epoch",
        metadata: ["unwritten": "\(stranded.count)"])
    }
    if !hasLost, inbox.failure == nil {
      _ = attempt { db in
        try db.execute(sql: "UPDATE meta SET value = 1 WHERE key = 'clean'")
        _ = try? db.checkpoint(.truncate)
        return true
      }
    }
    do {
      try queue.close()
    } catch {
      logger.warning("the log did not close in order: \(error)")
    }
    folder.close()
  }
}
