public import Apps
public import Log
public import Wire

/// The broker without its sockets: one input at a time, answered with effects.
///
/// Everything that a channel's order, recovery and presence depend on is decided here, on one thread, with time and
/// randomness given from outside; the simulation runs this same code under a seed. The log is asked directly (the seam
/// is ``LogStore``): its answers are inputs like any other, and a read between a subscription and its answer must not
/// let a publication pass.
public final class BrokerCore {
  public let configuration: BrokerConfiguration
  public internal(set) var counters = BrokerCounters()
  var refusals = RefusalLedger()
  /// What is to be logged of them.
  var refusalLines: [RefusalLedger.Line] = []
  let memory: any LogStore
  let disk: any TransactionalStore
  /// In the order in which they were given, and by name.
  private(set) var hosts: [AppHost] = []
  private(set) var apps: [String: AppHost] = [:]
  var mapExpiry = DueHeap<ExpiringEntry>()
  /// Lists of apps that were brought up to date since the broker began.
  var refreshedLists: Set<ChannelName> = []
  var channels: [ChannelName: ChannelState] = [:]
  /// The one that was asked for last: one command asks for the same several times.
  private var recentChannel: ChannelState?
  var links = LinkTable()
  var pending: [UInt64: PendingPublish] = [:]
  /// Answers that rest on entries which the log has not answered for, by ticket. No list is empty.
  var followers: [UInt64: [Follower]] = [:]
  var nextTicket: UInt64 = 0
  /// What the log took and has not on disk yet, in the log's own measure: delivered or not, it takes memory.
  public var pendingBytes: Int { disk.bytesWaiting }
  /// Channels in the order in which they fell idle.
  private var idle = DueQueue<ChannelName>()
  /// Idempotency keys in the order in which they end.
  private var idempotencyExpiry = DueQueue<(ChannelName, IdempotencyRecord)>()
  private var lastSweep: Int64?
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
  public init(configuration: BrokerConfiguration, memory: any LogStore, disk: any TransactionalStore) {
    self.configuration = configuration
    self.memory = memory
    self.disk = disk
  }

  /// Switches an app on. Its namespaces must be in the configuration's table. Call it before anything else.
  ///
  /// - Throws: where its records cannot be read.
  public func install(_ app: any App) throws(LogError) {
    let channel = AppHost.recordsChannel(of: app)
    let opened = try disk.open(channel, durability: .durable)
    let state = ChannelState(
      name: channel, options: AppHost.recordsOptions, store: disk, opened: opened, isHidden: true)
    let host = AppHost(app: app, recordsState: state)
    hosts.append(host)
    apps[app.name] = host
  }

  /// True while so much waits for the log that requests should stay in their pipes, where their senders feel it.
  ///
  /// Not while the disk refuses: what needs it is refused then, and the rest goes on.
  public var shouldPauseIngress: Bool { pendingBytes >= configuration.pendingBytes && !disk.isRefusing }

  /// True while so much of that has gone that requests are read again.
  var mayResumeIngress: Bool { pendingBytes <= configuration.pendingBytes / 2 || disk.isRefusing }

  /// Bytes of requests that one reading may take: as many as there is room for before ``shouldPauseIngress``, so that
  /// the log never has to refuse what was read.
  var ingressRoom: Int { disk.isRefusing ? .max : max(0, configuration.pendingBytes - pendingBytes) }

  // MARK: Requests

  /// A service's request, from an endpoint that is trusted.
  public func serve(
    _ request: BrokerRequest, for service: ServiceTag, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    switch request {
    case .subscribe, .unsubscribe:
      let error = ClientError.methodNotFound.saying("services tap channels on the tap endpoint; they do not subscribe")
      effects.append(.answer(service, .failed(error)))
    default:
      perform(request, for: .service(service), isResync: false, at: time, into: &effects)
    }
  }

