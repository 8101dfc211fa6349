import Wire

/// What the broker's answers mean for sessions, channels and members.
extension GatewayLink {
  func answered(
    _ reply: LinkReply, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) throws(MalformedMessage) {
    // Unknown ids are answers to requests that were asked twice, or given up.
    if let subscribe = pending.sessionSubscribe(reply.id) {
      // Checked before the request is removed: where the check throws, the link's next session asks it again, and the
      // client's session is answered then.
      try checkOrder(of: reply.response, to: subscribe)
    }
    guard let request = pending.remove(reply.id) else { return }
    if let hops, hops.hasAsked { hops.answered(reply.id) }
    if case .report = request.request { reportsUnderWay -= 1 }
    switch request.purpose {
    case .session(let source, let format):
      if case .subscribe(let subscribe) = request.request {
        answered(
          subscribe, reply.response, for: source, format, isFiltered: filteredUnderWay.remove(request.id) != nil,
          hasDelta: deltaUnderWay.remove(request.id) != nil, at: now, into: &effects)
      }
      effects.append(.answer(source, reply.response))
    case .abandoned: undo(request, reply.response, at: now, into: &effects)
    case .resync:
      resyncsUnderWay -= 1
      resynced(request, reply.response, into: &effects)
      goOnResyncing(at: now, into: &effects)
    }
    releaseClients(into: &effects)
  }

  /// Lets clients be read again at half the window, so that sockets are not stopped and started for every message.
  func releaseClients(into effects: inout [GatewayLinkEffect]) {
    guard isHolding && pending.bytes <= configuration.uplinkWindowBytes / 2 else { return }
    isHolding = false
    effects.append(.holdClients(false))
  }

  /// Throws where a subscriber is answered with another position than the channel's: the pipe is ordered, so whoever
  /// subscribes later must find the stream exactly where the others are.
  func checkOrder(
    of response: BrokerResponse, to subscribe: BrokerRequest.SubscribeRequest
  ) throws(MalformedMessage) {
    guard case .subscribed(let subscribed) = response, let position = channels[subscribe.channel]?.position,
      !isBehind(subscribe.channel)
    else { return }
    if position != subscribed.position { throw MalformedMessage() }
  }

  func answered(
    _ subscribe: BrokerRequest.SubscribeRequest, _ response: BrokerResponse, for source: RequestSource,
    _ format: WireFormat, isFiltered: Bool, hasDelta: Bool, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    let channel = channel(subscribe.channel)
    channel.underWay -= 1
    guard case .subscribed(let subscribed) = response else {
      endLateMember(of: subscribe, on: channel, at: now, into: &effects)
      if !channel.isInUse { channels[subscribe.channel] = nil }
      return
    }
    catchUp(subscribe.channel, channel, with: subscribed.position, into: &effects)
    if let member = subscribe.member { channel.lateMembers.remove(member.client) }
    channel.position = subscribed.position
    channel.add(
      source, format, user: subscribe.member?.user, isPresent: subscribe.isPresent, isFiltered: isFiltered,
      hasDelta: hasDelta && subscribed.audience == nil, allowed: subscribed.audience)
    if let member = subscribe.member, subscribe.isPresent { channel.members[member.client] = member }
  }

  /// The broker could not read the channel when it was to be brought up to date, and now it gave somebody a position:
  /// what comes from here on comes live, and those who stood elsewhere missed something.
  func catchUp(
    _ name: ChannelName, _ channel: LinkChannel, with position: StreamPosition, into effects: inout [GatewayLinkEffect]
  ) {
    guard isBehind(name) else { return }
    whileOpen { _ = $0.channelsBehind.remove(name) }
    if let old = channel.position, old != position { lose(name, channel, into: &effects) }
  }

  private func isBehind(_ name: ChannelName) -> Bool {
    if case .open(let open) = state { open.channelsBehind.contains(name) } else { false }
  }

  private func noteBehind(_ name: ChannelName) { whileOpen { _ = $0.channelsBehind.insert(name) } }

