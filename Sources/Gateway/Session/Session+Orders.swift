import Auth
import Wire

/// What services do to a connection through the server API, but for ending it or one of its subscriptions.
extension Session {
  /// Subscribes the client to a channel. One that is subscribed already, or about to be, stays as it is; one that may
  /// not have another subscription is passed over.
  mutating func addSubscription(_ ordered: OrderedSubscription) {
    switch phase {
    case .live: break
    // The client hears of it in the connect result. Before its token was accepted, it is not known who the client is.
    case .connecting: guard (attempt?.unanswered ?? 0) > 0 else { return }
    case .awaitingConnect, .refused, .leaving, .closed: return
    }
    let channel = ordered.channel
    if let subscription = subscriptions[channel] {
      guard case .abandoned(next: nil) = subscription.phase else { return }
      subscriptions[channel]?.phase = .abandoned(next: .order(ordered))
      return
    }
    guard subscriptions.count < configuration.maximumChannels else { return out.append(.note(.clientChannels)) }
    // The broker has looked at the namespace; a gateway may be configured otherwise.
    guard case .success((_, let options)) = parse(channel.string), options.app == nil else {
      return out.append(.note(.orderedSubscriptions))
    }
    if phase == .connecting { attempt?.unanswered += 1 }
    subscribeAtBroker(SubscribeOrder(ordered, options))
  }

  /// The broker has answered a subscription that a service ordered for a client that is connected. As with the client's
  /// own: first all up to the answer's position, then the hub.
  mutating func orderSubscribed(_ order: SubscribeOrder, _ response: BrokerResponse) {
    guard case .subscribed(let answer) = response else {
      subscriptions[order.channel] = nil
      return out.append(.note(.orderedSubscriptions))
    }
    subscriptions[order.channel]?.phase = .live
    let name = order.channel.string
    let result = order.result(answer, at: time)
    var position = StreamPosition(epoch: result.epoch, offset: result.offset)
    // The push has no room for publications. They follow it, and each moves the client's position on to its own.
    if result.recovered, let since = order.since { position.offset = since.offset }
    send(
      .push(
        .subscribe(
          channel: name, recoverable: result.recoverable, positioned: result.positioned, position, data: result.data)))
    for publication in result.publications {
      send(.push(.publication(channel: name, publication, binaryData: result.binaryData)))
    }
    out.append(.attach(order.channel, order.hubFlags, HubFilters(audience: answer.audience)))
    noteCoverage(of: order, answer)
    reportSubscribed(to: order.channel)
  }

  /// Ends the connection, or moves its expiry and tells the client: the newest word counts, a token's or a service's.
  mutating func changeExpiry(_ expiry: ConnectionExpiry) {
    let expiresAt: Int64?
    switch expiry {
    case .now: return end(.expired)
    case .at(let moment):
      guard moment > time.wall else { return end(.expired) }
      expiresAt = moment
    case .never: expiresAt = nil
    }
    switch phase {
    // The connect result will say it.
    case .connecting: attempt?.expiresAt = expiresAt
    case .live:
      setExpiry(expiresAt)
      // Where the server asks the backend itself, the client has nothing to refresh.
      if rules.proxies.asks(.refresh) { return }
      let ttl = expiresAt.map { secondsLeft(until: $0, at: time) }
      send(.push(.refresh(expires: ttl != nil, ttl: ttl ?? 0)))
    case .awaitingConnect, .refused, .leaving, .closed: break
    }
  }
}

extension SubscribeOrder {
  /// What a service ordered.
  init(_ ordered: OrderedSubscription, _ options: ChannelOptions) {
    var ask = ClientCommand.Subscribe()
    if let since = ordered.since { (ask.recover, ask.epoch, ask.offset) = (true, since.epoch, since.offset) }
    var grant = SubscriptionGrant()
    (grant.info, grant.data) = (ordered.info, ordered.data)
    self.init(id: 0, channel: ordered.channel, options: options, ask: ask, grant: grant, maker: .service)
  }
}
