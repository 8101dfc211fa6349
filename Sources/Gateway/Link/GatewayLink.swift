public import Wire

/// What the gateway's end of the link is told at its start. Times in milliseconds, sizes in bytes.
public struct GatewayLinkConfiguration: Sendable {
  /// Drawn at the process's start; also the routing identity.
  public var gateway: UInt64
  /// Event loops, 64 at most.
  public var loops: Int
  public var heartbeatInterval: Int64
  /// Silence after which the broker is taken for gone.
  public var brokerTimeout: Int64
  public var requestTimeout: Int64
  /// Bytes of requests that may be under way to the broker before client sockets are read later.
  public var uplinkWindowBytes: Int
  /// The broker is told of so many bytes worked off at the latest.
  public var acknowledgeBytes: UInt64 = 1 << 20
  /// Subscribers of one channel on this gateway, on all its event loops: error 106. 0: any number.
  public var maximumSubscribers: Int
  /// Most publications that bring one channel up to date after a new session. It bounds what one channel may have
  /// missed, not how many channels there are: where it is more, that is said to be lost.
  public var resyncLimit: UInt32 = 10_000
  /// Bytes of payloads that are kept as bases of patches, one for each channel on which somebody takes patches.
  public var deltaBytes = 64 << 20
  /// The gateway keeps something of users on a disk, and asks for deletions that it has missed.
  public var keepsUsers = false
  /// Brokers that the gateway reaches. One of them has the channels.
  public var brokers = 1
  /// Which partition's channels these are, of how many partitions.
  public var partition = Partitioning.home
  public var partitions = 1
  /// False where only services ask by way of this gateway.
  public var hasClients = true

  public init(
    gateway: UInt64, loops: Int, heartbeatInterval: Int64, requestTimeout: Int64, uplinkWindowBytes: Int,
    maximumSubscribers: Int
  ) {
    precondition((1...64).contains(loops), "a gateway has 1 to 64 event loops")
    self.gateway = gateway
    self.loops = loops
    self.heartbeatInterval = heartbeatInterval
    self.requestTimeout = requestTimeout
    self.uplinkWindowBytes = uplinkWindowBytes
    self.maximumSubscribers = maximumSubscribers
    brokerTimeout = 5 * heartbeatInterval
  }
}

/// The gateway's end of the link to the broker of one partition, without its socket: requests in, publications out, every message
/// accounted for.
///
/// States:
/// - opening: a hello is on its way to every broker. Requests wait. Can transition to: open with the broker that welcomes
///   first, opening in a newer session (patience is over, or the connection to a broker is lost, and maybe the hello or
///   the welcome with it).
/// - open: messages flow. Can transition to: opening (a number is missing, the broker says reset, is silent, or the
///   connection to it is lost; or another broker welcomes the gateway with a higher term).
///
/// Where there are several brokers, terms tell which of them has the channels: one that was paused or cut off may take
/// itself for the owner for a moment, in a lower term than the one that has followed it. Its welcome counts for nothing,
/// unless the higher term has been silent for as long as a broker may be: then the log has gone back, and counts anew.
///
/// On every welcome the link resyncs: it asks again what was not answered, and for each channel from the position it last
/// handed on, and names its members; a thousand at a time. What was missed goes to the subscribers as if it came live, so
/// a broker that restarts is a pause and nothing else; what cannot be had any more is said to be lost, never passed over.
public final class GatewayLink {
  enum State {
    /// A hello is on its way, and is said again after so many milliseconds without an answer.
    case opening(patience: Int64)
    case open(OpenLink)
  }

  /// What counts between a welcome and the end of its session.
  struct OpenLink {
    /// Bytes worked off that are worth a message to the broker: so few that its window never waits for one.
    let acknowledgeBytes: UInt64
    var acknowledgedBytes: UInt64 = 0
    /// All revoked tokens, while they come in parts.
    var incomingRevocations: RevocationTable?
    /// Channels that the broker refused to bring up to date: asked again with the next tick.
    var channelsBehind: Set<ChannelName> = []
  }

