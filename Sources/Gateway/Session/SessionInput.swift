public import Auth
public import Wire

/// Everything that can happen to a session. Publications, joins and leaves are not among it: the hub writes those
/// frames straight to the connection.
public enum SessionInput: Sendable {
  /// The transport is open. Comes once, first.
  case opened
  case command(ClientCommand)
  /// The client's message holds no commands; the sentence says why.
  case malformed(String)
  /// The answer to ``SessionAction/request(tag:_:)``: exactly one for each, a timeout is one too.
  case brokerAnswered(tag: UInt64, BrokerResponse)
  case connectionTokenChecked(tag: UInt64, Result<ConnectionClaims, TokenError>)
  case subscriptionTokenChecked(tag: UInt64, Result<SubscriptionClaims, TokenError>)
  case placeTokenChecked(tag: UInt64, Result<PlaceClaims, TokenError>)
  /// The answer to ``SessionAction/askBackend(tag:_:)``: exactly one for each.
  case backendAnswered(tag: UInt64, ProxyAnswer)
  /// The answer to ``SessionAction/openPoll(tag:_:)``; the epoch is nil where this gateway has no shared polls.
  indirect case pollOpened(tag: UInt64, epoch: String?)
  /// The answer to ``SessionAction/track(tag:_:)``: exactly one for each.
  indirect case tracked(tag: UInt64, PollTracked)
  /// The versions of a shared poll begin anew, for the subscription under this number.
  indirect case pollRestarted(ChannelName, number: UInt64)
  /// The gateway no longer knows where it is in a channel: publications may be missing.
  case channelLost(ChannelName)
  /// The gateway stops reading from the client, because the broker is behind; or reads again. Meanwhile the client is
  /// not blamed for what it owes.
  case inputHeld(Bool)
  /// More of what the client asked for waits for it than ``ListenerConfiguration/queueLimitBytes``; or it has taken
  /// most of it.
  case outputFull(Bool)
  /// The server ends, and the client is to leave in so many milliseconds; until then everything goes on. A client that
  /// understands it is told.
  case slot(afterMilliseconds: Int64)
  /// The client's slot has come, or the server ends without any: what was read is answered, and nothing more is read, whatever ``inputHeld(_:)`` says.
  case draining
  /// How far the peer has come: told before a deadline at which a ping is sent or a pong is due.
  case peerTook(PeerProgress)
  /// The time in ``Session/nextDeadline`` has come. Harmless when early.
  case deadline
  case transportClosed
  /// The server drains, and the session ends now.
  case shutdown
  /// Somebody ends the connection through the server API, or the gateway does.
  case kick(DisconnectCode)
  /// Somebody subscribes the client to a channel through the server API.
  case addSubscription(OrderedSubscription)
  /// Somebody ends a subscription through the server API.
  case removeSubscription(ChannelName, UnsubscribeCode, because: CoverageEnd.Cause = .removed)
  /// Somebody says through the server API when the connection expires.
  case changeExpiry(ConnectionExpiry)
  /// These tokens count no more, from now on.
  case tokensRevoked(RevocationTable)
}

/// What the driver is to do, in order.
public enum SessionAction: Sendable, Equatable {
  case send(ClientReply)
  /// The last action but for requests that tidy up at the broker.
  case close(DisconnectCode)
  /// Answered with exactly one ``SessionInput/brokerAnswered(tag:_:)``. The answers to unsubscribe requests are
  /// ignored.
  case request(tag: UInt64, BrokerRequest)
  /// As ``request(tag:_:)``, for a subscriber who does not want all of the channel as it comes.
  case subscribe(tag: UInt64, BrokerRequest.SubscribeRequest, SubscribeTerms)
  case checkConnectionToken(tag: UInt64, String)
  case checkSubscriptionToken(tag: UInt64, String)
  case checkPlaceToken(tag: UInt64, String)
  /// Answered with exactly one ``SessionInput/backendAnswered(tag:_:)``.
  case askBackend(tag: UInt64, ProxyQuestion)
  /// Answered with exactly one ``SessionInput/pollOpened(tag:epoch:)``.
  indirect case openPoll(tag: UInt64, ChannelName)
  /// Answered with exactly one ``SessionInput/tracked(tag:_:)``.
  indirect case track(tag: UInt64, PollTrack)
  indirect case untrack(ChannelName, number: UInt64, [String])
  /// The subscription to a shared poll under this number is over, and tracks nothing more.
  indirect case leavePoll(ChannelName, number: UInt64)
  /// From now on the hub writes the channel's frames to this connection.
  case attach(ChannelName, HubFlags, HubFilters = .init())
  /// From now on the hub writes nothing of the channel to this connection. Frames of it that are still held are
  /// dropped.
  case detach(ChannelName)
  /// A subscription began: for the file of intervals. Comes behind ``attach(_:_:_:)``, where intervals are kept.
  indirect case covers(ChannelName, CoverageStart)
  /// It ends. Comes before ``detach(_:)``.
  case uncovers(ChannelName, CoverageEnd)
  /// A subscribe was refused.
  case coverageRefused(ChannelName, CoverageEnd)
  /// Writes the frames that the hub holds for this connection, in the order in which they came, and holds no more.
  case releaseHeld
  /// Drops the frames that the hub holds for this connection, and holds no more.
  case discardHeld
  /// The client was refused something, or is read later: for the log and the metrics.
  case note(RefusalCause)
  /// The client is not let in: for the log of what must be proved later. Of a token that was checked and refused, the
  /// driver knows by itself.
  case signInRefused(SignInRefusal, String)
  /// The client has said what its SDK is, and in which version.
  case introduced(String, version: String)
}

/// What the gateway does for a subscriber by itself: the broker does not hear of it.
public struct SubscribeTerms: Sendable, Hashable {
  /// What the client wants to see of the channel; nil: everything.
  public var filter: TagFilter?
  /// The client gets publications as patches against the one before.
  public var hasDelta: Bool

  public init(filter: TagFilter? = nil, hasDelta: Bool = false) {
    self.filter = filter
    self.hasDelta = hasDelta
  }
}

/// Which part of a channel a connection gets.
public struct HubFilters: Sendable, Hashable {
  /// What the client asked for; nil: everything.
  public var own: TagFilter?
  /// What the server lets it see, of joins and leaves too; nil: everything.
  public var audience: TagFilter?

  public init(own: TagFilter? = nil, audience: TagFilter? = nil) {
    self.own = own
    self.audience = audience
  }
}

/// How a connection is attached to a channel.
public struct HubFlags: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Joins and leaves are wanted too.
  public static let joinLeave = HubFlags(rawValue: 1)
  /// Tell the session when publications of the channel are lost. Left out where gaps are meant.
  public static let toldOfLoss = HubFlags(rawValue: 2)
  /// Keep the frames until ``SessionAction/releaseHeld``.
  ///
  /// The server-side subscriptions of a connect are answered one by one, and the client learns of all of them in one
  /// connect result. What is published on the first while the last is still under way must neither overtake that result
  /// nor be lost.
  public static let held = HubFlags(rawValue: 4)
  /// Publications go as patches, the first one whole. Not together with filters.
  public static let delta = HubFlags(rawValue: 8)
}