  func lose(_ name: ChannelName, _ channel: LinkChannel, into effects: inout [GatewayLinkEffect]) {
    counters.channelsLost += 1
    if channel.hasSubscribers { effects.append(.lost(name, audience: channel.audience)) }
  }

  /// Undoes an earlier subscribe of the same client that came too late, and was left standing for the sake of this one,
  /// which has failed.
  func endLateMember(
    of subscribe: BrokerRequest.SubscribeRequest, on channel: LinkChannel, at now: Int64,
    into effects: inout [GatewayLinkEffect]
  ) {
    guard let member = subscribe.member, channel.lateMembers.remove(member.client) != nil else { return }
    let undoing = BrokerRequest.UnsubscribeRequest(
      channel: subscribe.channel, member: member, keepsInterest: channel.isInUse)
    add(.unsubscribe(undoing), .resync, at: now, into: &effects)
  }

  /// A subscribe that came too late for its session: the broker must not believe in a subscriber that is not there.
  func undo(
    _ request: PendingRequest, _ response: BrokerResponse, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    guard case .subscribe(let subscribe) = request.request, let channel = channels[subscribe.channel] else { return }
    channel.underWay -= 1
    let isInUse = channel.isInUse
    if !isInUse { channels[subscribe.channel] = nil }
    guard case .subscribed = response else { return }
    if let member = subscribe.member, triesAgain(member, on: subscribe.channel) {
      // The broker knows one member for both tries: it stays for the second, whose answer tells.
      channel.lateMembers.insert(member.client)
      return
    }
    let undoing = BrokerRequest.UnsubscribeRequest(
      channel: subscribe.channel, member: subscribe.member, keepsInterest: isInUse)
    add(.unsubscribe(undoing), .resync, at: now, into: &effects)
  }

  func triesAgain(_ member: ClientInfo, on channel: ChannelName) -> Bool {
    if channels[channel]?.members[member.client] != nil { return true }
    return pending.all.contains { request in
      guard case .session = request.purpose, case .subscribe(let other) = request.request else { return false }
      return other.channel == channel && other.member?.client == member.client
    }
  }

  func resynced(
    _ request: PendingRequest, _ response: BrokerResponse, into effects: inout [GatewayLinkEffect]
  ) {
    guard case .subscribe(let subscribe) = request.request, let channel = channels[subscribe.channel] else { return }
    if let member = subscribe.member {
      return readmit(member.user, to: subscribe.channel, response, into: &effects)
    }
    guard let position = channel.position else { return }
    guard case .subscribed(let subscribed) = response else {
      if case .failed(let error) = response, !error.temporary {
        // Asking again would not help: those who count on the channel subscribe anew, and hear why it fails.
        channel.position = nil
        lose(subscribe.channel, channel, into: &effects)
      } else {
        noteBehind(subscribe.channel)
      }
      return
    }
    if isBehind(subscribe.channel) { return }
    channel.position = subscribed.position
    if subscribed.recovered {
      counters.channelsRefilled += 1
      // Publications that came live since the channel was asked for have been handed on already.
      for publication in subscribed.publications where channel.hasSubscribers && publication.offset > position.offset {
        handOn(publication, on: subscribe.channel, channel, into: &effects)
      }
    } else if position != subscribed.position {
      lose(subscribe.channel, channel, into: &effects)
    }
  }

  /// Takes over what a user may see of the channel: it can have changed while the link was down, and nobody could be
  /// told.
  func readmit(
    _ user: String, to channel: ChannelName, _ response: BrokerResponse, into effects: inout [GatewayLinkEffect]
  ) {
    switch response {
    case .subscribed(let subscribed):
      changeAudience(
        LinkAudience(channel: channel, user: user, .admitted, audience: subscribed.audience), into: &effects)
    case .failed(let error) where error.code == ClientError.permissionDenied.code:
      changeAudience(LinkAudience(channel: channel, user: user, .refused, audience: nil), into: &effects)
    default:
      // It is not known what the user may see now: what was missed has to wait until it is.
      noteBehind(channel)
    }
  }
}
