import Wire

@testable import Broker
@testable import Coverage
@testable import Gateway

/// A change that is made to what the gateways found, to see that the judge would notice a wrong explanation.
enum WhyMutation: CaseIterable {
  /// One publication more counts as written.
  case writesOneMore
  /// Every recovery counts as whole.
  case recoversAlways
  /// No recovery counts.
  case recoversNever
  case forgetsFilters
  /// Whoever was disconnected is said to have unsubscribed.
  case confusesCauses
  /// What waits in a connection's queue counts as sent.
  case trustsQueues
  /// Subscriptions that are over count as being there.
  case forgetsEnds
  /// A process that died is taken for one that saw everything.
  case trustsTheDead

  func changed(_ interval: CoverageInterval) -> CoverageInterval {
    var changed = interval
    switch self {
    case .writesOneMore:
      changed.reach?.covered += 1
      changed.reach?.written += 1
    case .recoversAlways: changed.start.recovered = interval.start.since != nil
    case .recoversNever: changed.start.recovered = false
    case .forgetsFilters: changed.start.filter = nil
    case .confusesCauses:
      if interval.end?.cause == .disconnected || interval.end?.cause == .gone { changed.end?.cause = .unsubscribed }
    case .trustsQueues: changed.reach?.unsure = 0
    case .forgetsEnds: changed.end = nil
    case .trustsTheDead:
      if interval.end?.cause == .died { changed.reach = CoverageReach(covered: .max, written: .max) }
    }
    return changed
  }
}

/// One question, with the answer and what really happened.
struct WhyCase {
  let client: SimulatedClient
  let feed: Feed
  let explanation: Explanation
  let publication: Publication?
  /// The client's connections, oldest first.
  let truths: [WhyTruth]
  let lives: [Int]
  /// Nothing is under way any more, so no gateway can be behind with what a client did.
  let isSettled: Bool
  /// The user from whom the app keeps the publication, as those who blocked know; nil: nobody, or it is no app's.
  var withheldFrom: String?
  /// Whether what the publication tells of is sealed, as its sender was answered; nil: not known.
  var isSealed: Bool?
  /// The same question by somebody who may not know what the app keeps from people.
  var veiled: Explanation?

  private var channel: String { feed.channel.string }
  private var offset: UInt64 { explanation.facts.position.offset }
  private var isWritten: Bool {
    publication.map { publication in truths.contains { $0.wasWritten(publication.data, on: channel) } } ?? false
  }

  /// Whether the answer says more than that it is not known.
  var isDecided: Bool { explanation.verdict != .perhaps && explanation.verdict != .unknown }

  /// - Returns: what is wrong with the answer; nil: nothing.
  func complaint() -> String? {
    let device = explanation.devices.first
    let truth = truths.first { $0.id == device?.interval.client && !$0.id.isEmpty }
    let problem: String?
    switch explanation.verdict {
    case .noSuchPublication: problem = publication == nil ? nil : "there is such a publication"
    case .unknown: problem = "everything was kept"
    case .delivered: problem = delivered(device, truth)
    case .perhaps: problem = perhaps(device, truth)
    case .underWay: problem = underWay(device, truth)
    case .filtered, .gap, .away, .notRead, .notSubscribed, .refused: problem = denied(device, truth)
    }
    return (problem ?? sealing() ?? unveiled()).map {
      "\($0): \(explanation.sentence) \(String(describing: device))"
    }
  }

  /// Whether it is said rightly that something is sealed.
  private func sealing() -> String? {
    guard let isSealed, explanation.facts.publication != nil else { return nil }
    let isSaid = explanation.noteSentences.contains { $0.contains("sealed") }
    return isSaid == isSealed ? nil : isSealed ? "it is sealed" : "nothing is sealed"
  }