  func perform(
    _ request: BrokerRequest, for requester: Requester, isResync: Bool, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) {
    do throws(ClientError) {
      let response: BrokerResponse
      switch request {
      case .publish(let publish):
        return try self.publish(publish, for: requester, at: time, into: &effects)
      case .subscribe(let subscribe):
        return try self.subscribe(subscribe, for: requester, isResync: isResync, at: time, into: &effects)
      case .unsubscribe(let unsubscribe):
        response = self.unsubscribe(unsubscribe, for: requester, at: time, into: &effects)
      case .history(let history): response = try page(history, at: time)
      case .historyRemove(let channel): response = try removeHistory(of: channel, at: time)
      case .presence(let channel, let viewer, let answer):
        response = try presence(on: channel, for: viewer, within: answer, at: time)
      case .presenceStats(let channel, let viewer):
        let members = try members(of: channel, for: viewer, at: time)
        let users = Set(members.lazy.map { IdentifierKey($0.user) }).count
        response = .presenceStats(clients: UInt32(clamping: members.count), users: UInt32(clamping: users))
      case .edit(let edit):
        try refuseAroundUnlessAuthor(edit, at: time)
        return try self.edit(edit, for: requester, at: time, into: &effects)
      case .receipt(let receipt):
        return try self.receipt(receipt, for: requester, at: time, into: &effects)
      case .readMap(let request): response = try readMap(request, at: time)
      case .unread(let user, let channels): response = try unread(channels, by: user, at: time)
      case .call(let call): return try self.call(call, for: requester, at: time, into: &effects)
      case .channels(let prefix): response = .channels(activeChannels(prefix: prefix))
      case .disconnect(let target, let code):
        return try issue(.disconnect(target, code), then: .done, for: requester, at: time, into: &effects)
      case .endSubscriptions(let target, let channel, let code):
        let order = SessionOrder.unsubscribe(target, channel, code)
        return try issue(order, then: .done, for: requester, at: time, into: &effects)
      case .revoke(let revoke): return try self.revoke(revoke, for: requester, at: time, into: &effects)
      }
      answer(requester, response, at: time, into: &effects)
    } catch {
      refuse(request, error, for: requester, isResync: isResync, at: time, into: &effects)
    }
  }

  func answer(
    _ requester: Requester, _ response: BrokerResponse, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    switch requester {
    case .broker: break
    case .service(let tag): effects.append(.answer(tag, response))
    case .gateway(let gateway, let request):
      send(.reply, LinkReply(id: request, response: response).bytes, to: gateway, at: time, into: &effects)
    }
  }

  private func members(
    of name: ChannelName, for viewer: String?, at time: BrokerTime
  ) throws(ClientError) -> [ClientInfo] {
    if let viewer, let options = configuration.namespaces.options(for: name), options.app != nil {
      let audience = try admit(viewer, to: try channel(name, at: time), at: time)
      let members = channels[name]?.members.infos ?? []
      return members.filter { audience?.matches(member: $0) ?? true }
    }
    return channels[name]?.members.infos ?? []
  }

  /// Apps let authors change what they wrote where their namespaces say so; services have no business there.
  private func refuseAroundUnlessAuthor(
    _ edit: BrokerRequest.EditRequest, at time: BrokerTime
  ) throws(ClientError) {
    guard edit.editor == nil else { return }
    let state = try channel(edit.channel, at: time)
    if state.options.app != nil { throw Self.refusal(of: state) }
  }

  /// Channels that somebody is subscribed to, up to the page limit.
  private func activeChannels(prefix: String) -> [ChannelName] {
    let active = channels.values.lazy.filter { !$0.interest.isEmpty || !$0.members.isEmpty }.map(\.name)
    let matching = active.filter { prefix.isEmpty || $0.string.utf8.starts(with: prefix.utf8) }
    return Array(matching.sorted().prefix(Int(configuration.maximumPageSize)))
  }

  // MARK: Channels

  /// The channel's state, opened in the log where it was not in use.
  func channel(_ name: ChannelName, at time: BrokerTime) throws(ClientError) -> ChannelState {
    if let recentChannel, recentChannel.name == name { return recentChannel }
    if let state = channels[name] {
      recentChannel = state
      return state
    }
    guard let options = configuration.namespaces.options(for: name) else {
      throw .unknownChannel.saying("the namespace of channel \"\(name)\" is not configured")
    }
    let store = options.durability == .memory ? memory : disk
    do {
      let opened = try store.open(name, durability: options.durability)
      let state = ChannelState(name: name, options: options, store: store, opened: opened)
      for record in opened.idempotencyKeys {
        idempotencyExpiry.add((name, record), at: time.deadline(ofWall: record.expires))
      }
      try openMap(of: state, at: time)
      channels[name] = state
      refreshOpened(state, at: time)
      noteIdle(state, at: time)
      return state
    } catch let error as ClientError {
      throw error
    } catch let error as LogError {
      throw clientError(for: error)
    } catch {
      preconditionFailure("opening a channel throws errors of clients and of the log alone: \(error)")
    }
  }

