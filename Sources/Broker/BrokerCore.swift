public import Apps
public import Log
public import Wire

/// The broker without its sockets: one input at a time, answered with effects.
///
/// Everything that a channel's order, recovery and presence depend on is decided here, one turn at a time, with time and
/// randomness given from outside; the simulation runs this same code under a seed. It never waits for a store (the seam
/// is ``LogStore``): what it asks is answered by an input like any other (``takeNews(in:)``), and what needs the answer
/// is run again then (``Turn``).
public final class BrokerCore {
  public let configuration: BrokerConfiguration
  public internal(set) var counters = BrokerCounters()
  let memory: any LogStore
  let disk: any LogStore
  /// In the order in which they were given, and by name.
  private(set) var hosts: [AppHost] = []
  private(set) var apps: [String: AppHost] = [:]
  /// Open map channels of which an entry ends by itself, by the wall clock.
  var mapEnds = DueIndex<ChannelName>()
  var channels: [ChannelName: ChannelState] = [:]
  /// The one that was asked for last: one command asks for the same several times.
  var recentChannel: ChannelState?
  var links = LinkTable()
  var pending: [UInt64: PendingAppend] = [:]
  /// Answers that rest on entries which the log has not answered for, by ticket. No list is empty.
  var followers: [UInt64: [Follower]] = [:]
  var nextTicket: UInt64 = 0
  /// What the log took and has not on disk yet, in the log's own measure: delivered or not, it takes memory.
  public var pendingBytes: Int { disk.bytesWaiting }
  /// Channels in the order in which they fell idle, each once.
  var idle = DueQueue<ChannelName>()
  /// Open channels that hold idempotency keys, by the monotonic time at which the first of them ends.
  var keyEnds = DueIndex<ChannelName>()
  var keyShares = KeyShares()
  /// Memory that the entries of open maps take, roughly.
  var mapBytes = 0
  /// Of the users that make channels.
  var makers: TokenBuckets<IdentifierKey>
  /// Who was refused for a limit, summed up for the log.
  var refusals = RefusalLedger()
  /// The first of each cause, to be logged at once.
  var refusalLines: [RefusalLedger.Line] = []
  /// Of ``memory``, where it keeps them.
  let accounts: (any MemoryAccounts)?
  private var lastSweep: Int64?
  /// What waits for a store.
  var room = WaitingRoom()
  /// Somebody else keeps what was kept on disk.
  var hasLostStore = false
  /// Why the broker cannot begin.
  public private(set) var startFailure: String?
  /// What gateways were told to do with their connections, and have not confirmed.
  var orders = PendingOrders()
  /// Nil: nobody opened it, and tokens cannot be revoked.
  var revocations: RevocationLog?
  #if DEBUG
    var mutation: Mutation?
  #endif

  /// - Parameters:
  ///   - memory: keeps namespaces whose durability is `memory`.
  ///   - disk: keeps the others, and what apps keep.
  public init(configuration: BrokerConfiguration, memory: any LogStore, disk: any LogStore) {
    self.configuration = configuration
    self.memory = memory
    self.disk = disk
    accounts = memory as? any MemoryAccounts
    makers = TokenBuckets(configuration.creationRate, capacity: 100_000)
  }

  /// Switches an app on. Its namespaces must be in the configuration's table. Call it before anything else; the app's
  /// records are opened meanwhile (``isStarting``).
  public func install(_ app: any App, in turn: inout Turn) {
    let host = AppHost(app: app, store: disk, cacheBytes: configuration.appCacheBytes)
    hosts.append(host)
    apps[app.name] = host
    run(.loadRecords(host), in: &turn)
  }

  /// What the broker must know before it takes anything in is still being loaded.
  public var isStarting: Bool { !hosts.allSatisfy(\.isLoaded) || revocations?.isLoaded == false }

  /// True while so much waits for the log that requests should stay in their pipes, where their senders feel it.
  ///
  /// Not while the disk refuses: what needs it is refused then, and the rest goes on.
  public var shouldPauseIngress: Bool {
    if isStarting || room.count >= Self.mostWaiting || room.bytes >= configuration.pendingBytes { return true }
    return pendingBytes >= configuration.pendingBytes && !disk.isRefusing
  }

  /// True while so much of that has gone that requests are read again.
  var mayResumeIngress: Bool {
    if isStarting || room.count > Self.mostWaiting / 2 || room.bytes > configuration.pendingBytes / 2 { return false }
    return pendingBytes <= configuration.pendingBytes / 2 || disk.isRefusing
  }

  /// Inputs that wait for a store before no more are read.
  static let mostWaiting = 100_000

  /// Bytes of requests that one reading may take: as many as there is room for before ``shouldPauseIngress``, so that
  /// the log never has to refuse what was read, nor what waits for a channel that is being loaded.
  var ingressRoom: Int {
    max(0, configuration.pendingBytes - room.bytes - (disk.isRefusing ? 0 : pendingBytes))
  }

  // MARK: Requests

  /// A service's request, from an endpoint that is trusted.
  public func serve(
    _ request: BrokerRequest, for service: ServiceTag, in turn: inout Turn
  ) {
    switch request {
    case .subscribe, .unsubscribe:
      let error = ClientError.methodNotFound.saying("services tap channels on the tap endpoint; they do not subscribe")
      turn.effects.append(.answer(service, .failed(error)))
    default:
      perform(request, for: .service(service), in: &turn)
    }
  }

