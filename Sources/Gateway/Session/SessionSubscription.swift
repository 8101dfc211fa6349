import Auth
import Wire

/// What a session keeps of one channel.
struct SessionSubscription {
  enum Phase {
    /// The client's subscription token is being checked, or the backend is asked.
    /// Can transition to: subscribing, gone.
    case checkingToken(tag: UInt64)
    /// The broker was asked.
    /// Can transition to: live, abandoned, gone.
    case subscribing(tag: UInt64)
    /// Ended before the broker answered. The answer is awaited, because only it tells whether there is anything to
    /// unsubscribe; whoever subscribes again meanwhile waits for it too, else the late unsubscribe would end the
    /// presence of the new subscription.
    /// Can transition to: gone, and from there on with `next` as if it came now.
    indirect case abandoned(next: NextSubscribe?)
    /// The hub delivers.
    /// Can transition to: gone.
    case live
  }

  struct Traits: OptionSet {
    let rawValue: UInt8
    static let serverSide = Traits(rawValue: 1)
    /// The subscriber is told where publications are lost.
    static let toldOfLoss = Traits(rawValue: 2)
    /// The broker knows who subscribed, so the unsubscribe names them again.
    static let member = Traits(rawValue: 4)
    /// A service made it, by an order: with ``serverSide``.
    static let ordered = Traits(rawValue: 8)
  }

  var phase: Phase
  var traits: Traits = []
  /// What a token said of the subscription; nil: nothing, as of most subscriptions.
  var grant: Grant?
  /// Seconds since 1970; `Int64.max`: never.
  var expiresAt = Int64.max
  /// What the client wants to see of the channel; nil: everything.
  var filter: TagFilter?

  /// What a token or the backend said of a subscription. A class, so that a subscription without it pays one pointer.
  final class Grant {
    /// Raw JSON, the subscriber's `chan_info`.
    let info: [UInt8]?
    /// Identity of the newest subscription token that the subscription is held by; nil: it needed none.
    let token: TokenIdentity?
    /// When the backend is asked whether the subscription goes on, in seconds since 1970; `Int64.max`: not any more, or
    /// it is being asked.
    var refreshAt = Int64.max
    /// Under which tag it was asked last.
    var refreshTag: UInt64 = 0
    /// Where the channel is a shared poll.
    var poll: PollTie?

    /// - Parameter isNeeded: there is something to say of the subscription even where neither is given.
    init?(info: [UInt8]?, token: TokenIdentity?, isNeeded: Bool = false) {
      if info == nil && token == nil && !isNeeded { return nil }
      self.info = info
      self.token = token
    }
  }

  var isLive: Bool { if case .live = phase { true } else { false } }

  /// Whether the server keeps the subscription, or the one that follows it.
  var isServerSide: Bool {
    if case .abandoned(next: .order?) = phase { return true }
    return traits.contains(.serverSide)
  }
}

/// What waits for the end of the subscription before it.
enum NextSubscribe {
  case command(QueuedSubscribe)
  /// A service's order.
  case order(OrderedSubscription)
}

/// A subscribe command, as it came.
struct QueuedSubscribe {
  var id: UInt32
  var ask: ClientCommand.Subscribe
}

/// A subscription that is allowed: what the broker is asked, and what its answer is made into.
struct SubscribeOrder {
  /// Who makes a subscription.
  enum Maker {
    /// The client itself.
    case client
    /// The server, when the client connects.
    case connection
    /// A service, by an order.
    case service
  }

  /// The command to answer; 0 for a server-side subscription, which has none of its own.
  var id: UInt32
  var channel: ChannelName
  var maker: Maker
  var recoverable: Bool
  var positioned: Bool
  /// The subscriber hears of publications that are lost on the way to this gateway, with a position or without. In a
  /// low lane gaps are meant, and only a subscriber to a map is told: it would keep for ever what was removed
  /// meanwhile.
  var toldOfLoss: Bool
  var sendsMember: Bool
  var pushesJoinLeave: Bool
  /// Where the client wants to go on; nil where it does not, or nothing is kept to recover from.
  var since: StreamPosition?
  /// The client asked to recover; the stream of a map is read from a position in any case.
  var asksToRecover: Bool
  var rejectsUnrecovered: Bool
  var binaryData: Bool
  var grant: SubscriptionGrant
  /// Seconds since 1970; nil: never.
  var expiresAt: Int64?
  /// Identity of the subscription token that the subscription is granted by.
  var token: TokenIdentity?
  /// What the client wants to see of the channel; nil: everything.
  var filter: TagFilter?
  /// The client gets publications as patches.
  var hasDelta: Bool
  /// What of a map is read along with the subscribe; nil: the channel is taken as a stream.
  var map: MapRead?
  /// The subscription's type, as it was asked for.
  var type: Int32
  /// Milliseconds that the client is told to leave between its publications; 0: none.
  var publishDebounce: UInt32
  var isApps: Bool
  /// The channel is a shared poll, of which the broker knows nothing.
  var isPoll: Bool
  /// The server asks the backend before the subscription expires, and the client has nothing to refresh.
  var isRefreshedHere: Bool

