/// What stands between two people: always exactly one of these, changed by ``after(_:by:heard:)`` alone.
///
/// The table, from one side. *I* am the one who acts, *they* are the other. The last two columns are timers, in which
/// nobody acts. `=` leaves the state as it is, `✗` refuses the command and says why, and `…quiet` stands for *declined
/// by the same one, quiet*, as do `…asking` and `…lapsed`.
///
///     state                  message       accept   decline     disconnect  request timeout  cooldown over
///     none                   requested/me  ✗ none   ✗ none      =           =                =
///     requested by me        = waits       ✗ mine   ✗ mine      none †      none             =
///     requested by them      active        active   declined/me ✗ answer    none             =
///     active                 = delivered   =        ✗ active    ended/me    =                =
///     declined by me, asking active        ✗ none   =           =           …quiet           …lapsed
///     declined by me, quiet  requested/me  ✗ none   =           =           =                none
///     declined by me, lapsed active        ✗ none   ✗ none      =           none             =
///     declined by them, asking = unseen    ✗ mine   ✗ mine      …quiet †    …quiet           …lapsed
///     declined by them, quiet  …asking     ✗ none   ✗ none      =           =                none
///     declined by them, lapsed requested/me ✗ mine  ✗ mine      none †      none             =
///     ended by me            requested/me  ✗ none   ✗ none      =           =                =
///     ended by them          requested/me  ✗ none   ✗ none      none        =                =
///
/// `†`: my request is taken back, which is remembered of me as long as the request would have waited. A request that I
/// begin meanwhile goes on with it (``CliqueTakenBack`` has the table of that): taken back and repeated, requests are one.
///
/// A declined pair is in one of three silences. *Asking*: the cooldown runs, and the one who was declined sees a
/// request of theirs waiting that nobody else sees. *Quiet*: the cooldown runs, and they see nothing. *Lapsed*: they
/// see their request waiting, nobody else does, and no cooldown holds back their next message.
///
/// `block` lays a block by me over the standing, whatever it is; `unblock` takes it away. Neither changes a block by
/// them. Under a block everything goes on as in the table for the one who is blocked, except that their messages never
/// reach anybody: a request that they would begin becomes *declined, lapsed* instead. The one who blocks is refused
/// everything but `unblock`. The timers go on underneath.
///
/// The point of the design: what somebody sees and is answered is a function of ``sight(of:)`` alone, and being
/// declined or blocked does not change one's own sight. The tests compare each such state with the one in which nobody
/// answered.
public enum PairState: Sendable, Hashable, Codable {
  case unblocked(Standing)
  case blocked(by: Blockers, over: Standing)

  /// The user whose id has the smaller bytes is `a`.
  public enum Side: String, Sendable, Hashable, Codable, CaseIterable {
    case a, b

    public var other: Side { self == .a ? .b : .a }
  }

  public enum Silence: String, Sendable, Hashable, Codable, CaseIterable { case asking, quiet, lapsed }

  public enum Standing: Sendable, Hashable, Codable {
    case none
    case requested(by: Side)
    case active
    /// By the one who declined.
    case declined(by: Side, Silence)
    /// By the one who left.
    case ended(by: Side)
  }

  public enum Blockers: String, Sendable, Hashable, Codable, CaseIterable { case a, b, both }

  public enum Event: String, Sendable, Hashable, CaseIterable {
    case message, accept, decline, block, unblock, disconnect, requestTimeout, cooldownOver
  }

  /// What an event means beside the change of state.
  public enum Outcome: Sendable, Hashable {
    case refused(Refusal)
    /// Nothing is to be done, or it was done already.
    case unchanged
    case changed
    /// The one who acts has taken their request back.
    case takenBack
    /// The message waits in a request. Not seen: only its author sees it waiting.
    case waits(seen: Bool)
    /// The message is published. Not seen: for its author alone.
    case delivered(seen: Bool)
    /// The conversation is open, and the messages that waited in the request are published.
    case opened
    /// As ``opened``, and then the message is published.
    case openedAndDelivered(seen: Bool)
  }

