import Log
public import Wire

/// Messages from gateways, and what they change of the gateways' interest and members.
extension BrokerCore {
  /// Takes in a message from a gateway.
  ///
  /// - Parameter gateway: the gateway's routing identity, which it drew at its start.
  public func receive(
    _ message: LinkMessage, from gateway: UInt64, in turn: inout Turn
  ) {
    if message.body.kind == .hello { return open(message, from: gateway, in: &turn) }
    guard let (link, session) = links.accept(message, from: gateway, in: &turn) else { return }
    switch message.body {
    case .request(let request):
      link.forgetResults(before: request.oldestPending)
      begin(.request(request), cost: message.cost, of: link, session, in: &turn)
    case .gatewayHeartbeat(let heartbeat):
      session.consumed(heartbeat.consumedBytes)
      resumeTelling(link, session)
      goOn(link, session, in: &turn)
    case .resynced: begin(.resynced, cost: message.cost, of: link, session, in: &turn)
    case .obeyed(let obeyed): self.obeyed(obeyed.id, by: gateway, in: &turn)
    case .findings(let findings): found(findings, by: link, in: &turn)
    case .forgotten(let forgotten): self.forgotten(forgotten, by: link, session, in: &turn)
    case .trace(let trace): hops?.expect(trace, from: gateway)
    case .goodbye: begin(.goodbye, cost: message.cost, of: link, session, in: &turn)
    case .hello, .welcome, .reply, .publication, .join, .leave, .brokerHeartbeat, .reset, .audience, .discard,
      .order, .survey, .deletions, .unreadable:
      links.overflow(link, in: &turn)
    }
  }

  /// Resets the link to a gateway whose pipe did not take a message: the gateway has not got all that was numbered.
  public func sendFailed(to gateway: UInt64, in turn: inout Turn) {
    if let link = links[gateway] { links.overflow(link, in: &turn) }
  }

  // MARK: Requests

  /// Does a piece of work for a gateway at once, or puts it into the backlog until there is room for its answer.
  private func begin(
    _ work: LinkBacklog.Work, cost: Int, of link: PeerLink, _ session: PeerSession, in turn: inout Turn
  ) {
    if session.backlog.isEmpty && hasRoom(for: work, in: session) { return begin(work, of: link, in: &turn) }
    tally.counters.requestsDeferred += 1
    session.backlog.append(work, bytes: cost)
    // A gateway keeps what it asks for within a window of its own, so one that sends more than this is broken or
    // hostile.
    if session.backlog.bytes > Self.backlogBytes { links.overflow(link, in: &turn) }
  }

  private static let backlogBytes = 256 << 20

  /// Does what waited for room on a link, because there may be more room now.
  func goOn(_ link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    if !session.lateReplies.isEmpty {
      for reply in session.takeLateReplies(window: configuration.linkWindowBytes) {
        links.send(.reply(reply), to: link.gateway, in: &turn)
      }
    }
    while link.open === session, session.lateReplies.isEmpty, let work = session.backlog.first,
      hasRoom(for: work, in: session)
    {
      session.backlog.removeFirst()
      begin(work, of: link, in: &turn)
    }
  }

  private func hasRoom(for work: LinkBacklog.Work, in session: PeerSession) -> Bool {
    switch work {
    case .request(let request):
      guard let answer = request.request.answerLimit else { return true }
      return session.hasRoom(forAnswerOf: configuration.bytes(of: answer), window: configuration.linkWindowBytes)
    case .resynced, .goodbye: return session.waiting == 0
    case .revocations: return session.telling == nil
    }
  }

  private func begin(
    _ work: LinkBacklog.Work, of link: PeerLink, in turn: inout Turn
  ) {
    switch work {
    case .request(let request): begin(request, of: link, in: &turn)
    case .resynced: finishResync(of: link, in: &turn)
    case .goodbye: depart(link, in: &turn)
    case .revocations: break  // They were told.
    }
  }

  private func begin(
    _ request: LinkRequest, of link: PeerLink, in turn: inout Turn
  ) {
    let requester: Requester =
      request.isService
      ? .remoteService(link.gateway, request: request.id) : .gateway(link.gateway, request: request.id)
    guard request.request.isRemembered else {
      return handle(request.request, for: requester, request.isResync ? .resync : .first, in: &turn)
    }
    if request.isRetry, isKnown(request.id, on: link, in: &turn) { return }
    link.startedPublish(request.id)
    handle(request.request, for: requester, request.isRetry ? .retry : .first, in: &turn)
  }