  /// A grant's overrides go before the namespace's options. Overrides cannot make a channel keep what it does not.
  init(
    id: UInt32, channel: ChannelName, options: ChannelOptions, ask: ClientCommand.Subscribe,
    grant: SubscriptionGrant, expiresAt: Int64? = nil, token: TokenIdentity? = nil, maker: Maker = .client
  ) {
    self.token = token
    self.id = id
    self.channel = channel
    self.maker = maker
    self.grant = grant
    self.expiresAt = expiresAt
    binaryData = options.dataFormat == .binary
    let forcesRecovery = grant.forceRecovery ?? options.forceRecovery
    let forcesPositioning = grant.forcePositioning ?? options.forcePositioning
    // Gaps are meant in a low lane: nobody may count offsets there, whatever a token or the client says.
    let hasNoGaps = !options.lane.isConflated
    recoverable = hasNoGaps && options.keepsHistory && (forcesRecovery || ask.recoverable || ask.recover)
    // Whoever holds a map must hear when changes of it are missing, also where there is no stream to recover from.
    let holdsMap = options.kind == .map && ask.type != 0
    positioned = recoverable || hasNoGaps && (forcesPositioning || ask.positioned || holdsMap || options.app != nil)
    toldOfLoss = hasNoGaps || options.kind == .map
    filter = ask.filter
    hasDelta =
      ask.takesPatches && options.allowsDelta && maker == .client && ask.filter == nil && ask.type == 0
    isApps = options.app != nil
    isPoll = options.kind == .sharedPoll && maker == .client
    isRefreshedHere = options.subRefreshProxy && maker == .client && expiresAt != nil
    map = holdsMap ? MapRead(ask) : nil
    type = ask.type
    publishDebounce = options.publishDebounceMilliseconds
    let joinLeave = grant.joinLeave ?? options.joinLeave
    sendsMember = joinLeave || (grant.presence ?? options.presence)
    pushesJoinLeave = joinLeave && (ask.joinLeave || (grant.forcePushJoinLeave ?? options.forcePushJoinLeave))
    let readsStream = map?.phase == .stream || map?.cursor.isEmpty == false
    since =
      (ask.recover || readsStream) && (recoverable || readsStream)
      ? StreamPosition(epoch: ask.epoch, offset: ask.offset) : nil
    asksToRecover = ask.recover
    rejectsUnrecovered =
      maker == .client && ask.recover && ask.flag & ClientCommand.Subscribe.rejectUnrecovered != 0
  }

  var hubFlags: HubFlags {
    var flags: HubFlags = []
    if pushesJoinLeave { flags.insert(.joinLeave) }
    if toldOfLoss { flags.insert(.toldOfLoss) }
    if hasDelta { flags.insert(.delta) }
    return flags
  }

  func subscription(_ phase: SessionSubscription.Phase) -> SessionSubscription {
    var traits: SessionSubscription.Traits = []
    if maker != .client { traits.insert(.serverSide) }
    if maker == .service { traits.insert(.ordered) }
    if isPoll {
      return SessionSubscription(
        phase: phase, grant: SessionSubscription.Grant(info: grant.info, token: token, isNeeded: true),
        expiresAt: expiresAt ?? Int64.max)
    }
    if toldOfLoss { traits.insert(.toldOfLoss) }
    if sendsMember { traits.insert(.member) }
    return SessionSubscription(
      phase: phase, traits: traits,
      grant: SessionSubscription.Grant(info: grant.info, token: token, isNeeded: isRefreshedHere),
      expiresAt: expiresAt ?? Int64.max, filter: filter)
  }

  /// Whether a publication in the broker's answer reaches the client.
  func passes(_ publication: Publication, _ audience: TagFilter?) -> Bool {
    (audience?.matches(publication) ?? true) && (filter?.matches(publication) ?? true)
  }

  /// The result that the client is told. A recovery that is not whole gives no publications at all.
  func result(_ answer: BrokerResponse.Subscribed, at time: SessionTime) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    result.recoverable = recoverable
    result.positioned = positioned
    if positioned {
      result.epoch = answer.position.epoch
      result.offset = answer.position.offset
    }
    if since != nil {
      result.wasRecovering = true
      result.recovered = answer.recovered
      if !answer.recovered { result.gap = answer.gap }
      result.publications = answer.recovered ? answer.publications.filter { passes($0, answer.audience) } : []
    }
    result.publishDebounce = publishDebounce
    if map != nil {
      result.type = type
      // The stream after a snapshot completes it; it is a recovery only where the client said so.
      if !asksToRecover { (result.wasRecovering, result.recovered, result.gap) = (false, false, nil) }
      result.state = answer.entries.filter { passes($0, answer.audience) }
    }
    if let expiresAt, !isRefreshedHere {
      result.expires = true
      result.ttl = secondsLeft(until: expiresAt, at: time)
    }
    result.data = grant.data ?? []
    result.binaryData = binaryData
    result.delta = hasDelta
    return result
  }
}

extension SubscribeOrder {
  /// The result that the client is told with a part of a map, before it is subscribed.
  func result(_ page: MapPage) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    result.type = type
    result.phase = Int32(page.phase.rawValue)
    result.recoverable = recoverable
    result.epoch = page.position.epoch
    result.offset = page.position.offset
    result.cursor = page.cursor
    result.state = page.entries.filter { passes($0, nil) }
    result.publications = page.changes.filter { passes($0, nil) }
    result.binaryData = binaryData
    return result
  }
}

extension MapRead {
  /// A client that asks for a map as it comes live has read none of it yet: it gets the first page along.
  init(_ ask: ClientCommand.Subscribe) {
    self.init(
      phase: ask.phase == 1 || ask.phase == 0 && ask.recover ? .stream : .state, cursor: ask.cursor,
      limit: UInt32(clamping: ask.limit), isReversed: ask.asc)
  }
}

/// Seconds until an expiry, never 0: an SDK would take that for "ask for a new token at once", over and over.
func secondsLeft(until expiry: Int64, at time: SessionTime) -> UInt32 {
  let (left, overflow) = expiry.subtractingReportingOverflow(time.wall)
  return overflow ? UInt32.max : UInt32(clamping: max(left, 1))
}
