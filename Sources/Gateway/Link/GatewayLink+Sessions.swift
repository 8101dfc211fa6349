import Wire

/// Sessions of the link: opening another one, and bringing everything up to date in it.
extension GatewayLink {
  func reopen(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    session += 1
    close()
    hops?.forget()
    for request in pending.all where request.purpose == .resync { _ = pending.remove(request.id) }
    (isResyncing, toResync, resyncsUnderWay) = (false, [], 0)
    sayHello(at: now, into: &effects)
  }

  func sayHello(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    nextSent = 0
    nextReceived = 0
    receivedBytes = 0
    lastHeard = now
    send(.hello(hello), at: now, into: &effects)
  }

  private var hello: LinkHello {
    LinkHello(
      gateway: configuration.gateway, partition: UInt64(configuration.partition),
      partitions: UInt64(configuration.partitions), hasClients: configuration.hasClients)
  }

  /// The connection to a broker is there. While the session is with another one, the broker is greeted in it: it may
  /// have begun since the session's hello was said, and may take over. Where no session is open, the hello waits in the
  /// broker's pipe: it was said at the start, or when the connection before this one was lost.
  public func appeared(_ broker: Int, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    guard isOpen, broker != self.broker else { return }
    effects.append(.greet(broker: broker, LinkMessage(session: session, sequence: 0, body: .hello(hello))))
  }

  /// The connection to a broker was lost, and what was on its way with it; what it had brought was received before. To
  /// be told once of each connection that has appeared.
  ///
  /// The hello that is said now waits in the broker's pipe, before all that is said after it, until the next connection
  /// carries it. Where no session is open, the last hello may have been lost, or its welcome. It is not known which
  /// broker would have welcomed the gateway, so any of them counts; and the session is a newer one, since a broker that
  /// has opened this one does not welcome the gateway in it again.
  public func vanished(_ broker: Int, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    if isOpen && broker != self.broker { return }
    beImpatient()
    reopen(at: now, into: &effects)
  }

  /// Requests of a resync that are under way at once: enough for the broker to work on, and so few that whoever asks for
  /// something meanwhile does not wait for a hundred thousand channels.
  static let resyncsAtOnce = 1024

  /// Begins to bring all channels up to date, and asks again what was not answered. Channels of which something is asked
  /// come first, now or while the others are still waiting (``submit(_:at:into:)``).
  func resync(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    let unanswered = pending.all
    isResyncing = true
    var (waiting, unheard): ([(number: UInt64, name: ChannelName)], [(number: UInt64, name: ChannelName)]) = ([], [])
    for (name, channel) in channels {
      channel.awaitsResync = channel.position != nil && channel.hasSubscribers
      if channel.awaitsResync {
        waiting.append((channel.number, name))
      } else if channel.position != nil {
        unheard.append((channel.number, name))
      }
    }
    for (_, name) in unheard.sorted(by: { $0.number < $1.number }) {
      guard let channel = channels[name] else { continue }
      // Nobody was given this position: the subscribes that are under way bring one of their own.
      channel.position = nil
      nameMembers(of: name, channel, at: now, into: &effects)
    }
    toResync = waiting.sorted { $0.number > $1.number }.map(\.name)
    for request in unanswered {
      if let name = request.request.channel { resyncFirst(name, at: now, into: &effects) }
      if case .unsubscribe(let unsubscribe) = request.request, let member = unsubscribe.member {
        // A broker that restarted never saw the member: name it, so that its leaving is announced.
        add(.subscribe(.init(channel: unsubscribe.channel, member: member)), .resync, at: now, into: &effects)
      }
      send(request, at: now, into: &effects)
    }
    goOnResyncing(at: now, into: &effects)
  }

  /// Brings a channel up to date that waits for that: what is asked of it now comes to the broker after that.
  func resyncFirst(_ name: ChannelName, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    guard let channel = channels[name], channel.awaitsResync else { return }
    channel.awaitsResync = false
    resync(name, channel, at: now, into: &effects)
  }

  /// Asks for further channels as those before them are answered, and says so when that was all.
  func goOnResyncing(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    guard isResyncing else { return }
    while resyncsUnderWay < Self.resyncsAtOnce, let name = toResync.popLast() {
      resyncFirst(name, at: now, into: &effects)
    }
    guard toResync.isEmpty else { return }
    isResyncing = false
    send(.resynced, at: now, into: &effects)
  }

  private func nameMembers(
    of name: ChannelName, _ channel: LinkChannel, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    for member in channel.members.values.sorted(by: { $0.client < $1.client }) {
      add(.subscribe(.init(channel: name, member: member)), .resync, at: now, into: &effects)
    }
    // Users whom the broker knows to subscribe and shows to nobody: what they may see can have changed as well.
    for user in channel.unseenUsers {
      let ask = BrokerRequest.SubscribeRequest(
        channel: name, member: ClientInfo(user: user, client: ""), isPresent: false)
      add(.subscribe(ask), .resync, at: now, into: &effects)
    }
  }

  /// Asks for one channel anew. Members first: what a member may see can have changed, and must be known before
  /// anything is handed on that was missed.
  func resync(
    _ name: ChannelName, _ channel: LinkChannel, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    nameMembers(of: name, channel, at: now, into: &effects)
    let subscribe = BrokerRequest.SubscribeRequest(
      channel: name, since: channel.position, recoveryLimit: configuration.resyncLimit)
    add(.subscribe(subscribe), .resync, at: now, into: &effects)
  }
}