  public let configuration: GatewayLinkConfiguration
  public internal(set) var counters = GatewayLinkCounters()
  private(set) var state: State
  var session: UInt64
  var nextSent: UInt64 = 0
  var nextReceived: UInt64 = 0
  var receivedBytes: UInt64 = 0
  var lastHeard: Int64 = 0
  var lastSent: Int64 = 0
  /// The broker that the session is with, or the last one was.
  private(set) var broker = 0
  /// The highest term in which a broker has welcomed this gateway.
  private(set) var term: UInt64 = 0
  /// When something came last in that term.
  private var termHeard: Int64 = 0
  var isHolding = false
  var pending = PendingRequests()
  var channels: [ChannelName: LinkChannel] = [:]
  /// Tokens that are revoked, as the broker said.
  var revocations = RevocationTable()
  /// Surveys that some event loop has still to answer.
  var surveysUnderWay = 0
  /// What is measured; nil: nothing is.
  var hops: GatewayHops?
  /// Requests under way that tell of clients for webhooks.
  var reportsUnderWay = 0
  /// With more of them, what clients do meanwhile is told to no webhook. A broker that is away for long must not fill
  /// the gateway's memory.
  static let mostReports = 50_000
  private var channelsMade: UInt64 = 0
  /// A session began, and not all channels that go on in it were asked for yet.
  var isResyncing = false
  /// Channels that are to be asked for, the next one last.
  var toResync: [ChannelName] = []
  /// The link's own requests that the broker has not answered.
  var resyncsUnderWay = 0
  /// Requests under way of subscribers who want only a part of their channel.
  var filteredUnderWay: Set<UInt64> = []
  /// Requests under way of subscribers who take patches.
  var deltaUnderWay: Set<UInt64> = []
  let bases: DeltaBases

  /// - Parameter firstSession: sessions rise from here; a gateway with a fresh identity may start at any number.
  public init(configuration: GatewayLinkConfiguration, firstSession: UInt64 = 1) {
    self.configuration = configuration
    bases = DeltaBases(limitBytes: configuration.deltaBytes)
    session = firstSession
    state = .opening(patience: configuration.heartbeatInterval)
  }

  public var isOpen: Bool { if case .open = state { true } else { false } }

  /// Changes what an open link knows; nothing where it is not open.
  @discardableResult
  func whileOpen<Result>(_ body: (inout OpenLink) -> Result) -> Result? {
    guard case .open(var open) = state else { return nil }
    // What `open` holds has one owner meanwhile, so that changing it copies nothing.
    state = .opening(patience: 0)
    defer { state = .open(open) }
    return body(&open)
  }

  /// Ends the session, if there is one. A link that waits for a welcome goes on waiting as patiently.
  func close() {
    guard isOpen else { return }
    termHeard = lastHeard
    state = .opening(patience: configuration.heartbeatInterval)
  }

  /// Waits for a welcome no longer than at first before it says the next hello.
  func beImpatient() {
    close()
    state = .opening(patience: configuration.heartbeatInterval)
  }

  /// Says hello. Call once, first.
  public func start(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    lastHeard = now
    sayHello(at: now, into: &effects)
  }

  /// The gateway ends, its sessions are closed.
  public func stop(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    if isOpen { send(.goodbye, at: now, into: &effects) }
  }

  // MARK: Requests

  /// A session's request. It gets exactly one answer.
  public func submit(_ request: GatewayRequest, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    var body = request.request
    if isResyncing, let name = body.channel { resyncFirst(name, at: now, into: &effects) }
    switch body {
    case .subscribe(let subscribe):
      if isFull(subscribe.channel) { return refuse(request.source, into: &effects) }
      channel(subscribe.channel).underWay += 1
      if request.isFiltered { filteredUnderWay.insert(pending.nextID) }
      if request.hasDelta { deltaUnderWay.insert(pending.nextID) }
    case .unsubscribe(var unsubscribe):
      let channel = channel(unsubscribe.channel)
      channel.remove(request.source, request.format)
      if let member = unsubscribe.member { channel.members[member.client] = nil }
      unsubscribe.keepsInterest = channel.isInUse
      if !channel.isInUse { channels[unsubscribe.channel] = nil }
      body = .unsubscribe(unsubscribe)
    case .report:
      guard reportsUnderWay < Self.mostReports else {
        counters.reportsLost += 1
        return effects.append(.answer(request.source, .done))
      }
      reportsUnderWay += 1
    default: break
    }
    if let hops, hops.hasPosted { tellTrace(of: request, hops, at: now, into: &effects) }
    add(
      body, .session(request.source, request.format), isService: request.isService, at: now, into: &effects)
    if pending.bytes > configuration.uplinkWindowBytes && !isHolding {
      isHolding = true
      effects.append(.holdClients(true))
    }
  }

  /// Whether the channel has as many subscribers as are allowed. They are counted here, since the broker sees a gateway
  /// once for each channel, however many of its clients are on it.
  private func isFull(_ name: ChannelName) -> Bool {
    configuration.maximumSubscribers > 0
      && (channels[name]?.subscriberCount ?? 0) >= configuration.maximumSubscribers
  }

  private func refuse(_ source: RequestSource, into effects: inout [GatewayLinkEffect]) {
    let error = ClientError.limitExceeded.saying(
      "the channel has as many subscribers on this server as are allowed; try again when some have left")
    effects.append(.refusal(source, .channelSubscribers, error))
  }

  func channel(_ name: ChannelName) -> LinkChannel {
    if let channel = channels[name] { return channel }
    channelsMade += 1
    let channel = LinkChannel(loops: configuration.loops, number: channelsMade, bases: bases)
    channels[name] = channel
    return channel
  }

