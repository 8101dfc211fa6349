import Wire

/// What the broker has this gateway do to its connections.
extension GatewayLink {
  func obey(_ order: LinkOrder, into effects: inout [GatewayLinkEffect]) {
    switch order.order {
    case .disconnect, .subscribe, .unsubscribe, .refresh: effects.append(.sessionOrder(order.id, order.order))
    case .readmit(let revocations):
      for revocation in revocations { self.revocations.remove(revocation) }
      effects.append(.revoked(order.id, news: RevocationTable(), all: self.revocations))
    case .forget(let users): effects.append(.forget(order.id, users, session: session))
    case .revoke(let revocations, let replacesAll, let isComplete):
      guard isOpen else { return }
      let isPart = replacesAll || whileOpen { $0.incomingRevocations != nil } == true
      if isPart { return takePart(revocations, replacesAll: replacesAll, isComplete, order.id, into: &effects) }
      for revocation in revocations { self.revocations.insert(revocation) }
      let news = RevocationTable(revocations)
      effects.append(.revoked(order.id, news: news, all: self.revocations))
    }
  }

  /// Takes a part of the whole table, with which a new session of the link begins. Until the last part is here, the table
  /// known before counts. The parts are put together in place: a copy for each of them would make of a hundred thousand
  /// revocations some millions.
  private func takePart(
    _ part: [Revocation], replacesAll: Bool, _ isComplete: Bool, _ order: UInt64,
    into effects: inout [GatewayLinkEffect]
  ) {
    let whole = whileOpen { open -> RevocationTable? in
      if replacesAll { open.incomingRevocations = RevocationTable() }
      for revocation in part { open.incomingRevocations?.insert(revocation) }
      guard isComplete else { return nil }
      defer { open.incomingRevocations = nil }
      return open.incomingRevocations
    }
    guard let whole, let whole else { return }
    revocations = whole
    effects.append(.revoked(order, news: whole, all: whole))
  }

  /// Every event loop has carried the order out.
  public func obeyed(_ id: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    guard id != 0, isOpen else { return }
    send(.obeyed(LinkObeyed(id: id)), at: now, into: &effects)
  }

  /// The gateway keeps nothing of the users of an order on a disk any more.
  ///
  /// - Parameter session: in which the order came. In another one the broker has given it again, or begun to count its
  ///   orders anew.
  public func forgot(
    _ id: UInt64, session ordered: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    if ordered == session { obeyed(id, at: now, into: &effects) }
  }

  /// Nothing is kept here any more of users whose data was deleted, through a mark; nil: it is not known through which.
  ///
  /// - Parameter session: in which this was asked. In another one it is asked anew.
  public func hasForgotten(
    through mark: DeletionMark?, session asked: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    if asked == session, isOpen { send(.forgotten(LinkForgotten(through: mark)), at: now, into: &effects) }
  }

  /// Forgets revocations that have expired: every token that they could hit has expired as well.
  ///
  /// - Parameter wall: seconds since 1970.
  func forgetRevocations(expiredBy wall: Int64) { revocations.removeExpired(at: wall) }
}
