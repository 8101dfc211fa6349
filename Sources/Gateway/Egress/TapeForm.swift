import Wire

/// How a connection's messages are wrapped.
enum Packing: Hashable, Sendable {
  /// Each in a WebSocket frame.
  case frames

  /// Wraps what stands in one whole plain WebSocket frame.
  func pack(_ frame: [UInt8], _ format: WireFormat) -> [UInt8] {
    switch self {
    case .frames: frame
    }
  }

  /// The length in bytes of the first whole message, as it is wrapped.
  ///
  /// - Parameter bytes: begins with a message; more may follow behind it.
  func length(of bytes: UnsafeRawBufferPointer) -> Int {
    switch self {
    case .frames: unsafe ServerFrame.length(of: bytes)
    }
  }
}

/// What the bytes on a tape are like. Subscribers to whom the same bytes may be sent share a tape.
struct TapeForm: Hashable, Sendable {
  var format: WireFormat
  var packing = Packing.frames

  /// Whether it is what nearly all subscribers have, for which the hub keeps places of its own.
  var isPlain: Bool { packing == .frames }
}
