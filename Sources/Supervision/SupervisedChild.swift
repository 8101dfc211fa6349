/// A process that is started again whenever it ends, as the process sees it that has started it. It decides; whoever owns it
/// starts, signals and waits.
///
///     state      what happens                          then
///     waiting    its time has come                     starting, .start
///                the parent stops                      ended
///     starting   it runs                               running
///                it could not be started               waiting, as after a failure
///     running    it ended in order, after a while      waiting for no time
///                it ended otherwise                    waiting, longer each time
///                the parent stops                      stopping, .terminate
///     stopping   it ended                              ended
///                the deadline has come                 killed, .kill
///     killed     it ended                              ended
///     ended      –
///
/// Times are milliseconds of a clock that never goes back. Whatever else happens changes nothing.
public struct SupervisedChild: Sendable {
  public struct Rules: Sendable {
    /// Before it is started again after the first failure. It doubles with each further one.
    public var firstDelay: Int64 = 500
    public var longestDelay: Int64 = 10_000
    /// A run of this length makes earlier failures count no more.
    public var goodRun: Int64 = 30_000
    /// A run that was shorter is a failure, whatever its exit code: nothing can start in a loop without a pause.
    public var shortestRun: Int64 = 500
    /// How long it may take to end when it was told to.
    public var patience: Int64

    public init(patience: Int64) { self.patience = patience }
  }

  public enum State: Sendable, Equatable {
    /// Can transition to: starting, ended.
    case waiting(until: Int64)
    /// Can transition to: running, waiting.
    case starting
    /// Can transition to: waiting, stopping.
    case running(process: Int32, since: Int64)
    /// Can transition to: killed, ended.
    case stopping(process: Int32, since: Int64, until: Int64)
    /// Can transition to: ended.
    case killed(process: Int32, since: Int64)
    case ended
  }

  /// What its owner is to do.
  public enum Action: Sendable, Equatable {
    /// To start it, and to say at once what came of it: ``started(as:at:)`` or ``couldNotStart(at:)``.
    case start
    case terminate(process: Int32)
    case kill(process: Int32)
  }

  /// What is to be told of an end.
  public struct End: Sendable, Equatable {
    /// How long it ran, in milliseconds.
    public var ran: Int64
    /// After how many milliseconds it is started again; nil: it is not.
    public var restartsAfter: Int64?
  }

  public private(set) var state: State
  private let rules: Rules
  /// How long it waits after the next failure.
  private var delay: Int64

  public init(_ rules: Rules, at now: Int64) {
    self.rules = rules
    state = .waiting(until: now)
    delay = rules.firstDelay
  }

  /// When ``look(at:)`` may have something to do; nil: something else has to happen before.
  public var nextLook: Int64? {
    switch state {
    case .waiting(let time), .stopping(_, _, let time): time
    case .starting, .running, .killed, .ended: nil
    }
  }

  public var hasEnded: Bool { state == .ended }

  /// Does what is due.
  public mutating func look(at now: Int64) -> Action? {
    switch state {
    case .waiting(let time) where now >= time:
      state = .starting
      return .start
    case .stopping(let process, let since, let deadline) where now >= deadline:
      state = .killed(process: process, since: since)
      return .kill(process: process)
    case .waiting, .starting, .running, .stopping, .killed, .ended: return nil
    }
  }

  public mutating func started(as process: Int32, at now: Int64) {
    guard state == .starting else { return }
    state = .running(process: process, since: now)
  }

  /// - Returns: after how many milliseconds it is tried again.
  @discardableResult
  public mutating func couldNotStart(at now: Int64) -> Int64? {
    guard state == .starting else { return nil }
    return fail(at: now)
  }

  /// Its process has ended, and was reaped.
  ///
  /// - Parameter code: its exit code, or the negative number of the signal that ended it.
  /// - Returns: nil where it is not the child's process.
  public mutating func ended(_ process: Int32, code: Int32, at now: Int64) -> End? {
    switch state {
    case .running(process, let since):
      let ran = now - since
      if ran >= rules.goodRun { delay = rules.firstDelay }
      guard code == 0, ran >= rules.shortestRun else { return End(ran: ran, restartsAfter: fail(at: now)) }
      state = .waiting(until: now)
      return End(ran: ran, restartsAfter: 0)
    case .stopping(process, let since, _), .killed(process, let since):
      state = .ended
      return End(ran: now - since, restartsAfter: nil)
    case .waiting, .starting, .running, .stopping, .killed, .ended: return nil
    }
  }

  /// The parent stops, and its children with it.
  public mutating func stop(at now: Int64) -> Action? {
    switch state {
    case .waiting: state = .ended
    case .starting: preconditionFailure("what came of a start is said before anything else")
    case .running(let process, let since):
      state = .stopping(process: process, since: since, until: now + rules.patience)
      return .terminate(process: process)
    case .stopping, .killed, .ended: break
    }
    return nil
  }

  private mutating func fail(at now: Int64) -> Int64 {
    defer { delay = min(2 * delay, rules.longestDelay) }
    state = .waiting(until: now + delay)
    return delay
  }
}