  func perform(
    _ request: BrokerRequest, for requester: Requester, _ occasion: RequestOccasion = .first, in turn: inout Turn
  ) {
    if room.hasLines, let line = WaitingRoom.Line(request, of: requester), room.isHeldUp(line) {
      return lineUp(input(request, requester, occasion))
    }
    run(request, for: requester, occasion, waiting: nil, in: &turn)
  }

  /// - Parameter waiting: nil: it is run for the first time.
  func run(
    _ request: BrokerRequest, for requester: Requester, _ occasion: RequestOccasion, waiting: WaitingRoom.Waiting?,
    in turn: inout Turn
  ) {
    do throws(ClientError) {
      if occasion == .retry, let response = try published(request, for: requester, in: &turn) {
        return settle(requester, response, in: &turn)
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
      case .channels(let prefix): response = .channels(activeChannels(prefix: prefix))
      case .disconnect(let target, let code):
        return try issue(.disconnect(target, code), then: .done, for: requester, in: &turn)
      case .endSubscriptions(let target, let channel, let code):
        let order = SessionOrder.unsubscribe(target, channel, code)
        return try issue(order, then: .done, for: requester, in: &turn)
      case .revoke(let revoke): return try self.revoke(revoke, for: requester, in: &turn)
      }
      answer(requester, response, in: &turn)
    } catch {
      if turn.missing.isEmpty { return refuse(request, error, for: requester, occasion, in: &turn) }
      park(waiting, input(request, requester, occasion), in: &turn)
    }
  }

  func answer(
    _ requester: Requester, _ response: BrokerResponse, in turn: inout Turn
  ) {
    switch requester {
    case .broker: break
    case .service(let tag): turn.effects.append(.answer(tag, response))
    case .gateway(let gateway, let request):
      send(.reply(LinkReply(id: request, response: response)), to: gateway, in: &turn)
    }
  }

  /// Channels that somebody is subscribed to, up to the page limit.
  private func activeChannels(prefix: String) -> [ChannelName] {
    let active = channels.values.lazy.filter { !$0.interest.isEmpty || !$0.members.isEmpty }.map(\.name)
    let matching = active.filter { prefix.isEmpty || $0.string.utf8.starts(with: prefix.utf8) }
    return Array(matching.sorted().prefix(Int(configuration.maximumPageSize)))
  }

  /// What a client is told of the log's trouble: no paths, but what to do.
  func clientError(for error: LogError) -> ClientError {
    switch error {
    case .full, .readOnly:
      .internalError.saying("the publication was not stored, the server's disk takes nothing now; try again later")
    case .backlog: .tooManyRequests.saying("too many publications wait for the disk; publish more slowly")
    case .notContiguous, .failed, .rejected, .fenced:
      .internalError.saying("the publication was not stored, the server's log failed; try again later")
    case .closed: .internalError.saying("the server is shutting down; try again on the next connection")
    }
  }

  func fail(_ reason: String) { startFailure = reason }

  // MARK: Time

  /// Time passes: heartbeats, gateways that vanished, keys and channels that nobody needs any more. Call it at least
  /// every heartbeat interval.
  ///
  /// - Parameter ingressPaused: requests are not read now, so silence proves nothing.
  public func tick(ingressPaused: Bool = false, in turn: inout Turn) {
    watchLinks(ingressPaused: ingressPaused, in: &turn)
    loadAgain(in: &turn)
    forgetKeys(at: turn.time)
    expireEntries(in: &turn)
    watchOrders(in: &turn)
    forgetRevocations(in: &turn)
    wakeApps(in: &turn)
    forgetIdleChannels(at: turn.time)
    if lastSweep.map({ turn.time.monotonic - $0 >= 5_000 }) ?? true {
      lastSweep = turn.time.monotonic
      memory.sweep(now: turn.time.wall)
      disk.sweep(now: turn.time.wall)
      giveBackMemory()
    }
  }

  /// When ``tick(ingressPaused:in:)`` has something to do before the next heartbeat, in monotonic milliseconds.
  public func nextDeadline(at time: BrokerTime) -> Int64? {
    var next = nextForgetting(at: time) ?? .max
    if let end = mapEnds.nextTime { next = min(next, time.deadline(ofWall: end)) }
    for host in hosts {
      if let refresh = host.nextTime { next = min(next, refresh) }
      if let due = host.timetable.next { next = min(next, time.deadline(ofWall: due)) }
    }
    return next == .max ? nil : next
  }

  /// The broker ends: the log writes what waits and marks the end as a clean one.
  public func close() {
    memory.close()
    disk.close()
  }
}

extension BrokerTime {
  /// The monotonic moment at which the wall clock's `expires` will have come.
  ///
  /// Ends are kept in time that never goes back: after a wall clock that was set back by a year, the first would
  /// otherwise keep all the others for a year.
  func deadline(ofWall expires: Int64) -> Int64 {
    let (left, overflow) = expires.subtractingReportingOverflow(wall)
    let (deadline, isLate) = monotonic.addingReportingOverflow(overflow ? 0 : max(0, left))
    return isLate ? .max : deadline
  }
}