  // MARK: Interest and members

  private func open(
    _ message: LinkMessage, from gateway: UInt64, in turn: inout Turn
  ) {
    guard case .hello(let hello) = message.body, hello.gateway == gateway else {
      tally.counters.unreadableHellos += 1
      return
    }
    guard hello.partition == configuration.partition, hello.partitions == configuration.partitioning.count else {
      tally.counters.misplacedHellos += 1
      return
    }
    // Another broker has the channels, and welcomes the gateway. This one does so when it has them again.
    if stores.isLost { return links.putOff(message.session, of: gateway, hasClients: hello.hasClients) }
    open(message.session, by: gateway, hasClients: hello.hasClients, in: &turn)
  }

  /// Welcomes the gateways that have said hello while another broker had the channels.
  func welcomeLateGateways(in turn: inout Turn) {
    for (gateway, session, hasClients) in links.takePutOff() {
      open(session, by: gateway, hasClients: hasClients, in: &turn)
    }
  }

  private func open(_ session: UInt64, by gateway: UInt64, hasClients: Bool, in turn: inout Turn) {
    guard let link = links.open(session, by: gateway, hasClients: hasClients, at: turn.time) else { return }
    // The gateway names the channels that it still wants again (``finishResync(of:in:)``).
    for name in link.channels { channels[name]?.interest.removeAll { $0 == gateway } }
    let welcome = LinkWelcome(
      broker: configuration.instance, term: stores.disk.term, windowBytes: configuration.linkWindowBytes)
    links.send(.welcome(welcome), to: gateway, in: &turn)
    if !hasClients { return }
    // Revocations and orders go out before anything that the gateway would hand on to its clients.
    beginTelling(link, isNewSession: true, in: &turn)
    repeatSurveys(to: gateway, in: &turn)
  }

  /// Ends a resync: members and channels that the gateway has not named in its new session are dropped.
  private func finishResync(of link: PeerLink, in turn: inout Turn) {
    link.lostItsMembers = false
    // After a takeover a gateway has brought all its channels along, a hundred thousand perhaps, and nothing is to be done
    // for nearly any of them.
    let left = link.channels.filter { name in
      guard let state = channels[name] else { return false }
      return !state.interest.contains(link.gateway)
        || state.members.hasMembers(of: link.gateway, notNamedIn: link.session)
    }
    for name in left.sorted() {
      guard let state = channels[name] else { continue }
      removeMembers(of: link.gateway, notNamedIn: link.session, from: state, in: &turn)
      if !state.interest.contains(link.gateway) && !state.members.hasMembers(of: link.gateway) {
        link.channels.remove(name)
        channels.noteIdle(state, at: turn.time)
      }
    }
  }

  private func removeMembers(
    of gateway: UInt64, notNamedIn session: UInt64?, from state: BrokerChannel, in turn: inout Turn
  ) {
    for member in state.members.removeMembers(of: gateway, notNamedIn: session) {
      if state.options.joinLeave {
        announce(.leave(.init(channel: state.name, member: member)), on: state, in: &turn)
      }
      showPresence(of: member, on: state, in: &turn)
    }
  }

  private func depart(_ link: PeerLink, in turn: inout Turn) {
    let names = link.channels.sorted()
    link.depart(at: turn.time.monotonic)
    tally.counters.gatewaysForgotten += 1
    for name in names {
      guard let state = channels[name] else { continue }
      state.interest.removeAll { $0 == link.gateway }
      removeMembers(of: link.gateway, notNamedIn: nil, from: state, in: &turn)
      channels.noteIdle(state, at: turn.time)
    }
    answerOrders(in: &turn)
    surveys.forget(link.gateway)
    answerSurveys(in: &turn)
  }

  func watchLinks(ingressPaused: Bool, in turn: inout Turn) {
    let (silent, forgotten) = links.watch(ingressPaused: ingressPaused, in: &turn)
    for link in silent { depart(link, in: &turn) }
    for gateway in forgotten { orders.forget(gateway) }
  }
}
