/// How much the answer to a read may hold.
///
/// The cost of an answer has nothing to do with the size of its request: 57 bytes can ask for megabytes. So every read
/// says how much there is room for, and nothing beyond that is read, encoded or sent.
public struct AnswerLimit: Sendable, Equatable {
  /// Bytes in memory of the publications, entries or members in the answer (``Publication/cost``). The broker's own
  /// limit holds as well.
  public var bytes: UInt32
  /// The request is a first try. An answer that would hold more is neither cut nor refused: ``BrokerResponse/tooLarge``
  /// says that it has to be asked for again, when there is room for it. So the many small answers need not wait for
  /// room that only the few large ones take.
  public var isTry: Bool

  /// As much as the broker's own limit lets the answer hold.
  public static let most = AnswerLimit(bytes: .max)

  public init(bytes: UInt32, isTry: Bool = false) {
    self.bytes = bytes
    self.isTry = isTry
  }
}

extension BrokerRequest {
  /// How much the answer may hold; nil where the answer is always small, and cannot be limited.
  public var answerLimit: AnswerLimit? {
    switch self {
    case .history(let history): history.limit > 0 ? history.answer : nil
    case .subscribe(let subscribe): subscribe.since != nil || subscribe.map != nil ? subscribe.answer : nil
    case .readMap(let read): read.answer
    case .presence(_, _, let answer): answer
    case .publish, .unsubscribe, .historyRemove, .presenceStats, .channels, .channelCounts, .info, .why, .edit,
      .receipt, .unread, .call, .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke, .inspect, .top,
      .once, .report, .webhooks, .user, .push:
      nil
    }
  }

  /// The same request with another limit, if its answer can be limited.
  public func limited(to limit: AnswerLimit) -> BrokerRequest {
    switch self {
    case .history(var history):
      history.answer = limit
      return .history(history)
    case .subscribe(var subscribe):
      subscribe.answer = limit
      return .subscribe(subscribe)
    case .readMap(var read):
      read.answer = limit
      return .readMap(read)
    case .presence(let channel, let viewer, _): return .presence(channel, viewer: viewer, answer: limit)
    case .publish, .unsubscribe, .historyRemove, .presenceStats, .channels, .channelCounts, .info, .why, .edit,
      .receipt, .unread, .call, .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke, .inspect, .top,
      .once, .report, .webhooks, .user, .push:
      return self
    }
  }
}