  func add(
    _ request: consuming BrokerRequest, _ purpose: PendingRequest.Purpose, isService: Bool = false, at now: Int64,
    into effects: inout [GatewayLinkEffect]
  ) {
    let deadline = now + configuration.requestTimeout
    let isOpen = isOpen
    if isOpen {
      let message = LinkRequest(
        id: pending.nextID, oldestPending: pending.oldest, isResync: purpose == .resync, isService: isService,
        request: copy request)
      send(.request(message), at: now, into: &effects)
    }
    if purpose == .resync { resyncsUnderWay += 1 }
    _ = pending.add(consume request, purpose, deadline: deadline, wasSent: isOpen, isService: isService)
  }

  func send(_ request: PendingRequest, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    let message = LinkRequest(
      id: request.id, oldestPending: pending.oldest, isRetry: request.wasSent, isResync: request.purpose == .resync,
      isService: request.isService, request: request.request)
    pending.markSent(request.id)
    send(.request(message), at: now, into: &effects)
  }

  func send(_ body: LinkBody, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    effects.append(.send(LinkMessage(session: session, sequence: nextSent, body: body)))
    nextSent += 1
    lastSent = now
  }

  // MARK: Messages

  /// A message from a broker.
  public func receive(
    _ message: LinkMessage, from broker: Int = 0, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    guard message.session == session else { return }
    if configuration.brokers > 1, !isExpected(message, from: broker, at: now, into: &effects) { return }
    let kind = message.body.kind
    if kind == .reset {
      counters.resets += 1
      return reopen(at: now, into: &effects)
    }
    guard message.sequence == nextReceived, (kind == .welcome) != isOpen else {
      counters.gaps += 1
      return reopen(at: now, into: &effects)
    }
    nextReceived += 1
    receivedBytes += UInt64(message.cost)
    lastHeard = now
    do throws(MalformedMessage) {
      try handle(message, at: now, into: &effects)
    } catch {
      reopen(at: now, into: &effects)
    }
  }

  /// Chooses among several brokers: whether a message of the session is from the one that it is with, or opens it.
  private func isExpected(
    _ message: LinkMessage, from broker: Int, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) -> Bool {
    if isOpen, broker == self.broker { return true }
    // What another broker sends than the one that was chosen counts for nothing, but for its term.
    guard case .welcome(let welcome) = message.body else { return false }
    if isOpen {
      guard welcome.term > term else { return false }
      term = welcome.term
      reopen(at: now, into: &effects)
      termHeard = now
      return false
    }
    if welcome.term < term, now - termHeard <= configuration.brokerTimeout { return false }
    if broker != self.broker, counters.sessions > 0 { counters.moves += 1 }
    self.broker = broker
    return true
  }

  func handle(
    _ message: LinkMessage, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) throws(MalformedMessage) {
    switch message.body {
    case .welcome(let welcome):
      term = welcome.term
      state = .open(
        OpenLink(acknowledgeBytes: min(configuration.acknowledgeBytes, max(1, welcome.windowBytes / 16))))
      counters.sessions += 1
      resync(at: now, into: &effects)
      if configuration.keepsUsers { effects.append(.readMark(session: session)) }
    case .reply(let reply): try answered(reply, at: now, into: &effects)
    case .publication(let live): try deliver(live, into: &effects)
    case .join(let event):
      guard let audience = channels[event.channel]?.audience, audience.loops != 0 else { return }
      effects.append(.joined(event.channel, event.member, audience: audience))
    case .leave(let event):
      guard let audience = channels[event.channel]?.audience, audience.loops != 0 else { return }
      effects.append(.left(event.channel, event.member, audience: audience))
    case .audience(let change): changeAudience(change, into: &effects)
    case .discard(let discard): effects.append(.discard(discard.pictures))
    case .order(let order): obey(order, into: &effects)
    case .survey(let survey): ask(survey, into: &effects)
    case .deletions(let deletions): effects.append(.forgetMissed(deletions, session: session))
    case .trace(let trace): hops?.announced(trace)
    case .brokerHeartbeat: break
    case .hello, .request, .gatewayHeartbeat, .resynced, .goodbye, .obeyed, .findings, .forgotten, .reset, .unreadable:
      throw MalformedMessage()
    }
  }

  func deliver(
    _ message: LinkPublication, into effects: inout [GatewayLinkEffect]
  ) throws(MalformedMessage) {
    // A publication on a channel without a position is left over from an interest that ended, or comes before the
    // answer with which an interest begins.
    guard let channel = channels[message.channel], let position = channel.position else { return }
    guard position.offset < .max, message.publication.offset == position.offset + 1 else { throw MalformedMessage() }
    channel.position?.offset = message.publication.offset
    guard channel.hasSubscribers else { return }
    handOn(message.publication, on: message.channel, channel, into: &effects)
  }

