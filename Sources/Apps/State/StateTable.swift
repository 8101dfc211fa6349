/// What stands between two people, without contents and times: all that decides which event does what.
///
/// Both phases are read from this one value, so they change together.
///
/// ## What can stand, as (my phase / the other's)
///
/// | # | mine / theirs | how it comes about |
/// |---|---|---|
/// | 1 | idle / idle | nothing stands |
/// | 2 | sent / received | I sent |
/// | 3 | received / sent | the other sent |
/// | 4 | sent / idle | I sent to somebody who blocks me, or did then, or is sent too many: it looks like silence |
/// | 5 | idle / sent | the same, seen by the one who blocks, or blocked |
/// | 6 | received / idle | the other sent and then blocked me: what was sent is destroyed, and I am not told |
/// | 7 | idle / received | the same, seen by the one who blocked |
/// | 8 | revealed / revealed | both sent |
/// | 9 | revealed / idle | the other blocked me afterwards |
/// | 10 | idle / revealed | I blocked the other afterwards |
/// | 11 | expired / expired | nobody answered |
/// | 12 | expired / idle | the other has looked at it, or it was 4 or 6 before |
/// | 13 | idle / expired | I have looked at it, or it was 5 or 7 before |
///
/// ## What each event of mine does there
///
/// The other's events are the same table, read from their side. *block* leads from every row to one in which I am
/// *idle*; *unblock* and *cancel*, which gives the recorder up, change no phase and are never refused.
///
/// | # | begin | send | seen | react | block | time |
/// |---|---|---|---|---|---|---|
/// | 1 | records | seals → 2, or 4 where the other blocks me | – | not revealed | → 1 | – |
/// | 2 | sealed already | sealed already; the same send again: the first answer | – | not revealed | → 7 | → 11 |
/// | 3 | records | **reveals → 8** | – | not revealed | → 5 | → 11 |
/// | 4 | sealed already | sealed already | – | not revealed | → 1 | → 12 |
/// | 5 | records | **reveals → 8** | – | not revealed | → 5 | → 13 |
/// | 6 | records | seals → 2, or 4 where the other blocks me | – | not revealed | → 1 | → 12 |
/// | 7 | records | seals → 2, or 4 where the other blocks me | – | not revealed | → 7 | → 13 |
/// | 8 | as send | the other has looked: seals → 2; else: not seen yet | marks it | reacts | → 10 | → 1 |
/// | 9 | as send | the other has looked: seals → 4 (2 if they unblocked); else: not seen yet | marks it | reacts | → 1 | → 1 |
/// | 10 | records | seals → 2 | – | not revealed | → 10 | → 1 |
/// | 11 | records | seals → 2, or 4 where the other blocks me | → 13 | not revealed | → 13 | → 1 |
/// | 12 | records | seals → 2, or 4 where the other blocks me | → 1 | not revealed | → 1 | → 1 |
/// | 13 | records | seals → 2, or 4 where the other blocks me | – | not revealed | → 13 | → 1 |
///
/// While I block the other, *begin*, *send* and *react* are refused in every row: unblock first. Row 10 does not ask
/// whether the other has looked, unlike row 8: where the other has blocked me too there is nothing left to ask about, and
/// nobody must be able to tell the two by blocking and unblocking.
///
/// *react* says something to what was revealed to me, or something else, or takes it back, for as long as I see what was
/// revealed, with which it goes. In row 9 nobody but me sees it, as in row 8 where the other never looks.
///
/// *sendUnshown* is a send to somebody who has as many as they may be sent (``StateRules/receivedThreads``,
/// ``StateRules/receivedPerDay``). Where *send* seals, it leads to row 4, whether or not the other blocks me; else it is
/// *send*: an answer reaches everybody, and no refusal depends on the other's limits. So the limit, too, looks like
/// silence to who sends.
///
/// - *Both send at once*: the broker puts one before the other; the second finds row 3 and reveals.
/// - *The answer at 23:59:59.9*: the broker's clock alone counts. Time comes first: at the deadline, to the
///   millisecond, the row has changed, whether or not a timer has run.
public struct StateShape: Sendable, Hashable {
  public enum Standing: Sendable, Hashable {
    case nothing
    case sealed(by: StateSide)
    case revealed
    case expired
  }

  public var standing = Standing.nothing
  /// For each side, whether the exchange is over for it before its end: for that side the thread is idle.
  public var over = Both(false)
  /// Who has looked at what was revealed.
  public var seen = Both(false)
  /// Who blocks the other.
  public var blocks = Both(false)