  /// Whether somebody who may not know is told what the app keeps from the user.
  private func unveiled() -> String? {
    guard let veiled else { return nil }
    let told = String(decoding: veiled.json, as: UTF8.self) + veiled.noteSentences.joined()
    let word = ["filtered_audience", "excluded", "refiltered", "the app ", "block", "sealed", "audience"].first {
      told.contains($0)
    }
    if let word { return "whoever may not know is told \"\(word)\": \(told)" }
    return veiled.verdict == .delivered && !isWritten ? "whoever may not know is told that it was written" : nil
  }

  private func delivered(_ device: Explanation.Device?, _ truth: WhyTruth?) -> String? {
    guard let publication else { return "nothing was published there" }
    guard let truth, truth.wasWritten(publication.data, on: channel) else {
      return isWritten ? "another connection got it" : "it was not written"
    }
    let wasRecovered = truth.subscriptions[channel]?.contains {
      $0.recovered && $0.position.offset >= offset && $0.written.contains(publication.data)
    }
    if device?.finding == .recovered, wasRecovered != true { return "it came live" }
    return nil
  }

  /// A doubt is right where there is a reason for it.
  private func perhaps(_ device: Explanation.Device?, _ truth: WhyTruth?) -> String? {
    guard let publication else { return feed.isConflated ? nil : "nothing was published there" }
    switch device?.finding {
    case .perhaps(.conflated): return feed.isConflated ? nil : "the lane has no gaps"
    case .perhaps(.filterUnknown):
      return feed.users != nil && explanation.facts.publication == nil ? nil : "the filter can be looked at"
    case .perhaps(.died):
      // Also a connection that was never told its id.
      let sockets = truths.filter { $0.id == device?.interval.client || $0.id.isEmpty }.map(\.socket)
      return sockets.contains { $0.life < lives[$0.gateway] } ? nil : "the gateway lives"
    case .perhaps(.queued):
      // A client with a filter: which publications stood in the queue cannot be told.
      if feed.users != nil { return nil }
      guard let truth else { return nil }
      return truth.wasIssued(publication.data, on: channel) ? nil : "it never came to the connection"
    case .claimed:
      return truths.contains { $0.wasWritten(publication.data, on: channel) } ? "it was written" : nil
    default: return "nobody is in doubt"
    }
  }

  private func underWay(_ device: Explanation.Device?, _ truth: WhyTruth?) -> String? {
    if isWritten { return "it was written" }
    guard let truth else { return isSettled ? "no such connection" : nil }
    if truth.subscriptions[channel]?.last?.isOver == true { return "the subscription is over" }
    return isSettled && client.socket !== truth.socket.socket ? "the connection is gone" : nil
  }

  /// The publication did not reach the client, for the reason that is given.
  private func denied(_ device: Explanation.Device?, _ truth: WhyTruth?) -> String? {
    if isWritten { return "it was written" }
    guard let device else {
      // No subscription of the client's was there for it, in any connection.
      let one = truths.flatMap { $0.subscriptions[channel] ?? [] }.first {
        $0.position.epoch == explanation.facts.position.epoch && $0.position.offset < offset
      }
      return one == nil ? nil : "there was a subscription"
    }
    let subscriptions = truth?.subscriptions[channel] ?? []
    switch device.finding {
    case .filtered(by: .own):
      if feed.wants(publication?.info?.user ?? "") { return "the filter lets it through" }
      // Which filter it was, in the words of the answer.
      let users = (feed.users ?? []).map { "\"\($0)\"" }.joined(separator: ", ")
      return explanation.sentence.contains("user is one of \(users)") ? nil : "another filter is named"
    case .filtered(by: .audience):
      return withheldFrom == client.name ? nil : "nobody keeps it from them"
    case .gap:
      let isGap = subscriptions.contains {
        $0.wasRecovering && !$0.recovered && ($0.position.offset >= offset || !isOfEpoch($0))
      }
      return isGap || subscriptions.isEmpty ? nil : "what was missed came whole"
    case .before:
      return subscriptions.isEmpty || subscriptions.contains { $0.position.offset >= offset } || feed.isConflated
        ? nil : "it subscribed before"
    case .after: return ended(device, truth)
    case .unwritten:
      guard let publication, truth?.wasIssued(publication.data, on: channel) == true else { return nil }
      return "it came to the connection"
    case .unsent: return truth == nil || truths.contains { $0.id.isEmpty } ? nil : "it signed in"
    case .refused:
      // A connection that was never told its id was refused as a whole, or heard nothing more.
      guard let truth, let code = device.interval.end?.code else { return nil }
      return truth.errors.contains(code) || truth.closed != nil ? nil : "nothing was refused for that"
    default: return "that is no reason"
    }
  }

