import CLinuxIO
import Foundation
import Logging
import PostgreSQL
import Wire

/// The writer thread of a log in PostgreSQL: takes everything that waits and commits it, in as few transactions as the
/// limits allow, under the lease.
///
/// Unchecked: after `start` the writer thread alone touches everything but the inbox, and the closing thread after the
/// writer thread has ended.
final class PostgresWriter: @unchecked Sendable {
  /// Bytes in a transaction at most (or one entry, or one transaction of the broker's).
  static let bytesPerTransaction = 4 << 20
  /// Transactions that are sent one behind another.
  static let pipelineDepth = 4
  /// How often a lease that another broker has is tried, in seconds: late enough for what we did to be over.
  static let retakePause = 0.2
  /// The same after it was taken and the keys beside the log were of no use, so that others in line have it rather than this
  /// broker again and again.
  static let unusablePause = 10.0
  /// How long what is left is tried to be written while the store closes, in seconds.
  static let closePatience = 3.0

  /// Whether the store knows of a lost lease. What it handed over before it knew is of a time that is over.
  private enum Standing {
    case owner
    case lost(isKnown: Bool, retake: DispatchTime)
  }

  let inbox: WriterInbox
  let session: PostgresSession
  let logger: Logger
  let quotaNamespaces: Set<String>
  private let keys: PostgresKeys
  let metrics = LogMetrics()
  private let entriesPerTransaction: Int
  private let onCompletion: @Sendable ([LogCompletion]) -> Void
  /// Nil: the outbox is off.
  let outbox: OutboxLedger?
  /// Rows of the outbox of which nothing more comes, and that are still in the table.
  var endings: [OutboxEnding] = []
  private let ended = DispatchSemaphore(value: 0)
  private var standing = Standing.owner
  /// Relaxed entries that were delivered and are still to be written: they are tried again, in order.
  private var stranded: [QueuedEntry] = []
  /// Entries of the round that are next to be written.
  private var run: [QueuedEntry] = []
  /// Why the round under way can write no more.
  private var refusal: LogError?
  /// Something that was delivered cannot be written any more.
  private var hasLost = false
  private var randomness: any RandomNumberGenerator
  /// What the entries of the round did to accounts, to be told with their outcomes.
  private var quotaNews = QuotaNews()
  /// Called once when another broker is to have the log (``PostgresStore/Options/onDrain``).
  private let onDrain: @Sendable () -> Void
  private var hasToldDrain = false
  /// A sweep that is not through: the time that it was asked for with, and when it goes on.
  var sweep: (now: Int64, next: DispatchTime)?
  /// The channel after which the next sweep looks for what is to be trimmed.
  var trimmedThrough: Int64 = 0

  init(
    _ session: PostgresSession, inbox: WriterInbox, keys: PostgresKeys, entriesPerTransaction: Int,
    quotaNamespaces: Set<String>,
    outbox: OutboxLedger? = nil, randomness: any RandomNumberGenerator, logger: Logger,
    onDrain: @escaping @Sendable () -> Void = {},
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) {
    self.session = session
    self.outbox = outbox
    self.inbox = inbox
    self.keys = keys
    self.entriesPerTransaction = entriesPerTransaction
    self.quotaNamespaces = quotaNamespaces
    self.randomness = randomness
    self.logger = logger
    self.onDrain = onDrain
    self.onCompletion = onCompletion
    session.isWaiting = { [inbox, logger] seconds, error in
      if !inbox.isRefusing { logger.error("the log's database cannot be reached: \(error)") }
      inbox.setRefusing(true)
      return !inbox.isClosed || seconds < Self.closePatience
    }
  }

  func start() {
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
    ended.wait()
  }

  private func work() {
    var work: [WriterWork] = []
    while true {
      let isClosed = inbox.waitForWork(into: &work, retry: nextRound)
      round(work)
      work.removeAll(keepingCapacity: true)
      if isClosed { return finish() }
    }
  }

  /// When there is something to do though no work comes.
  private var nextRound: DispatchTime {
    if case .lost(_, let retake) = standing { return retake }
    let idle = max(0, session.renewed + session.renewal - session.now)
    let renewal = DispatchTime.now() + .milliseconds(Int(idle))
    let stranding: DispatchTime? = stranded.isEmpty && endings.isEmpty ? nil : .now() + .seconds(1)
    let beat = session.untilBeat.map { DispatchTime.now() + .milliseconds(Int($0)) }
    return [renewal, stranding, sweep?.next, beat].compactMap { $0 }.min() ?? renewal
  }

