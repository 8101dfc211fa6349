public import Wire

/// Whether a publication reached a user, and why not: for people in sentences, for programs by a word.
public struct Explanation: Sendable, Equatable {
  public enum Verdict: String, Sendable, CaseIterable {
    /// At least one of the user's connections was sent it.
    case delivered
    /// It may have been: what is missing to be sure is said.
    case perhaps
    /// A subscription is there and it has not been written to the socket yet.
    case underWay = "under_way"
    /// It waited for a reader who did not read, and the subscription ended.
    case notRead = "not_read"
    case filtered
    /// The client came back and what it had missed could not be had whole.
    case gap
    /// The user was subscribed before it, and not when it was published.
    case away
    case notSubscribed = "not_subscribed"
    /// Subscribing was refused.
    case refused
    /// Nobody kept what is needed to tell.
    case unknown
    case noSuchPublication = "no_such_publication"
  }

  /// What one of the user's subscriptions has to do with it.
  public struct Device: Sendable, Equatable {
    public var interval: CoverageInterval
    public var finding: CoverageFinding
    /// What an app keeps from the user must not be told: neither that it ended the subscription, nor what of the channel
    /// it lets the user see.
    public var isVeiled = false
  }

  public var facts: PublicationFacts
  public var user: String
  public var verdict: Verdict
  /// The subscriptions that say something, the one that the verdict rests on first.
  public var devices: [Device]
  /// One that the user had before the publication, and that had ended, where the verdict is `away`.
  public var notes: [Note]

  /// What happened to the user's notifications about the channel, as the app of notifications writes it in JSON; nil: it
  /// is not told, or notifications are off.
  public var notifications: [UInt8]?

  /// What limits the answer.
  public enum Note: Sendable, Equatable {
    /// The publication is of a former epoch, so the broker cannot say whether there was one.
    case formerEpoch
    /// It is not kept any more, or never was.
    case notKept
    /// So many gateways did not answer.
    case unanswered(UInt32)
    /// Gateways keep no intervals.
    case switchedOff
    /// Milliseconds since 1970: what was before is not kept.
    case keptSince(Int64)
    case lostRecords(UInt64)
    /// No gateway has a link.
    case noGateway
    /// A gateway could not read its file.
    case unreadable
    /// What the publication tells of is sealed.
    case sealed(PublicationFacts.Seal)
  }
}

extension Explanation {
  /// Decides.
  ///
  /// - Parameters:
  ///   - found: what each gateway that answered knows.
  ///   - unanswered: gateways that did not answer in time.
  ///   - mayKnowExclusions: whoever asks may be told what an app keeps from people. For anybody else a subscription that
  ///     the app ended, or a publication that it withheld, looks like no subscription at all.
  public init(
    _ facts: PublicationFacts, user: String, found: [CoverageFindings], unanswered: UInt32, mayKnowExclusions: Bool
  ) {
    self.facts = facts
    self.user = user
    let hides = facts.isApps && !mayKnowExclusions
    devices = Self.sorted(found.flatMap { Self.devices(facts, $0.intervals, hides: hides) })
    if !mayKnowExclusions { self.facts.seal = nil }
    notes = Self.notes(self.facts, found, unanswered, isFound: devices.first.map { $0.rank < Device.awayRank } ?? false)
    verdict = .unknown
    verdict = decide(found, unanswered)
  }

  private func decide(_ found: [CoverageFindings], _ unanswered: UInt32) -> Verdict {
    if facts.isOfThisEpoch && facts.position.offset > facts.top.offset { return .noSuchPublication }
    let verdict = devices.first.map(\.verdict) ?? .notSubscribed
    if verdict == .delivered { return .delivered }
    // Whoever did not answer, or does not know, may have sent it.
    let isBlind = found.isEmpty || found.contains { !$0.isKept || $0.keptSince == .max }
    if isBlind || unanswered > 0 { return .unknown }
    guard devices.first?.rank ?? Device.awayRank >= Device.awayRank else { return verdict }
    // Nothing was found where it would have to stand: that says something only for the time that is kept.
    let since = found.filter(\.isKept).map(\.keptSince).max() ?? 0
    if let time = facts.publication?.time, time < since { return .unknown }
    if found.contains(where: { $0.lostRecords > 0 }) { return .unknown }
    return verdict
  }

  /// The subscription that says most first; among those that had ended the one that came furthest.
  private static func sorted(_ devices: [Device]) -> [Device] {
    devices.enumerated().sorted { one, other in
      if one.element.rank != other.element.rank { return one.element.rank < other.element.rank }
      let (a, b) = (one.element.interval.covered ?? 0, other.element.interval.covered ?? 0)
      return a == b ? one.offset > other.offset : a > b
    }.map(\.element)
  }

  private static func notes(
    _ facts: PublicationFacts, _ found: [CoverageFindings], _ unanswered: UInt32, isFound: Bool
  ) -> [Note] {
    var notes: [Note] = []
    if !facts.isOfThisEpoch { notes.append(.formerEpoch) }
    if facts.publication == nil, !facts.isOfThisEpoch || facts.position.offset <= facts.top.offset {
      notes.append(.notKept)
    }
    if let seal = facts.seal { notes.append(.sealed(seal)) }
    if unanswered > 0 { notes.append(.unanswered(unanswered)) }
    if found.contains(where: { !$0.isKept }) { notes.append(.switchedOff) }
    if found.isEmpty && unanswered == 0 { notes.append(.noGateway) }
    if found.contains(where: { $0.keptSince == .max }) { notes.append(.unreadable) }
    let since = found.filter { $0.isKept && $0.keptSince < .max }.map(\.keptSince).max() ?? 0
    if !isFound, since > 0, facts.publication.map({ $0.time < since }) ?? true { notes.append(.keptSince(since)) }
    let lost = found.reduce(0) { $0 &+ $1.lostRecords }
    if lost > 0 { notes.append(.lostRecords(lost)) }
    return notes
  }
}

extension Explanation.Device {
  /// From here on the subscription was not there.
  static let awayRank = 8

  var rank: Int {
    switch finding {
    case .delivered, .recovered: 0
    case .perhaps(.queued), .perhaps(.conflated): 2
    case .perhaps(.died), .perhaps(.notAsked), .perhaps(.filterUnknown): 3
    case .underWay: 4
    case .unwritten: 5
    case .filtered: 6
    case .gap: 7
    case .unsent: 8
    case .after: 8
    case .before: 9
    case .refused: 10
    case .claimed: 11
    }
  }

  var verdict: Explanation.Verdict {
    switch finding {
    case .delivered, .recovered: .delivered
    case .perhaps, .claimed: .perhaps
    case .underWay: .underWay
    case .unwritten: .notRead
    case .filtered: .filtered
    case .gap: .gap
    case .after, .unsent: .away
    case .before: .notSubscribed
    case .refused: .refused
    }
  }

  /// Whether this shows that an app keeps something from the user.
  var isExclusion: Bool {
    switch finding {
    case .filtered(by: .audience): true
    case .after: interval.end?.cause == .excluded
    case .refused: true
    default: false
    }
  }
}
