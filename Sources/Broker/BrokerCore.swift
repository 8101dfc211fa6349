public import Apps
public import Log
public import Wire

/// The broker without its sockets: one input at a time, answered with effects.
///
/// Everything that a channel's order, recovery and presence depend on is decided here, one turn at a time, with time
/// and randomness given from outside; the simulation runs this same code under a seed. The core never waits for a store
/// (the seam is ``LogStore``): the answer to a question comes as an input like any other (``takeNews(in:)``), and the
/// input that asked is run again then (``Turn``).
public final class BrokerCore {
  public let configuration: BrokerConfiguration
  let tally = BrokerTally()
  let stores: Stores
  let channels: ChannelTable
  let links: GatewayLinks
  let appends = AppendLedger()
  let hosts: AppHosts
  /// Orders about connections that some gateway has not confirmed.
  var orders = PendingOrders()
  /// Requests of services that are done once, however often they are repeated.
  var calls = OnceCalls()
  /// Questions to the gateways about what they carry.
  var surveys = PendingSurveys()
  /// When the first tick came, soon after the process began, in monotonic milliseconds.
  private(set) var startedAt: Int64?
  /// Nil where ``openRevocations(in:)`` was not called: tokens cannot be revoked then.
  var revocations: RevocationLog?
  var tellings = RevocationTellings()
  /// Nil where no webhook is configured.
  var webhooks: Webhooks?
  /// Nil where ``openDeletions(in:)`` was not called: users' data cannot be deleted then.
  var deletions: UserDeletions?
  /// Looks of services at what is kept of users that are under way; those of users themselves are counted at
  /// ``accounts``.
  var looks = UserLooks()
  var accounts: AccountDesk
  var accountNotes: [AccountNote] = []
  /// Those of them that wait for a picture.
  var pictureLooks = PictureLooks()
  var pushRequests = PushRequests()
  var postings = OutboxPostings()
  /// Nil where notifications are off.
  var notices: NoticeOutbox?
  /// Why the broker cannot begin, as a sentence for the operator; nil: it can.
  public private(set) var startFailure: String?
  /// What is measured; nil: nothing is.
  public var hops: BrokerHops?
  private var lastSweep: Int64?
  #if MUTATIONS
    var mutation: Mutation?
  #endif

  /// - Parameters:
  ///   - memory: keeps namespaces whose durability is `memory`.
  ///   - disk: keeps the others, and what apps keep.
  public init(configuration: BrokerConfiguration, memory: any LogStore, disk: any LogStore) {
    self.configuration = configuration
    stores = Stores(memory: memory, disk: disk, configuration)
    channels = ChannelTable(configuration, memory as? MemoryStore, tally)
    links = GatewayLinks(configuration, tally)
    accounts = AccountDesk(configuration.accounts)
    hosts = AppHosts(configuration.namespaces)
  }

  public var counters: BrokerCounters { tally.counters }

  /// Bytes that the log took and has not on disk yet, in the log's own measure: delivered or not, they take memory.
  public var pendingBytes: Int { stores.pendingBytes }

  /// Switches an app on. Its namespaces must be in the configuration's table. To be called before the first input;
  /// until the app's records are loaded, ``isStarting`` is true.
  public func install(_ app: any App, in turn: inout Turn) {
    let host = AppHost(app: app, store: stores.disk, cacheBytes: configuration.appCacheBytes)
    hosts.add(host)
    run(.loadRecords(host), in: &turn)
    if let app = app as? any NotifyingApp { openNotices(app, host, in: &turn) }
  }

  /// True while apps' records, revocations, webhooks or deletions, which the broker must know before it takes anything
  /// in, are being loaded.
  public var isStarting: Bool {
    !hosts.all.allSatisfy { $0.isLoaded } || revocations?.isLoaded == false || webhooks?.isLoaded == false
      || deletions?.isLoaded == false || notices?.isOpen == false
  }

  /// True while so much waits for the log, or the broker is still starting, that requests should stay in their pipes,
  /// where their senders feel it.
  public var shouldPauseIngress: Bool { isStarting || stores.areFull }

  /// True once requests that were left in their pipes may be read again: at most half of what was too much still waits.
  var mayResumeIngress: Bool { !isStarting && stores.haveRoom }

  // MARK: Requests

