import Wire

extension Shard {
  /// Looks at every session: finding whom an order means is not worth an index that each connection would have to pay
  /// for.
  func carryOut(_ order: SessionOrder) {
    switch order {
    case .disconnect(let target, let code):
      for driver in sessions(target) { driver.disconnect(code) }
    case .subscribe(let target, let subscription):
      for driver in sessions(target) { driver.addSubscription(subscription) }
    case .unsubscribe(let target, let channel, let code):
      for driver in sessions(target) { driver.removeSubscription(channel, code) }
    case .refresh(let target, let expiry):
      for driver in sessions(target) { driver.changeExpiry(expiry) }
    case .revoke, .readmit: break  // Revocations come as a table (`Handover.revoked`).
    case .forget: break  // Event loops keep nothing on a disk (`GatewayLinkEffect.forget`).
    }
  }

  private func sessions(_ target: SessionTarget) -> [SessionDriver] {
    sessions.values.filter { target.includes(user: $0.user, client: $0.client, session: $0.sessionID) }
  }
}
