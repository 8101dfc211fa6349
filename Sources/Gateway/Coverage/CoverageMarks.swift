import Wire

/// Goes through an event loop's channels, some in each pass, and has noted how far their subscribers are: should the
/// process be killed, the file of intervals knows that much.
///
/// A channel is looked at again only when something was published since, or while somebody lags. Nothing is done per
/// publication: what a pass costs depends on ``step`` alone.
struct CoverageMarks {
  /// Channels and subscribers that are looked at in one pass, which takes about a tenth of a millisecond. What is noted
  /// goes to the disk, so it bounds that as well.
  static let step = 500
  /// Milliseconds between two passes.
  static let pause: Int64 = 5_000

  /// Where the next channel stands that this round has to look at (``Hub/channel(at:)``).
  private var place = 0
  /// The newest publication of a channel when all of its subscribers were noted to have it, in the round before.
  private var noted: [ChannelName: UInt64] = [:]
  /// The same, in this round.
  private var noting: [ChannelName: UInt64] = [:]

  /// Looks at the next channels.
  ///
  /// - Parameters:
  ///   - isWanted: false for lanes that leave publications out: how far somebody is says nothing there.
  ///   - note: is told how far a session's subscription is.
  mutating func pass(
    in hub: Hub, isWanted: (ChannelName) -> Bool, note: (SessionDriver, ChannelName, CoverageReach) -> Void
  ) {
    if hub.channel(at: place) == nil {
      (noted, noting) = (noting, [:])
      place = 0
    }
    var left = Self.step
    while left > 0, let channel = hub.channel(at: place) {
      place += 1
      left -= 1
      let newest = hub.newest(on: channel)
      guard newest > 0, isWanted(channel) else { continue }
      if noted[channel] == newest {
        noting[channel] = newest
        continue
      }
      // A channel with more subscribers than that is left out: a pass must not take long.
      let count = hub.clientCount(on: channel)
      guard count <= Self.step else { continue }
      left -= count
      if Self.look(at: channel, in: hub, note) { noting[channel] = newest }
    }
  }

  /// - Returns: whether everybody has everything.
  private static func look(
    at channel: ChannelName, in hub: Hub, _ note: (SessionDriver, ChannelName, CoverageReach) -> Void
  ) -> Bool {
    var isWhole = true
    for session in hub.sessions(on: channel) {
      guard let reach = hub.reach(of: session, on: channel) else { continue }
      if reach.isUnsent || reach.unsure > 0 || reach.written < reach.covered { isWhole = false }
      if !reach.isUnsent { note(session, channel, reach) }
    }
    return isWhole
  }
}
