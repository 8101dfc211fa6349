import Wire

/// The links to all gateways, and what goes out on them: sessions, sequence numbers, windows, heartbeats.
final class GatewayLinks {
  private var table = LinkTable()
  private let configuration: BrokerConfiguration
  private let tally: BrokerTally

  init(_ configuration: BrokerConfiguration, _ tally: BrokerTally) {
    self.configuration = configuration
    self.tally = tally
  }

  subscript(gateway: UInt64) -> PeerLink? { table[gateway] }
  var isEmpty: Bool { table.isEmpty }
  /// By number, so that a seed replays to the same end.
  var sorted: [PeerLink] { table.sorted }
  var open: [PeerLink] { table.sorted.filter(\.isOpen) }

  // MARK: Sessions

  /// A message is the next of its session.
  ///
  /// - Returns: nil where it is not: it is left over from an older one, or the link begins anew.
  func accept(
    _ message: LinkMessage, from gateway: UInt64, in turn: inout Turn
  ) -> (link: PeerLink, session: PeerSession)? {
    guard let link = table[gateway] else {
      reset(gateway, session: message.session, in: &turn)
      return nil
    }
    guard link.session == message.session, case .open(let session) = link.state else {
      if link.session > message.session { return nil }
      if case .overflowed = link.state { link.lastHeard = turn.time.monotonic }
      reset(gateway, session: message.session, in: &turn)
      return nil
    }
    link.lastHeard = turn.time.monotonic
    if session.accept(sequence: message.sequence) { return (link, session) }
    tally.counters.linkGaps += 1
    overflow(link, in: &turn)
    return nil
  }

  /// A gateway says hello.
  ///
  /// - Returns: nil where the session is open already, or older than the one that is: a hello that was sent again while the
  ///   first was on its way must not end the session that it opened.
  func open(_ session: UInt64, by gateway: UInt64, at time: BrokerTime) -> PeerLink? {
    guard let link = table[gateway] else {
      let link = PeerLink(gateway: gateway, session: session, now: time.monotonic)
      table.add(link)
      return link
    }
    if session <= link.session { return nil }
    link.reopen(session: session, now: time.monotonic)
    return link
  }

  /// The link can be trusted no more: nothing is sent, and the gateway is told to begin anew.
  func overflow(_ link: PeerLink, in turn: inout Turn) {
    guard link.isOpen else { return }
    link.overflow()
    tally.counters.linkResets += 1
    reset(link.gateway, session: link.session, in: &turn)
  }

  /// A reset stands outside the count: it is what a gateway can read whatever it missed.
  private func reset(_ gateway: UInt64, session: UInt64, in turn: inout Turn) {
    turn.effects.append(.send(gateway: gateway, LinkMessage(session: session, sequence: 0, body: .reset)))
  }

  /// Signs of life, theirs and ours.
  ///
  /// - Parameter ingressPaused: requests are not read now, so silence proves nothing.
  /// - Returns: those that were silent for too long; and those that departed so long ago that they are forgotten.
  func watch(ingressPaused: Bool, in turn: inout Turn) -> (silent: [PeerLink], forgotten: [UInt64]) {
    var silent: [PeerLink] = []
    var forgotten: [UInt64] = []
    for link in table.sorted {
      if ingressPaused { link.lastHeard = turn.time.monotonic }
      let isSilent = turn.time.monotonic - link.lastHeard > configuration.gatewayTimeout
      switch link.state {
      case .departed(let since):
        // Twice the timeout: a gateway gives up its own requests before that, and then asks nothing again.
        guard turn.time.monotonic - since > 2 * configuration.gatewayTimeout else { continue }
        table.remove(link.gateway)
        forgotten.append(link.gateway)
      case .open where isSilent, .overflowed where isSilent: silent.append(link)
      case .overflowed: reset(link.gateway, session: link.session, in: &turn)
      case .open(let session):
        guard turn.time.monotonic - session.lastSent >= configuration.heartbeatInterval else { continue }
        send(.brokerHeartbeat, to: link.gateway, in: &turn)
      }
    }
    return (silent, forgotten)
  }

  // MARK: Sending

  func send(_ body: LinkBody, to gateway: UInt64, in turn: inout Turn) {
    guard let target = target(for: body, to: gateway, in: &turn) else { return }
    turn.effects.append(.send(gateway: gateway, LinkMessage(target, body)))
  }

  func broadcast(_ body: LinkBody, to gateways: [UInt64], in turn: inout Turn) {
    if gateways.count == 1 { return send(body, to: gateways[0], in: &turn) }
    var targets: [LinkTarget] = []
    targets.reserveCapacity(gateways.count)
    for gateway in gateways {
      if let target = target(for: body, to: gateway, in: &turn) { targets.append(target) }
    }
    if !targets.isEmpty { turn.effects.append(.broadcast(targets, body)) }
  }

  /// The answer to something that was begun a while ago. Nobody minds what comes before it, so it waits where there is no
  /// room.
  func reply(_ reply: LinkReply, to gateway: UInt64, in turn: inout Turn) {
    guard let session = table[gateway]?.open else { return }
    let body = LinkBody.reply(reply)
    if session.lateReplies.isEmpty && session.hasRoom(for: body.cost, window: configuration.linkWindowBytes) {
      return send(body, to: gateway, in: &turn)
    }
    tally.counters.requestsDeferred += 1
    session.reply(later: reply)
  }

  /// Nil where there is no link, or no room on it: then it has overflowed.
  private func target(for body: LinkBody, to gateway: UInt64, in turn: inout Turn) -> LinkTarget? {
    guard let link = table[gateway], case .open(let session) = link.state else { return nil }
    let sequence = session.number(body, window: configuration.linkWindowBytes, now: turn.time.monotonic)
    guard let sequence else {
      overflow(link, in: &turn)
      return nil
    }
    return LinkTarget(gateway: gateway, session: link.session, sequence: sequence)
  }

  func giveBackMemory() { for link in table.sorted { link.channels.giveBackMemory() } }
}
