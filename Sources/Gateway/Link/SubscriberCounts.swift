import Wire

/// Subscribers by event loop and encoding.
struct SubscriberCounts {
  /// `counts[loop * 2 + format]`
  private var counts: [Int]
  /// Those of them who take patches, on all event loops.
  private var jsonDelta = 0
  private var protobufDelta = 0
  /// Subscribers on all event loops, in both encodings.
  private(set) var total = 0
  private(set) var audience = Audience()

  init(loops: Int) { counts = Array(repeating: 0, count: loops * 2) }

  mutating func add(loop: Int, format: WireFormat, hasDelta: Bool) { change(loop, format, hasDelta, by: 1) }

  mutating func remove(loop: Int, format: WireFormat, hasDelta: Bool) { change(loop, format, hasDelta, by: -1) }

  private mutating func change(_ loop: Int, _ format: WireFormat, _ hasDelta: Bool, by change: Int) {
    let index = loop * 2 + format.rawValue
    counts[index] += change
    precondition(counts[index] >= 0, "an unsubscribe without a subscribe: the session counts wrongly")
    total += change
    if hasDelta {
      if format == .json { jsonDelta += change } else { protobufDelta += change }
    }
    refreshAudience()
  }

  private mutating func refreshAudience() {
    audience = Audience()
    audience.jsonDelta = jsonDelta > 0
    audience.protobufDelta = protobufDelta > 0
    var (plainJSON, plainProtobuf) = (-jsonDelta, -protobufDelta)
    for loop in 0..<(counts.count / 2) {
      let json = counts[loop * 2 + WireFormat.json.rawValue]
      let protobuf = counts[loop * 2 + WireFormat.protobuf.rawValue]
      if json > 0 || protobuf > 0 { audience.loops |= 1 << UInt64(loop) }
      plainJSON += json
      plainProtobuf += protobuf
    }
    audience.json = plainJSON > 0
    audience.protobuf = plainProtobuf > 0
  }
}
