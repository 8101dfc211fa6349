/// The newest thing that one of a thread's two people is told while they are away, until they have seen it.
///
/// The table, of one side. It follows from what that side's events tell (``StateThread/notices(after:for:)``) and from
/// that side's own commands, so nothing of it depends on what is hidden from that side.
///
///     what happens                             my news before     after
///     they send, and I am shown it             any                sealed, new
///     they answer me                           any                revealed, new
///     they react                               revealed, new      =
///                                              any other          reaction, new
///     they take the reaction back              reaction           none
///     an hour is left for my answer            sealed             ends, new
///     `state.delivered`, or I open a recorder  any                the same, delivered
///     `state.seen`                             revealed, reaction none
///                                              sealed, ends       the same, delivered
///     I answer or block; the deadline          any                none
struct StateNews: Sendable, Codable, Equatable {
  enum Kind: String, Sendable, Codable, CaseIterable {
    /// Something sealed waits for my answer.
    case sealed
    /// Both can be seen.
    case revealed
    case reaction
    /// What is sealed is gone within the hour.
    case ends

    var topic: String { "state." + rawValue }

    /// In which phase it is news.
    var phase: StatePhase {
      switch self {
      case .sealed, .ends: .received
      case .revealed, .reaction: .revealed
      }
    }
  }

  var kind: Kind
  /// When it happened, in milliseconds since 1970.
  var time: Int64
  /// ``StateThread/since`` at that time: what is revealed is not news any more when the next exchange has begun.
  var since: Int64
  /// A device of the person's has said that it has arrived.
  var isDelivered = false
}

extension StateThread {
  /// Milliseconds before an unanswered exchange ends at which its receiver is told so.
  static let warning: Int64 = 3_600_000

  /// The news of a side that still are some.
  func news(of side: StateSide) -> StateNews? {
    guard let news = told?[side], news.kind.phase == phase(of: side), news.since == since else { return nil }
    return news
  }

  /// When the one who has not answered is told that it ends soon; nil: they were, or nobody is told of anything.
  ///
  /// An exchange that lasts less than twice that long ends soon from its beginning, and is told of once.
  var warningDue: Int64? {
    guard told != nil, case .sealed(let sender, _, _) = standing, news(of: sender.other)?.kind == .sealed,
      until.saturatingAdd(-since) >= 2 * Self.warning
    else { return nil }
    return until - Self.warning
  }

  /// Sets a side's news; nil: there are none.
  mutating func tell(_ side: StateSide, _ news: StateNews?) {
    var both = told ?? Both(nil)
    both[side] = news
    told = both.low == nil && both.high == nil ? nil : both
  }

  /// Notes that the side's news have reached a device, or that their person has seen what can be seen.
  mutating func hear(_ side: StateSide, isSeen: Bool = false) {
    guard var news = news(of: side) else { return }
    news.isDelivered = true
    tell(side, isSeen && news.kind.phase == .revealed ? nil : news)
  }

  /// Takes over what is new for both sides since an earlier moment.
  mutating func takeNews(after before: StateThread, at now: Int64) {
    for side in StateSide.allCases {
      let isTakenBack = told?[side]?.kind == .reaction && reactions?[side.other] == nil
      if told?[side] != nil, isTakenBack || news(of: side) == nil { tell(side, nil) }
      for notice in notices(after: before, for: side) {
        let kind: StateNews.Kind? =
          switch notice.event {
          case .phase(.received): .sealed
          // Whoever answers sees it on the phone that they hold.
          case .phase(.revealed): hasAnswered(side) ? nil : .revealed
          case .reacted: .reaction
          case .phase, .ended: nil
          }
        // That both can be seen is worth more than what is said to it.
        if kind == .reaction, let news = news(of: side), news.kind == .revealed, !news.isDelivered { continue }
        if let kind { tell(side, StateNews(kind: kind, time: now, since: since)) }
      }
    }
    guard let due = warningDue, due <= now, case .sealed(let sender, _, _) = standing else { return }
    tell(sender.other, StateNews(kind: .ends, time: now, since: since))
  }

  private func hasAnswered(_ side: StateSide) -> Bool {
    guard let reply = sent[side]?.reply else { return false }
    return reply.phase == .revealed && reply.since == since
  }
}
