import Apps
import Log

/// Reads notices out of their outbox and has the app of notifications take them, one batch at a time: a pure machine
/// without a log, a clock or an app. Inputs change its state; ``next(at:)`` says what is to be done, until there is
/// nothing.
///
/// States:
/// - idle: nothing is under way. Can transition to: reading (notices wait).
/// - reading: the log is asked for the notices after the cursor. Can transition to: deciding, idle (none of them says
///   anything any more), resting (the log could not tell).
/// - deciding: the app is asked, which may wait for the store. Can transition to: committing, resting (the app could
///   not decide, or the log refused).
/// - committing: what the app has decided is on its way to the disk, and the cursor with it, in one transaction. Can
///   transition to: idle, resting (it did not get there: the batch is read again).
/// - resting: the log failed. Can transition to: idle, a second later and then after pauses twice as long each time, up
///   to a minute. Nothing is ever given up.
///
/// The cursor moves with the decision or not at all, so a broker that was killed goes on where the disk stands.
struct NoticeReader {
  struct Batch: Equatable {
    var intents: [PushIntent]
    /// The offset of the last notice that was read, which may say nothing any more.
    var through: UInt64
  }

  enum State: Equatable {
    case idle
    case reading(LogRange)
    case deciding(Batch)
    case committing(through: UInt64)
    case resting(until: Int64)
  }

  enum Action: Equatable {
    case read
    case decide
  }

  /// Most notices of a batch, their bytes, and the people whom they name. A decision writes for each of these, and a
  /// turn should be over within some milliseconds.
  static let mostIntents = 64
  static let mostBytes = 256 << 10
  static let mostUsers = 64
  /// Milliseconds between two tries after the log failed: the first time, and at most.
  static let firstRest: Int64 = 1000
  static let longestRest: Int64 = 60_000

  private(set) var state = State.idle
  /// All notices up to this offset are taken, on the disk.
  private(set) var cursor: UInt64
  /// The newest notice that is on the disk.
  private(set) var top: UInt64
  /// Notices that were not where the log should have had them.
  private(set) var missing: UInt64 = 0
  private var failures = 0

  init(cursor: UInt64, top: UInt64) {
    self.cursor = min(cursor, top)
    self.top = top
  }

  var waiting: UInt64 { top - cursor }

  /// When ``next(at:)`` has something to say that it has not now, in monotonic milliseconds; nil: not by itself.
  var deadline: Int64? { if case .resting(let until) = state { until } else { nil } }

  /// - Parameter now: monotonic milliseconds.
  mutating func next(at now: Int64) -> Action? {
    if case .resting(let until) = state, until <= now { state = .idle }
    guard state == .idle, cursor < top else { return nil }
    state = .reading(LogRange(since: cursor, through: top, limit: Self.mostIntents, bytes: Self.mostBytes))
    return .read
  }

  // MARK: What happens

  /// Another notice is on the disk.
  mutating func appended(_ offset: UInt64) { top = max(top, offset) }

  /// The log has answered with what stands after the cursor, oldest first.
  ///
  /// - Parameter found: each offset with the notice at it; nil where it was erased, or is of another version.
  mutating func found(_ found: [(offset: UInt64, intent: PushIntent?)]) -> Action? {
    guard case .reading = state else { return nil }
    state = .idle
    guard let first = found.first else {
      missing += top - cursor
      cursor = top
      return nil
    }
    missing += first.offset - cursor - 1
    var batch = Batch(intents: [], through: cursor)
    var users = 0
    for (offset, intent) in found {
      let count = intent?.users.count ?? 0
      if users > 0, users + count > Self.mostUsers { break }
      users += count
      batch.through = offset
      if let intent { batch.intents.append(intent) }
    }
    if batch.intents.isEmpty {
      cursor = batch.through
      return nil
    }
    state = .deciding(batch)
    return .decide
  }

  /// Takes users out of the batch in memory, since their data is deleted.
  mutating func erase(where isErased: (String) -> Bool) {
    guard case .deciding(var batch) = state else { return }
    for index in batch.intents.indices { batch.intents[index].users.removeAll(where: isErased) }
    batch.intents.removeAll { $0.users.isEmpty }
    state = .deciding(batch)
  }

  /// The app has decided about the batch.
  mutating func decided() { if case .deciding(let batch) = state { state = .committing(through: batch.through) } }

  /// The decision has to wait for the store, and is made again.
  mutating func waits(_ batch: Batch) { if case .committing = state { state = .deciding(batch) } }

  /// The decision is on the disk.
  mutating func committed() {
    guard case .committing(let through) = state else { return }
    cursor = max(cursor, through)
    failures = 0
    state = .idle
  }

  /// The log could not be read, the app could not decide, or the decision did not get to the disk.
  mutating func failed(at now: Int64) {
    if case .resting = state { return }
    state = .resting(until: now + min(Self.firstRest << min(failures, 16), Self.longestRest))
    failures += 1
  }
}
