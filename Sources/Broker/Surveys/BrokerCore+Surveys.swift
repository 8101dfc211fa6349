import Wire

/// Surveys: what is asked of every gateway, since the broker knows a channel's gateways and not how many clients they
/// have.
extension BrokerCore {
  /// Asks how many clients are on each channel that fits the pattern.
  func countClients(
    on pattern: ChannelPattern, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    let bytes = min(Self.countedBytes, configuration.answerBytes)
    let limit = ChannelLimit(channels: configuration.maximumPageSize, bytes: UInt32(clamping: bytes))
    try begin(.channels(pattern, limit), for: requester, in: &turn)
  }

  /// Most bytes in memory of the channels in one answer, and so of what each survey under way holds.
  private static let countedBytes = 4 << 20

  /// Asks every gateway that has a link. The requester is answered when all of them have answered, or when
  /// ``BrokerConfiguration/surveyTimeout`` is over.
  ///
  /// - Throws: error 111 where as many surveys are under way as may be.
  ///
  /// - Parameters:
  ///   - own: what the broker itself knows of an inspection's subject, as JSON.
  ///   - visible: the channels that the answer may name; nil: all.
  ///   - question: what is asked of a publication, and what the broker knows of it.
  func begin(
    _ survey: Survey, for requester: Requester, own: [UInt8] = [], visible: [NamePattern]? = nil,
    question: WhyQuestion? = nil, in turn: inout Turn
  ) throws(ClientError) {
    guard surveys.count < PendingSurveys.limit else {
      throw .tooManyRequests.saying(
        "the gateways are being asked \(PendingSurveys.limit) such questions already, as many as may be at a time; "
          + "ask again in a moment")
    }
    let asked = links.sorted.filter { if case .departed = $0.state { false } else { true } }
    let timeout = min(configuration.surveyTimeout, configuration.gatewayTimeout)
    let message = surveys.add(
      survey, for: requester, own: own, visible: visible, question: question, waiting: Set(asked.map(\.gateway)),
      deadline: turn.time.monotonic + timeout)
    let open = asked.filter(\.isOpen).map(\.gateway)
    if !open.isEmpty { links.broadcast(.survey(message), to: open, in: &turn) }
    answerSurveys(in: &turn)
  }

  /// Takes in what a gateway found.
  func found(_ findings: LinkFindings, by link: PeerLink, in turn: inout Turn) {
    // A gateway that answers what it was not asked is broken or hostile.
    guard surveys.add(findings, of: link.gateway) else { return links.overflow(link, in: &turn) }
    answerSurveys(in: &turn)
  }

  /// Asks again what a gateway has not answered: its link has a new session, and the question or the answer may have
  /// been lost with the old one.
  func repeatSurveys(to gateway: UInt64, in turn: inout Turn) {
    for survey in surveys.waiting(for: gateway) { links.send(.survey(survey), to: gateway, in: &turn) }
  }

  /// Answers the requesters of surveys that have ended.
  func answerSurveys(in turn: inout Turn) {
    for ended in surveys.takeEnded(at: turn.time.monotonic) {
      answer(ended.requester, response(to: ended, at: turn.time), in: &turn)
    }
  }

  private func response(to ended: PendingSurveys.Pending, at time: BrokerTime) -> BrokerResponse {
    let unanswered = UInt32(clamping: ended.waiting.count)
    switch ended.gathered {
    case .channels(let counts, _): return .channelCounts(counts, unanswered: unanswered)
    case .coverage(let question, let found): return explain(question, found, unanswered: unanswered)
    case .inspected(let found): return .result(Self.inspected(ended.own, found, unanswered: unanswered))
    case .top(let top): return .result(topJSON(top, visible: ended.visible, unanswered: unanswered))
    case .counts(let gateways):
      let broker = ServerInfo.Broker(
        version: configuration.version, uptime: uptime(at: time), channels: UInt64(channels.count),
        publications: tally.counters.published)
      return .info(
        ServerInfo(
          broker: broker, gateways: gateways.sorted { $0.number < $1.number }, unanswered: unanswered))
    }
  }

  /// Seconds since the broker began.
  private func uptime(at time: BrokerTime) -> UInt64 {
    UInt64(clamping: (time.monotonic - (startedAt ?? time.monotonic)) / 1000)
  }
}