  /// Takes in a service's request. The endpoint has checked the service's grant.
  ///
  /// - Parameter context: the trace that the request belongs to; nil: what it says itself counts.
  public func serve(
    _ request: BrokerRequest, for service: ServiceTag, under context: TraceContext? = nil, in turn: inout Turn
  ) {
    hops?.take(request, service, under: context)
    switch request {
    case .subscribe, .unsubscribe:
      turn.effects.append(.answer(service, .failed(Self.servicesTap)))
    default:
      handle(request, for: .service(service), in: &turn)
    }
  }

  static let servicesTap = ClientError.methodNotFound.saying(
    "services tap channels on the tap endpoint; they do not subscribe")

  func handle(
    _ request: BrokerRequest, for requester: Requester, _ occasion: RequestOccasion = .first, in turn: inout Turn
  ) {
    guard isHere(request) else {
      return refuse(request, refusalElsewhere(request, of: requester), for: requester, occasion, in: &turn)
    }
    if stores.isHeldUp(request, of: requester) { return stores.lineUp(input(request, requester, occasion)) }
    run(request, for: requester, occasion, waiting: nil, in: &turn)
  }

  /// Whether the request is about no channel, or about one of this broker's partition.
  private func isHere(_ request: BrokerRequest) -> Bool {
    if configuration.partitioning.count == 1 { return true }
    guard let channel = request.placedBy else { return true }
    return configuration.partitioning.partition(of: channel) == configuration.partition
  }

  /// What a backend has committed for a channel of an app would never be published, so that nothing behind it has to
  /// wait. Whatever else is another broker's may become ours when the settings agree.
  private func refusalElsewhere(_ request: BrokerRequest, of requester: Requester) -> ClientError {
    guard requester.isOutbox, let channel = request.channel,
      let app = configuration.namespaces.options(for: channel)?.app
    else { return Self.elsewhere }
    return Self.refusal(of: channel, app)
  }

  private static let elsewhere = ClientError.internalError.saying(
    "another broker has the channel: namespaces and cluster.partitions have to be the same for gateways and brokers")

  /// Runs a request to its answer, its refusal, or to the point where it has to wait for a store.
  ///
  /// - Parameter waiting: the request as it stood in the waiting room; nil: it is run for the first time.
  func run(
    _ request: BrokerRequest, for requester: Requester, _ occasion: RequestOccasion, waiting: WaitingRoom.Waiting?,
    in turn: inout Turn
  ) {
    do throws(ClientError) {
      if occasion == .retry, let response = try published(request, for: requester, in: &turn) {
        return answerAndRemember(requester, response, in: &turn)
      }
      let response: BrokerResponse
      switch request {
      case .publish(let publish):
        return try self.publish(publish, for: requester, in: &turn)
      case .subscribe(let subscribe):
        return try self.subscribe(subscribe, for: requester, isResync: occasion == .resync, in: &turn)
      case .unsubscribe(let unsubscribe):
        response = self.unsubscribe(unsubscribe, for: requester, in: &turn)
      case .history(let history): response = try page(history, in: &turn)
      case .historyRemove(let channel): response = try removeHistory(of: channel, in: &turn)
      case .presence(let channel, let viewer, let answer):
        response = try presence(on: channel, for: viewer, within: answer, in: &turn)
      case .presenceStats(let channel, let viewer):
        response = try presenceStats(of: channel, for: viewer, in: &turn)
      case .edit(let edit): return try self.edit(edit, for: requester, in: &turn)
      case .receipt(let receipt):
        return try self.receipt(receipt, for: requester, in: &turn)
      case .readMap(let request): response = try readMap(request, in: &turn)
      case .unread(let user, let channels): response = try unread(channels, by: user, in: &turn)
      case .call(let call): return try self.call(call, for: requester, in: &turn)
      case .channels(let prefix):
        response = .channels(channels.active(prefix: prefix, limit: Int(configuration.maximumPageSize)))
      case .channelCounts(let pattern): return try countClients(on: pattern, for: requester, in: &turn)
      case .info: return try begin(.counts, for: requester, in: &turn)
      case .why(let why): return try self.why(why, for: requester, in: &turn)
      case .inspect(let request): return try inspect(request, for: requester, in: &turn)
      case .top(let visible): return try begin(.top, for: requester, visible: visible, in: &turn)
      case .once(let key, let request): return try once(key, request, for: requester, in: &turn)
      case .disconnect(let target, let code):
        return try issue(.disconnect(target, code), then: .done, for: requester, in: &turn)
      case .beginSubscriptions(let target, let subscription):
        return try subscribe(target, to: subscription, for: requester, in: &turn)
      case .endSubscriptions(let target, let channel, let code):
        let order = SessionOrder.unsubscribe(target, channel, code)
        return try issue(order, then: .done, for: requester, in: &turn)
      case .refresh(let target, let expiry):
        return try issue(.refresh(target, expiry), then: .done, for: requester, in: &turn)
      case .revoke(let revoke): return try self.revoke(revoke, for: requester, in: &turn)
      case .report(let event): return report(event, for: requester, occasion, in: &turn)
      case .webhooks(let request): return try webhooks(request, for: requester, in: &turn)
      case .user(let user): return try self.serve(user, for: requester, in: &turn)
      case .push(let push): return try self.push(push, for: requester, in: &turn)
      }
      answer(requester, response, in: &turn)
    } catch {
      if turn.missing.isEmpty { return refuse(request, error, for: requester, occasion, in: &turn) }
      stores.park(waiting, input(request, requester, occasion), in: &turn)
    }
  }

