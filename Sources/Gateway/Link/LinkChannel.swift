import Wire

/// A channel that subscribers of this gateway are on, or are about to be.
final class LinkChannel {
  /// What was handed on last; nil until the first subscribe is answered, and whatever comes before that is left over
  /// from an interest that ended.
  var position: StreamPosition?
  /// Subscribes that the broker has not answered yet.
  var underWay = 0
  /// Subscribers by event loop and encoding: `counts[loop * 2 + format]`.
  private var counts: [Int]
  private(set) var audience = Audience()
  /// Those whom the broker holds in the channel's presence on our behalf.
  var members: [String: ClientInfo] = [:]

  /// Members of a subscribe that was given up and done after all, whose client had asked again by then.
  var lateMembers: Set<String> = []

  init(loops: Int) { counts = Array(repeating: 0, count: loops * 2) }

  var hasSubscribers: Bool { audience.loops != 0 }
  var isInUse: Bool { hasSubscribers || underWay > 0 }

  func add(loop: Int, format: WireFormat) {
    counts[loop * 2 + format.rawValue] += 1
    refreshAudience()
  }

  func remove(loop: Int, format: WireFormat) {
    let index = loop * 2 + format.rawValue
    precondition(counts[index] > 0, "an unsubscribe without a subscribe: the session counts wrongly")
    counts[index] -= 1
    refreshAudience()
  }

  private func refreshAudience() {
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
