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
  let memory: any LogStore
  let disk: any LogStore
  var channels: [ChannelName: ChannelState] = [:]
  var links = LinkTable()
  var pending: [UInt64: PendingPublish] = [:]
  var nextTicket: UInt64 = 0
  /// Payload bytes that wait for the log.
  public internal(set) var pendingBytes = 0
  /// Channels in the order in which they fell idle.
  private var idle = DueQueue<ChannelName>()
  /// Idempotency keys in the order in which they end.
  private var idempotencyExpiry = DueQueue<(ChannelName, IdempotencyRecord)>()
  private var lastSweep: Int64?

  /// - Parameters:
  ///   - memory: keeps namespaces whose durability is `memory`.
  ///   - disk: keeps the others.
  public init(configuration: BrokerConfiguration, memory: any LogStore, disk: any LogStore) {
    self.configuration = configuration
    self.memory = memory
    self.disk = disk
  }

  /// True while so much waits for the log that requests should stay in their pipes, where their senders feel it.
  public var shouldPauseIngress: Bool { pendingBytes >= configuration.pendingBytes }

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
      case .history(let history): response = .history(try page(history, at: time))
      case .historyRemove(let channel): response = try removeHistory(of: channel, at: time)
      case .presence(let channel): response = .presence(channels[channel]?.members.infos ?? [])
      case .presenceStats(let channel):
        let members = channels[channel]?.members
        response = .presenceStats(
          clients: UInt32(clamping: members?.count ?? 0), users: UInt32(clamping: members?.userCount ?? 0))
      case .channels(let prefix): response = .channels(activeChannels(prefix: prefix))
      }
      answer(requester, response, at: time, into: &effects)
    } catch {
      if case .publish = request {
        settle(requester, .failed(error), at: time, into: &effects)
      } else {
        answer(requester, .failed(error), at: time, into: &effects)
      }
    }
  }

  func answer(
    _ requester: Requester, _ response: BrokerResponse, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    switch requester {
    case .service(let tag): effects.append(.answer(tag, response))
    case .gateway(let gateway, let request):
      send(.reply, LinkReply(id: request, response: response).bytes, to: gateway, at: time, into: &effects)
    }
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
    if let state = channels[name] { return state }
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
      channels[name] = state
      noteIdle(state, at: time)
      return state
    } catch {
      throw clientError(for: error)
    }
  }

  /// Starts the clock after which a channel without subscribers is forgotten.
  func noteIdle(_ state: ChannelState, at time: BrokerTime) {
    guard state.interest.isEmpty && state.members.isEmpty && state.idleSince == nil else { return }
    state.idleSince = time.monotonic
    idle.add(state.name, at: time.monotonic)
  }

  func hold(_ record: IdempotencyRecord, in state: ChannelState, at time: BrokerTime) {
    state.idempotency[IdentifierKey(record.key)] = record
    idempotencyExpiry.add((state.name, record), at: time.deadline(ofWall: record.expires))
  }

  /// What a client is told of the log's trouble: no paths, but what to do.
  func clientError(for error: LogError) -> ClientError {
    switch error {
    case .full, .readOnly:
      .internalError.saying("the publication was not stored, the server's disk takes nothing now; try again later")
    case .backlog: .tooManyRequests.saying("too many publications wait for the disk; publish more slowly")
    case .notContiguous, .failed:
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
      if let state = channels[channel], state.idempotency[key] == record { state.idempotency[key] = nil }
    }
    while let channel = idle.next(upTo: time.monotonic - configuration.idleChannelTimeout) {
      forgetIfIdle(channel, at: time)
    }
    if lastSweep.map({ time.monotonic - $0 >= 5_000 }) ?? true {
      lastSweep = time.monotonic
      memory.sweep(now: time.wall)
      disk.sweep(now: time.wall)
    }
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
