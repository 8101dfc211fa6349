import Wire

/// A channel that subscribers of this gateway are on, or are about to be.
final class LinkChannel {
  private struct SubscriberKey: Hashable {
    let loop: Int
    let connection: UInt64
  }

  /// A subscriber who has a filter, or may be given one.
  private struct KnownSubscriber {
    let user: String
    /// The broker shows it to others, and so is told of it again in each new session.
    let isPresent: Bool
    let format: WireFormat
    /// What the client asked for.
    let own: TagFilter?
    /// What the client's and the server's filter together let through; nil: everything.
    var filter: TagFilter?
  }

  /// What was handed on last; nil until the first subscribe is answered, and whatever comes before that is left over
  /// from an interest that ended.
  var position: StreamPosition?
  /// Subscribes that the broker has not answered yet.
  var underWay = 0
  /// Those without a filter.
  private var plain: SubscriberCounts
  /// Nil where nobody has one, as on most channels.
  private var filters: LinkFilters?
  private var known: [SubscriberKey: KnownSubscriber] = [:]
  /// Of everybody, with a filter or without.
  private(set) var audience = Audience()
  /// Those whom the broker holds in the channel's presence on our behalf.
  var members: [String: ClientInfo] = [:]

  /// Members of a subscribe that was given up and done after all, whose client had asked again by then.
  var lateMembers: Set<String> = []

  private let loops: Int

  init(loops: Int) {
    self.loops = loops
    plain = SubscriberCounts(loops: loops)
  }

  var hasSubscribers: Bool { audience.loops != 0 }
  var isInUse: Bool { hasSubscribers || underWay > 0 }
  var isFiltered: Bool { filters != nil }

  /// - Parameters:
  ///   - user: nil where the broker was not told who subscribes, and so cannot change what they may see.
  ///   - own: what the client asked for.
  ///   - allowed: what the broker lets it see.
  func add(
    _ source: RequestSource, _ format: WireFormat, user: String?, isPresent: Bool, own: TagFilter?, allowed: TagFilter?
  ) {
    let filter = TagFilter.both(own, allowed)
    count(filter, source.loop, format)
    if user != nil || filter != nil {
      known[SubscriberKey(loop: source.loop, connection: source.connection)] = KnownSubscriber(
        user: user ?? "", isPresent: isPresent || user == nil, format: format, own: own, filter: filter)
    }
    refreshAudience()
  }

  func remove(_ source: RequestSource, _ format: WireFormat) {
    var filter: TagFilter?
    if !known.isEmpty {
      filter = known.removeValue(forKey: SubscriberKey(loop: source.loop, connection: source.connection))?.filter
    }
    discount(filter, source.loop, format)
    refreshAudience()
  }

  /// Users whom the broker knows to subscribe, and shows to nobody.
  var unseenUsers: [String] {
    Set(known.values.filter { !$0.isPresent }.map { Array($0.user.utf8) })
      .map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  /// What a user may see has changed.
  ///
  /// - Returns: whether this changes anything here.
  func refilter(_ user: String, allowed: TagFilter?) -> Bool {
    var hasChanged = false
    for (key, subscriber) in known where subscriber.user.hasSameBytes(as: user) {
      let filter = TagFilter.both(subscriber.own, allowed)
      guard filter != subscriber.filter else { continue }
      // Counted first, so that a filter that others get as well keeps its object.
      count(filter, key.loop, subscriber.format)
      discount(subscriber.filter, key.loop, subscriber.format)
      known[key]?.filter = filter
      hasChanged = true
    }
    if hasChanged { refreshAudience() }
    return hasChanged
  }

  /// Where a publication goes; nil: nowhere. Only where the channel ``isFiltered``.
  func filteredAudience(of publication: Publication) -> FilteredAudience? {
    filters?.audience(of: publication, and: plain.audience)
  }

  private func count(_ filter: TagFilter?, _ loop: Int, _ format: WireFormat) {
    guard let filter else { return plain.add(loop: loop, format: format) }
    let filters = filters ?? LinkFilters(loops: loops)
    filters.add(filter, loop: loop, format: format)
    self.filters = filters
  }

  private func discount(_ filter: TagFilter?, _ loop: Int, _ format: WireFormat) {
    guard let filter else { return plain.remove(loop: loop, format: format) }
    filters?.remove(filter, loop: loop, format: format)
    if filters?.isEmpty == true { filters = nil }
  }

  private func refreshAudience() { audience = filters?.audience.union(plain.audience) ?? plain.audience }
}
