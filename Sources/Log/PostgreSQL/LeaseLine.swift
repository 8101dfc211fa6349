import Wire

/// Where a broker stands in line for the lease of a partition, and when it asks the owner for it. Decides only: what it
/// decides by is read from the database, and what it decides is done, by ``PostgresLine``.
///
/// States:
/// - behind: somebody else in line is preferred. Looks now and then whether the lease is free, and does not wait in the
///   lock's queue, so that whoever is first has it in the moment in which the owner ends. Can transition to: first.
/// - first: waits in the lock's queue. Where it is preferred to the owner as well, it asks for the lease, once both have
///   been so for ``patience``. Can transition to: behind, when somebody comes who is preferred; first anew, when the
///   lease has changed hands.
struct LeaseLine: Equatable {
  /// What the database says, by its own clock; times in milliseconds.
  struct View: Equatable {
    /// The lease's number.
    var epoch: Int64
    /// The name of the broker that has the lease; nil: nobody has it, or one that has told no name.
    var owner: String?
    /// Whether the lease goes on.
    var isRenewed: Bool
    /// Names of brokers in line for this partition.
    var standing: Set<String>
    /// Names of brokers that live, whatever they have or wait for.
    var live: Set<String>
    /// Until the lease of this partition may be asked for, and any partition's; 0 or less: now.
    var untilAllowed: Int64
  }

  enum State: Equatable {
    case behind
    case first(since: Int64, epoch: Int64)
  }

  enum Action: Equatable {
    /// Looks again after ``PostgresLine/pollMilliseconds``.
    case poll
    case queue
    /// Asks for the lease with this number, and queues.
    case ask(epoch: Int64)
  }

  /// How long it has to be first before it asks: whoever starts anew sees the others by then.
  static let patience: Int64 = 1000
  /// How long no lease is asked for after one was taken, whichever partition's: a broker that comes back gets them one
  /// by one.
  static let betweenMoves: Int64 = 1000
  /// How long one that was asked for has to be taken, before another one is asked for all the same.
  static let movePatience: Int64 = 5000
  /// Between two times that one process asks, and that the lease of one partition is asked for.
  static let betweenAsks: Int64 = 10_000

  let name: String
  let partition: Int
  private(set) var state = State.behind
  /// When it asked last (``noteAsked(now:)``); nil: never.
  private(set) var asked: Int64?

  init(name: String, partition: Int) {
    self.name = name
    self.partition = partition
  }

  /// - Parameter now: milliseconds of a clock that never goes back.
  mutating func look(_ view: View, now: Int64) -> Action {
    // A broker that is started again while the session of its former process is not over stands behind others, which
    // need not wait for that.
    let others = view.standing.union([name]).subtracting(view.owner.map { [$0] } ?? [])
    guard others.isEmpty || Rendezvous.first(of: others, for: partition) == name else {
      state = .behind
      return .poll
    }
    guard case .first(let since, view.epoch) = state else {
      state = .first(since: now, epoch: view.epoch)
      return .queue
    }
    guard now - since >= Self.patience, isPreferred(view), isAllowed(view, now: now) else { return .queue }
    return .ask(epoch: view.epoch)
  }

  /// It has asked. Where another one was faster to ask for something else, it has not, and may try again at once.
  mutating func noteAsked(now: Int64) { asked = now }

  /// Whether it is preferred to the owner, and to all others that live: one of those may be about to ask.
  private func isPreferred(_ view: View) -> Bool {
    guard let owner = view.owner, owner != name, view.isRenewed else { return false }
    return Rendezvous.first(of: view.live.union([name, owner]), for: partition) == name
  }

  private func isAllowed(_ view: View, now: Int64) -> Bool {
    if let asked, now - asked < Self.betweenAsks { return false }
    return view.untilAllowed <= 0
  }
}