  /// - Parameter channel: has subscribers.
  @inline(__always)
  func handOn(
    _ publication: Publication, on name: ChannelName, _ channel: LinkChannel, into effects: inout [GatewayLinkEffect]
  ) {
    counters.deliveries += UInt64(channel.receivers)
    if channel.hasDelta, let base = channel.exchangeBase(for: publication.data) { effects.append(.deltaBase(base)) }
    if channel.isFiltered {
      effects.append(.filteredPublication(name, publication, audience: channel.audience))
    } else {
      effects.append(.publication(name, publication, audience: channel.audience))
    }
    if let hops, hops.hasComing { noteMeasured(publication.offset, on: name, channel, hops, into: &effects) }
  }

  /// From here on the event loops hold what comes against the new filter: they see the change at its place in the
  /// stream.
  func changeAudience(_ change: LinkAudience, into effects: inout [GatewayLinkEffect]) {
    guard let channel = channels[change.channel], channel.hasSubscribers else { return }
    if change.admission == .admitted && !channel.allow(change.user, to: change.audience) { return }
    effects.append(.audienceChanged(change, audience: channel.audience))
  }

  // MARK: Time

  /// Time passes. Call it at least every heartbeat interval.
  ///
  /// - Parameter queuedBytes: what was handed to the event loops and is not worked off yet.
  public func tick(at now: Int64, queuedBytes: UInt64, into effects: inout [GatewayLinkEffect]) {
    for request in pending.expired(at: now) { giveUp(request, into: &effects) }
    releaseClients(into: &effects)
    switch state {
    case .opening(let patience):
      guard now - lastSent >= patience else { break }
      // Longer each time: a welcome that takes longer than one interval must find its session still open. And where no
      // broker is, hellos wait in the pipe for one.
      let most = max(6 * configuration.brokerTimeout, configuration.heartbeatInterval)
      state = .opening(patience: min(2 * patience, most))
      reopen(at: now, into: &effects)
    case .open(var open):
      if now - lastHeard > configuration.brokerTimeout { return reopen(at: now, into: &effects) }
      let behind = open.channelsBehind
      open.channelsBehind = []
      state = .open(open)
      // Sorted, so that a seed replays to the same end.
      for name in behind.sorted() {
        if let channel = channels[name], channel.position != nil { resync(name, channel, at: now, into: &effects) }
      }
      if now - lastSent >= configuration.heartbeatInterval { sendHeartbeat(queuedBytes, at: now, into: &effects) }
    }
  }

  /// Tells the broker what the event loops have worked off, once it is worth a message.
  public func acknowledge(queuedBytes: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    if owesAcknowledgement(queuedBytes: queuedBytes) { sendHeartbeat(queuedBytes, at: now, into: &effects) }
  }

  /// Whether so much was worked off that the broker is to hear of it before the next heartbeat.
  func owesAcknowledgement(queuedBytes: UInt64) -> Bool {
    guard case .open(let open) = state else { return false }
    return consumedBytes(queuedBytes) >= open.acknowledgedBytes + open.acknowledgeBytes
  }

  func consumedBytes(_ queued: UInt64) -> UInt64 { receivedBytes > queued ? receivedBytes - queued : 0 }

  func sendHeartbeat(_ queued: UInt64, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    let consumed = whileOpen { open in
      open.acknowledgedBytes = max(open.acknowledgedBytes, consumedBytes(queued))
      return open.acknowledgedBytes
    }
    guard let consumed else { return }
    send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: consumed)), at: now, into: &effects)
  }

  /// Answers a session's request with an error; what the broker makes of it later is undone or ignored.
  func giveUp(_ request: PendingRequest, into effects: inout [GatewayLinkEffect]) {
    guard case .session(let source, _) = request.purpose else { return }
    filteredUnderWay.remove(request.id)
    deltaUnderWay.remove(request.id)
    switch request.request {
    case .unsubscribe, .report: return  // Not given up: it is done by itself when the link is back.
    case .subscribe where request.wasSent: pending.abandon(request.id)
    case .subscribe(let subscribe):
      // The broker never heard of it, so nothing has to be undone, and nothing kept: through a long outage, clients try
      // again and again.
      _ = pending.remove(request.id)
      if let channel = channels[subscribe.channel] {
        channel.underWay -= 1
        if !channel.isInUse { channels[subscribe.channel] = nil }
      }
    default: _ = pending.remove(request.id)
    }
    counters.requestsTimedOut += 1
    let unknown =
      request.wasSent ? "the broker did not answer in time, so it is not known whether this was done; " : ""
    let error = ClientError.internalError.saying("\(unknown)the broker cannot be reached now; try again later")
    effects.append(.answer(source, .failed(error)))
  }
}
