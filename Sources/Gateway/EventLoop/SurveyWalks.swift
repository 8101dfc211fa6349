import Wire

/// Surveys that go through an event loop's channels: some channels in each of its passes, so that nobody's message
/// waits for an operator's question.
struct SurveyWalks {
  private struct Walk {
    let survey: LoopSurvey
    let pattern: ChannelPattern
    /// Channels that are still to be looked at. One that came later is not counted, one that is gone by then neither.
    var rest: ArraySlice<ChannelName>
    var found: FirstChannels
  }

  /// Channels that are looked at in one pass, which takes about a tenth of a millisecond.
  static let step = 500

  /// Oldest first. No more than the link lets in (``GatewayLink/mostSurveys``).
  private var walks: [Walk] = []

  /// Tells the survey what is known at once, and begins a walk for the rest.
  mutating func begin(_ survey: LoopSurvey, in hub: Hub) {
    switch survey.survey {
    case .counts: survey.add(.counts(subscriptions: hub.subscriptions))
    case .coverage: break  // ``Shard`` answers it by itself.
    case .channels(let pattern, let limit):
      walks.append(
        Walk(
          survey: survey, pattern: pattern, rest: hub.channelNames[...], found: FirstChannels(limit.channels)))
    case .inspect, .top: preconditionFailure("InspectionWalks answers inspections")
    }
  }

  /// Goes on with the oldest walk.
  ///
  /// - Returns: whether anything is left to do in the next pass.
  mutating func goOn(in hub: Hub) -> Bool {
    guard !walks.isEmpty else { return false }
    let pattern = walks[0].pattern
    for channel in walks[0].rest.prefix(Self.step) where pattern.matches(channel) {
      let clients = hub.clientCount(on: channel)
      if clients > 0 { walks[0].found.add(.init(channel, clients: UInt64(clients))) }
    }
    walks[0].rest = walks[0].rest.dropFirst(Self.step)
    if walks[0].rest.isEmpty {
      let walk = walks.removeFirst()
      walk.survey.add(.channels(walk.found))
    }
    return !walks.isEmpty
  }
}
