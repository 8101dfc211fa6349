import Dispatch
import SQLite
import Synchronization
import Wire

/// What the store asks of the writer thread.
enum WriterWork: Sendable {
  case append(QueuedEntry)
  /// Deletes the channel's history through the offset.
  case remove(WriterChannel, through: UInt64, LogQuestion)
  case sweep(now: Int64)
  /// Looks through some channels for rows to delete and entries whose time is over.
  case look(ChannelSweep)
  /// Deletes rows of channels that are not in use.
  case delete([Int64])
  /// Overwrites what was erased: folds the journal, and empties SQLite's WAL.
  case scrub
  /// Part of deleting a user's data, which the store is told the end of.
  case erase(ErasureQuestion)
  /// Deletes rows of the outbox, or puts them aside.
  case endOutbox([OutboxEnding])
  /// Reads the wrapped keys that are kept beside the log.
  case readKeys(Reply<FoundKeys>)
  /// Changes a set of them, if the lease is still the one that is named.
  case replaceKeys(KeyRow, lease: UInt64, Reply<Void>)
  /// The store knows that it has lost the channels: what comes after this is of a later time.
  case resume
  /// Runs on the writer's connection. For tests: they cause faults this way.
  case runInTest(@Sendable (Database) throws -> Void, Reply<Void>)
  /// Runs before each commit of entries from now on, and may fail it. For tests.
  case intercept((@Sendable (Database) throws -> Void)?)
}

extension WriterWork {
  fileprivate func belongs(with other: WriterWork) -> Bool {
    guard case .append(let a) = self, case .append(let b) = other else { return false }
    return a.transaction != 0 && a.transaction == b.transaction
  }
}

/// What the store's threads tell the store, which takes it in the broker's turn.
enum WriterOutcome: Sendable {
  case read(ReadRequest, ReadJob.Found)
  /// A history is removed up to the offset.
  case removed(LogQuestion, Result<UInt64, LogError>)
  case erased(ErasureQuestion, LogError?)
  case looked(ChannelSweep.Found)
  /// Another broker keeps the channels. The writer takes no entries until the store has told it to resume.
  case lost
  /// The channels are this store's again.
  case regained(EpochParts, term: UInt64)
  /// Backends have committed these to the outbox.
  case outbox([OutboxMessage])
  /// The rows are gone, or the disk refused.
  case deleted
  /// What users keep has changed.
  case quotas(QuotaNews)
  /// - count: entries of the channel that are on disk with this.
  case committed(HotPlace, top: UInt64, floor: UInt64, count: Int)
  /// - isStale: the disk did not refuse the entry; it did not follow what the writer knows of the channel, or was
  ///   rejected.
  case failed(HotPlace, offset: UInt64, ticket: UInt64, isStale: Bool)
}

extension WriterOutcome {
  /// Whether the broker waits for the outcome; the other outcomes are taken along with the next question or entry.
  fileprivate var isWaitedFor: Bool {
    switch self {
    case .read, .removed, .erased, .lost, .regained, .outbox: true
    case .looked(let found): !found.due.isEmpty
    case .deleted, .quotas, .committed, .failed: false
    }
  }
}

/// The answer to somebody who waits for it on another thread than the broker's.
final class Reply<Value: Sendable>: Sendable {
  private let value = Mutex<Result<Value, LogError>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  func send(_ result: Result<Value, LogError>) {
    value.withLock { $0 = result }
    done.signal()
  }

  func wait() throws(LogError) -> Value {
    done.wait()
    guard let result = value.withLock({ $0 }) else { throw .closed }
    return try result.get()
  }
}

