/// Keeps calls from a backend that fails, until a trial shows that it is there again: a pure machine.
///
/// Without it, each client of a dead backend would wait for the whole time limit, and a backend that comes back would find
/// a queue of calls that nobody waits for any more.
///
///     closed ──`failures` in a row──▶ open ──`openMilliseconds`, then a call──▶ halfOpen
///       ▲                              ▲                                          │  │
///       │                              └────────────── the trial fails ───────────┘  │
///       └───────────────────────────── the trial succeeds ───────────────────────────┘
///
/// Every permit is given back once. One that was given in an earlier state says nothing of the backend as it is now, and
/// changes nothing.
public struct ProxyBreaker: Sendable {
  public struct Limits: Sendable, Equatable {
    /// Calls that fail one after another before the breaker opens; 0: it never opens.
    public var failures: Int
    /// How long it stays open before a trial.
    public var openMilliseconds: Int64

    public init(failures: Int, openMilliseconds: Int64) {
      self.failures = failures
      self.openMilliseconds = openMilliseconds
    }
  }

  public enum State: Sendable, Equatable {
    /// Calls go through; so many have failed since the last that did not.
    /// Can transition to: open.
    case closed(failures: Int)
    /// No call goes through before this time, in monotonic milliseconds.
    /// Can transition to: halfOpen.
    case open(until: Int64)
    /// One call is under way as a trial; no other goes through.
    /// Can transition to: closed, open.
    case halfOpen
  }

  /// The right to make one call.
  public struct Permit: Sendable, Equatable {
    fileprivate let era: UInt64
  }

  public enum Outcome: Sendable {
    /// The backend answered, whatever it decided.
    case answered
    /// It did not answer in time, or not with what a backend says.
    case failed
    /// The call was not made, or was broken off here: that tells nothing of the backend.
    case notMade
  }

  public private(set) var state = State.closed(failures: 0)
  private let limits: Limits
  /// Changes with each transition, so that outcomes of earlier states are known for what they are.
  private var era: UInt64 = 0

  public init(_ limits: Limits) { self.limits = limits }

  /// Asks for one call.
  ///
  /// - Parameter now: monotonic milliseconds.
  /// - Returns: nil where the backend is to be left alone.
  public mutating func admit(at now: Int64) -> Permit? {
    switch state {
    case .closed: break
    case .open(let until):
      guard now >= until else { return nil }
      enter(.halfOpen)
    case .halfOpen: return nil
    }
    return Permit(era: era)
  }

  /// A call has ended.
  public mutating func ended(_ permit: Permit, _ outcome: Outcome, at now: Int64) {
    guard permit.era == era else { return }
    switch (state, outcome) {
    case (.closed, .answered): state = .closed(failures: 0)
    case (.closed(let failures), .failed):
      guard limits.failures > 0 else { return }
      if failures + 1 >= limits.failures { open(at: now) } else { state = .closed(failures: failures + 1) }
    case (.halfOpen, .answered): enter(.closed(failures: 0))
    case (.halfOpen, .failed): open(at: now)
    // The next call is the trial: nothing is known yet, and the time is over.
    case (.halfOpen, .notMade): enter(.open(until: now))
    case (.closed, .notMade), (.open, _): break
    }
  }

  private mutating func open(at now: Int64) { enter(.open(until: saturatingSum(now, limits.openMilliseconds))) }

  private mutating func enter(_ next: State) {
    era &+= 1
    state = next
  }
}