  /// Starts the clock after which a channel without subscribers is forgotten.
  func noteIdle(_ state: ChannelState, at time: BrokerTime) {
    guard state.interest.isEmpty && state.members.isEmpty && state.idleSince == nil else { return }
    state.idleSince = time.monotonic
    idle.add(state.name, at: time.monotonic)
  }

  /// - Parameter ticket: nil where the log has the publication already.
  func hold(_ record: IdempotencyRecord, upon ticket: UInt64?, in state: ChannelState, at time: BrokerTime) {
    state.idempotency[IdentifierKey(record.key)] = HeldKey(record: record, ticket: ticket)
    idempotencyExpiry.add((state.name, record), at: time.deadline(ofWall: record.expires))
  }

  /// What a client is told of the log's trouble: no paths, but what to do.
  func clientError(for error: LogError) -> ClientError {
    switch error {
    case .full, .readOnly:
      .internalError.saying("the publication was not stored, the server's disk takes nothing now; try again later")
    case .backlog: .tooManyRequests.saying("too many publications wait for the disk; publish more slowly")
    case .notContiguous, .failed, .rejected:
      .internalError.saying("the publication was not stored, the server's log failed; try again later")
    case .closed: .internalError.saying("the server is shutting down; try again on the next connection")
    }
  }

  // MARK: Time

  /// Time passes: heartbeats, gateways that vanished, keys and channels that nobody needs any more. Call it at least
  /// every heartbeat interval.
  ///
  /// - Parameter ingressPaused: requests are not read now, so silence proves nothing.
  public func tick(at time: BrokerTime, ingressPaused: Bool = false, into effects: inout [BrokerEffect]) {
    watchLinks(at: time, ingressPaused: ingressPaused, into: &effects)
    while let (channel, record) = idempotencyExpiry.next(upTo: time.monotonic) {
      let key = IdentifierKey(record.key)
      // A key that was used again since has a record and an end of its own.
      if let state = channels[channel], state.idempotency[key]?.record == record { state.idempotency[key] = nil }
    }
    expireEntries(at: time, into: &effects)
    watchOrders(at: time, into: &effects)
    forgetRevocations(at: time)
    wakeApps(at: time, into: &effects)
    while let channel = idle.next(upTo: time.monotonic - configuration.idleChannelTimeout) {
      forgetIfIdle(channel, at: time)
    }
    if lastSweep.map({ time.monotonic - $0 >= 5_000 }) ?? true {
      lastSweep = time.monotonic
      memory.sweep(now: time.wall)
      disk.sweep(now: time.wall)
    }
  }

  /// When ``tick(at:ingressPaused:into:)`` has something to do before the next heartbeat, in monotonic milliseconds.
  public func nextDeadline(at time: BrokerTime) -> Int64? {
    var deadlines = hosts.compactMap(\.nextTime)
    if let expiry = mapExpiry.nextTime { deadlines.append(time.deadline(ofWall: expiry)) }
    for host in hosts { if let due = host.timetable.next { deadlines.append(time.deadline(ofWall: due)) } }
    return deadlines.min()
  }

  /// The broker ends: the log writes what waits and marks the end as a clean one.
  public func close() {
    memory.close()
    disk.close()
  }

  private func forgetIfIdle(_ channel: ChannelName, at time: BrokerTime) {
    guard let state = channels[channel], let since = state.idleSince else { return }
    if time.monotonic - since < configuration.idleChannelTimeout { return }
    if state.canBeForgotten {
      channels[channel] = nil
      if recentChannel === state { recentChannel = nil }
    } else {
      state.idleSince = nil
      noteIdle(state, at: time)
    }
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
