import Auth
import Wire

/// Tokens that replace older ones, and what happens where none comes.
extension Session {
  mutating func refresh(_ id: UInt32, _ token: String) {
    guard !token.isEmpty else { return fail(id, .badRequest.saying("the refresh has no token")) }
    let tag = remember(.refresh(id: id))
    out.append(.checkConnectionToken(tag: tag, token))
  }

  mutating func refreshed(_ id: UInt32, _ result: Result<ConnectionClaims, TokenError>) {
    switch result {
    case .failure(.expired): fail(id, .tokenExpired)
    case .failure(.invalid): end(.invalidToken)
    case .failure(.unavailable): fail(id, .internalError)
    case .success(let claims):
      guard claims.user.hasSameBytes(as: user) else { return end(.invalidToken) }
      if let expiry = claims.expiresAt, expiry <= time.wall { return fail(id, .tokenExpired) }
      token = claims.token
      setExpiry(claims.expiresAt)
      var reply = ClientReply.RefreshResult()
      reply.client = identity.client
      reply.version = configuration.version
      if let expiry = claims.expiresAt {
        reply.expires = true
        reply.ttl = secondsLeft(until: expiry, at: time)
      }
      send(.refresh(id: id, reply))
      endUngranted(claims)
    }
  }

  /// Ends server-side subscriptions that an older token named and the newer one does not. The user's personal channel
  /// and what a service ordered stay: no token grants them.
  private mutating func endUngranted(_ claims: ConnectionClaims) {
    let personal = rules.personalChannelPrefix.map { $0 + user }
    for (channel, subscription) in subscriptions.sorted(by: { $0.key < $1.key })
    where subscription.traits.contains(.serverSide) && !subscription.traits.contains(.ordered) {
      if personal?.hasSameBytes(as: channel.string) == true { continue }
      // By bytes: two spellings that `String` takes for one are two channels.
      if claims.subscriptions.keys.contains(where: { $0.hasSameBytes(as: channel.string) }) { continue }
      removeSubscription(channel, .server)
    }
  }

  /// Only a client's own live subscription can be refreshed; a server-side one lives as long as the connection.
  mutating func subRefresh(_ id: UInt32, _ name: String, _ token: String) {
    guard let (channel, _) = resolve(id, name) else { return }
    guard !token.isEmpty else { return fail(id, .badRequest.saying("the sub_refresh has no token")) }
    guard isRefreshable(channel) else { return fail(id, .notSubscribed) }
    let tag = remember(.subRefresh(id: id, channel))
    out.append(.checkSubscriptionToken(tag: tag, token))
  }

  mutating func subRefreshed(_ id: UInt32, _ channel: ChannelName, _ result: Result<SubscriptionClaims, TokenError>) {
    switch result {
    case .failure(.expired): fail(id, .tokenExpired)
    case .failure(.invalid): end(.invalidToken)
    case .failure(.unavailable): fail(id, .internalError)
    case .success(let claims):
      guard claims.user.hasSameBytes(as: user), claims.channel.hasSameBytes(as: channel.string) else {
        return end(.invalidToken)
      }
      if let expiry = claims.expiresAt, expiry <= time.wall { return fail(id, .tokenExpired) }
      guard isRefreshable(channel), case .success((_, let options)) = parse(channel.string) else {
        return fail(id, .notSubscribed)
      }
      subscriptions[channel]?.expiresAt = claims.expiresAt ?? .max
      let info = subscriptions[channel]?.grant?.info
      let isRefreshedHere = options.subRefreshProxy && claims.expiresAt != nil
      let poll = subscriptions[channel]?.grant?.poll
      subscriptions[channel]?.grant = SessionSubscription.Grant(
        info: info, token: claims.token, isNeeded: isRefreshedHere || poll != nil)
      subscriptions[channel]?.grant?.poll = poll
      if let expiry = claims.expiresAt {
        if isRefreshedHere { planRefresh(of: channel, at: expiry) }
        subscriptionExpires(at: expiry)
      }
      let ttl = claims.expiresAt.map { secondsLeft(until: $0, at: time) }
      send(.subRefresh(id: id, expires: ttl != nil, ttl: ttl ?? 0))
    }
  }

  private func isRefreshable(_ channel: ChannelName) -> Bool {
    guard let subscription = subscriptions[channel] else { return false }
    return subscription.isLive && !subscription.traits.contains(.serverSide)
  }

  /// Keeps the earliest expiry: after a refresh that may be one that no longer holds, and then the check finds nothing.
  mutating func subscriptionExpires(at expiry: Int64) {
    timers.subscriptionsExpireAt = min(timers.subscriptionsExpireAt, expiry)
    scheduleExpiry()
  }

  /// The connection expires then; nil: never.
  mutating func setExpiry(_ expiresAt: Int64?) {
    timers.expiresAt = expiresAt ?? .max
    if rules.proxies.asks(.refresh) { planRefresh() }
    scheduleExpiry()
  }

  /// Sets the deadline by the distance on the wall clock. Each deadline looks at that clock again, pings among them, so
  /// a clock that is set does no harm for longer than a ping interval.
  mutating func scheduleExpiry() {
    let earliest = min(timers.expiresAt, timers.subscriptionsExpireAt)
    guard earliest != .max else {
      timers.expiry = .max
      return
    }
    let end = saturatingSum(earliest, configuration.expiryGraceSeconds)
    let due = min(end, ties?.nextRefreshAt ?? .max)
    let (left, overflow) = due.subtractingReportingOverflow(time.wall)
    // A thousand years are as good as never, and their milliseconds fit.
    let seconds = overflow ? Int64.max : max(left, 0)
    timers.expiry = seconds > 32_000_000_000 ? .max : saturatingSum(time.monotonic, seconds * 1000)
  }

  /// Ends what is past its expiry and the grace after it. Before that, the backend is asked where it decides.
  mutating func endExpired() {
    if isOver(timers.expiresAt) { return end(.expired) }
    if ties != nil { askForRefreshes() }
    guard isOver(timers.subscriptionsExpireAt) else { return scheduleExpiry() }
    timers.subscriptionsExpireAt = .max
    for (channel, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) where subscription.isLive {
      if isOver(subscription.expiresAt) {
        endExpired(channel, subscription)
      } else {
        timers.subscriptionsExpireAt = min(timers.subscriptionsExpireAt, subscription.expiresAt)
      }
    }
    scheduleExpiry()
  }

  mutating func endExpired(_ channel: ChannelName, _ subscription: SessionSubscription) {
    paced.forget(channel)
    remove(channel, subscription, telling: .permissionDenied, because: .expired)
    send(.push(.unsubscribe(channel: channel.string, .expired)))
  }

  private func isOver(_ expiry: Int64) -> Bool {
    expiry != .max && saturatingSum(expiry, configuration.expiryGraceSeconds) <= time.wall
  }
}

extension ClientError {
  static let notSubscribed = ClientError.permissionDenied.saying(
    "there is no subscription of the client's own to this channel")
}