  func answer(
    _ requester: Requester, _ response: BrokerResponse, in turn: inout Turn
  ) {
    switch requester {
    case .broker: break
    case .outbox(let message): conclude(message, response)
    case .service(let tag):
      if let hops, !hops.isIdle { hops.answered(requester, failure: response.failure) }
      turn.effects.append(.answer(tag, response))
    case .gateway(let gateway, let request), .remoteService(let gateway, let request):
      links.send(.reply(LinkReply(id: request, response: response)), to: gateway, in: &turn)
    }
    answeredOnce(requester, response, in: &turn)
  }

  func fail(_ reason: String) { startFailure = reason }

  // MARK: Time

  /// Does what time brings: heartbeats, gateways that vanished, keys and channels that nobody needs any more. To be
  /// called at least every heartbeat interval.
  ///
  /// - Parameter ingressPaused: requests are not read now, so a gateway that seems silent may have sent something.
  public func tick(ingressPaused: Bool = false, in turn: inout Turn) {
    if startedAt == nil { startedAt = turn.time.monotonic }
    watchLinks(ingressPaused: ingressPaused, in: &turn)
    if let hops, !hops.isIdle { hops.forgetOld() }
    loadAgain(in: &turn)
    channels.forgetKeys(at: turn.time)
    calls.forget(at: turn.time.monotonic)
    expireEntries(in: &turn)
    watchOrders(in: &turn)
    goOnTelling(in: &turn)
    answerSurveys(in: &turn)
    goOnPublishing(in: &turn)
    forgetRevocations(in: &turn)
    watchDeletions(in: &turn)
    goOnLooking(in: &turn)
    wakeApps(in: &turn)
    tickWebhooks(in: &turn)
    tickNotices(in: &turn)
    channels.forgetIdle(at: turn.time, unless: stores.isReading)
    if lastSweep.map({ turn.time.monotonic - $0 >= 5_000 }) ?? true {
      lastSweep = turn.time.monotonic
      stores.sweep(at: turn.time.wall)
      channels.giveBackMemory()
      appends.giveBackMemory()
      links.giveBackMemory()
    }
  }

  /// When ``tick(ingressPaused:in:)`` has something to do before the next heartbeat, in monotonic milliseconds.
  public func nextDeadline(at time: BrokerTime) -> Int64? {
    let next = min(
      channels.nextDeadline(at: time), hosts.nextDeadline(at: time), surveys.nextDeadline ?? .max, webhookDeadline,
      deletions?.nextDeadline ?? .max, looks.nextDeadline, notices?.nextTime ?? .max,
      tellings.isEmpty && !postings.relays.isBehind ? .max : 0)
    return next == .max ? nil : next
  }

  /// Ends the broker: the log writes what waits and marks its end as a clean one.
  public func close() {
    stores.close()
  }
}

extension BrokerTime {
  /// The monotonic moment at which the wall clock's `expires` will have come.
  ///
  /// The ends of keys and entries are kept in time that never goes back. If a wall clock was set back by a year, an end
  /// noted before would otherwise lie a year ahead, and those queued behind it would wait as long.
  func deadline(ofWall expires: Int64) -> Int64 {
    let (left, overflow) = expires.subtractingReportingOverflow(wall)
    let (deadline, isLate) = monotonic.addingReportingOverflow(overflow ? 0 : max(0, left))
    return isLate ? .max : deadline
  }
}