/// Where the store leaves work for the writer thread, and the writer leaves outcomes for the store.
///
/// Bounded in bytes by ``backlogLimit``; entries beyond it are refused. The writer is woken only if it sleeps, so that
/// a busy broker makes no system call per publication.
final class WriterInbox: Sendable {
  private struct State {
    var work: [WriterWork] = []
    var outcomes: [WriterOutcome] = []
    var bytes = 0
    /// Hand-overs of entries that are among the work: an entry by itself is one, and a transaction is one.
    var arrivals = 0
    /// The writer is to be woken when so many hand-overs have arrived; 0: it waits for none.
    var awaited = 0
    /// How many hand-overs the writer took together last: it waits for as many again (``waitForWork(into:retry:)``).
    var company = 0
    /// Work other than entries waits, so that the writer waits for no company.
    var isAsked = false
    /// Work waits that the writer does without delay: a durable entry, or anything but entries.
    var isUrgent = false
    /// The writer sleeps until it is woken, or something is due.
    var isAsleep = false
    var isSweeping = false
    var isScrubbing = false
    var isClosed = false
    var isRefusing = false
    var failure: LogError?
    /// Why entries that may not use the reserve are refused; nil: there is room.
    var full: LogError?
    /// When the relaxed entries that wait are committed at the latest; nil: none waits.
    var due: DispatchTime?
    var relaxedDelay: DispatchTimeInterval

    func refusal(of cost: Int, limit: Int, usesReserve: Bool) -> LogError? {
      if isClosed { return .closed }
      if let failure { return failure }
      if let full, !usesReserve { return full }
      return bytes + cost > limit ? .backlog(bytes: bytes) : nil
    }

    var waitsForCompany: Bool { isUrgent && !isAsked && !isClosed && company > 1 && arrivals < company }

    /// - Returns: whether the writer waits for company and has it now.
    mutating func arrive() -> Bool {
      arrivals += 1
      guard awaited > 0, arrivals >= awaited else { return false }
      awaited = 0
      return true
    }

    /// - Returns: true where the writer sleeps and has to be woken.
    mutating func enqueue(_ queued: QueuedEntry) -> Bool {
      bytes += queued.cost
      work.append(.append(queued))
      var isNews = false
      if queued.channel.durability == .durable {
        isNews = !isUrgent
        isUrgent = true
      } else if due == nil {
        isNews = true
        due = .now() + relaxedDelay
      }
      let mustWake = isNews && isAsleep
      if isNews { isAsleep = false }
      return mustWake
    }
  }

  let backlogLimit: Int
  private let usualDelay: DispatchTimeInterval
  private let companyWait: DispatchTimeInterval
  private let onNews: @Sendable () -> Void
  private let state: Mutex<State>
  private let wake = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - companyWait: how long the writer waits, from the end of a commit on, for as many hand-overs as that one had.
  ///   - onNews: called after a ``post(_:freeing:)`` with an outcome that the broker waits for.
  init(
    backlogLimit: Int, relaxedDelayMilliseconds: Int, companyWait: DispatchTimeInterval = .milliseconds(1),
    onNews: @escaping @Sendable () -> Void = {}
  ) {
    self.companyWait = companyWait
    self.backlogLimit = backlogLimit
    self.onNews = onNews
    usualDelay = .milliseconds(relaxedDelayMilliseconds)
    state = Mutex(State(relaxedDelay: .milliseconds(relaxedDelayMilliseconds)))
  }

  /// Bytes of the entries that are not on disk.
  var bytes: Int { state.withLock { $0.bytes } }

  // MARK: The store

  /// - Returns: why the entry was not taken, or nil.
  func add(_ queued: QueuedEntry) -> LogError? {
    let (error, mustWake) = state.withLock { state -> (LogError?, Bool) in
      let refusal = state.refusal(of: queued.cost, limit: backlogLimit, usesReserve: queued.entry.mayUseReserve)
      if let refusal { return (refusal, false) }
      let isWhole = state.arrive()
      return (nil, state.enqueue(queued) || isWhole)
    }
    if mustWake { wake.signal() }
    return error
  }

  /// Takes all entries of a transaction, or none.
  ///
  /// - Returns: why they were not taken, or nil.
  func add(transaction: [QueuedEntry]) -> LogError? {
    let (error, mustWake) = state.withLock { state -> (LogError?, Bool) in
      let cost = transaction.reduce(0) { $0 + $1.cost }
      let usesReserve = transaction.allSatisfy { $0.entry.mayUseReserve }
      let refusal = state.refusal(of: cost, limit: backlogLimit, usesReserve: usesReserve)
      if let refusal { return (refusal, false) }
      var mustWake = state.arrive()
      for queued in transaction where state.enqueue(queued) { mustWake = true }
      return (nil, mustWake)
    }
    if mustWake { wake.signal() }
    return error
  }

