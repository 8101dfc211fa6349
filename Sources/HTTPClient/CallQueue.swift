import DequeModule

/// The calls that wait, in order for each host, and how many are under way.
///
/// A host is who is called: scheme, name and port. A host that does not answer keeps its own calls waiting and nobody
/// else's: hosts take turns, and none has more calls under way than its share.
///
/// A call:
///
///     waiting    can become: under way (`next`), over (`removeOverdue`, `removeAll`)
///     under way  can become: over (`finish`)
///
/// A host is kept as long as it has calls. `hasTurn` says that it stands in `turns`: it does exactly when it had a call
/// waiting and a free share when its state last changed.
struct CallQueue<Call> {
  private struct Host {
    var waiting = Deque<(call: Call, deadline: ContinuousClock.Instant)>()
    var underWay = 0
    var hasTurn = false
  }

  private let limit: Int
  private let limitPerHost: Int
  private var hosts: [String: Host] = [:]
  private var turns = Deque<String>()
  private(set) var underWay = 0
  private(set) var waiting = 0
  /// No waiting call is overdue before this; it may be earlier than the earliest, whose call has begun since.
  private(set) var earliestDeadline: ContinuousClock.Instant?

  /// - Parameters:
  ///   - limit: calls under way at once.
  ///   - limitPerHost: calls of one host under way at once.
  init(limit: Int, limitPerHost: Int) {
    self.limit = max(limit, 1)
    self.limitPerHost = max(limitPerHost, 1)
  }

  mutating func append(_ call: Call, to host: String, deadline: ContinuousClock.Instant) {
    hosts[host, default: Host()].waiting.append((call, deadline))
    waiting += 1
    earliestDeadline = min(earliestDeadline ?? deadline, deadline)
    queueUp(host)
  }

  /// The next call that may begin, which is under way from now on; nil where none may.
  mutating func next() -> (call: Call, host: String, deadline: ContinuousClock.Instant)? {
    guard underWay < limit else { return nil }
    while let name = turns.popFirst() {
      hosts[name]?.hasTurn = false
      guard let first = hosts[name]?.waiting.popFirst() else {
        forgetIfIdle(name)
        continue
      }
      hosts[name]?.underWay += 1
      underWay += 1
      waiting -= 1
      queueUp(name)
      return (first.call, name, first.deadline)
    }
    return nil
  }

  /// A call of the host that was under way is over.
  mutating func finish(_ host: String) {
    guard let underWayThere = hosts[host]?.underWay, underWayThere > 0 else {
      preconditionFailure("A call ended that had not begun: \(host)")
    }
    hosts[host]?.underWay -= 1
    underWay -= 1
    queueUp(host)
    forgetIfIdle(host)
  }

  /// Takes out the waiting calls whose time is over.
  mutating func removeOverdue(_ now: ContinuousClock.Instant) -> [Call] {
    guard let earliest = earliestDeadline, earliest <= now else { return [] }
    var overdue: [Call] = []
    var next: ContinuousClock.Instant?
    for name in Array(hosts.keys) {
      guard let here = hosts[name]?.waiting, !here.isEmpty else { continue }
      var kept = Deque<(call: Call, deadline: ContinuousClock.Instant)>()
      for entry in here {
        if entry.deadline <= now {
          overdue.append(entry.call)
        } else {
          kept.append(entry)
          next = min(next ?? entry.deadline, entry.deadline)
        }
      }
      hosts[name]?.waiting = kept
      forgetIfIdle(name)
    }
    waiting -= overdue.count
    earliestDeadline = next
    return overdue
  }

  /// Takes out all that wait.
  mutating func removeAll() -> [Call] {
    let all = hosts.values.flatMap { $0.waiting.map(\.call) }
    for name in Array(hosts.keys) {
      hosts[name]?.waiting.removeAll()
      forgetIfIdle(name)
    }
    waiting = 0
    earliestDeadline = nil
    return all
  }

  /// Hosts that something is kept of.
  var hostCount: Int { hosts.count }

  private mutating func queueUp(_ name: String) {
    guard let host = hosts[name], !host.hasTurn, !host.waiting.isEmpty, host.underWay < limitPerHost else { return }
    hosts[name]?.hasTurn = true
    turns.append(name)
  }

  private mutating func forgetIfIdle(_ name: String) {
    // A host that stands in `turns` is forgotten when its turn comes.
    guard let host = hosts[name], host.waiting.isEmpty, host.underWay == 0, !host.hasTurn else { return }
    hosts[name] = nil
  }
}
