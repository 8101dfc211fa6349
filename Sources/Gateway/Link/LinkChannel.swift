import Wire

/// A channel that subscribers of this gateway are on, or are about to be.
final class LinkChannel {
  private struct SubscriberKey: Hashable {
    let loop: Int
    let connection: UInt64
  }

  /// A subscriber of whom the link has to know more than that it is there.
  private struct KnownSubscriber {
    /// Empty where the broker was not told, and so cannot change what it may see.
    let user: String
    /// The broker shows it to others, and so is told of it again in each new session.
    let isPresent: Bool
    /// The client asked for a part of the channel.
    let isFiltered: Bool
    let hasDelta: Bool
    /// What the broker lets the subscriber see; nil: everything.
    var allowed: TagFilter?

    var getsPart: Bool { isFiltered || allowed != nil }
  }

  /// By it channels have an order that a seed repeats, and that costs less to bring about than that of their names.
  let number: UInt64
  /// Position of what was handed on last; nil until the first subscribe is answered, and whatever comes before that is
  /// left over from an interest that ended.
  var position: StreamPosition?
  /// In the session that has begun, the broker is still to be asked for it.
  var awaitsResync = false
  /// Subscribes that the broker has not answered yet.
  var underWay = 0
  private var counts: SubscriberCounts
  private var known: [SubscriberKey: KnownSubscriber] = [:]
  /// Subscribers who get only a part of the channel: their event loops hold each publication against their filters.
  private var partial = 0
  /// The payload of what was handed on last, while somebody takes patches.
  private var base: [UInt8]?
  private let bases: DeltaBases
  /// Clients whom the broker holds in the channel's presence on this gateway's behalf, by their ids.
  var members: [String: ClientInfo] = [:]

  /// Members of a subscribe that was given up and done after all, whose client had asked again by then.
  var lateMembers: Set<String> = []

  /// - Parameter number: rises with each channel.
  init(loops: Int, number: UInt64, bases: DeltaBases) {
    self.number = number
    self.bases = bases
    counts = SubscriberCounts(loops: loops)
  }

  /// The event loops and encodings of all subscribers, with a filter or without.
  var audience: Audience { counts.audience }
  var hasSubscribers: Bool { audience.loops != 0 }
  /// Subscribers who get what is published now.
  var receivers: Int { counts.total }
  /// Subscribers on this gateway, with those whose subscribe is under way.
  var subscriberCount: Int { counts.total + underWay }
  var isInUse: Bool { hasSubscribers || underWay > 0 }
  var isFiltered: Bool { partial > 0 }
  /// Whether somebody takes patches.
  var hasDelta: Bool { counts.audience.hasDelta }

  /// - Parameters:
  ///   - user: nil where the broker was not told who subscribes, and so cannot change what they may see.
  ///   - isFiltered: the client asked for a part of the channel.
  ///   - hasDelta: it takes patches.
  ///   - allowed: what the broker lets it see.
  func add(
    _ source: RequestSource, _ format: WireFormat, user: String?, isPresent: Bool, isFiltered: Bool,
    hasDelta: Bool = false, allowed: TagFilter?
  ) {
    counts.add(loop: source.loop, format: format, hasDelta: hasDelta)
    guard user != nil || isFiltered || hasDelta || allowed != nil else { return }
    let subscriber = KnownSubscriber(
      user: user ?? "", isPresent: isPresent || user == nil, isFiltered: isFiltered, hasDelta: hasDelta,
      allowed: allowed)
    known[SubscriberKey(loop: source.loop, connection: source.connection)] = subscriber
    if subscriber.getsPart { partial += 1 }
  }

  func remove(_ source: RequestSource, _ format: WireFormat) {
    let subscriber =
      known.isEmpty
      ? nil : known.removeValue(forKey: SubscriberKey(loop: source.loop, connection: source.connection))
    if let subscriber, subscriber.getsPart { partial -= 1 }
    counts.remove(loop: source.loop, format: format, hasDelta: subscriber?.hasDelta ?? false)
    if base != nil && !hasDelta { keepBase(nil) }
  }

  /// Notes what is handed on to subscribers who take patches.
  ///
  /// - Returns: what was handed on to them before; nil: nothing that is known.
  func exchangeBase(for payload: [UInt8]) -> [UInt8]? {
    let before = base
    keepBase(payload)
    return before
  }

  private func keepBase(_ payload: [UInt8]?) {
    if let base { bases.giveBack(base.count) }
    base = nil
    guard let payload, payload.count <= FossilPatch.mostBytes, bases.take(payload.count) else { return }
    base = payload
  }

  /// Users whom the broker knows to subscribe, and shows to nobody.
  var unseenUsers: [String] {
    Set(known.values.filter { !$0.isPresent }.map { Array($0.user.utf8) })
      .map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  /// Notes what a user may see of the channel from now on.
  ///
  /// - Returns: whether that changes anything for a subscriber here.
  func allow(_ user: String, to allowed: TagFilter?) -> Bool {
    var hasChanged = false
    for (key, subscriber) in known where subscriber.user.hasSameBytes(as: user) && subscriber.allowed != allowed {
      if subscriber.getsPart { partial -= 1 }
      known[key]?.allowed = allowed
      if known[key]?.getsPart == true { partial += 1 }
      hasChanged = true
    }
    return hasChanged
  }
}