  public init() {}

  public func phase(of side: StateSide) -> StatePhase {
    if over[side] { return .idle }
    return switch standing {
    case .nothing: .idle
    case .sealed(let sender): sender == side ? .sent : .received
    case .revealed: .revealed
    case .expired: .expired
    }
  }
}

/// Something that one of the two does to a thread.
public enum StateEvent: String, Sendable, CaseIterable {
  /// Opens the recorder.
  case begin
  /// Gives the recorder up.
  case cancel
  case send
  /// Sends to somebody who has as many as they may be sent, and is not shown this one.
  case sendUnshown
  /// Looks at what was revealed, or has expired.
  case seen
  /// Says something to what was revealed, or takes it back.
  case react
  case block
  case unblock
}

/// What an event does.
public enum StateMove: Sendable, Hashable {
  case refused(StateRefusal)
  /// The event is allowed, and no phase changes.
  case stays
  /// What is sent is sealed and awaits an answer. What was revealed before is over.
  case seals
  /// What is sent is the answer: both sides' contents are revealed.
  case reveals
  /// The exchange is over for one side. What they alone were to see, or had sealed, is destroyed.
  case leaves
  /// The exchange is over for both: contents are destroyed.
  case ends
  /// Nobody answered: contents are destroyed.
  case expires
}

/// Why an event is refused.
public enum StateRefusal: Sendable, Hashable {
  /// What I sent is sealed until they answer.
  case sealed
  /// What was revealed has not been looked at by the other, who would lose it.
  case unseen
  /// I block the other.
  case blocking
  /// Nothing is revealed to me.
  case notRevealed
}

extension StateShape {
  /// Applies an event of one side: one cell of the table. Changes the value to the row that the event leads to.
  public mutating func apply(_ event: StateEvent, by me: StateSide) -> StateMove {
    switch event {
    case .begin: refusal(of: me).map { .refused($0) } ?? .stays
    case .cancel: .stays
    case .send: send(by: me, isShown: true)
    case .sendUnshown: send(by: me, isShown: false)
    case .seen: see(by: me)
    case .react:
      if blocks[me] { .refused(.blocking) } else { phase(of: me) == .revealed ? .stays : .refused(.notRevealed) }
    case .block:
      if blocks[me] { .stays } else { block(by: me) }
    case .unblock: unblock(by: me)
    }
  }

  /// Applies the end of the phase, because its time has come.
  public mutating func applyTime() -> StateMove {
    switch standing {
    case .nothing: return .stays
    case .sealed:
      standing = .expired
      return .expires
    case .revealed, .expired:
      end()
      return .ends
    }
  }

  /// Why this side may not send now; nil: it may.
  private func refusal(of me: StateSide) -> StateRefusal? {
    if blocks[me] { return .blocking }
    if phase(of: me) == .sent { return .sealed }
    // This also holds where the other has blocked me and so will never look: being blocked must look like silence.
    if phase(of: me) == .revealed && !seen[me.other] { return .unseen }
    return nil
  }

  private mutating func send(by me: StateSide, isShown: Bool) -> StateMove {
    if let refusal = refusal(of: me) { return .refused(refusal) }
    // If the other has blocked me since, the exchange is over for them, and what they sent is destroyed.
    if case .sealed(let sender) = standing, sender == me.other, !over[sender] {
      standing = .revealed
      over = Both(false)
      seen = Both(false)
      return .reveals
    }
    standing = .sealed(by: me)
    over = Both(false)
    over[me.other] = blocks[me.other] || !isShown
    seen = Both(false)
    return .seals
  }

  private mutating func see(by me: StateSide) -> StateMove {
    switch phase(of: me) {
    case .revealed:
      seen[me] = true
      return .stays
    case .expired: return leave(me)
    case .idle, .sent, .received: return .stays
    }
  }

  private mutating func block(by me: StateSide) -> StateMove {
    blocks[me] = true
    return standing == .nothing || over[me] ? .stays : leave(me)
  }

  private mutating func unblock(by me: StateSide) -> StateMove {
    blocks[me] = false
    return .stays
  }

  private mutating func leave(_ me: StateSide) -> StateMove {
    over[me] = true
    guard over[me.other] else { return .leaves }
    end()
    return .ends
  }

  private mutating func end() {
    standing = .nothing
    over = Both(false)
    seen = Both(false)
  }
}
