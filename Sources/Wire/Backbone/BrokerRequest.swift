/// What a gateway or a service asks of the broker. A request has an id and gets exactly one ``BrokerResponse``.
///
/// Indirect, since a request is handed on several times on its way, and looked into only once or twice.
public indirect enum BrokerRequest: Sendable, Equatable {
  case publish(PublishRequest)
  case subscribe(SubscribeRequest)
  case unsubscribe(UnsubscribeRequest)
  case history(HistoryRequest)
  case historyRemove(ChannelName)
  case presence(ChannelName, viewer: String? = nil, answer: AnswerLimit = .most)
  case presenceStats(ChannelName, viewer: String? = nil)
  /// Asks for the channels with a subscriber whose names begin with `prefix`.
  case channels(prefix: String)
  /// Asks how many clients are on each channel that fits the pattern. The gateways are asked (``Survey``).
  case channelCounts(ChannelPattern)
  /// Asks what the server carries. The gateways are asked (``Survey``).
  case info
  /// Asks whether a publication reached a user, and why not. The gateways are asked (``Survey``).
  case why(WhyRequest)
  /// Asks what the broker and the gateways know of something (``Survey``).
  case inspect(InspectRequest)
  /// Asks on which channels and clients most goes on (``Survey``).
  ///
  /// - visible: the channels that may be named; nil: all.
  case top(visible: [NamePattern]?)
  /// A request that is done once, however often it is repeated within five minutes.
  case once(OnceKey, BrokerRequest)
  case edit(EditRequest)
  case readMap(MapRequest)
  case receipt(ReceiptRequest)
  case unread(user: String, [ChannelName])
  case call(CallRequest)
  case disconnect(SessionTarget, DisconnectCode)
  /// Subscribes other people's connections to a channel, on every gateway.
  case beginSubscriptions(SessionTarget, OrderedSubscription)
  /// Ends other people's subscriptions to a channel, on every gateway.
  case endSubscriptions(SessionTarget, ChannelName, UnsubscribeCode)
  /// Says when other people's connections expire, on every gateway.
  case refresh(SessionTarget, ConnectionExpiry)
  case revoke(RevokeRequest)
  /// A gateway tells of something that a webhook wants to hear of.
  case report(ClientEvent)
  case webhooks(WebhookRequest)
  case user(UserRequest)
  /// A service has notifications sent to devices.
  case push(PushRequest)

  public struct PublishRequest: Sendable, Equatable {
    public var channel: ChannelName
    public var data: [UInt8]
    public var info: ClientInfo?
    public var tags: [String: String]
    public var idempotencyKey: String?
    /// What to do to a key, on map channels.
    public var write: MapWrite?

    public init(
      channel: ChannelName, data: [UInt8], info: ClientInfo? = nil, tags: [String: String] = [:],
      idempotencyKey: String? = nil, write: MapWrite? = nil
    ) {
      self.channel = channel
      self.data = data
      self.info = info
      self.tags = tags
      self.idempotencyKey = idempotencyKey
      self.write = write
    }
  }

  /// Replaces or removes a publication.
  public struct EditRequest: Sendable, Equatable {
    public var channel: ChannelName
    public var offset: UInt64
    /// The new data; nil removes the publication.
    public var data: [UInt8]?
    /// The client that edits, which must be the author; nil for a service, which need not be.
    public var editor: ClientInfo?
    /// As a publication's: the same edit with the same key is made once, over restarts too.
    public var idempotencyKey: String?

    public init(
      channel: ChannelName, offset: UInt64, data: [UInt8]?, editor: ClientInfo?, idempotencyKey: String? = nil
    ) {
      self.channel = channel
      self.offset = offset
      self.data = data
      self.editor = editor
      self.idempotencyKey = idempotencyKey
    }
  }

  /// Reads a map channel without subscribing to it.
  public struct MapRequest: Sendable, Equatable {
    public var channel: ChannelName
    /// The key of the one entry to read; nil: a page of all of them.
    public var key: String?
    public var read: MapRead
    /// The user for whom the map is read; nil for a service.
    public var viewer: String?
    public var answer: AnswerLimit

    public init(
      channel: ChannelName, key: String? = nil, read: MapRead, viewer: String? = nil, answer: AnswerLimit = .most
    ) {
      self.channel = channel
      self.key = key
      self.read = read
      self.viewer = viewer
      self.answer = answer
    }
  }

  /// Moves a user's marks in a channel, which only ever go forward.
  public struct ReceiptRequest: Sendable, Equatable {
    /// The map channel of the marks.
    public var channel: ChannelName
    public var delivered: UInt64
    public var read: UInt64
    public var reader: ClientInfo

    public init(channel: ChannelName, delivered: UInt64 = 0, read: UInt64 = 0, reader: ClientInfo) {
      self.channel = channel
      self.delivered = delivered
      self.read = read
      self.reader = reader
    }
  }

  /// A command for an app.
  public struct CallRequest: Sendable, Equatable {
    public var command: AppCommand
    public var caller: ClientInfo
    /// The gateway itself gives the command for the user, who could not.
    public var isGateways: Bool
    /// The place that a token says the caller is in, whose signature and user the gateway has checked.
    public var attestedPlace: String?

    public init(_ command: AppCommand, caller: ClientInfo, isGateways: Bool = false, attestedPlace: String? = nil) {
      self.command = command
      self.caller = caller
      self.isGateways = isGateways
      self.attestedPlace = attestedPlace
    }
  }

  /// Ends before their time what tokens grant.
  public struct RevokeRequest: Sendable, Equatable {
    public enum Tokens: Sendable, Equatable {
      /// The token with this `jti`.
      case id(String)
      /// A user's tokens. - issuedBefore: seconds since 1970; nil: all that were issued until now.
      case user(String, issuedBefore: Int64?, channel: String? = nil)
    }

    public var tokens: Tokens
    /// Seconds since 1970 from which on no such token can be valid; nil: the broker works it out from its settings.
    public var expiresAt: Int64?

    public init(_ tokens: Tokens, expiresAt: Int64? = nil) {
      self.tokens = tokens
      self.expiresAt = expiresAt
    }
  }

  /// Adds the channel to the link's interest set and answers with its position and what was missed, in the same
  /// ordered pipe that later carries the live publications.
  public struct SubscribeRequest: Sendable, Equatable {
    public var channel: ChannelName
    /// The position to recover from; nil asks for the channel's position alone.
    public var since: StreamPosition?
    /// Publications that a recovery may hold; where more are missing, the channel is not recovered.
    public var recoveryLimit: UInt32
    /// Who subscribes, for presence and join; nil for the gateway itself (a resync after a gap).
    public var member: ClientInfo?
    /// Whether `member` is shown to others, or only tells the broker who asks.
    public var isPresent: Bool
    /// What to read of a map channel along with the subscription.
    public var map: MapRead?
    /// How much the answer may hold: a recovery that would hold more is not whole.
    public var answer: AnswerLimit

    public init(
      channel: ChannelName, since: StreamPosition? = nil, recoveryLimit: UInt32, member: ClientInfo? = nil,
      isPresent: Bool = true, map: MapRead? = nil, answer: AnswerLimit = .most
    ) {
      self.channel = channel
      self.since = since
      self.recoveryLimit = recoveryLimit
      self.member = member
      self.isPresent = isPresent
      self.map = map
      self.answer = answer
    }

    /// Asks for the position alone.
    public init(channel: ChannelName, member: ClientInfo? = nil, isPresent: Bool = true) {
      self.init(channel: channel, recoveryLimit: 0, member: member, isPresent: isPresent)
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
    /// Publications to answer with at most; 0 asks for the position alone.
    public var limit: UInt32
    /// Exclusive: the first publication of the page is the next one in the direction asked for.
    public var since: StreamPosition?
    /// Answers with the newest publication first.
    public var reverse: Bool
    /// The user for whom the history is read; nil for a service.
    public var viewer: String?
    /// How much the answer may hold: the page ends before it holds more, but not before its first publication.
    public var answer: AnswerLimit

    public init(
      channel: ChannelName, limit: UInt32, since: StreamPosition? = nil, reverse: Bool = false, viewer: String? = nil,
      answer: AnswerLimit = .most
    ) {
      self.channel = channel
      self.limit = limit
      self.since = since
      self.reverse = reverse
      self.viewer = viewer
      self.answer = answer
    }
  }

  /// The channel the request is about; nil where it is about none, or about several.
  public var channel: ChannelName? {
    switch self {
    case .publish(let r): r.channel
    case .subscribe(let r): r.channel
    case .unsubscribe(let r): r.channel
    case .history(let r): r.channel
    case .historyRemove(let c), .presence(let c, _, _), .presenceStats(let c, _): c
    case .edit(let r): r.channel
    case .readMap(let r): r.channel
    case .receipt(let r): r.channel
    case .beginSubscriptions(_, let s): s.channel
    case .endSubscriptions(_, let c, _): c
    case .why(let r): r.channel
    case .inspect(let r): r.channel
    case .once(_, let request): request.channel
    case .top, .channels, .channelCounts, .info, .unread, .call, .disconnect, .refresh, .revoke, .report, .webhooks,
      .user, .push:
      nil
    }
  }
}

extension BrokerRequest {
  /// The channel whose partition has to do the request; nil: what it is about is in none, or in several.
  public var placedBy: ChannelName? {
    switch self {
    case .beginSubscriptions, .endSubscriptions: nil  // Orders about connections, which are home's.
    case .once(_, let request): request.placedBy
    default: channel
    }
  }

  /// Whether the broker remembers that the request was done, because doing it twice would change something twice.
  public var isRemembered: Bool {
    switch self {
    case .publish, .edit, .receipt, .call, .report: true
    case .subscribe, .unsubscribe, .history, .historyRemove, .presence, .presenceStats, .channels, .channelCounts,
      .info, .why, .readMap, .unread, .inspect, .top, .webhooks,
      .push:
      false
    // The broker remembers these by their keys.
    case .once: false
    // Doing one of these twice changes nothing more.
    case .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke, .user: false
    }
  }
}

/// The broker's one answer to a request.
public enum BrokerResponse: Sendable, Equatable {
  case published(StreamPosition)
  indirect case subscribed(Subscribed)
  /// The answer to requests that have nothing to tell, such as unsubscribe and history_remove.
  case done
  indirect case history(HistoryPage)
  /// - isPartial: there are more members than one answer names.
  case presence([ClientInfo], isPartial: Bool = false)
  case presenceStats(clients: UInt32, users: UInt32)
  case channels([ChannelName])
  /// - unanswered: gateways that did not answer in time, and whose clients are missing.
  indirect case channelCounts(ChannelCounts, unanswered: UInt32)
  indirect case info(ServerInfo)
  indirect case mapPage(MapPage)
  /// For each channel how many publications lie after the reader's mark.
  case unread([UInt64])
  /// What an app answers: JSON.
  case result([UInt8])
  /// Answers a first try (``AnswerLimit/isTry``): the real answer would hold more, and nothing was done.
  case tooLarge
  indirect case failed(ClientError)

  public struct Subscribed: Sendable, Equatable {
    /// Top of the stream: the next live publication has the offset that follows.
    public var position: StreamPosition
    /// Whether `publications` is everything since the position asked for: false where it is a part.
    public var recovered: Bool
    /// Missed publications, oldest first; the last one's offset is the top.
    public var publications: [Publication]
    /// The entries that a map channel held at the position, where they were asked for.
    public var entries: [Publication]
    /// The filter that publications must pass to reach the subscriber; nil: everything may.
    public var audience: TagFilter?
    /// What could not be recovered; nil: nothing, or nothing was to be recovered.
    public var gap: RecoveryGap?

    public init(
      position: StreamPosition, recovered: Bool = false, publications: [Publication] = [], entries: [Publication] = [],
      audience: TagFilter? = nil, gap: RecoveryGap? = nil
    ) {
      self.gap = gap
      self.position = position
      self.recovered = recovered
      self.publications = publications
      self.entries = entries
      self.audience = audience
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