  private func isOfEpoch(_ subscription: WhyTruth.Subscription) -> Bool {
    subscription.position.epoch == explanation.facts.position.epoch
  }

  /// The subscription ended before the publication, in the way that is said.
  private func ended(_ device: Explanation.Device, _ truth: WhyTruth?) -> String? {
    guard let truth else { return nil }
    if let publication, truth.wasIssued(publication.data, on: channel) { return "it came to the connection" }
    switch device.interval.end?.cause {
    case .unsubscribed where truth.lost.contains(channel) && !truth.left.contains(channel):
      return "the server ended it"
    case .excluded: return truth.lost.contains(channel) || truth.closed != nil ? nil : "nobody ended it"
    case .unsubscribed:
      return truth.subscriptions[channel]?.contains(where: \.isOver) == true ? nil : "it did not unsubscribe"
    case .lost: return truth.lost.contains(channel) ? nil : "nothing was lost"
    case .disconnected:
      let code = UInt32(truth.socket.socket.closedBy?.code ?? 0)
      return device.interval.end?.code == code ? nil : "the server closed it with \(code)"
    case .gone: return truth.socket.socket.closedBy == nil ? nil : "the server closed it"
    case let cause: return "no subscription ends so here: \(String(describing: cause))"
    }
  }
}

/// What people ask why for. Each must have been the answer of some case.
enum WhyReason: CaseIterable {
  case delivered
  case notSubscribed
  /// Away, and not back yet.
  case away
  case filteredByOwnFilter
  /// Somebody is blocked.
  case blocked
  /// The app ended the subscription.
  case excluded
  case sealed
  case slow
  case limitHit
  case notPermitted
  case gap
  /// The gateway was killed, and what it had noted last makes the answer certain.
  case certainDespiteKill
  /// The same, and it was not enough.
  case uncertainForKill
}

extension WhyCase {
  /// What the answer rests on, where the judge agrees with it.
  var reasons: [WhyReason] {
    var reasons: [WhyReason] = []
    let device = explanation.devices.first
    let end = device?.interval.end
    switch explanation.verdict {
    case .delivered:
      reasons.append(.delivered)
      if end?.cause == .died { reasons.append(.certainDespiteKill) }
    case .perhaps: if device?.finding == .perhaps(.died) { reasons.append(.uncertainForKill) }
    case .notSubscribed: reasons.append(.notSubscribed)
    case .away:
      reasons.append(end?.cause == .excluded ? .excluded : .away)
      if end?.cause == .disconnected, end?.code == UInt32(DisconnectCode.slow.code) { reasons.append(.slow) }
    case .notRead:
      if end?.cause == .disconnected, end?.code == UInt32(DisconnectCode.slow.code) { reasons.append(.slow) }
    case .filtered: reasons.append(device?.finding == .filtered(by: .own) ? .filteredByOwnFilter : .blocked)
    case .gap: reasons.append(.gap)
    case .refused:
      reasons.append(end?.code == ClientError.limitExceeded.code ? .limitHit : .notPermitted)
    case .underWay, .unknown, .noSuchPublication: break
    }
    if explanation.facts.seal != nil { reasons.append(.sealed) }
    return reasons
  }
}