  public enum Refusal: String, Sendable, Hashable, CaseIterable {
    /// No request waits for the answer of the one who acts.
    case nothingAsked
    /// The request that waits was made by the one who acts.
    case ownRequest
    /// The conversation is open already.
    case alreadyActive
    /// A request waits for the answer of the one who acts: it must be accepted or declined and cannot be left.
    case awaitsAnswer
    /// The one who acts has blocked the other.
    case blockedByYou
  }

  public struct Step: Sendable, Hashable {
    public var state: PairState
    public var outcome: Outcome

    public init(state: PairState, outcome: Outcome) {
      self.state = state
      self.outcome = outcome
    }
  }

  /// What one of the two sees of the state.
  public enum Sight: String, Sendable, Hashable, CaseIterable {
    case nothing
    /// A request that this one made waits for an answer, or seems to.
    case asking
    /// A request of the other waits for this one's answer.
    case asked
    case active
    /// The other has left.
    case ended
    /// This one has blocked the other.
    case blocked
  }

  public var standing: Standing {
    switch self {
    case .unblocked(let standing), .blocked(_, let standing): standing
    }
  }

  public func isBlocked(by side: Side) -> Bool {
    guard case .blocked(let blockers, _) = self else { return false }
    return blockers == .both || (blockers == .a) == (side == .a)
  }

  public var isBlocked: Bool {
    if case .blocked = self { true } else { false }
  }

  public func sight(of side: Side) -> Sight {
    if isBlocked(by: side) { return .blocked }
    switch standing {
    case .none: return .nothing
    case .requested(let asker): return asker == side ? .asking : .asked
    case .active: return .active
    case .declined(let decliner, let silence): return decliner == side || silence == .quiet ? .nothing : .asking
    case .ended(let leaver): return leaver == side ? .nothing : .ended
    }
  }

  /// Whether a side could read the chat if it did not block the other.
  func mayReadBeneath(_ side: Side) -> Bool { PairState.unblocked(standing).sight(of: side).mayRead }

  /// The side whose request waits, or seems to; nil: there is none.
  public var asker: Side? {
    switch standing {
    case .requested(let asker): asker
    case .declined(let decliner, let silence): silence == .quiet ? nil : decliner.other
    case .none, .active, .ended: nil
    }
  }

  /// The state after an event, and what else it means: one cell of the table.
  ///
  /// - Parameters:
  ///   - actor: the side that acts; for timers, either.
  ///   - heard: false: a request that the message would begin reaches nobody, as under a block.
  public func after(_ event: Event, by actor: Side, heard: Bool = true) -> Step {
    switch event {
    case .block:
      return isBlocked(by: actor)
        ? Step(state: self, outcome: .unchanged)
        : Step(state: with(blockedByA: actor == .a, b: actor == .b, standing), outcome: .changed)
    case .unblock:
      guard isBlocked(by: actor) else { return Step(state: self, outcome: .unchanged) }
      return Step(state: without(blockBy: actor), outcome: .changed)
    case .requestTimeout, .cooldownOver: break
    case .message, .accept, .decline, .disconnect:
      if isBlocked(by: actor) { return Step(state: self, outcome: .refused(.blockedByYou)) }
    }
    let isUnheard = isBlocked || !heard
    var (next, outcome) = standing.after(event, by: actor)
    if event == .message, isUnheard { (next, outcome) = standing.unheard(next, outcome, by: actor) }
    return Step(state: over(next), outcome: outcome)
  }

  // MARK: Blocks

  /// The same blocks over another standing.
  private func over(_ standing: Standing) -> PairState {
    switch self {
    case .unblocked: .unblocked(standing)
    case .blocked(let blockers, _): .blocked(by: blockers, over: standing)
    }
  }

  private func with(blockedByA: Bool, b blockedByB: Bool, _ standing: Standing) -> PairState {
    let a = blockedByA || isBlocked(by: .a)
    let b = blockedByB || isBlocked(by: .b)
    return .blocked(by: a && b ? .both : a ? .a : .b, over: standing)
  }

  private func without(blockBy side: Side) -> PairState {
    isBlocked(by: side.other) ? .blocked(by: side == .a ? .b : .a, over: standing) : .unblocked(standing)
  }
}

// MARK: The table

extension PairState.Standing {
  fileprivate typealias Cell = (PairState.Standing, PairState.Outcome)

