import Wire

/// What a gateway knows of one channel whose keys the backend is asked for.
///
/// Bound to its ``SharedPoll``, which alone decides what becomes of it.
final class PolledChannel {
  /// Where the channel stands with the backend.
  enum Phase {
    /// Nothing is asked before ``due``.
    /// Can transition to: queued, asking, gone.
    case resting
    /// It is time to ask, and as many calls are under way as may be.
    /// Can transition to: asking, resting, gone.
    case queued
    /// The backend was asked.
    /// Can transition to: resting, gone.
    case asking(PollCall)
  }

  /// One key that somebody tracks.
  struct Key {
    /// 0: the backend has said nothing of it yet.
    var version: UInt64 = 0
    /// What tells its data from other data, where the backend has no versions; nil: there is none yet.
    var digest: Int?
    /// The newest data, where there is room to keep it.
    var data: [UInt8]?
    /// Who tracks it, and the version that each has.
    var watchers: [PollSubscriber: UInt64] = [:]
    /// Somebody has an older version than this, and was not sent it.
    var hasLaggards = false
    /// The key stands in ``PolledChannel/urgent``.
    var isUrgent = false
    /// The backend was asked for it, whatever it said.
    var wasAsked = false
  }

  /// What one subscription tracks.
  struct Keys {
    /// When the signature of each ends, in seconds since 1970; `Int64.max`: never.
    var expiries: [IdentifierKey: Int64] = [:]
    /// The first of them, or earlier.
    var earliest = Int64.max
  }

  let name: ChannelName
  let options: PollOptions
  var phase = Phase.resting
  var keys: [IdentifierKey: Key] = [:]
  var subscribers: [PollSubscriber: Keys] = [:]
  /// When the first of all signatures ends, or earlier.
  var earliestExpiry = Int64.max
  /// Of the backend's versions.
  var epoch: String

  /// Keys that nobody has data of: they are not kept waiting for the round.
  var urgent: [IdentifierKey] = []
  /// What is left of the round, the next key last.
  var rest: [IdentifierKey] = []
  /// When the next round begins, in monotonic milliseconds.
  var nextRound: Int64
  /// When the next part of the round is asked for.
  var nextPart: Int64 = 0
  /// Milliseconds from one part of the round to the next.
  var partSpacing: Int64 = 0
  /// When the backend was last asked.
  var askedAt = Int64.min
  /// Calls that failed one after another.
  var failures = 0
  /// Because of them, nothing is asked before.
  var notBefore = Int64.min
  /// When the channel goes, where nobody tracks anything.
  var lingersUntil = Int64.max
  /// The time under which the channel stands among those that are due; any other time there counts no more.
  var scheduledAt = Int64.max

  init(_ name: ChannelName, _ options: PollOptions, epoch: String, nextRound: Int64) {
    self.name = name
    self.options = options
    self.epoch = epoch
    self.nextRound = nextRound
  }

  /// When something is to be done, where the channel rests.
  var due: Int64 {
    if keys.isEmpty { return lingersUntil }
    var due = rest.isEmpty ? nextRound : nextPart
    if !urgent.isEmpty { due = min(due, saturatingSum(askedAt, SharedPoll.urgentGap)) }
    return max(due, notBefore)
  }

  var isAsking: Bool { if case .asking = phase { true } else { false } }

  /// Has a key asked for before its round.
  func hurry(_ key: IdentifierKey) {
    guard keys[key]?.isUrgent == false else { return }
    keys[key]?.isUrgent = true
    urgent.append(key)
    // Keys that were untracked meanwhile stay in the list until they come up, yet not without bound.
    if urgent.count > 2 * keys.count + 64 { urgent.removeAll { keys[$0]?.isUrgent != true } }
  }

  /// What the next call asks for: urgent keys, then what is due of the round.
  func nextItems(at now: Int64, interval: Int64) -> [ProxyQuestion.PolledKey] {
    if rest.isEmpty, now >= nextRound {
      rest = Array(keys.keys)
      let parts = (rest.count + options.batchSize - 1) / options.batchSize
      partSpacing = options.intervalMilliseconds / Int64(max(parts, 1))
      nextPart = now
      nextRound = saturatingSum(now, interval)
    }
    var items: [ProxyQuestion.PolledKey] = []
    var chosen: Set<IdentifierKey> = []
    func choose(_ key: IdentifierKey) {
      guard let state = keys[key], chosen.insert(key).inserted else { return }
      keys[key]?.isUrgent = false
      keys[key]?.wasAsked = true
      // Who is told a version may leave out what has it: data that somebody lacks has to come.
      let known = state.hasLaggards && state.data == nil ? 0 : state.version
      items.append(.init(key: key.string, version: options.isVersioned ? known : nil))
    }
    let hurried = min(urgent.count, options.batchSize)
    for key in urgent.prefix(hurried) { choose(key) }
    urgent.removeFirst(hurried)
    if !rest.isEmpty, now >= nextPart {
      while items.count < options.batchSize, let key = rest.popLast() { choose(key) }
      nextPart = saturatingSum(now, partSpacing)
    }
    return items
  }
}
