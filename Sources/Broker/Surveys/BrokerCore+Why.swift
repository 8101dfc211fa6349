import Apps
import Coverage
import Log
import Wire

/// What is asked about a publication, with what the broker knows of it.
struct WhyQuestion: Equatable {
  var user: String
  var facts: PublicationFacts
  var mayKnowExclusions: Bool
  /// What happened to the user's notifications about the channel, as JSON; nil: it is not told.
  var notifications: [UInt8]?
}

/// Whether a publication reached a user, and why not. The broker knows the publication, the gateways know the user's
/// subscriptions, as intervals of offsets; what follows from both is worked out by ``Explanation``.
extension BrokerCore {
  /// Looks the publication up, then asks every gateway what it knows of the user.
  ///
  /// - Throws: errors 102, 107 and 111 with a sentence.
  func why(_ request: WhyRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    guard !request.user.isEmpty else { throw .badRequest.saying("why needs the user") }
    guard request.offset > 0 else { throw .badRequest.saying("offset is the publication's number, from 1") }
    let facts = try facts(of: request, in: &turn)
    var question = WhyQuestion(user: request.user, facts: facts, mayKnowExclusions: request.mayKnowExclusions)
    // Where an app keeps something from people, what it did not notify them of would tell of it.
    if !facts.isApps || request.mayKnowExclusions {
      question.notifications = try noticeLines(about: request.channel, of: request.user, in: &turn)
    }
    let query = CoverageQuery(user: request.user, channel: request.channel, position: facts.position)
    try begin(.coverage(query), for: requester, question: question, in: &turn)
  }

  private func facts(of request: WhyRequest, in turn: inout Turn) throws(ClientError) -> PublicationFacts {
    let options = try options(of: request.channel)
    let (opened, top) = try existing(request.channel, options, in: &turn)
    let position = StreamPosition(epoch: request.epoch ?? top.epoch, offset: request.offset)
    var facts = PublicationFacts(
      channel: request.channel, position: position, top: top, isApps: options.app != nil)
    guard let state = opened, position.epoch.hasSameBytes(as: top.epoch), position.offset <= top.offset else {
      return facts
    }
    if options.keepsHistory {
      let range = LogRange(
        since: position.offset - 1, through: position.offset, limit: 1, notBefore: oldest(in: state, at: turn.time))
      facts.publication = try read(range, within: .most, of: state, in: &turn).publications.first {
        $0.offset == position.offset
      }
    }
    if let entry = state.map?.entry(writtenAt: position.offset) {
      facts.publication = entry
      facts.isNewestOfKey = true
    }
    if let publication = facts.publication {
      facts.seal = hosts.host(of: options)?.app.seal(of: publication, on: request.channel)?.asFact
    }
    // Kept until the gateways have answered, and its data is nobody's business here.
    facts.publication?.data = []
    return facts
  }

  /// The answer, when the gateways have told what they know.
  func explain(_ question: WhyQuestion?, _ found: [CoverageFindings], unanswered: UInt32) -> BrokerResponse {
    guard let question else { return .failed(.internalError) }
    var explanation = Explanation(
      question.facts, user: question.user, found: found, unanswered: unanswered,
      mayKnowExclusions: question.mayKnowExclusions)
    explanation.notifications = question.notifications
    return .result(explanation.json)
  }
}

extension AppSeal {
  fileprivate var asFact: PublicationFacts.Seal {
    switch self {
    case .untilAnswered: .untilAnswered
    case .forEver: .forEver
    }
  }
}
