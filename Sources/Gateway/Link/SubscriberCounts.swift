import Wire

/// Subscribers by event loop and encoding.
struct SubscriberCounts {
  /// `counts[loop * 2 + format]`
  private var counts: [Int]
  /// Subscribers on all event loops, in both encodings.
  private(set) var total = 0
  private(set) var audience = Audience()

  init(loops: Int) { counts = Array(repeating: 0, count: loops * 2) }

  mutating func add(loop: Int, format: WireFormat) {
    counts[loop * 2 + format.rawValue] += 1
    total += 1
    refreshAudience()
  }

  mutating func remove(loop: Int, format: WireFormat) {
    let index = loop * 2 + format.rawValue
    precondition(counts[index] > 0, "an unsubscribe without a subscribe: the session counts wrongly")
    counts[index] -= 1
    total -= 1
    refreshAudience()
  }

  private mutating func refreshAudience() {
    audience = Audience()
    for loop in 0..<(counts.count / 2) {
      let json = counts[loop * 2 + WireFormat.json.rawValue] > 0
      let protobuf = counts[loop * 2 + WireFormat.protobuf.rawValue] > 0
      if json || protobuf { audience.loops |= 1 << UInt64(loop) }
      audience.json = audience.json || json
      audience.protobuf = audience.protobuf || protobuf
    }
  }
}
