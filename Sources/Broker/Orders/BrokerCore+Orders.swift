import Wire

/// Orders: what services want done to clients' connections, which the gateways carry out.
extension BrokerCore {
  /// Gives an order to every gateway. The requester is answered when all of them have carried it out: what is published
  /// from then on reaches none of the clients that the order was about.
  func issue(
    _ order: SessionOrder, then response: BrokerResponse, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard orders.count < PendingOrders.limit else {
      throw .tooManyRequests.saying("too many orders wait for gateways to carry them out; try again later")
    }
    tally.counters.orders += 1
    tellGateways(order, then: response, for: requester, in: &turn)
  }

  /// Subscribes connections to a channel: answered when every gateway has begun the subscriptions.
  func subscribe(
    _ target: SessionTarget, to subscription: OrderedSubscription, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    let channel = subscription.channel
    if let app = try options(of: channel).app {
      throw .permissionDenied.saying(
        "\(app) alone says who may be on \"\(channel)\"; its users subscribe to it by themselves")
    }
    try issue(.subscribe(target, subscription), then: .done, for: requester, in: &turn)
  }

  /// Gives an order to every gateway, at once or, where it is being told all revocations, behind them: a gateway takes
  /// revocations for parts of the table until it has the last one.
  func tellGateways(
    _ order: SessionOrder, then response: BrokerResponse, for requester: Requester, in turn: inout Turn
  ) {
    let id = orders.add(
      order, then: response, for: requester, waiting: Set(links.sorted.map(\.gateway)),
      deadline: turn.time.monotonic + configuration.gatewayTimeout)
    var open: [UInt64] = []
    for link in links.open {
      if link.open?.telling == nil { open.append(link.gateway) } else { link.open?.telling?.owesOrders = true }
    }
    if !open.isEmpty { links.broadcast(.order(LinkOrder(id: id, order: order)), to: open, in: &turn) }
    answerOrders(id, in: &turn)
  }

  func obeyed(_ id: UInt64, by gateway: UInt64, in turn: inout Turn) {
    orders.confirm(id, by: gateway)
    deletions?.confirmed(id)
    answerOrders(id, in: &turn)
  }

  /// Sends orders again that a gateway has not confirmed. Its link has a new session, and the orders may have been lost
  /// with the old one; or it was being told all revocations when they were given.
  func repeatOrders(to gateway: UInt64, in turn: inout Turn) {
    for order in orders.waiting(for: gateway) {
      links.send(.order(LinkOrder(id: order.id, order: asOfNow(order.order))), to: gateway, in: &turn)
    }
  }

  /// An order as it is given now. What it revokes may have been taken back or replaced since: it must not be in force
  /// again because it is said late.
  private func asOfNow(_ order: SessionOrder) -> SessionOrder {
    guard case .revoke(let revocations, let replacesAll, let isComplete) = order, let log = self.revocations else {
      return order
    }
    return .revoke(revocations.compactMap(log.table.inForce), replacesAll: replacesAll, isComplete: isComplete)
  }

  /// Answers the requesters of orders that all gateways have carried out.
  ///
  /// - Parameter only: the id of the one order to look at; nil: all.
  func answerOrders(_ only: UInt64? = nil, in turn: inout Turn) {
    if orders.isEmpty { return }
    let carriedOut = orders.takeCarriedOut(only) { gateway in
      switch links[gateway]?.state {
      case .open, .overflowed: true
      case .departed, nil: false
      }
    }
    for order in carriedOut {
      if let requester = order.requester { answer(requester, order.response, in: &turn) }
    }
  }

  func watchOrders(in turn: inout Turn) {
    if orders.isEmpty { return }
    for requester in orders.takeLate(at: turn.time.monotonic) {
      tally.counters.ordersLate += 1
      let late = ClientError.internalError.saying(
        "a gateway has not confirmed this within broker.gateway_timeout; it is told again as soon as it answers")
      answer(requester, .failed(late), in: &turn)
    }
  }
}
