import Wire

/// What a session tells for the file of intervals (``CoverageInterval``): that a subscription began, that it ends and
/// why, that one was refused. Nothing is told per publication.
extension Session {
  /// The subscription is there: the hub delivers from here on.
  mutating func noteCoverage(of order: SubscribeOrder, _ answer: BrokerResponse.Subscribed) {
    guard isCovered else { return }
    let start = CoverageStart(
      position: answer.position, since: order.since, recovered: order.since != nil && answer.recovered,
      filter: order.filter, audience: answer.audience,
      isConflated: rules.namespaces.options(for: order.channel)?.lane.isConflated ?? false, at: now)
    out.append(.covers(order.channel, start))
  }

  /// The subscription is about to leave the hub, which still knows how far it is.
  mutating func noteEnd(of channel: ChannelName, _ cause: CoverageEnd.Cause, code: UInt32 = 0) {
    if isCovered { out.append(.uncovers(channel, CoverageEnd(cause, code: code, at: now))) }
  }

  mutating func noteRefusal(of channel: ChannelName, _ error: ClientError) {
    if isCovered { out.append(.coverageRefused(channel, CoverageEnd(.refused, code: error.code, at: now))) }
  }

  /// Nobody can be asked about who has no name.
  private var isCovered: Bool { configuration.keepsCoverage && !user.isEmpty }

  private var now: Int64 { time.wall * 1000 }
}