  fileprivate func after(_ event: PairState.Event, by me: PairState.Side) -> Cell {
    switch event {
    case .message: afterMessage(by: me)
    case .accept: afterAccept(by: me)
    case .decline: afterDecline(by: me)
    case .disconnect: afterDisconnect(by: me)
    case .requestTimeout: afterRequestTimeout()
    case .cooldownOver: afterCooldown()
    case .block, .unblock: (self, .unchanged)
    }
  }

  private func afterMessage(by me: PairState.Side) -> Cell {
    switch self {
    case .none, .ended: return (.requested(by: me), .waits(seen: true))
    case .requested(let asker):
      return asker == me ? (self, .waits(seen: true)) : (.active, .openedAndDelivered(seen: true))
    case .active: return (.active, .delivered(seen: true))
    case .declined(let decliner, let silence):
      if decliner == me {
        return silence == .quiet
          ? (.requested(by: me), .waits(seen: true)) : (.active, .openedAndDelivered(seen: true))
      }
      return silence == .lapsed
        ? (.requested(by: me), .waits(seen: true)) : (.declined(by: decliner, .asking), .waits(seen: false))
    }
  }

  /// Changes the outcome of a message that nobody but its author is to see.
  fileprivate func unheard(_ next: Self, _ outcome: PairState.Outcome, by me: PairState.Side) -> Cell {
    switch outcome {
    case .waits:
      let begins = next == .requested(by: me) && self != next
      return (begins ? .declined(by: me.other, .lapsed) : next, .waits(seen: false))
    case .delivered: return (next, .delivered(seen: false))
    case .openedAndDelivered: return (next, .openedAndDelivered(seen: false))
    case .refused, .unchanged, .changed, .takenBack, .opened: return (next, outcome)
    }
  }

  private func afterAccept(by me: PairState.Side) -> Cell {
    switch self {
    case .requested(let asker): asker == me ? (self, .refused(.ownRequest)) : (.active, .opened)
    case .active: (self, .unchanged)
    case .declined(let decliner, let silence):
      (self, .refused(decliner == me || silence == .quiet ? .nothingAsked : .ownRequest))
    case .none, .ended: (self, .refused(.nothingAsked))
    }
  }

  private func afterDecline(by me: PairState.Side) -> Cell {
    switch self {
    case .requested(let asker):
      asker == me ? (self, .refused(.ownRequest)) : (.declined(by: me, .asking), .changed)
    case .active: (self, .refused(.alreadyActive))
    case .declined(let decliner, let silence):
      // The standing *lapsed* may also come from a message under a block that was lifted since. The one who blocked
      // must not learn that the other wrote meanwhile, so the answer is that of a standing without a request.
      decliner == me
        ? (self, silence == .lapsed ? .refused(.nothingAsked) : .unchanged)
        : (self, .refused(silence == .quiet ? .nothingAsked : .ownRequest))
    case .none, .ended: (self, .refused(.nothingAsked))
    }
  }

  private func afterDisconnect(by me: PairState.Side) -> Cell {
    switch self {
    case .none: (self, .unchanged)
    case .requested(let asker): asker == me ? (.none, .takenBack) : (self, .refused(.awaitsAnswer))
    case .active: (.ended(by: me), .changed)
    case .declined(let decliner, let silence):
      decliner == me || silence == .quiet ? (self, .unchanged) : (withdrawn().0, .takenBack)
    case .ended(let leaver): leaver == me ? (self, .unchanged) : (.none, .changed)
    }
  }

  private func afterRequestTimeout() -> Cell {
    switch self {
    case .requested: (.none, .changed)
    case .declined(_, .asking), .declined(_, .lapsed): withdrawn()
    case .none, .active, .declined(_, .quiet), .ended: (self, .unchanged)
    }
  }

  private func afterCooldown() -> Cell {
    switch self {
    case .declined(let decliner, .asking): (.declined(by: decliner, .lapsed), .changed)
    case .declined(_, .quiet): (.none, .changed)
    case .none, .requested, .active, .declined(_, .lapsed), .ended: (self, .unchanged)
    }
  }

  /// Ends a request that only its sender sees, for its sender too.
  private func withdrawn() -> Cell {
    if case .declined(let decliner, .asking) = self { return (.declined(by: decliner, .quiet), .changed) }
    return (.none, .changed)
  }
}
