import Wire

/// What becomes of the backend's answers: which of it is new, and to whom.
extension SharedPoll {
  mutating func take(
    _ items: [PolledItem], of call: PollCall, epoch: String, in channel: PolledChannel, into effects: inout [PollEffect]
  ) {
    if channel.options.isVersioned, !channel.epoch.hasSameBytes(as: epoch) {
      return restart(channel, epoch, into: &effects)
    }
    for item in items {
      let key = IdentifierKey(item.key)
      guard let state = channel.keys[key] else { continue }
      if item.removed {
        remove(key, state, from: channel, into: &effects)
      } else if let version = newVersion(item, state, channel.options) {
        keep(item.data, as: key, in: channel)
        channel.keys[key]?.version = version
        deliver(item.data, key, in: channel, into: &effects)
      } else if state.hasLaggards {
        // A replica that is behind answers with older data, which is not what is owed.
        let isSame = !channel.options.isVersioned || item.version == state.version
        deliver(isSame ? item.data ?? state.data : state.data, key, in: channel, into: &effects)
      }
    }
    // What the backend leaves out is as it was.
    for item in call.items {
      let key = IdentifierKey(item.key)
      guard let state = channel.keys[key], state.hasLaggards else { continue }
      deliver(state.data, key, in: channel, into: &effects)
    }
  }

  /// The backend's versions begin anew: what is known is of the epoch before.
  private mutating func restart(
    _ channel: PolledChannel, _ epoch: String, into effects: inout [PollEffect]
  ) {
    channel.epoch = epoch
    let subscribers = Array(channel.subscribers.keys)
    for subscriber in subscribers {
      untrack(channel.subscribers[subscriber]?.expiries.keys.map { $0 } ?? [], of: subscriber, in: channel)
    }
    effects.append(.restart(channel.name, subscribers))
  }

  /// The version of what the backend said; nil: it is nothing new, or makes no sense.
  private mutating func newVersion(
    _ item: PolledItem, _ state: PolledChannel.Key, _ options: PollOptions
  ) -> UInt64? {
    guard let data = item.data else { return nil }
    if options.isVersioned { return item.version > state.version ? item.version : nil }
    guard state.digest != Self.digest(data) else { return nil }
    lastVersion += 1
    return lastVersion
  }

  /// What tells data from other data, within this process: 64 bits under a key that nobody outside knows.
  private static func digest(_ data: [UInt8]) -> Int {
    var hasher = Hasher()
    unsafe data.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  private mutating func keep(_ data: [UInt8]?, as key: IdentifierKey, in channel: PolledChannel) {
    guard let data else { return }
    if !channel.options.isVersioned { channel.keys[key]?.digest = Self.digest(data) }
    counts.dataBytes -= channel.keys[key]?.data?.count ?? 0
    let fits = counts.dataBytes + data.count <= limits.dataBytes
    channel.keys[key]?.data = fits ? data : nil
    if fits { counts.dataBytes += data.count }
  }

  /// Sends the key's version to those who have an older one.
  private func deliver(
    _ data: [UInt8]?, _ key: IdentifierKey, in channel: PolledChannel, into effects: inout [PollEffect]
  ) {
    guard let data, let state = channel.keys[key] else { return }
    let version = state.version
    var subscribers: [PollSubscriber] = []
    for (subscriber, has) in state.watchers where has < version {
      subscribers.append(subscriber)
      channel.keys[key]?.watchers[subscriber] = version
    }
    channel.keys[key]?.hasLaggards = false
    guard !subscribers.isEmpty else { return }
    let publication = Publication(data: data, change: KeyChange(key: key.string, version: version))
    effects.append(.deliver(PollDelivery(channel: channel.name, publication: publication, subscribers: subscribers)))
  }

  private mutating func remove(
    _ key: IdentifierKey, _ state: PolledChannel.Key, from channel: PolledChannel, into effects: inout [PollEffect]
  ) {
    let subscribers = Array(state.watchers.keys)
    for subscriber in subscribers { untrack(CollectionOfOne(key), of: subscriber, in: channel) }
    let publication = Publication(
      data: [], change: KeyChange(key: key.string, removed: true, version: state.version))
    effects.append(.deliver(PollDelivery(channel: channel.name, publication: publication, subscribers: subscribers)))
  }
}