  private func round(_ work: [WriterWork]) {
    refusal = session.isFenced ? .fenced : nil
    run = stranded
    stranded.removeAll(keepingCapacity: true)
    for item in work {
      if case .append(let queued) = item {
        run.append(queued)
        continue
      }
      commitRun()
      if case .resume = item { resume() } else { perform(item) }
    }
    commitRun()
    goOn()
  }

  /// Does what is due beside entries.
  private func goOn() {
    if case .lost(let isKnown, let retake) = standing {
      if isKnown, retake <= .now() { regain() }
      return
    }
    if !endings.isEmpty { endOutboxRows() }
    if let sweep, sweep.next <= .now() { self.sweep(sweep.now) }
    if session.now - session.renewed >= session.renewal { _ = commit([PostgresCall("fence")]) }
    session.beat()
    if session.isToHandOver, !hasToldDrain {
      hasToldDrain = true
      onDrain()
    }
  }

  // MARK: The lease

  /// Sends transactions, and tells the store where the lease turns out to be another's.
  func commit(_ calls: [PostgresCall]) -> PostgresOutcome {
    if let refusal {
      var outcome = PostgresOutcome()
      outcome.error = refusal
      return outcome
    }
    let outcome = session.commit(calls)
    note(outcome.error)
    return outcome
  }

  func note(_ error: LogError?) {
    switch error {
    case nil:
      if inbox.isRefusing {
        logger.notice("the log can be written again")
        inbox.setRefusing(false)
        metrics.note(diskRefuses: false)
      }
    case .fenced:
      refusal = .fenced
      guard case .owner = standing else { return }
      logger.error("another broker keeps the log now: all channels are let go until the lease is free")
      standing = .lost(isKnown: false, retake: .now() + Self.retakePause)
      inbox.setRefusing(false)
      outbox?.lost()
      endings = []
      inbox.post([.lost], freeing: 0)
    case .rejected(let detail):
      logger.error("the log rejects what was to be written", metadata: ["reason": "\(detail)"])
    case .some(let error):
      if !inbox.isRefusing { logger.error("\(error)") }
      refusal = error
      inbox.setRefusing(true)
      metrics.note(diskRefuses: true)
    }
  }

  private func resume() {
    if case .lost(_, let retake) = standing { standing = .lost(isKnown: true, retake: retake) }
  }

  /// Tries to take the lease again.
  private func regain() {
    standing = .lost(isKnown: true, retake: .now() + Self.retakePause)
    guard session.retake() else { return }
    var pause = Self.retakePause
    do {
      let epochs = try session.begin(quotaNamespaces: quotaNamespaces, &randomness)
      let found = try readKeys().get()
      // What fails here is for an operator to mend.
      pause = Self.unusablePause
      try keys.regained(found)
      standing = .owner
      refusal = nil
      hasLost = false  // What was delivered and lost was so in a run that is over.
      logger.notice("the log is kept here again")
      inbox.post([.regained(epochs, term: session.term)], freeing: 0)
      outbox?.regained()
    } catch {
      logger.error("the lease was taken, and the log could not be begun: \(error)")
      session.giveBack()
      standing = .lost(isKnown: true, retake: .now() + pause)
    }
  }

  // MARK: Entries

  /// Commits the entries of the run, several transactions at a time.
  private func commitRun() {
    var start = 0
    while start < run.count { start = commitSome(from: start) }
    run.removeAll(keepingCapacity: true)
  }

  /// - Returns: the index of the first entry of which it is still to be known what becomes.
  private func commitSome(from start: Int) -> Int {
    var batches: [PostgresBatch] = []
    var end = start
    while end < run.count, batches.count < Self.pipelineDepth {
      let next = endOfBatch(from: end)
      batches.append(PostgresBatch(run[end..<next], home: session.database.home))
      end = next
    }
    let begun = DispatchTime.now()
    let outcome = commit(batches.compactMap(\.call))
    tellTotals(after: outcome.committed.count)
    var committed = outcome.committed.count
    for (index, batch) in batches.enumerated() {
      if batch.call == nil {
        // Behind an entry that was fenced nothing follows, and it is the fence that says why.
        report(batch, refusal == .fenced ? .fenced : nil)
      } else if committed > 0 {
        committed -= 1
        batch.confirm()
        noteGone(batch.outboxRows)
        metrics.committed(batch.entries, since: begun)
        report(batch, nil)
      } else {
        for batch in batches[index...] { batch.revert() }
        metrics.failed()
        fail(batch, outcome.error ?? .unavailable("the transaction was not committed"))
        return batch.entries.endIndex
      }
    }
    return end
  }

