/// Which connections somebody means. What is given must all be so; at least one of the first three is.
public struct SessionTarget: Sendable, Equatable {
  public var user: String?
  public var client: String?
  /// What only the client itself knows of its connection (``SessionIdentity/session`` in a gateway).
  public var session: String?
  /// Clients that are spared.
  public var whitelist: [String]

  public init(user: String? = nil, client: String? = nil, session: String? = nil, whitelist: [String] = []) {
    self.user = user
    self.client = client
    self.session = session
    self.whitelist = whitelist
  }

  public func includes(user: String, client: String, session: String) -> Bool {
    guard self.user != nil || self.client != nil || self.session != nil else { return false }
    if let wanted = self.user, !wanted.hasSameBytes(as: user) { return false }
    if let wanted = self.client, !wanted.hasSameBytes(as: client) { return false }
    if let wanted = self.session, !wanted.hasSameBytes(as: session) { return false }
    return !whitelist.contains { $0.hasSameBytes(as: client) }
  }
}

/// What the broker has every gateway do to its connections.
public enum SessionOrder: Sendable, Equatable {
  case disconnect(SessionTarget, DisconnectCode)
  case unsubscribe(SessionTarget, ChannelName, UnsubscribeCode)
  /// - Parameters:
  ///   - replacesAll: what the gateway knew before counts no more: the beginning of all that is in force, which a link
  ///     says after each welcome.
  ///   - isComplete: false where more follows at once, since all of it would be too long for one message.
  case revoke([Revocation], replacesAll: Bool, isComplete: Bool)
}

/// An order with its number, which the gateway says back when every event loop has carried it out.
public struct LinkOrder: Sendable, Equatable {
  /// 0: nobody waits for it.
  public var id: UInt64
  public var order: SessionOrder

  public init(id: UInt64, order: SessionOrder) {
    self.id = id
    self.order = order
  }
}

/// A gateway has carried out an order: what is published from now on reaches nobody whom the order meant.
public struct LinkObeyed: Sendable, Equatable {
  public var id: UInt64

  public init(id: UInt64) { self.id = id }
}
