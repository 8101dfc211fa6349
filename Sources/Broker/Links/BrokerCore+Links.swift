public import Wire

/// The accounts of every link: sessions, sequence numbers, windows, heartbeats.
extension BrokerCore {
  /// A message from a gateway.
  ///
  /// - Parameter gateway: the routing identity, which the gateway drew at its start.
  public func receive(
    _ message: LinkMessage, from gateway: UInt64, in turn: inout Turn
  ) {
    if message.body.kind == .hello { return open(message, from: gateway, in: &turn) }
    guard let link = links[gateway], link.session == message.session, link.state == .open else {
      if let link = links[gateway], link.session > message.session { return }  // Left over from an older session.
      if links[gateway]?.state == .overflowed { links[gateway]?.lastHeard = turn.time.monotonic }
      return reset(gateway, session: message.session, in: &turn)
    }
    link.lastHeard = turn.time.monotonic
    guard link.accept(sequence: message.sequence) else {
      counters.linkGaps += 1
      return overflow(gateway, in: &turn)
    }
    handle(message, from: link, in: &turn)
  }

  private func handle(
    _ message: LinkMessage, from link: PeerLink, in turn: inout Turn
  ) {
    switch message.body {
    case .request(let request):
      link.forgetResults(before: request.oldestPending)
      begin(.request(request), cost: message.cost, of: link, in: &turn)
    case .gatewayHeartbeat(let heartbeat):
      link.consumed(heartbeat.consumedBytes)
      goOn(link, in: &turn)
    case .resynced: begin(.resynced, cost: message.cost, of: link, in: &turn)
    case .obeyed(let obeyed): self.obeyed(obeyed.id, by: link.gateway, in: &turn)
    case .goodbye: begin(.goodbye, cost: message.cost, of: link, in: &turn)
    case .hello, .welcome, .reply, .publication, .join, .leave, .brokerHeartbeat, .reset, .audience, .discard,
      .order, .unreadable:
      overflow(link.gateway, in: &turn)
    }
  }

  // MARK: Requests

  /// At once, or when there is room for the answer.
  private func begin(
    _ work: LinkBacklog.Work, cost: Int, of link: PeerLink, in turn: inout Turn
  ) {
    if link.backlog.isEmpty && hasRoom(for: work, on: link) { return perform(work, of: link, in: &turn) }
    counters.requestsDeferred += 1
    link.backlog.append(work, bytes: cost)
    // A gateway bounds what it asks for by a window of its own.
    if link.backlog.bytes > Self.backlogBytes { overflow(link.gateway, in: &turn) }
  }

  private static let backlogBytes = 256 << 20

  /// The gateway has worked something off: what waited for room goes on.
  func goOn(_ link: PeerLink, in turn: inout Turn) {
    if !link.lateReplies.isEmpty {
      for reply in link.takeLateReplies(window: configuration.linkWindowBytes) {
        send(.reply(reply), to: link.gateway, in: &turn)
      }
    }
    while link.state == .open, link.lateReplies.isEmpty, let work = link.backlog.first, hasRoom(for: work, on: link) {
      link.backlog.removeFirst()
      perform(work, of: link, in: &turn)
    }
  }

  private func hasRoom(for work: LinkBacklog.Work, on link: PeerLink) -> Bool {
    guard case .request(let request) = work else { return link.waiting == 0 }
    guard let answer = request.request.answerLimit else { return true }
    return link.hasRoom(forAnswerOf: bytes(of: answer), window: configuration.linkWindowBytes)
  }

  private func perform(
    _ work: LinkBacklog.Work, of link: PeerLink, in turn: inout Turn
  ) {
    switch work {
    case .request(let request): perform(request, of: link, in: &turn)
    case .resynced: finishResync(of: link.gateway, in: &turn)
    case .goodbye: depart(link.gateway, in: &turn)
    }
  }

  private func perform(
    _ request: LinkRequest, of link: PeerLink, in turn: inout Turn
  ) {
    let requester = Requester.gateway(link.gateway, request: request.id)
    guard request.request.isRemembered else {
      return perform(request.request, for: requester, request.isResync ? .resync : .first, in: &turn)
    }
    if request.isRetry, isKnown(request.id, on: link, in: &turn) { return }
    link.startedPublish(request.id)
    perform(request.request, for: requester, request.isRetry ? .retry : .first, in: &turn)
  }

  // MARK: Sessions

  private func open(
    _ message: LinkMessage, from gateway: UInt64, in turn: inout Turn
  ) {
    guard case .hello(let hello) = message.body, hello.gateway == gateway else {
      counters.unreadableHellos += 1
      return
    }
    let session = message.session
    if let link = links[gateway] {
      // A hello that was sent again while the first was on its way must not end the session that it opened.
      if session <= link.session { return }
      clearInterest(of: gateway)
      link.reopen(session: session, now: turn.time.monotonic)
    } else {
      links.add(PeerLink(gateway: gateway, session: session, now: turn.time.monotonic))
    }
    let welcome = LinkWelcome(broker: configuration.instance, windowBytes: configuration.linkWindowBytes)
    send(.welcome(welcome), to: gateway, in: &turn)
    // Before anything else that the gateway hands on to its clients.
    tellRevocations(to: gateway, in: &turn)
    repeatOrders(to: gateway, in: &turn)
  }

