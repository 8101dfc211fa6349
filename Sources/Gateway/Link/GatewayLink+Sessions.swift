import Wire

/// Sessions of the link: opening another one, and bringing everything up to date in it.
extension GatewayLink {
  func reopen(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    session += 1
    close()
    hops?.forget()
    for request in pending.all where request.purpose == .resync { _ = pending.remove(request.id) }
    sayHello(at: now, into: &effects)
  }

  func sayHello(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    nextSent = 0
    nextReceived = 0
    receivedBytes = 0
    lastHeard = now
    send(.hello(LinkHello(gateway: configuration.gateway)), at: now, into: &effects)
  }

  /// The connection to a broker is there. Where there are several, the broker may have taken over meanwhile.
  public func appeared(_ broker: Int, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    guard configuration.brokers > 1, !isOpen || broker != self.broker else { return }
    let hello = LinkHello(gateway: configuration.gateway)
    effects.append(.greet(broker: broker, LinkMessage(session: session, sequence: 0, body: .hello(hello))))
  }

  /// The connection to a broker was lost, and what was on its way with it.
  public func vanished(_ broker: Int, at now: Int64, into effects: inout [GatewayLinkEffect]) {
    if isOpen, broker == self.broker { reopen(at: now, into: &effects) }
  }

  func resync(at now: Int64, into effects: inout [GatewayLinkEffect]) {
    let unanswered = pending.all
    for (name, channel) in channels.sorted(by: { $0.key < $1.key }) {
      guard channel.position != nil else { continue }
      if channel.hasSubscribers {
        resync(name, channel, at: now, into: &effects)
      } else {
        // Nobody was given this position: the subscribes that are under way bring one of their own.
        channel.position = nil
        nameMembers(of: name, channel, at: now, into: &effects)
      }
    }
    for request in unanswered {
      if case .unsubscribe(let unsubscribe) = request.request, let member = unsubscribe.member {
        // A broker that restarted never saw the member: name it, so that its leaving is announced.
        add(.subscribe(.init(channel: unsubscribe.channel, member: member)), .resync, at: now, into: &effects)
      }
      send(request, at: now, into: &effects)
    }
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
