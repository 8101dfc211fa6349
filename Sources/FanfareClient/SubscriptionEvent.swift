public import Wire

/// What happens to a ``Subscription``, in order.
public enum SubscriptionEvent: Sendable, Equatable {
  /// Begun, or begun again after ``subscribing(_:)``.
  ///
  /// `position` is the top of the stream at that moment, nil for a channel without positions. With `recovered` the
  /// publications that were missed follow; with `wasRecovering` alone some are lost: load the state anew, or read what
  /// ``gap(_:)`` leaves.
  case subscribed(position: StreamPosition?, wasRecovering: Bool, recovered: Bool)
  /// What was missed and not recovered, and why: right after ``subscribed(position:wasRecovering:recovered:)``, from a
  /// server that tells it. What came after ``RecoveryGap/missing`` can be read as history.
  case gap(RecoveryGap)
  /// Interrupted: ``subscribed(position:wasRecovering:recovered:)`` comes next, once the server takes it again.
  case subscribing(UnsubscribeCode)
  case publication(Publication)
  case join(ClientInfo)
  case leave(ClientInfo)
  /// The last event.
  case unsubscribed(UnsubscribeCode)
}

/// What happens on channels that the server subscribed this connection to, and other messages to the connection.
public enum ServerEvent: Sendable, Equatable {
  /// As ``SubscriptionEvent/subscribed(position:wasRecovering:recovered:)``.
  case subscribed(channel: String, position: StreamPosition?, wasRecovering: Bool, recovered: Bool)
  /// As ``SubscriptionEvent/gap(_:)``.
  case gap(channel: String, RecoveryGap)
  case publication(channel: String, Publication)
  case join(channel: String, ClientInfo)
  case leave(channel: String, ClientInfo)
  case unsubscribed(channel: String)
  /// A message to this connection alone.
  case message([UInt8])
  /// That many events were dropped here because nobody read them in time.
  case missed(Int)
}

/// What to ask of a subscription.
public struct SubscriptionOptions: Sendable {
  /// Begin after this position: what was published since comes first, as far as the server kept it.
  public var since: StreamPosition?
  /// Recover what was missed while the connection was away. A namespace may force it or not offer it.
  public var recoverable: Bool
  /// Ask for a position, so that a lost publication is noticed.
  public var positioned: Bool
  /// Ask for joins and leaves.
  public var joinLeave: Bool
  /// What the server is to send, by tags; nil: everything.
  public var filter: TagFilter?
  /// Sent along, for a backend that decides about subscriptions. JSON.
  public var data: [UInt8]
  /// Subscription token, for channels that need one.
  public var token: String
  /// Gives the subscription token, at first and whenever it has expired.
  public var tokenProvider: (@Sendable () async throws -> String)?
  /// Most bytes of events that wait to be read, counting 128 for an event beside its payload. The one that goes over
  /// it ends the subscription with ``LocalCode/slowConsumer``: memory stays bounded, nothing is dropped unseen.
  public var maximumWaitingBytes: Int
  /// Set where the channel is read as a map.
  var map: MapReadOptions?

  /// All of it may be left out.
  public init(
    since: StreamPosition? = nil, recoverable: Bool = false, positioned: Bool = false, joinLeave: Bool = false,
    filter: TagFilter? = nil, data: [UInt8] = [], token: String = "",
    tokenProvider: (@Sendable () async throws -> String)? = nil,
    maximumWaitingBytes: Int = 4 << 20
  ) {
    self.since = since
    self.recoverable = recoverable
    self.positioned = positioned
    self.joinLeave = joinLeave
    self.filter = filter
    self.data = data
    self.token = token
    self.tokenProvider = tokenProvider
    self.maximumWaitingBytes = maximumWaitingBytes
  }
}