  /// What the gateway did not name again is gone.
  private func finishResync(of gateway: UInt64, in turn: inout Turn) {
    guard let link = links[gateway] else { return }
    links[gateway]?.lostItsMembers = false
    for name in link.channels.sorted() {
      guard let state = channels[name] else { continue }
      removeMembers(of: gateway, notNamedIn: link.session, from: state, in: &turn)
      if !state.interest.contains(gateway) && !state.members.hasMembers(of: gateway) {
        links[gateway]?.channels.remove(name)
        noteIdle(state, at: turn.time)
      }
    }
  }

  private func removeMembers(
    of gateway: UInt64, notNamedIn session: UInt64?, from state: ChannelState, in turn: inout Turn
  ) {
    for member in state.members.removeMembers(of: gateway, notNamedIn: session) where state.options.joinLeave {
      announce(.leave(.init(channel: state.name, member: member)), on: state, in: &turn)
    }
  }

  private func clearInterest(of gateway: UInt64) {
    for name in links[gateway]?.channels ?? [] { channels[name]?.interest.removeAll { $0 == gateway } }
  }

  /// The link can be trusted no more: nothing is sent, and the gateway is told to begin anew.
  func overflow(_ gateway: UInt64, in turn: inout Turn) {
    guard let link = links[gateway], link.state == .open else { return }
    link.state = .overflowed
    link.forgetWaiting()
    clearInterest(of: gateway)
    counters.linkResets += 1
    reset(gateway, session: link.session, in: &turn)
  }

  /// A reset stands outside the count: it is what a gateway can read whatever it missed.
  private func reset(_ gateway: UInt64, session: UInt64, in turn: inout Turn) {
    turn.effects.append(.send(gateway: gateway, LinkMessage(session: session, sequence: 0, body: .reset)))
  }

  private func depart(_ gateway: UInt64, in turn: inout Turn) {
    guard let link = links[gateway] else { return }
    let names = link.channels.sorted()
    link.state = .departed(since: turn.time.monotonic)
    link.forgetWaiting()
    link.lostItsMembers = true
    link.channels = []
    counters.gatewaysForgotten += 1
    for name in names {
      guard let state = channels[name] else { continue }
      state.interest.removeAll { $0 == gateway }
      removeMembers(of: gateway, notNamedIn: nil, from: state, in: &turn)
      noteIdle(state, at: turn.time)
    }
    settleOrders(in: &turn)
  }

  /// The gateway's pipe did not take a message: what was sent is not what arrived.
  public func sendFailed(to gateway: UInt64, in turn: inout Turn) {
    guard links[gateway]?.state == .open else { return }
    overflow(gateway, in: &turn)
  }

  func watchLinks(ingressPaused: Bool, in turn: inout Turn) {
    // Sorted, here and where channels are walked, so that a seed replays to the same end.
    for link in links.sorted {
      let gateway = link.gateway
      if ingressPaused { link.lastHeard = turn.time.monotonic }
      switch link.state {
      case .departed(let since):
        // Twice the timeout: a gateway gives up its own requests before that, and then asks nothing again.
        if turn.time.monotonic - since > 2 * configuration.gatewayTimeout {
          links.remove(gateway)
          orders.forget(gateway)
        }
      case .open, .overflowed:
        if !ingressPaused && turn.time.monotonic - link.lastHeard > configuration.gatewayTimeout {
          depart(gateway, in: &turn)
        } else if link.state == .overflowed {
          reset(gateway, session: link.session, in: &turn)
        } else if turn.time.monotonic - link.lastSent >= configuration.heartbeatInterval {
          send(.brokerHeartbeat, to: gateway, in: &turn)
        }
      }
    }
  }

  // MARK: Sending

  /// The answer to something that was begun a while ago. Nobody minds what comes before it, so it waits where there is no
  /// room.
  func reply(
    _ reply: LinkReply, to gateway: UInt64, in turn: inout Turn
  ) {
    guard let link = links[gateway], link.state == .open else { return }
    let body = LinkBody.reply(reply)
    if link.lateReplies.isEmpty && link.hasRoom(for: body.cost, window: configuration.linkWindowBytes) {
      return send(body, to: gateway, in: &turn)
    }
    counters.requestsDeferred += 1
    link.reply(later: reply)
  }

  func send(_ body: LinkBody, to gateway: UInt64, in turn: inout Turn) {
    guard let target = target(for: body, to: gateway, in: &turn) else { return }
    turn.effects.append(.send(gateway: gateway, LinkMessage(target, body)))
  }

  func broadcast(
    _ body: LinkBody, to gateways: [UInt64], in turn: inout Turn
  ) {
    if gateways.count == 1 { return send(body, to: gateways[0], in: &turn) }
    var targets: [LinkTarget] = []
    targets.reserveCapacity(gateways.count)
    for gateway in gateways {
      if let target = target(for: body, to: gateway, in: &turn) { targets.append(target) }
    }
    if !targets.isEmpty { turn.effects.append(.broadcast(targets, body)) }
  }

  /// Nil where there is no link, or no room on it: then it has overflowed.
  private func target(
    for body: LinkBody, to gateway: UInt64, in turn: inout Turn
  ) -> LinkTarget? {
    guard let link = links[gateway] else { return nil }
    let sequence = link.number(body, window: configuration.linkWindowBytes, now: turn.time.monotonic)
    guard let sequence else {
      overflow(gateway, in: &turn)
      return nil
    }
    return LinkTarget(gateway: gateway, session: link.session, sequence: sequence)
  }
}
