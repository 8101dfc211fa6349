import Wire

/// How fast one client may go (``SessionConfiguration/rates``).
///
/// A client that is too fast waits and loses nothing: commands that were read are begun later, in their order
/// (``Session/waiting``), the socket fills, and the client's own sends begin to wait.
///
/// An object, so that a session pays one pointer for it; nobody but its session has it.
final class SessionRates {
  /// Nil: nothing was charged yet.
  var levels: RateLevels?
  /// Bytes of messages that were read and not charged yet.
  var unchargedBytes = 0
  /// The user's account, shared with all other connections of the user on this gateway; nil: users are not counted.
  var account: UserAccount?
  /// Until when nothing of the client's is begun, in monotonic milliseconds; `Int64.max`: it does not rest.
  var restUntil = Int64.max
  /// Counts refused commands: a client that goes on is disconnected.
  var refusals = TokenLevel(SessionRates.refusalLimit)

  /// An SDK waits for longer and longer before it repeats what was refused; a program that does not is refused whenever
  /// it may begin another command.
  static let refusalLimit = RateLimit(perSecond: 1, burst: 100)
  /// Milliseconds. A shorter rest is not worth two system calls: it is added to the next.
  static let shortestRest: Int64 = 10
}

extension Session {
  /// Notes bytes that were read; they are charged with the next command.
  mutating func read(bytes: Int) {
    if configuration.isRateLimited { counted().unchargedBytes &+= bytes }
  }

  mutating func enter(_ account: UserAccount) { counted().account = account }

  /// Whether the connection counts for its user.
  var hasAccount: Bool { rates?.account != nil }

  /// Gives up the user's account, because the connection is over and counts for its user no more.
  mutating func leaveAccount() -> UserAccount? {
    defer { rates?.account = nil }
    return rates?.account
  }

  private mutating func counted() -> SessionRates {
    if let rates { return rates }
    let rates = SessionRates()
    self.rates = rates
    return rates
  }

  /// Charges a command to the connection and to its user.
  ///
  /// - Returns: false where the command was refused, and so is answered already, or the connection closed.
  mutating func charge(_ command: ClientCommand) -> Bool {
    guard configuration.isRateLimited else { return true }
    let rates = counted()
    let bytes = rates.unchargedBytes
    rates.unchargedBytes = 0
    if bytes > 0, !charge(bytes, .bytes, command.id, rates) { return false }
    guard charge(1, .commands, command.id, rates) else { return false }
    guard let kind = RateKind(command.body) else { return true }
    return charge(1, kind, command.id, rates)
  }

  private mutating func charge(_ count: Int, _ kind: RateKind, _ id: UInt32, _ rates: SessionRates) -> Bool {
    if rates.levels == nil { rates.levels = RateLevels(configuration.rates) }
    let own = rates.levels?.charge(count, kind, of: configuration.rates, at: time.monotonic) ?? 0
    if own >= SessionRates.shortestRest { rest(own, .connection(kind)) }
    switch rates.account?.charge(count, kind, at: time.monotonic) {
    case .taken(let rest)?:
      if rest >= SessionRates.shortestRest { self.rest(rest, .user(kind)) }
      return true
    case .refused?:
      out.append(.note(RateCause.refused(kind)))
      rest(SessionRates.restAfterRefusal, .user(kind))
      if rates.refusals.take(of: SessionRates.refusalLimit, at: time.monotonic) {
        if id != 0 { fail(id, .tooManyRequests.saying("this user does more than a user may; try again in a moment")) }
      } else {
        out.append(.note(.tooManyRefusals))
        end(.tooManyRequests)
      }
      return false
    case nil: return true
    }
  }

  private enum Owner {
    case connection(RateKind)
    case user(RateKind)

    var cause: RefusalCause {
      switch self {
      case .connection(let kind): RateCause.connection(kind)
      case .user(let kind): RateCause.user(kind)
      }
    }
  }

  /// Begins nothing more of the client's for so long. The cause is noted once for each rest.
  private mutating func rest(_ milliseconds: Int64, _ owner: Owner) {
    let until = saturatingSum(time.monotonic, milliseconds)
    let rates = counted()
    if rates.restUntil == .max {
      out.append(.note(owner.cause))
      rates.restUntil = until
    } else {
      rates.restUntil = max(rates.restUntil, until)
    }
  }

  /// True while nothing of the client's is begun because it was too fast.
  @inline(__always)
  var isResting: Bool { rates.map { $0.restUntil != .max } ?? false }

  mutating func endRest() {
    guard let rates, time.monotonic >= rates.restUntil else { return }
    rates.restUntil = .max
  }
}

extension SessionRates {
  fileprivate static let restAfterRefusal: Int64 = 100
}

extension RateKind {
  /// What a command counts as beside being one.
  fileprivate init?(_ body: ClientCommand.Body) {
    switch body {
    case .publish: self = .publications
    // Signatures are checked, and what is known of the keys is looked up and sent.
    case .subscribe, .track: self = .subscribes
    case .rpc(let method, _):
      if method.utf8.starts(with: "clique.".utf8) {
        self = .cliqueCalls
      } else if method.utf8.starts(with: "state.".utf8) {
        self = .stateCalls
      } else if method.utf8.starts(with: "push.".utf8) {
        self = .pushCalls
      } else if GeneralCall(rawValue: method)?.writes == true {
        self = .publications
      } else {
        return nil
      }
    default: return nil
    }
  }
}
