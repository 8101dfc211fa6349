import Wire

/// What one client publishes on channels with a `publish_interval`: the first value at once, and of those that come
/// within the interval the last, when it is over.
///
/// Every value is acknowledged when it comes; one that a later value replaces is never published. The last counts: a
/// cursor that stops must be shown where it stopped.
struct PacedPublishes {
  private struct Place: Hashable {
    let channel: ChannelName
    /// Key of an entry of a map; empty for a stream. As bytes, because two keys whose "é" is composed otherwise are two
    /// keys.
    let key: [UInt8]
  }

  private struct Pace {
    let interval: Int64
    /// Monotonic milliseconds.
    var endsAt: Int64
    /// The value that is published at ``endsAt``; nil: none waits.
    var latest: BrokerRequest.PublishRequest?
  }

  /// Bytes that may wait in all. What does not fit is published at once.
  static let maximumWaitingBytes = 65_536

  private var paces: [Place: Pace] = [:]
  private(set) var waitingBytes = 0
  /// When the next value is to be published; `Int64.max`: none waits.
  private(set) var nextDue = Int64.max

  var count: Int { paces.count }

  /// - Parameter capacity: channels and keys that are paced at a time; on others every value is published at once.
  /// - Returns: false where the value waits now.
  mutating func publishesNow(
    _ request: BrokerRequest.PublishRequest, interval: Int64, capacity: Int, at now: Int64
  ) -> Bool {
    let place = Place(channel: request.channel, key: Array((request.write?.key ?? "").utf8))
    guard var pace = paces[place], pace.endsAt > now else {
      // The interval is over: a value that may still wait from it is older than this one.
      forget(place)
      begin(place, interval, capacity: capacity, at: now)
      return true
    }
    let waiting = waitingBytes - (pace.latest?.data.count ?? 0) + request.data.count
    guard waiting <= Self.maximumWaitingBytes else {
      forget(place)
      begin(place, interval, capacity: capacity, at: now)
      return true
    }
    waitingBytes = waiting
    pace.latest = request
    paces[place] = pace
    nextDue = min(nextDue, pace.endsAt)
    return false
  }

  private mutating func begin(_ place: Place, _ interval: Int64, capacity: Int, at now: Int64) {
    if paces.count >= capacity { paces = paces.filter { $0.value.endsAt > now || $0.value.latest != nil } }
    guard paces.count < capacity else { return }
    paces[place] = Pace(interval: interval, endsAt: saturatingSum(now, interval))
  }

  /// What the interval kept back until now, in the order of channels and keys.
  mutating func due(at now: Int64) -> [BrokerRequest.PublishRequest] {
    guard nextDue <= now else { return [] }
    return take { $0.endsAt <= now }.map { place, pace in
      paces[place]?.endsAt = saturatingSum(now, pace.interval)
      return pace.latest
    }.compactMap { $0 }
  }

  /// The key is removed: nothing of it is published later, and the next value is published at once.
  mutating func forget(_ channel: ChannelName, key: String) { forget(Place(channel: channel, key: Array(key.utf8))) }

  /// The client may no longer publish on the channel: what waits for it is dropped.
  mutating func forget(_ channel: ChannelName) {
    for place in paces.keys where place.channel == channel { forget(place) }
  }

  /// Takes out all values that wait, because the client leaves: it was told that they are published, so they have to
  /// be.
  mutating func takeAll() -> [BrokerRequest.PublishRequest] {
    defer { self = PacedPublishes() }
    return take { _ in true }.compactMap(\.pace.latest)
  }

  private mutating func forget(_ place: Place) {
    guard let pace = paces.removeValue(forKey: place), let latest = pace.latest else { return }
    waitingBytes -= latest.data.count
    refreshDue()
  }

  private mutating func take(where isTaken: (Pace) -> Bool) -> [(place: Place, pace: Pace)] {
    let taken = paces.filter { $0.value.latest != nil && isTaken($0.value) }
    for (place, pace) in taken {
      waitingBytes -= pace.latest?.data.count ?? 0
      paces[place]?.latest = nil
    }
    refreshDue()
    return taken.map { (place: $0.key, pace: $0.value) }.sorted { a, b in
      a.place.channel == b.place.channel
        ? a.place.key.lexicographicallyPrecedes(b.place.key) : a.place.channel < b.place.channel
    }
  }

  private mutating func refreshDue() {
    nextDue = paces.values.lazy.filter { $0.latest != nil }.map(\.endsAt).min() ?? .max
  }
}

extension Session {
  /// - Returns: false where the value waits until the channel's `publish_interval` is over, and is acknowledged
  ///   already.
  mutating func publishesNow(_ request: BrokerRequest.PublishRequest, _ options: ChannelOptions) -> Bool {
    let interval = options.publishIntervalMilliseconds
    guard interval > 0 else { return true }
    if let write = request.write, write.removed {
      // A removal is always published, and at once.
      paced.forget(request.channel, key: write.key)
      return true
    }
    return paced.publishesNow(
      request, interval: interval, capacity: configuration.maximumChannels, at: time.monotonic)
  }

  /// Publishes the values whose intervals are over. Nobody waits for the broker's answer: the client has had its own.
  mutating func publishDue() {
    for request in paced.due(at: time.monotonic) { publishUnasked(request) }
  }

  /// - Parameter code: why the session ends. A client that lost its right to be here publishes nothing any more; one
  ///   that just leaves, or is not heard of any more, was told that its last value is published.
  mutating func publishPaced(endingWith code: DisconnectCode?) {
    let requests = paced.takeAll()
    guard code == nil || code == .shutdown || code == .noPong || code == .insufficientState else { return }
    for request in requests { publishUnasked(request) }
  }

  private mutating func publishUnasked(_ request: BrokerRequest.PublishRequest) {
    lastTag &+= 1
    out.append(.request(tag: lastTag, .publish(request)))
  }
}
