import Wire

/// The links to all gateways, and what goes out on them: sessions, sequence numbers, windows, heartbeats.
final class GatewayLinks {
  private var table = LinkTable()
  private let configuration: BrokerConfiguration
  private let tally: BrokerTally
  /// Sessions that gateways have asked for and that wait until this broker has the channels again: the newest of each.
  private var putOff: [UInt64: (session: UInt64, hasClients: Bool)] = [:]

  init(_ configuration: BrokerConfiguration, _ tally: BrokerTally) {
    self.configuration = configuration
    self.tally = tally
  }

  subscript(gateway: UInt64) -> PeerLink? { table[gateway] }
  var isEmpty: Bool { table.isEmpty }
  var count: Int { table.count }
  /// All links by gateway number, so that a simulation with the same seed runs the same way.
  var all: [PeerLink] { table.sorted }
  /// Those of gateways that have clients, by gateway number.
  var sorted: [PeerLink] { table.sorted.filter(\.hasClients) }
  /// Those among them that are open.
  var open: [PeerLink] { table.sorted.filter { $0.hasClients && $0.isOpen } }

  // MARK: Sessions

  /// Checks that a message is the next of its link's session.
  ///
  /// - Returns: nil where the message is to be ignored: it belongs to an older session, or a message before it is
  ///   missing and the gateway is told to open a new session.
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

  /// Opens a session, because a gateway says hello.
  ///
  /// - Returns: nil where the session is open already, or a newer one is: a hello that was repeated while the first was
  ///   on its way must not end the session that the first has opened.
  func open(_ session: UInt64, by gateway: UInt64, hasClients: Bool, at time: BrokerTime) -> PeerLink? {
    guard let link = table[gateway] else {
      let link = PeerLink(gateway: gateway, session: session, hasClients: hasClients, now: time.monotonic)
      table.add(link)
      return link
    }
    if session <= link.session { return nil }
    link.reopen(session: session, now: time.monotonic)
    return link
  }

  func putOff(_ session: UInt64, of gateway: UInt64, hasClients: Bool) {
    putOff[gateway] = (max(session, putOff[gateway]?.session ?? 0), hasClients)
  }

  /// Sorted, so that a simulation with the same seed runs the same way.
  func takePutOff() -> [(gateway: UInt64, session: UInt64, hasClients: Bool)] {
    defer { putOff = [:] }
    return putOff.sorted { $0.key < $1.key }.map { ($0.key, $0.value.session, $0.value.hasClients) }
  }

  /// Ends a link's session, in which messages were lost or would be: no more is sent in it, and the gateway is told to
  /// open a new one.
  func overflow(_ link: PeerLink, in turn: inout Turn) {
    guard link.isOpen else { return }
    link.overflow()
    tally.counters.linkResets += 1
    reset(link.gateway, session: link.session, in: &turn)
  }

  /// Tells a gateway to open a new session. A reset has no sequence number of its own, so the gateway can read it
  /// whatever it missed.
  private func reset(_ gateway: UInt64, session: UInt64, in turn: inout Turn) {
    turn.effects.append(.send(gateway: gateway, LinkMessage(session: session, sequence: 0, body: .reset)))
  }

  /// Looks for gateways that have been silent, and sends heartbeats.
  ///
  /// - Parameter ingressPaused: requests are not read now, so a gateway that seems silent may have sent something.
  /// - Returns: links that were silent for too long; and gateways that departed so long ago that they are forgotten.
  func watch(ingressPaused: Bool, in turn: inout Turn) -> (silent: [PeerLink], forgotten: [UInt64]) {
    var silent: [PeerLink] = []
    var forgotten: [UInt64] = []
    for link in table.sorted {
      if ingressPaused { link.lastHeard = turn.time.monotonic }
      let isSilent = turn.time.monotonic - link.lastHeard > configuration.gatewayTimeout
      switch link.state {
      case .departed(let since):
        // Twice the timeout, because by then a gateway has given up its requests and will not repeat any.
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

  /// Sends the answer to a request that was begun a while ago (a publish, a call). Its place among other messages does
  /// not matter, so it waits where the link has no room.
  func reply(_ reply: LinkReply, to gateway: UInt64, in turn: inout Turn) {
    guard let session = table[gateway]?.open else { return }
    let body = LinkBody.reply(reply)
    if session.lateReplies.isEmpty && session.hasRoom(for: body.cost, window: configuration.linkWindowBytes) {
      return send(body, to: gateway, in: &turn)
    }
    tally.counters.requestsDeferred += 1
    session.reply(later: reply)
  }

  /// The session and number for a message; nil where there is no open link, or no room on it: then the link overflows.
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
