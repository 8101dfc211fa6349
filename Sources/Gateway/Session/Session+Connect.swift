import Auth
import Wire

/// A connect under way.
struct ConnectAttempt {
  /// The connect command.
  var id: UInt32
  /// Seconds since 1970; nil: never.
  var expiresAt: Int64?
  /// Server-side subscriptions that the broker has still to answer. Above 0 from when the token was accepted until the
  /// connect is answered.
  var unanswered = 0
  /// Server-side subscriptions that the broker has answered, by channel name.
  var subs: [String: ClientReply.SubscribeResult] = [:]
  /// Commands that came while the connect was under way.
  var held: [ClientCommand] = []
}

extension Session {
  mutating func connect(_ id: UInt32, _ ask: ClientCommand.Connect) {
    let asksBackend = rules.proxies.asks(.connect)
    guard !ask.token.isEmpty || asksBackend || configuration.allowAnonymous else {
      out.append(.signInRefused(.invalidToken, "no token"))
      return end(.invalidToken)
    }
    phase = .connecting
    attempt = ConnectAttempt(id: id)
    leavesAtSlot = ask.reconnects
    if !ask.name.isEmpty { out.append(.introduced(ask.name, version: ask.version)) }
    timers.authenticate = saturatingSum(time.monotonic, configuration.connectTimeoutMilliseconds)
    if ask.token.isEmpty {
      if asksBackend { return askToConnect(id, ask, nil) }
      return accept(ConnectionClaims(user: ""), recovering: ask.subs)
    }
    // What the client says of itself is for the backend alone.
    var rest = rules.proxies.asksWithToken ? ask : ClientCommand.Connect()
    (rest.token, rest.subs) = ("", ask.subs)
    let tag = remember(.connect(id: id, rest))
    out.append(.checkConnectionToken(tag: tag, ask.token))
  }

  /// Keeps a command until the connect is answered, because SDKs send their subscribes along with it. Bounded by what
  /// one message may hold, for no other message is read meanwhile.
  mutating func keepUntilConnected(_ command: ClientCommand) {
    guard let count = attempt?.held.count, count < configuration.maximumCommandsPerMessage else {
      return end(.badRequest("too many commands before the answer to connect"))
    }
    attempt?.held.append(command)
  }

  mutating func connectionTokenChecked(_ tag: UInt64, _ result: Result<ConnectionClaims, TokenError>) {
    switch pending.removeValue(forKey: tag) {
    case .connect(let id, let ask): connectTokenChecked(id, ask, result)
    case .refresh(let id): refreshed(id, result)
    default: break
    }
  }

  private mutating func connectTokenChecked(
    _ id: UInt32, _ ask: ClientCommand.Connect, _ result: Result<ConnectionClaims, TokenError>
  ) {
    switch result {
    case .success(let claims):
      if let expiry = claims.expiresAt, expiry <= time.wall { return refuse(.tokenExpired) }
      if rules.proxies.asksWithToken { return askToConnect(id, ask, claims) }
      accept(claims, recovering: ask.subs)
    case .failure(.expired): refuse(.tokenExpired)
    case .failure(.invalid): end(.invalidToken)
    case .failure(.unavailable): refuse(.internalError)
    }
  }

  /// Asks the broker for all server-side subscriptions at once. A position that the client wants to recover from counts
  /// only for channels that it is granted.
  mutating func accept(_ claims: ConnectionClaims, recovering subs: [String: ClientCommand.Subscribe]) {
    user = claims.user
    connectionInfo = claims.info
    token = claims.token
    if rules.proxies.passesMeta, let meta = claims.meta { tied().meta = meta }
    attempt?.expiresAt = claims.expiresAt
    var grants = claims.subscriptions.sorted { $0.key < $1.key }
    if let prefix = rules.personalChannelPrefix, !user.isEmpty {
      let personal = prefix + user
      if !grants.contains(where: { $0.key.hasSameBytes(as: personal) }) {
        grants.append((key: personal, value: SubscriptionGrant()))
      }
    }
    guard grants.count <= configuration.maximumChannels else { return end(.channelLimit) }
    var orders: [SubscribeOrder] = []
    for (name, grant) in grants {
      switch parse(name) {
      case .failure(let error): return refuse(error)
      case .success((let channel, let options)):
        let ask = subs[name] ?? ClientCommand.Subscribe()
        orders.append(
          SubscribeOrder(id: 0, channel: channel, options: options, ask: ask, grant: grant, maker: .connection))
      }
    }
    attempt?.unanswered = orders.count
    if orders.isEmpty { return welcome() }
    for order in orders { subscribeAtBroker(order) }
  }

  /// One of the server-side subscriptions was answered: its frames are held from here on, see ``HubFlags/held``.
  mutating func connectSubscribed(_ order: SubscribeOrder, _ response: BrokerResponse) {
    guard case .subscribed(let answer) = response else {
      subscriptions[order.channel] = nil
      guard order.maker == .service else { return refuse(.internalError) }
      // The client does not count on it, and so gets in without it.
      out.append(.note(.orderedSubscriptions))
      return subscriptionAnswered()
    }
    subscriptions[order.channel]?.phase = .live
    attempt?.subs[order.channel.string] = order.result(answer, at: time)
    let flags = order.hubFlags.union(.held)
    out.append(.attach(order.channel, flags, HubFilters(own: order.filter, audience: answer.audience)))
    noteCoverage(of: order, answer)
    subscriptionAnswered()
  }

  private mutating func subscriptionAnswered() {
    attempt?.unanswered -= 1
    if attempt?.unanswered == 0 { welcome() }
  }

  /// Everything is there: answers the connect, then lets the held frames and the held commands through.
  private mutating func welcome() {
    guard let attempt else { return }
    self.attempt = nil
    phase = .live
    var result = ClientReply.ConnectResult()
    result.client = identity.client
    result.session = identity.session
    result.version = configuration.version
    result.node = configuration.node
    result.ping = UInt32(clamping: configuration.pingIntervalMilliseconds / 1000)
    result.pong = true
    result.subs = attempt.subs
    // Where the server asks the backend itself, the client has nothing to refresh.
    if let expiry = attempt.expiresAt, !rules.proxies.asks(.refresh) {
      result.expires = true
      result.ttl = secondsLeft(until: expiry, at: time)
    }
    if let ties { swap(&result.data, &ties.connectData) }
    send(.connect(id: attempt.id, result))
    if !subscriptions.isEmpty { out.append(.releaseHeld) }
    timers.authenticate = .max
    timers.ping = saturatingSum(time.monotonic, timers.firstPingDelay)
    setExpiry(attempt.expiresAt)
    reportConnected()
    for command in attempt.held where phase == .live { receivedLive(command) }
  }

  /// Answers the connect with an error. Held commands stay unanswered: an SDK takes the failed connect as the answer to
  /// all of them, while errors of their own would end its subscriptions for good.
  mutating func refuse(_ error: ClientError) {
    guard let attempt else { return }
    self.attempt = nil
    phase = .refused
    fail(attempt.id, error)
    releaseEverything(nil)
    if !attempt.subs.isEmpty { out.append(.discardHeld) }
  }
}
