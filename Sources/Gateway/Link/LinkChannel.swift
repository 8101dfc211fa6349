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
  /// Clients whom the broker holds in the channel's presence on this gateway's behalf, by their ids.
  var members: [String: ClientInfo] = [:]

  /// Members of a subscribe that was given up and done after all, whose client had asked again by then.
  var lateMembers: Set<String> = []

  /// - Parameter number: rises with each channel.
  init(loops: Int, number: UInt64) {
    self.number = number
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

  /// - Parameters:
  ///   - user: nil where the broker was not told who subscribes, and so cannot change what they may see.
  ///   - isFiltered: the client asked for a part of the channel.
  ///   - allowed: what the broker lets it see.
  func add(
    _ source: RequestSource, _ format: WireFormat, user: String?, isPresent: Bool, isFiltered: Bool,
    allowed: TagFilter?
  ) {
    counts.add(loop: source.loop, format: format)
    guard user != nil || isFiltered || allowed != nil else { return }
    let subscriber = KnownSubscriber(
      user: user ?? "", isPresent: isPresent || user == nil, isFiltered: isFiltered, allowed: allowed)
    known[SubscriberKey(loop: source.loop, connection: source.connection)] = subscriber
    if subscriber.getsPart { partial += 1 }
  }

  func remove(_ source: RequestSource, _ format: WireFormat) {
    if !known.isEmpty,
      let subscriber = known.removeValue(forKey: SubscriberKey(loop: source.loop, connection: source.connection)),
      subscriber.getsPart
    {
      partial -= 1
    }
    counts.remove(loop: source.loop, format: format)
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