  private func noteGone(_ rows: [Int64]) {
    if rows.isEmpty { return }
    outbox?.gone(rows)
    metrics.outbox(published: rows.count, refused: 0)
  }

  private func endOfBatch(from start: Int) -> Int {
    var (end, bytes) = (start, 0)
    while end < run.count, end - start < entriesPerTransaction,
      end == start || bytes + run[end].cost <= Self.bytesPerTransaction
    {
      bytes += run[end].cost
      end += 1
    }
    // Entries that share a transaction are never parted, whatever the limits say.
    return end > start ? run[...].endOfTransaction(at: end - 1) : end
  }

  /// Where one entry of the batch is at fault, each half is tried by itself.
  private func fail(_ batch: PostgresBatch, _ error: LogError) {
    guard case .rejected = error, let middle = batch.entries.middle else { return report(batch, error) }
    for half in [batch.entries[..<middle], batch.entries[middle...]] {
      let batch = PostgresBatch(half, home: session.database.home)
      guard let call = batch.call else {
        report(batch, nil)
        continue
      }
      let outcome = commit([call])
      tellTotals(after: outcome.committed.count)
      if let error = outcome.error {
        batch.revert()
        fail(batch, error)
      } else {
        batch.confirm()
        noteGone(batch.outboxRows)
        report(batch, nil)
      }
    }
  }

  /// Posts the outcomes first and then calls the handler: whoever it wakes finds them.
  private func report(_ batch: PostgresBatch, _ failure: LogError?) {
    if let outbox, case .rejected(let detail) = failure {
      let error = ClientError.badRequest.saying("the database refuses the publication: \(detail)")
      endings += outbox.reject(batch.outboxRows, error)
    }
    var (completions, outcomes, freed): ([LogCompletion], [WriterOutcome], Int) = ([], [], 0)
    for (queued, follows) in zip(batch.entries, batch.batch.isContiguous) {
      // What was handed over before the store knew that it has lost the channels fails as such, whatever its offset.
      let error: LogError? = failure == .fenced ? .fenced : follows ? failure : .notContiguous
      if queued.channel.durability == .durable {
        completions.append(LogCompletion(ticket: queued.entry.ticket, error: error))
      } else if let error, strand(queued, after: failure ?? error) {
        continue
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
      for (index, channel) in batch.batch.channels.enumerated() {
        let state = batch.states[index]
        outcomes.append(
          .committed(channel.place, top: state.top, floor: state.floor, count: batch.counts[index]))
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
  /// another broker has begun another run.
  private func strand(_ queued: QueuedEntry, after error: LogError) -> Bool {
    switch error {
    case .unavailable where !inbox.isClosed:
      stranded.append(queued)
      return true
    default:
      hasLost = true
      return false
    }
  }

  /// Reads what the accounts that have changed keep now, to be told with the next outcomes.
  func tellTotals(after count: Int = 1) {
    guard count > 0, !quotaNamespaces.isEmpty, !session.isFenced else { return }
    guard case .success(let rows) = session.ask("SELECT namespace, payer, bytes, entries FROM tell_changed()") else {
      return
    }
    for row in 0..<rows.count {
      let account = QuotaAccount(namespace: rows.text(row, 0), user: rows.text(row, 1))
      quotaNews.totals[account] = KeptAmount(bytes: Int(rows.int(row, 2)), entries: Int(rows.int(row, 3)))
    }
  }

  /// Tells of accounts that something else than entries has changed.
  func postTotals() {
    tellTotals()
    guard !quotaNews.isEmpty else { return }
    inbox.post([.quotas(quotaNews)], freeing: 0)
    quotaNews = QuotaNews()
  }

  /// Gives the lease back. The shutdown is clean if everything that was delivered is committed.
  private func finish() {
    if !stranded.isEmpty || hasLost {
      logger.error(
        "the log closes without everything that was delivered; its relaxed channels start a new epoch",
        metadata: ["unwritten": "\(stranded.count)"])
    }
    refusal = session.isFenced ? .fenced : nil
    _ = commit([PostgresCall("release", [.bool(stranded.isEmpty && !hasLost)])])
    session.close()
  }
}
