public import Wire

/// Who on this gateway waits for an answer: a connection on an event loop, and the number it gave its request.
public struct RequestSource: Sendable, Hashable {
  public var loop: Int
  public var connection: UInt64
  public var tag: UInt64

  public init(loop: Int, connection: UInt64, tag: UInt64) {
    self.loop = loop
    self.connection = connection
    self.tag = tag
  }
}

/// A request on its way from an event loop to the broker.
public struct GatewayRequest: Sendable {
  public var source: RequestSource
  /// In what encoding a subscriber wants its publications.
  public var format: WireFormat
  public var request: BrokerRequest
  /// For a subscribe, whether the subscriber wants only a part of the channel. Which part, its event loop knows.
  public var isFiltered: Bool
  /// For a subscribe, whether the subscriber takes patches.
  public var hasDelta: Bool
  /// A service asks, and not a client.
  public var isService: Bool

  public init(
    source: RequestSource, format: WireFormat, request: BrokerRequest, isFiltered: Bool = false,
    hasDelta: Bool = false, isService: Bool = false
  ) {
    self.source = source
    self.format = format
    self.request = request
    self.isFiltered = isFiltered
    self.hasDelta = hasDelta
    self.isService = isService
  }
}

/// What the gateway's end of the link wants done. Effects for event loops must reach each loop in this order: an answer
/// to a subscribe stands between what came before it and what comes after.
public enum GatewayLinkEffect: Sendable, Equatable {
  /// Goes to the broker of the session; a hello to all brokers.
  case send(LinkMessage)
  /// A hello for one broker that may not have got it before.
  case greet(broker: Int, LinkMessage)
  case answer(RequestSource, BrokerResponse)
  /// An answer that the broker was not asked for, since the request meets a limit of this gateway.
  case refusal(RequestSource, RefusalCause, ClientError)
  /// The payload against which the publication just after this can be sent as a patch.
  case deltaBase([UInt8])
  case publication(ChannelName, Publication, audience: Audience)
  /// A publication on a channel of which some subscribers get only a part: which of them get it, their event loops find
  /// out.
  case filteredPublication(ChannelName, Publication, audience: Audience)
  /// The publication just before this is measured.
  indirect case measured(ChannelName, offset: UInt64, HopTrace, audience: Audience)
  case joined(ChannelName, ClientInfo, audience: Audience)
  case left(ChannelName, ClientInfo, audience: Audience)
  /// What a user may see of a channel has changed.
  case audienceChanged(LinkAudience, audience: Audience)
  /// What becomes of the files of pictures.
  case discard([PictureFate])
  /// An order for every event loop; ``GatewayLink/obeyed(_:at:into:)`` when all of them have carried it out.
  case sessionOrder(UInt64, SessionOrder)
  /// Tokens that count no more, for every event loop; ``GatewayLink/obeyed(_:at:into:)`` when all of them have looked.
  ///
  /// - Parameters:
  ///   - news: what connections have to be held against.
  ///   - all: what sign-ins have to be held against from now on.
  case revoked(UInt64, news: RevocationTable, all: RevocationTable)
  /// Delete what is kept of users on a disk; ``GatewayLink/forgot(_:session:at:into:)`` when that is done.
  ///
  /// - Parameter session: in which the order came.
  indirect case forget(UInt64, [String], session: UInt64)
  /// Find out how far deletions are carried out here; ``GatewayLink/hasForgotten(through:session:at:into:)`` when it is
  /// known.
  case readMark(session: UInt64)
  /// Delete what is kept on a disk of users whose data was deleted while this gateway was away;
  /// ``GatewayLink/hasForgotten(through:session:at:into:)`` when that is done.
  ///
  /// - Parameter session: in which the broker told of them.
  indirect case forgetMissed(LinkDeletions, session: UInt64)
  /// A question for every event loop; ``GatewayLink/found(_:session:at:into:)`` when all of them have answered.
  ///
  /// - Parameter session: in which the broker asked.
  indirect case survey(LinkSurvey, session: UInt64)
  /// The channel's subscribers missed something that cannot be had any more.
  case lost(ChannelName, audience: Audience)
  /// So much is under way to the broker that client sockets should be read later; or no longer.
  case holdClients(Bool)
}

/// Which event loops have subscribers, and which encodings they want: what nobody wants is not encoded.
public struct Audience: Sendable, Equatable {
  /// Bit n: event loop n.
  public var loops: UInt64 = 0
  public var json = false
  public var protobuf = false
  /// The same, of those who take patches: they are not among the others.
  public var jsonDelta = false
  public var protobufDelta = false

  public init() {}

  var hasDelta: Bool { jsonDelta || protobufDelta }

  /// The same audience where nothing is patched: of joins and leaves.
  var withoutDelta: Audience {
    var audience = self
    audience.json = json || jsonDelta
    audience.protobuf = protobuf || protobufDelta
    (audience.jsonDelta, audience.protobufDelta) = (false, false)
    return audience
  }

  public func includes(loop: Int) -> Bool { loops & (1 << UInt64(loop)) != 0 }

  func union(_ other: Audience) -> Audience {
    var union = self
    union.loops |= other.loops
    union.json = json || other.json
    union.protobuf = protobuf || other.protobuf
    union.jsonDelta = jsonDelta || other.jsonDelta
    union.protobufDelta = protobufDelta || other.protobufDelta
    return union
  }
}

/// What an operator watches of the link, counted since the start.
public struct GatewayLinkCounters: Sendable, Equatable {
  /// Sessions that the broker welcomed.
  public var sessions: UInt64 = 0
  /// Messages that were not the next of their session: each ends it.
  public var gaps: UInt64 = 0
  /// Changes from one broker to another.
  public var moves: UInt64 = 0
  /// Resets that the broker sent.
  public var resets: UInt64 = 0
  /// Channels brought up to date in a new session with all that was missed.
  public var channelsRefilled: UInt64 = 0
  /// Channels on which something was missed that cannot be had any more.
  public var channelsLost: UInt64 = 0
  /// Publications times the subscribers that they were for. Whether they pass a subscriber's filter is not known here:
  /// they count as if they did.
  public var deliveries: UInt64 = 0
  /// Requests answered with an error because the broker took too long.
  public var requestsTimedOut: UInt64 = 0
  /// Events of clients that no webhook hears of, because too many waited for the broker.
  public var reportsLost: UInt64 = 0

  public init() {}

  /// What several links have counted together.
  static func + (a: Self, b: Self) -> Self {
    var sum = a
    sum.sessions += b.sessions
    sum.gaps += b.gaps
    sum.moves += b.moves
    sum.resets += b.resets
    sum.channelsRefilled += b.channelsRefilled
    sum.channelsLost += b.channelsLost
    sum.deliveries += b.deliveries
    sum.requestsTimedOut += b.requestsTimedOut
    sum.reportsLost += b.reportsLost
    return sum
  }
}
