/// An event as it stands in a webhook's outbox.
struct OutboxEvent: Equatable {
  var offset: UInt64
  /// When it happened, in milliseconds since 1970.
  var time: Int64
  /// Bytes of all events of the outbox up to and with this one.
  var total: UInt64
  /// The event as its receiver gets it; empty where it was erased with a user's data.
  var json: [UInt8]
}

/// Sends the events of one outbox, in their order, one batch at a time: a pure machine without a log, a clock or a
/// network. Inputs change its state; ``next(at:isOverfull:)`` says what is to be done, until there is nothing.
///
/// States:
/// - idle: nothing is under way. Can transition to: reading (events wait).
/// - reading: the log is asked for the events after the cursor. Can transition to: ready, idle (there are none, or the
///   log could not tell and is asked later: resting).
/// - ready: the events of a batch are in memory. Can transition to: sending; committing (given up, as too many wait).
/// - sending: the receiver has the batch. Can transition to: committing (taken, or given up), backingOff.
/// - backingOff: the receiver did not take the batch. Can transition to: ready (its time has come), committing (given
///   up, as too many wait).
/// - committing: the cursor is on its way to the disk, with the batch for the list of given-up events where it was
///   given up. Can transition to: idle; resting (the disk refused: the batch is read and sent again).
/// - resting: the log failed. Can transition to: idle.
///
/// A batch that was taken is sent again only where the cursor did not get to the disk: **at least once**. The cursor
/// only moves over events that were taken or given up, and there is one batch at a time: **in order**.
struct WebhookSender {
  struct Batch: Equatable {
    var events: [OutboxEvent]
    /// Requests that failed.
    var attempts = 0

    var last: OutboxEvent { events[events.count - 1] }
  }

  enum State: Equatable {
    case idle
    case reading
    case ready(Batch)
    case sending(Batch)
    case backingOff(Batch, until: Int64)
    case committing(Batch, givenUp: String?)
    case resting(until: Int64)
  }

  enum Action: Equatable {
    /// Ask the log for at most so many events after the cursor.
    case read(Int)
    case post(Batch)
    /// Write that all events up to the batch's last one are done.
    ///
    /// - givenUp: why the batch is given up, which is then to be kept; nil: the receiver took it.
    case commit(Batch, givenUp: String?)
  }

  /// Milliseconds until the log is asked again after it failed.
  static let rest: Int64 = 1000
  /// An event that is old when it is sent first gets as many requests.
  static let leastAttempts = 3

  private(set) var state = State.idle
  /// All events up to this offset are done.
  private(set) var cursor: UInt64
  /// The newest event that is on disk.
  private(set) var top: UInt64
  /// Events that were not where the log should have had them.
  private(set) var missing: UInt64 = 0
  /// Most events of the next batch: fewer after the receiver found fault with one.
  private var width: Int
  private let rules: WebhookConfiguration

  init(_ rules: WebhookConfiguration, cursor: UInt64, top: UInt64) {
    self.rules = rules
    self.cursor = min(cursor, top)
    self.top = top
    width = rules.batchEvents
  }

  /// The batch that is in memory, if there is one.
  var batch: Batch? {
    switch state {
    case .ready(let batch), .sending(let batch), .backingOff(let batch, _), .committing(let batch, _): batch
    case .idle, .reading, .resting: nil
    }
  }

  /// When ``next(at:isOverfull:)`` has something to say that it has not now, in monotonic milliseconds.
  var deadline: Int64? {
    switch state {
    case .backingOff(_, let until), .resting(let until): until
    case .idle, .reading, .ready, .sending, .committing: nil
    }
  }

  // MARK: What is to be done

  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - isOverfull: more waits than may, so the oldest events are given up.
  /// - Returns: what is to be done now; nil: nothing.
  mutating func next(at now: Int64, isOverfull: Bool) -> Action? {
    switch state {
    case .idle: break
    case .resting(let until):
      guard until <= now else { return nil }
      state = .idle
    case .ready(let batch): return isOverfull ? giveUp(batch, Self.tooMany) : post(batch)
    case .backingOff(let batch, let until):
      if isOverfull { return giveUp(batch, Self.tooMany) }
      return until <= now ? post(batch) : nil
    case .reading, .sending, .committing: return nil
    }
    guard cursor < top else { return nil }
    state = .reading
    return .read(width)
  }

  private mutating func post(_ batch: Batch) -> Action {
    state = .sending(batch)
    return .post(batch)
  }

  private mutating func giveUp(_ batch: Batch, _ reason: String) -> Action {
    state = .committing(batch, givenUp: reason)
    return .commit(batch, givenUp: reason)
  }

