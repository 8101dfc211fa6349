import Apps
import Gateway
import TestSupport
import Wire

@testable import Broker
@testable import Coverage
@testable import Gateway

/// A change that is made to what gateways found, or to what is told, to see that the judge would notice it.
enum WhyAppMutation: CaseIterable {
  /// What people may see of a channel is left out.
  case forgetsAudiences
  /// Whom the app let go is said to have unsubscribed.
  case confusesExclusions
  /// A limit is said to be missing permission.
  case confusesRefusals
  /// Nothing is said to be sealed.
  case forgetsSeals
  /// Everybody is told what an app keeps from people.
  case tellsEverybody

  func changed(_ interval: CoverageInterval) -> CoverageInterval {
    var changed = interval
    switch self {
    case .forgetsAudiences: changed.start.audience = nil
    case .confusesExclusions: if interval.end?.cause == .excluded { changed.end?.cause = .unsubscribed }
    case .confusesRefusals:
      if interval.end?.code == ClientError.limitExceeded.code {
        changed.end?.code = ClientError.permissionDenied.code
      }
    case .forgetsSeals, .tellsEverybody: break
    }
    return changed
  }
}

extension WhyAppWorld {
  // MARK: What happens

  /// Does one thing, drawn by the seed.
  func step() {
    let user = Self.people.randomElement(using: &random) ?? ""
    let other = Self.people.filter { $0 != user }.randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<28: say(user, other)
    case 28..<36: accept(user, other)
    case 36..<41: block(user, other, true)
    case 41..<45: block(user, other, false)
    case 45..<47: leave(user, other)
    case 47..<55: publish()
    case 55..<58: flood()
    case 58..<78: act(clients[Int.random(in: 0..<clients.count, using: &random)])
    case 78..<82: clients[Int.random(in: 0..<clients.count, using: &random)].disconnect()
    case 82..<86: askForTooMuch()
    case 86..<91: seal(user, other)
    case 91..<92: replaceGateway(Int.random(in: 0..<gateways.count, using: &random))
    default: passTime(Int64.random(in: 1...600, using: &random))
    }
    if random.chance(60) { runUntilQuiet(sidReads: random.chance(70)) } else { carry(sidReads: random.chance(30)) }
  }

  func act(_ client: SimulatedClient) {
    switch client.state {
    case .down: connect(client)
    case .connecting: break
    case .up:
      for feed in client.feeds {
        if feed.state == .idle {
          client.subscribe(feed)
        } else if feed.state == .live, random.chance(15) {
          client.unsubscribe(feed)
        }
      }
    }
  }

  private func publish() {
    let client = clients.filter { $0.feeds[0].channel == Self.hall }.randomElement(using: &random)
    let channel = random.chance(30) ? Self.annex : Self.hall
    if let client, client.state == .up { publish(newText(), on: channel, from: client) }
  }

  private func publish(_ text: String, on channel: ChannelName, from client: SimulatedClient) {
    var publish = ClientCommand.Publish()
    publish.channel = channel.string
    publish.data = Array("\"\(text)\"".utf8)
    client.command(.publish(publish))
  }

  /// More than one who does not read can have waiting.
  private func flood() {
    guard let client = clients.first(where: { $0.name == "gus" }), client.state == .up else { return }
    runUntilQuiet()
    for _ in 0..<30 {
      publish(newText() + String(repeating: "x", count: 100), on: Self.hall, from: client)
      runUntilQuiet(sidReads: false)
    }
  }

  /// A client subscribes to one channel more than it may.
  private func askForTooMuch() {
    guard let client = clients.first(where: { $0.name == "gus" }), client.feeds[0].state == .live else { return }
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = Self.annex.string
    client.command(.subscribe(subscribe))
  }

  /// Everything arrives, and everybody comes back.
  func heal() {
    for _ in 0..<12 {
      runUntilQuiet()
      passTime(500)
    }
    for _ in 0..<3 {
      for client in clients where client.state == .down { connect(client) }
      runUntilQuiet()
      for client in clients where client.state == .up {
        for feed in client.feeds where feed.state == .idle { client.subscribe(feed) }
      }
      runUntilQuiet()
    }
  }

  // MARK: Questions

  /// Asks about a client and an offset that the seed draws; nil where there is nothing to ask about.
  func askWhy(_ mutation: WhyAppMutation? = nil, isSettled: Bool = false) -> WhyCase? {
    let client = clients[Int.random(in: 0..<clients.count, using: &random)]
    var feed = client.feeds[0]
    if client.name == "gus", random.chance(50) { feed = Feed(Self.annex) }
    guard let top = broker.channels[feed.channel]?.sequencer.top, top.offset > 0 else { return nil }
    let offset = UInt64.random(in: 1...top.offset, using: &random)
    let place = WhyLedger.Place(channel: feed.channel, epoch: top.epoch, offset: offset)
    // What is kept and not delivered yet is no publication yet.
    guard let publication = ledger.publications[place], ledger.places[publication.data]?.count == 1 else { return nil }
    var facts = PublicationFacts(
      channel: feed.channel, position: StreamPosition(epoch: top.epoch, offset: offset), top: top)
    guard let options = namespaces.options(for: feed.channel) else { return nil }
    facts.isApps = options.app != nil
    if offset + UInt64(options.historySize) > top.offset { facts.publication = publication }
    if mutation != .forgetsSeals, facts.publication != nil,
      let seal = state.seal(of: publication, on: feed.channel)
    {
      facts.seal = seal == .forEver ? .forEver : .untilAnswered
    }
    return WhyCase(
      client: client, feed: feed, explanation: explain(facts, client.name, mutation), publication: publication,
      truths: ledger.sockets.filter { $0.client == client.name }.map(ledger.truth(of:)), lives: ledger.lives,
      isSettled: isSettled, withheldFrom: withheld[place], isSealed: sealed[place],
      veiled: facts.isApps
        ? explain(facts, client.name, mutation, mayKnow: mutation == .tellsEverybody) : nil)
  }

  private func explain(
    _ facts: PublicationFacts, _ user: String, _ mutation: WhyAppMutation?, mayKnow: Bool = true
  ) -> Explanation {
    let query = CoverageQuery(user: user, channel: facts.channel, position: facts.position)
    let found = gateways.indices.map { index -> CoverageFindings in
      let live = gateways[index].loops.flatMap { $0.shard.liveCoverage(of: query) }
      var findings = ledger.found(index, query, live: live)
      findings.keptSince = 0
      if let mutation { findings.intervals = findings.intervals.map { mutation.changed($0) } }
      return findings
    }
    return Explanation(facts, user: user, found: found, unanswered: 0, mayKnowExclusions: mayKnow)
  }
}
