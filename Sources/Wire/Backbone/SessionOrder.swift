/// Which connections an order means: those to which each given property applies. At least one of `user`, `client` and
/// `session` is given.
public struct SessionTarget: Sendable, Equatable {
  public var user: String?
  public var client: String?
  /// A secret of the connection that its client alone knows (``SessionIdentity/session`` in a gateway).
  public var session: String?
  /// Clients whose connections are spared.
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

/// A subscription that a service gives to connections: the server's own, which no client asks for and none can end. It
/// lasts as long as the connection.
public struct OrderedSubscription: Sendable, Equatable {
  public var channel: ChannelName
  /// Raw JSON, the subscriber's `chan_info`.
  public var info: [UInt8]?
  /// Raw JSON that the client is shown with the subscription.
  public var data: [UInt8]?
  /// The position from which on the client gets what was published; nil: from now on.
  public var since: StreamPosition?

  public init(channel: ChannelName, info: [UInt8]? = nil, data: [UInt8]? = nil, since: StreamPosition? = nil) {
    self.channel = channel
    self.info = info
    self.data = data
    self.since = since
  }

  /// Bytes of the JSON that comes with the subscription.
  public var payloadBytes: Int { (info?.count ?? 0) + (data?.count ?? 0) }
}

/// When a connection expires, as a service says.
public enum ConnectionExpiry: Sendable, Equatable {
  case now
  /// Seconds since 1970. A time that has come is as good as `now`.
  case at(Int64)
  case never
}

/// An order that the broker gives every gateway about its connections.
public enum SessionOrder: Sendable, Equatable {
  case disconnect(SessionTarget, DisconnectCode)
  case subscribe(SessionTarget, OrderedSubscription)
  case unsubscribe(SessionTarget, ChannelName, UnsubscribeCode)
  case refresh(SessionTarget, ConnectionExpiry)
  /// - Parameters:
  ///   - replacesAll: revocations that the gateway knew before count no more: this is the beginning of all that are in
  ///     force, which a link tells after each welcome.
  ///   - isComplete: false where more revocations follow at once, since all of them would be too long for one message.
  case revoke([Revocation], replacesAll: Bool, isComplete: Bool)
  /// These revocations count no more: they are of users whose data was deleted, and who may come back.
  case readmit([Revocation])
  /// What the gateway itself keeps of these users on a disk is deleted. Their connections were ended before.
  case forget([String])
}

/// An order with its number, which the gateway says back when every event loop has carried it out.
public struct LinkOrder: Sendable, Equatable {
  /// The order's number; 0: nobody waits for it to be carried out.
  public var id: UInt64
  public var order: SessionOrder

  public init(id: UInt64, order: SessionOrder) {
    self.id = id
    self.order = order
  }
}

/// Says that a gateway has carried out an order: publications from now on reach nobody whom the order meant.
public struct LinkObeyed: Sendable, Equatable {
  public var id: UInt64

  public init(id: UInt64) { self.id = id }
}
