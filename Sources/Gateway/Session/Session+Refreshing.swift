import Wire

/// Connections and subscriptions that expire, and of which the server itself asks the backend whether they go on.
///
/// The states of one of them, by `expiresAt` and the time at which the backend is asked (`refreshAt`):
///
///     set ──refreshAt──▶ asked ──a later expire_at──▶ set
///                          │ ├──no expire_at──▶ for ever
///                          │ ├──expired, or an expire_at that has passed──▶ ended
///                          │ └──no usable answer──▶ set, to ask again in 5 s; by a token a minute longer where so configured
///     set, asked ──expiresAt and the grace have passed──▶ ended
extension Session {
  /// Seconds before an expiry at which the backend is asked; where there are not twice as many left, half of them.
  private static let lead: Int64 = 5
  /// Seconds after which it is asked again where it gave no usable answer.
  private static let retry: Int64 = 5
  /// Seconds that a client with a token is let stay meanwhile, where the token alone counts.
  private static let prolongation: Int64 = 60

  private func refreshTime(before expiry: Int64) -> Int64 {
    let left = saturatingSum(expiry, -time.wall)
    return saturatingSum(expiry, -min(Self.lead, max(left / 2, 0)))
  }

  /// The connection's expiry has changed.
  mutating func planRefresh() {
    guard timers.expiresAt != .max else {
      ties?.refreshAt = .max
      return
    }
    tied().refreshAt = refreshTime(before: timers.expiresAt)
  }

  /// A subscription's expiry is set; ``subscriptionExpires(at:)`` follows.
  mutating func planRefresh(of channel: ChannelName, at expiry: Int64) {
    setRefresh(of: channel, refreshTime(before: expiry))
  }

  private mutating func setRefresh(of channel: ChannelName, _ moment: Int64) {
    guard let grant = subscriptions[channel]?.grant else { return }
    grant.refreshAt = moment
    let ties = tied()
    ties.subscriptionsRefreshAt = min(ties.subscriptionsRefreshAt, moment)
  }

  /// Asks for what is due. Of many subscriptions that are due at once, some are asked about a second later.
  mutating func askForRefreshes() {
    guard let ties, ties.nextRefreshAt <= time.wall else { return }
    if ties.refreshAt <= time.wall {
      ties.refreshAt = .max
      askBackend(.refresh, then: .backendRefresh)
    }
    guard ties.subscriptionsRefreshAt <= time.wall else { return }
    ties.subscriptionsRefreshAt = .max
    for (channel, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) where subscription.isLive {
      guard let grant = subscription.grant, grant.refreshAt != .max else { continue }
      if grant.refreshAt <= time.wall, ties.callsUnderWay < rules.proxies.callsPerClient {
        grant.refreshAt = .max
        grant.refreshTag = askBackend(.subRefresh(channel: channel.string), then: .backendSubRefresh(channel))
      } else {
        ties.subscriptionsRefreshAt = min(ties.subscriptionsRefreshAt, max(grant.refreshAt, time.wall + 1))
      }
    }
  }

  mutating func backendRefreshed(_ answer: ProxyAnswer) {
    guard phase == .live else { return }
    switch answer {
    case .disconnect(let code): end(code)
    case .result(let result):
      if result.isExpired || hasPassed(result.expiresAt) { return end(.expired) }
      if rules.proxies.passesMeta, let meta = result.meta { tied().meta = meta }
      setExpiry(result.expiresAt)
    case .error, .failed:
      if token != nil, rules.proxies.goesByToken(.refresh) {
        setExpiry(max(timers.expiresAt, saturatingSum(time.wall, Self.prolongation)))
      } else {
        tied().refreshAt = saturatingSum(time.wall, Self.retry)
        scheduleExpiry()
      }
    }
  }

  /// An answer about a subscription that has ended meanwhile counts for nothing, though there is a new one to its channel.
  mutating func backendSubRefreshed(_ channel: ChannelName, _ tag: UInt64, _ answer: ProxyAnswer) {
    guard let subscription = subscriptions[channel], subscription.isLive, let grant = subscription.grant,
      grant.refreshTag == tag
    else { return }
    switch answer {
    case .disconnect(let code): end(code)
    case .result(let result):
      if result.isExpired || hasPassed(result.expiresAt) { return endExpired(channel, subscription) }
      subscriptions[channel]?.expiresAt = result.expiresAt ?? .max
      guard let expiry = result.expiresAt else { return }
      planRefresh(of: channel, at: expiry)
      subscriptionExpires(at: expiry)
    case .error, .failed:
      if grant.token != nil, rules.proxies.goesByToken(.subRefresh) {
        let expiry = max(subscription.expiresAt, saturatingSum(time.wall, Self.prolongation))
        subscriptions[channel]?.expiresAt = expiry
        planRefresh(of: channel, at: expiry)
        subscriptionExpires(at: expiry)
      } else {
        setRefresh(of: channel, saturatingSum(time.wall, Self.retry))
        scheduleExpiry()
      }
    }
  }

  private func hasPassed(_ expiry: Int64?) -> Bool { expiry.map { $0 <= time.wall } ?? false }
}
