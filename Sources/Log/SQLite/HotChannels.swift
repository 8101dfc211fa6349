import Wire

/// The channels in use, by name and by place, and the memory that their tails take.
struct HotChannels {
  private var byName: [ChannelName: HotChannel] = [:]
  private var slots: [HotChannel?] = []
  private var freeSlots: [Int] = []
  private var recency = RecencyList()
  /// The slot at which the next sweep goes on.
  private var cursor = 0
  /// Channels inserted so far: the life of the next place.
  private var lives: UInt64 = 0
  /// When the last sweep was, in milliseconds that never go back, which a wall clock does not promise.
  private(set) var clock: Int64
  /// Bytes of all tails.
  private(set) var bytes = 0
  let bytesLimit: Int

  /// A sweep looks at this many channels, so that it never holds up the broker for long.
  static let channelsPerSweep = 20_000
  /// Tails that are looked at for each publication while memory is short: some may hold nothing that can be dropped.
  static let evictionsPerStep = 8

  /// - Parameter former: channels that are all forgotten: none of their places is given out again.
  init(bytesLimit: Int, clock: Int64, after former: HotChannels? = nil) {
    self.bytesLimit = bytesLimit
    self.clock = clock
    lives = former?.lives ?? 0
  }

  var count: Int { byName.count }

  subscript(name: ChannelName) -> HotChannel? { byName[name] }
  /// Nil where the channel that had the place was let go.
  subscript(place: HotPlace) -> HotChannel? {
    guard place.slot < slots.count, let channel = slots[place.slot], channel.place == place else { return nil }
    return channel
  }

  /// The place that the next channel gets.
  var nextPlace: HotPlace { HotPlace(slot: freeSlots.last ?? slots.count, life: lives) }

  mutating func insert(_ channel: HotChannel) {
    precondition(channel.place == nextPlace, "a hot channel must be given the next place")
    lives += 1
    if freeSlots.popLast() == nil { slots.append(channel) } else { slots[channel.place.slot] = channel }
    byName[channel.name] = channel
    recency.touch(channel.place.slot)
  }

  /// Runs `body`, which changes a channel; makes it the most recently used one, and drops other tails where all of them
  /// take too many bytes.
  mutating func use(_ channel: HotChannel, _ body: () -> Void) {
    channel.lastUse = clock
    recency.touch(channel.place.slot)
    counting(channel, body)
    evict()
  }

  /// Runs `body`, which changes a channel, and counts the bytes that its tail gains or loses.
  mutating func counting(_ channel: HotChannel, _ body: () -> Void) {
    let before = channel.tail.bytes
    body()
    bytes += channel.tail.bytes - before
  }

  private mutating func evict() {
    guard bytes > bytesLimit else { return }
    var steps = Self.evictionsPerStep
    var slot = recency.first
    while bytes > bytesLimit, steps > 0, let candidate = slot {
      slot = recency.after(candidate)
      steps -= 1
      guard let channel = slots[candidate] else { continue }
      counting(channel) { channel.clearTail() }
      // Publications that are left wait for the disk, so the channel goes out of the way of the next eviction. One with
      // an empty tail leaves the list until it is used.
      if channel.tail.isEmpty { recency.remove(candidate) } else { recency.touch(candidate) }
    }
  }

  /// Drops publications that are too old from the tails.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - clock: as ``clock``.
  mutating func sweep(now: Int64, clock: Int64) {
    self.clock = max(self.clock, clock)
    for _ in 0..<min(slots.count, Self.channelsPerSweep) {
      if cursor >= slots.count { cursor = 0 }
      defer { cursor += 1 }
      guard let channel = slots[cursor] else { continue }
      counting(channel) {
        if let dropped = channel.tail.drop(before: now.minus(ttl: channel.ttl)) {
          channel.floor = max(channel.floor, dropped)
        }
      }
    }
  }

  mutating func remove(_ channel: HotChannel) {
    bytes -= channel.tail.bytes
    byName[channel.name] = nil
    slots[channel.place.slot] = nil
    freeSlots.append(channel.place.slot)
    recency.remove(channel.place.slot)
  }
}