  static let tooMany = "more events waited than the webhook's max_waiting_events and max_waiting_bytes allow"

  // MARK: What happens

  /// Another event is on disk.
  mutating func appended(_ offset: UInt64) { top = max(top, offset) }

  /// The log has answered.
  ///
  /// - Parameter events: those after the cursor, oldest first, none left out but those that the log has no more.
  mutating func found(_ events: [OutboxEvent]) {
    guard state == .reading else { return }
    guard let first = events.first else {
      missing += top - cursor
      cursor = top
      return state = .idle
    }
    missing += first.offset - cursor - 1
    state = .ready(Batch(events: events))
  }

  /// Empties events of the batch in memory, since a user's data is deleted. They count as sent when their batch is.
  mutating func erase(where isErased: ([UInt8]) -> Bool) {
    func erased(_ batch: Batch) -> Batch {
      var batch = batch
      for index in batch.events.indices where isErased(batch.events[index].json) { batch.events[index].json = [] }
      return batch
    }
    switch state {
    case .ready(let batch): state = .ready(erased(batch))
    case .sending(let batch): state = .sending(erased(batch))
    case .backingOff(let batch, let until): state = .backingOff(erased(batch), until: until)
    case .idle, .reading, .committing, .resting: break
    }
  }

  /// The log could not answer.
  mutating func readFailed(at now: Int64) {
    if state == .reading { state = .resting(until: now + Self.rest) }
  }

  /// The receiver has answered, or could not be reached.
  ///
  /// - Parameters:
  ///   - time: now, monotonic and since 1970.
  ///   - chance: from 0 to 1, by which the time until the next request differs.
  /// - Returns: what is to be done now; nil: nothing yet.
  mutating func answered(_ result: WebhookAnswer.Result, at time: BrokerTime, chance: Double) -> Action? {
    guard case .sending(var batch) = state else { return nil }
    if case .status(let status, _) = result, (200...299).contains(status) {
      width = min(rules.batchEvents, width * 2)
      state = .committing(batch, givenUp: nil)
      return .commit(batch, givenUp: nil)
    }
    batch.attempts += 1
    if batch.attempts >= Self.leastAttempts, time.wall - batch.last.time >= rules.giveUpAfter {
      return giveUp(batch, Self.reason(result))
    }
    if Self.findsFault(result), batch.events.count > 1 {
      // The receiver reads what it gets and refuses some of it. Smaller batches find which: in the end one event alone
      // is tried again, and given up alone.
      width = (batch.events.count + 1) / 2
      batch = Batch(events: Array(batch.events.prefix(width)), attempts: batch.attempts)
    }
    state = .backingOff(batch, until: time.monotonic + pause(after: batch.attempts, result, chance))
    return nil
  }

  /// The log has written the last ``Action/commit(_:givenUp:)``.
  mutating func committed() {
    guard case .committing(let batch, _) = state else { return }
    cursor = batch.last.offset
    state = .idle
  }

  /// The log did not take the last ``Action/commit(_:givenUp:)``. The batch is sent again.
  mutating func commitFailed(at now: Int64) {
    if case .committing = state { state = .resting(until: now + Self.rest) }
  }

  // MARK: Failures

  /// Why a request failed, as a sentence for the operator; nil: the receiver took what it got.
  static func failure(_ result: WebhookAnswer.Result) -> String? {
    if case .status(let status, _) = result, (200...299).contains(status) { return nil }
    return reason(result)
  }

  private static func reason(_ result: WebhookAnswer.Result) -> String {
    switch result {
    case .status(let status, _) where (300...399).contains(status):
      "the receiver answered \(status), and redirects are not followed; write the address that it leads to"
    case .status(let status, _): "the receiver answered \(status)"
    case .failed(let reason): reason
    }
  }

  private static func findsFault(_ result: WebhookAnswer.Result) -> Bool {
    if case .status(let status, _) = result { [400, 413, 422].contains(status) } else { false }
  }

  /// Milliseconds until the next request: twice as long each time, and up to a quarter more by chance, so that servers
  /// which failed together do not come back together. A receiver that asks for more time gets it, within the limit.
  private func pause(after attempts: Int, _ result: WebhookAnswer.Result, _ chance: Double) -> Int64 {
    let doubled = rules.minimumBackoff << min(attempts - 1, 20)
    var pause = min(rules.maximumBackoff, max(rules.minimumBackoff, doubled))
    if case .status(_, let seconds?) = result {
      pause = max(pause, min(rules.maximumBackoff, max(0, min(seconds, 1 << 32)) * 1000))
    }
    return pause + Int64(Double(pause) * 0.25 * min(1, max(0, chance)))
  }
}