  /// Leaves work other than entries.
  ///
  /// - Returns: false where the log is closed.
  func ask(_ work: WriterWork) -> Bool {
    let isTaken = state.withLock { state in
      if state.isClosed { return false }
      if case .sweep = work {
        if state.isSweeping { return true }  // The sweep that waits will do.
        state.isSweeping = true
      }
      if case .scrub = work {
        if state.isScrubbing { return true }
        state.isScrubbing = true
      }
      state.work.append(work)
      state.isUrgent = true
      state.isAsked = true
      state.isAsleep = false
      return true
    }
    if isTaken { wake.signal() }
    return isTaken
  }

  func takeOutcomes() -> [WriterOutcome] {
    state.withLock { state in
      if state.outcomes.isEmpty { return [] }
      defer { state.outcomes = [] }
      return state.outcomes
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    wake.signal()
  }

  // MARK: The writer thread

  /// Waits until something is due, and takes all that waits.
  ///
  /// Where several hand-overs went into the commit that has just ended, the writer waits for as many again, for a
  /// millisecond at most: each commit costs an fsync, and publishers of a moment ago publish again. A publisher that is
  /// alone is never held up.
  ///
  /// - Parameters:
  ///   - work: an empty array, whose buffer is used for the work that comes next.
  ///   - retry: when to return even if no work came.
  /// - Returns: true where the log was closed; nothing comes after that.
  func waitForWork(into work: inout [WriterWork], retry: DispatchTime?) -> Bool {
    let called = DispatchTime.now()
    while true {
      let empty = work
      let now = DispatchTime.now()
      let (taken, isClosed, deadline) = state.withLock { state -> ([WriterWork]?, Bool, DispatchTime?) in
        let deadline = [state.due, retry].compactMap { $0 }.min()
        guard state.isUrgent || state.isClosed || deadline.map({ $0 <= now }) == true else {
          state.isAsleep = true
          return (nil, false, deadline)
        }
        if state.waitsForCompany, now < called + companyWait {
          state.awaited = state.company
          return (nil, false, called + companyWait)
        }
        defer { state.work = empty }
        if state.arrivals > 0 { state.company = state.arrivals }
        state.arrivals = 0
        state.awaited = 0
        state.isAsked = false
        state.isUrgent = false
        state.isAsleep = false
        state.isSweeping = false
        state.isScrubbing = false
        state.due = nil
        return (state.work, state.isClosed, nil)
      }
      if let taken {
        work = taken
        return isClosed
      }
      if let deadline { _ = wake.wait(timeout: deadline) } else { wake.wait() }
    }
  }

  /// Takes up to `limit` pieces of work without waiting, and no part of a transaction: for a writer without a thread.
  ///
  /// - Returns: false where no work was there.
  func takeNow(_ limit: Int, into work: inout [WriterWork]) -> Bool {
    state.withLock { state in
      state.arrivals = 0
      var end = min(limit, state.work.count)
      while end > 0, end < state.work.count, state.work[end].belongs(with: state.work[end - 1]) { end += 1 }
      work.append(contentsOf: state.work.prefix(end))
      state.work.removeFirst(end)
      state.isSweeping = false
      state.isScrubbing = false
      return end > 0
    }
  }

  /// Leaves outcomes. Must be called before the completion handler is, so that the store answers what the broker asks
  /// then with the outcome.
  func post(_ outcomes: [WriterOutcome], freeing bytes: Int) {
    state.withLock { state in
      state.outcomes.append(contentsOf: outcomes)
      state.bytes -= bytes
    }
    if outcomes.contains(where: \.isWaitedFor) { onNews() }
  }

  /// While the disk refuses, relaxed entries are tried once a second instead of every few milliseconds.
  func setRefusing(_ isRefusing: Bool) {
    state.withLock { state in
      state.isRefusing = isRefusing
      state.relaxedDelay = isRefusing ? .seconds(1) : usualDelay
    }
  }

  var isRefusing: Bool { state.withLock { $0.isRefusing } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// - Parameter error: why entries that may not use the reserve are refused; nil: there is room.
  /// - Returns: whether there was no room before.
  func setFull(_ error: LogError?) -> Bool {
    state.withLock { state in
      defer { state.full = error }
      return state.full != nil
    }
  }

  func fail(_ error: LogError) {
    state.withLock { $0.failure = error }
  }

  var failure: LogError? { state.withLock { $0.failure } }
}
