public import Wire

/// What one interval says of one publication.
public enum CoverageFinding: Sendable, Equatable {
  /// Written to the connection's socket while the subscription was there.
  case delivered
  /// It came with the answer to the subscribe, as part of what had been missed.
  case recovered
  /// The client came with a position behind it. That is no proof: a client also moves its position over what could not be
  /// recovered.
  case claimed
  case perhaps(Doubt)
  /// The subscription is there, and the publication is on its way: to the gateway, or in front of a slow reader.
  case underWay
  /// It came to the gateway and waited for the reader, and then the subscription ended.
  case unwritten
  case filtered(by: Filter)
  /// The client asked to go on before it, and that could not be had whole.
  case gap
  /// The subscription began after it, and did not ask for what was before.
  case before
  /// The subscription had ended.
  case after
  /// The connection ended before it had signed in.
  case unsent
  /// No subscription: the subscribe was refused.
  case refused

  public enum Doubt: String, Sendable, CaseIterable {
    /// It may have stood in the connection's own queue when that ended.
    case queued
    /// The channel's lane keeps only the newest of each key for those who lag.
    case conflated
    /// The subscription has a filter, and the publication is not kept any more: its tags are not known.
    case filterUnknown = "filter_unknown"
    /// The gateway's process died.
    case died
    /// How far the subscription is could not be asked.
    case notAsked = "not_asked"
  }

  public enum Filter: String, Sendable {
    /// What the client asked for.
    case own
    /// What the server lets the client see.
    case audience
  }
}

/// The publication that is asked about, as the broker knows it.
public struct PublicationFacts: Sendable, Equatable {
  public var channel: ChannelName
  public var position: StreamPosition
  /// The channel's top now.
  public var top: StreamPosition
  /// The publication without its data, where it is still kept.
  public var publication: Publication?
  public var isApps: Bool
  /// What the publication tells of is not shown yet, or never will be; nil: nothing is sealed, or it is not kept.
  public var seal: Seal?
  /// On a map: nothing newer was written under the publication's key, so that nothing replaces it for those who lag.
  public var isNewestOfKey: Bool
  /// The user is suspended now (`user_suspend`).
  public var isSuspended = false

  /// Until when an app keeps what a publication tells of from both people.
  public enum Seal: String, Sendable {
    case untilAnswered = "until_answered"
    case forEver = "for_ever"
  }

  public init(
    channel: ChannelName, position: StreamPosition, top: StreamPosition, publication: Publication? = nil,
    isApps: Bool = false, seal: Seal? = nil, isNewestOfKey: Bool = false
  ) {
    self.channel = channel
    self.position = position
    self.top = top
    self.publication = publication
    self.isApps = isApps
    self.seal = seal
    self.isNewestOfKey = isNewestOfKey
  }

  var isOfThisEpoch: Bool { position.epoch.hasSameBytes(as: top.epoch) }
}

extension CoverageInterval {
  /// What the interval says of a publication; nil: nothing.
  ///
  /// - Parameter hidesFilters: whether the server keeps something from the user must not be told.
  public func finding(of facts: PublicationFacts, hidesFilters: Bool = false) -> CoverageFinding? {
    if end?.cause == .refused { return .refused }
    let offset = facts.position.offset
    guard start.position.epoch.hasSameBytes(as: facts.position.epoch) else {
      // Whoever follows a lane with gaps is not told of a new epoch, and stays.
      if start.isConflated { return .perhaps(.conflated) }
      // Of another epoch: it only tells from where the client came.
      guard let since = start.since, since.epoch.hasSameBytes(as: facts.position.epoch) else { return nil }
      return offset <= since.offset ? .claimed : .gap
    }
    if offset <= start.low { return findingBefore(facts) }
    guard let covered, let written, let sure, let reach else {
      return withoutReach(facts, .perhaps(end == nil ? .notAsked : .died))
    }
    // What the process noted last is sure; how much further it came, nobody saw.
    if end?.cause == .died, offset > sure { return withoutReach(facts, .perhaps(.died)) }
    if offset > covered { return end == nil ? .underWay : .after }
    if reach.isUnsent { return end == nil ? .underWay : .unsent }
    if start.isConflated { return filtered(facts, hidesFilters, otherwise: .perhaps(.conflated)) }
    if offset <= sure {
      return filtered(facts, hidesFilters, otherwise: offset <= start.position.offset ? .recovered : .delivered)
    }
    if offset <= written { return filtered(facts, hidesFilters, otherwise: .perhaps(.queued)) }
    return filtered(facts, hidesFilters, otherwise: end == nil ? .underWay : .unwritten)
  }

  /// How far the subscription was is not known. What its own filter holds back did not go out all the same; what the
  /// server lets the user see may have changed.
  private func withoutReach(_ facts: PublicationFacts, _ doubt: CoverageFinding) -> CoverageFinding {
    guard let filter = start.filter, let publication = facts.publication, !filter.matches(publication) else {
      return doubt
    }
    return .filtered(by: .own)
  }

  /// The publication is not the server's to send in this interval.
  private func findingBefore(_ facts: PublicationFacts) -> CoverageFinding {
    guard let since = start.since else { return .before }
    let isSame = since.epoch.isEmpty || since.epoch.hasSameBytes(as: facts.position.epoch)
    return isSame && facts.position.offset <= since.offset ? .claimed : .gap
  }

  private func filtered(
    _ facts: PublicationFacts, _ hidesFilters: Bool, otherwise finding: CoverageFinding
  ) -> CoverageFinding {
    guard let publication = facts.publication else {
      let isFiltered = start.filter != nil || start.audience != nil || hidesFilters
      // What never left the gateway did not arrive, whatever the filter says.
      return isFiltered && finding != .unwritten && finding != .underWay ? .perhaps(.filterUnknown) : finding
    }
    if start.audience?.matches(publication) == false { return .filtered(by: .audience) }
    return start.filter?.matches(publication) == false ? .filtered(by: .own) : finding
  }
}
