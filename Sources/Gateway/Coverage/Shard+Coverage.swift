import Wire

/// The event loop's records for the file of intervals.
extension Shard {
  func covers(_ driver: SessionDriver, _ channel: ChannelName, _ start: CoverageStart) {
    guard let coverage else { return }
    let owner = CoverageOwner(user: driver.user, client: driver.client)
    coverage.record(.began(CoverageKey(connection: driver.id, channel: channel), owner, start))
  }

  func uncovers(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd) {
    guard let coverage else { return }
    var end = end
    // The session hears only that the connection is gone, or does something for one that is; the connection knows
    // whether the server had closed it.
    if [.gone, .lost, .removed, .unsubscribed].contains(end.cause), let code = driver.transport.closedBy {
      (end.cause, end.code) = (.disconnected, UInt32(code.code))
    }
    let key = CoverageKey(connection: driver.id, channel: channel)
    coverage.record(.ended(key, hub.reach(of: driver, on: channel), end))
  }

  func coverageRefused(_ driver: SessionDriver, _ channel: ChannelName, _ end: CoverageEnd) {
    guard let coverage else { return }
    let owner = CoverageOwner(user: driver.user, client: driver.client)
    coverage.record(.refused(CoverageKey(connection: driver.id, channel: channel), owner, end))
  }

  /// What a user may see of a channel changes, or their subscriptions to it end.
  func changeAudience(_ change: LinkAudience) {
    let isMeant: (SessionDriver) -> Bool = { $0.user.hasSameBytes(as: change.user) }
    if change.admission == .admitted {
      noteRefilter(change)
      return hub.refilter(on: change.channel, audience: change.audience, where: isMeant)
    }
    for driver in hub.sessions(on: change.channel) where isMeant(driver) {
      let isRefused = change.admission == .refused
      driver.removeSubscription(
        change.channel, isRefused ? .server : .insufficient, because: isRefused ? .excluded : .lost)
    }
  }

  /// What a user may see of a channel is about to change: that is the end of an interval, and the beginning of another.
  /// What waits on the present tape goes out with the move, and may stay in the connection's queue.
  private func noteRefilter(_ change: LinkAudience) {
    guard let coverage else { return }
    for driver in hub.sessions(on: change.channel) where driver.user.hasSameBytes(as: change.user) {
      guard var reach = hub.reach(of: driver, on: change.channel) else { continue }
      if reach.unsure < .max, !reach.isUnsent {
        reach.unsure += reach.covered - min(reach.written, reach.covered)
        reach.written = reach.covered
      }
      let key = CoverageKey(connection: driver.id, channel: change.channel)
      coverage.record(.refiltered(key, reach, audience: change.audience, at: time.wall * 1000))
    }
  }

  /// Notes how far some subscriptions are (``CoverageMarks``). To be called every ``CoverageMarks/pause`` milliseconds.
  func markCoverage() {
    guard let coverage else { return }
    let isWanted: (ChannelName) -> Bool = { [rules] in rules.namespaces.options(for: $0)?.lane.isConflated == false }
    coverageMarks.pass(in: hub, isWanted: isWanted) { driver, channel, reach in
      // Nobody can be asked about who has no name.
      if driver.user.isEmpty { return }
      coverage.record(.reached(CoverageKey(connection: driver.id, channel: channel), reach))
    }
  }

  /// How far the user's subscriptions to the channel are on this event loop.
  func liveCoverage(of query: CoverageQuery) -> [LiveCoverage] {
    hub.sessions(on: query.channel).filter { $0.user.hasSameBytes(as: query.user) }.compactMap { driver in
      hub.reach(of: driver, on: query.channel).map { LiveCoverage(connection: driver.id, reach: $0) }
    }
  }
}
