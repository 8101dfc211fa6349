/// What a gateway or a service asks of the broker. A request has an id and gets exactly one ``BrokerResponse``.
public enum BrokerRequest: Sendable, Equatable {
  case publish(PublishRequest)
  case subscribe(SubscribeRequest)
  case unsubscribe(UnsubscribeRequest)
  case history(HistoryRequest)
  case historyRemove(ChannelName)
  case presence(ChannelName)
  case presenceStats(ChannelName)
  /// Channels with a subscriber. `prefix` empty: all of them.
  case channels(prefix: String)

  public struct PublishRequest: Sendable, Equatable {
    public var channel: ChannelName
    public var data: [UInt8]
    public var info: ClientInfo?
    public var tags: [String: String]
    public var idempotencyKey: String?

    public init(
      channel: ChannelName, data: [UInt8], info: ClientInfo? = nil, tags: [String: String] = [:],
      idempotencyKey: String? = nil
    ) {
      self.channel = channel
      self.data = data
      self.info = info
      self.tags = tags
      self.idempotencyKey = idempotencyKey
    }
  }

  /// Adds the channel to the link's interest set and answers with its position and what was missed, in the same
  /// ordered pipe that later carries the live publications.
  public struct SubscribeRequest: Sendable, Equatable {
    public var channel: ChannelName
    /// Recover from here; nil asks for the position alone.
    public var since: StreamPosition?
    /// Most publications that a recovery may hold; more are missing: not recovered.
    public var recoveryLimit: UInt32
    /// Who subscribes, for presence and join; nil for the gateway itself (a resync after a gap).
    public var member: ClientInfo?

    public init(
      channel: ChannelName, since: StreamPosition? = nil, recoveryLimit: UInt32 = 300, member: ClientInfo? = nil
    ) {
      self.channel = channel
      self.since = since
      self.recoveryLimit = recoveryLimit
      self.member = member
    }
  }

  public struct UnsubscribeRequest: Sendable, Equatable {
    public var channel: ChannelName
    /// The connection whose presence ends; nil where it has none.
    public var member: ClientInfo?
    /// False when this was the link's last subscriber: the interest ends with it.
    public var keepsInterest: Bool

    public init(channel: ChannelName, member: ClientInfo?, keepsInterest: Bool) {
      self.channel = channel
      self.member = member
      self.keepsInterest = keepsInterest
    }
  }

  public struct HistoryRequest: Sendable, Equatable {
    public var channel: ChannelName
    /// Most publications to answer with; 0 asks for the position alone.
    public var limit: UInt32
    /// Exclusive: the first publication is the next one in the direction asked for.
    public var since: StreamPosition?
    /// Newest first.
    public var reverse: Bool

    public init(channel: ChannelName, limit: UInt32, since: StreamPosition? = nil, reverse: Bool = false) {
      self.channel = channel
      self.limit = limit
      self.since = since
      self.reverse = reverse
    }
  }

  /// The channel the request is about; nil for `channels`.
  public var channel: ChannelName? {
    switch self {
    case .publish(let r): r.channel
    case .subscribe(let r): r.channel
    case .unsubscribe(let r): r.channel
    case .history(let r): r.channel
    case .historyRemove(let c), .presence(let c), .presenceStats(let c): c
    case .channels: nil
    }
  }
}

/// The broker's one answer to a request.
public enum BrokerResponse: Sendable, Equatable {
  case published(StreamPosition)
  case subscribed(Subscribed)
  /// Unsubscribe and history_remove have nothing to tell.
  case done
  case history(HistoryPage)
  case presence([ClientInfo])
  case presenceStats(clients: UInt32, users: UInt32)
  case channels([ChannelName])
  case failed(ClientError)

  public struct Subscribed: Sendable, Equatable {
    /// Top of the stream: the next live publication has the offset that follows.
    public var position: StreamPosition
    /// True where `publications` is everything since the position asked for. Never true for a part.
    public var recovered: Bool
    /// Missed publications, oldest first; the last one's offset is the top.
    public var publications: [Publication]

    public init(position: StreamPosition, recovered: Bool = false, publications: [Publication] = []) {
      self.position = position
      self.recovered = recovered
      self.publications = publications
    }
  }
}

/// A part of a channel's history, with the channel's top.
public struct HistoryPage: Sendable, Equatable {
  public var position: StreamPosition
  public var publications: [Publication]

  public init(position: StreamPosition, publications: [Publication] = []) {
    self.position = position
    self.publications = publications
  }
}
