import Wire

@testable import Broker
@testable import Coverage
@testable import Gateway

/// Questions why, put to a world in whatever state it is.
extension World {
  /// Asks about a client, a channel and an offset that the seed draws; nil where there is no broker to ask.
  ///
  /// - Parameter isSettled: nothing is under way any more.
  func askWhy(_ mutation: WhyMutation? = nil, isSettled: Bool = false) -> WhyCase? {
    guard let why, let broker, !broker.isStarting else { return nil }
    let client = clients[Int.random(in: 0..<clients.count, using: &random)]
    let feed = client.feeds[Int.random(in: 0..<client.feeds.count, using: &random)]
    // Where the lane has gaps, all that can be said is that there may be one: not worth as many questions.
    if feed.isConflated, random.chance(80) { return nil }
    guard let top = broker.channels[feed.channel]?.sequencer.top, top.offset > 0 else { return nil }
    var position = StreamPosition(epoch: top.epoch, offset: UInt64.random(in: 1...top.offset + 1, using: &random))
    if random.chance(15), let former = why.epochs[feed.channel]?.randomElement(using: &random) {
      position.epoch = former
      let offsets = why.publications.keys.filter { $0.channel == feed.channel && $0.epoch == former }.map(\.offset)
      guard let newest = offsets.max() else { return nil }
      position.offset = UInt64.random(in: 1...newest, using: &random)
    }
    let publication = why.publications[
      WhyLedger.Place(channel: feed.channel, epoch: position.epoch, offset: position.offset)]
    if let publication, why.places[publication.data]?.count != 1 { return nil }
    // A publication that was kept and not delivered yet is none yet.
    if publication == nil, position.epoch != top.epoch || position.offset <= top.offset { return nil }
    let facts = PublicationFacts(
      channel: feed.channel, position: position, top: top,
      publication: isKept(position, top, feed) ? publication : nil)
    let explanation = explain(facts, client.name, mutation)
    return WhyCase(
      client: client, feed: feed, explanation: explanation, publication: publication,
      truths: why.sockets.filter { $0.client == client.name }.map(why.truth(of:)), lives: why.lives,
      isSettled: isSettled)
  }

  /// Whether the channel's history would still have the publication.
  private func isKept(_ position: StreamPosition, _ top: StreamPosition, _ feed: Feed) -> Bool {
    guard let options = namespaces.options(for: feed.channel), options.keepsHistory else { return false }
    return position.epoch == top.epoch && position.offset + UInt64(options.historySize) > top.offset
  }

  /// Asks each gateway as a survey does: its event loops, then its file.
  private func explain(_ facts: PublicationFacts, _ user: String, _ mutation: WhyMutation?) -> Explanation {
    let query = CoverageQuery(user: user, channel: facts.channel, position: facts.position)
    let found = gateways.indices.compactMap { index -> CoverageFindings? in
      let live = gateways[index].loops.flatMap { $0.shard.liveCoverage(of: query) }
      guard var findings = why?.found(index, query, live: live) else { return nil }
      findings.keptSince = 0
      if let mutation { findings.intervals = findings.intervals.map { mutation.changed($0) } }
      return findings
    }
    return Explanation(facts, user: user, found: found, unanswered: 0, mayKnowExclusions: true)
  }
}
