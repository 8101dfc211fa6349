import Wire

/// Requests of services to send notifications that are under way. There is no queue: what is beyond is refused.
///
/// States of a request:
/// - under way: an effect has gone out. Can transition to: over (the notifier has answered).
/// - over: answered, and forgotten here.
struct PushRequests {
  /// Requests that are under way at a time; one more is refused. Each holds ``PushRequest/mostBytes`` at most.
  static let most = 64

  private var underWay: [UInt64: Requester] = [:]
  private var next: UInt64 = 1

  var count: Int { underWay.count }

  mutating func add(_ requester: Requester) -> UInt64 {
    defer { next += 1 }
    underWay[next] = requester
    return next
  }

  mutating func take(_ number: UInt64) -> Requester? { underWay.removeValue(forKey: number) }
}

extension BrokerCore {
  /// Has notifications sent. The answer comes when every service has answered.
  func push(_ request: PushRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    // Gateways ask in clients' names, and clients send no notifications.
    guard !requester.isGateway else { throw .methodNotFound }
    if request.method == .notify { return try notifyUsers(request, for: requester, in: &turn) }
    guard pushRequests.count < PushRequests.most else {
      throw .tooManyRequests.saying(
        "\(PushRequests.most) calls of push_send are under way, as many as may; call again in a moment")
    }
    turn.effects.append(.notify(request, number: pushRequests.add(requester)))
  }

  /// It is known what became of notifications.
  ///
  /// - Parameter number: of the effect that had them sent.
  public func notified(_ result: NotifierResult, for number: UInt64, in turn: inout Turn) {
    guard let requester = pushRequests.take(number) else { return }
    switch result {
    case .success(let answer): self.answer(requester, .result(answer), in: &turn)
    case .failure(let error): answer(requester, .failed(error), in: &turn)
    }
  }
}
