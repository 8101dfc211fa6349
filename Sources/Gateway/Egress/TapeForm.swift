import Wire

/// How a connection's messages are wrapped.
enum Packing: Hashable, Sendable {
  /// Each in a WebSocket frame.
  case frames
  /// Each in a WebSocket frame, which is compressed where that makes it shorter.
  case deflated(Compressor)
  /// Server-sent events, in chunks of HTTP/1.1: ``StreamPacking``.
  case events
  /// Replies one after another, in chunks of HTTP/1.1: ``StreamPacking``.
  case lines

  /// Whether the messages stand in the body of an answer that does not end, rather than on a WebSocket.
  var isStreamed: Bool { self == .events || self == .lines }

  /// What the protocol calls the way by which clients with such messages are connected.
  var transportName: String {
    switch self {
    case .frames, .deflated: "websocket"
    case .events: "sse"
    case .lines: "http_stream"
    }
  }

  /// Wraps what stands in one whole plain WebSocket frame.
  func pack(_ frame: [UInt8], _ format: WireFormat) -> [UInt8] {
    switch self {
    case .frames: frame
    case .deflated(let compressor): compressor.compress(frame, format)
    case .events: StreamPacking.events(ServerFrame.payload(of: frame))
    case .lines: StreamPacking.lines(ServerFrame.payload(of: frame), format)
    }
  }

  /// The length in bytes of the first whole message, as it is wrapped.
  ///
  /// - Parameter bytes: begins with a message; more may follow behind it.
  func length(of bytes: UnsafeRawBufferPointer) -> Int {
    switch self {
    case .frames, .deflated: unsafe ServerFrame.length(of: bytes)
    case .events, .lines: unsafe StreamPacking.length(of: bytes)
    }
  }
}

/// What is written for subscribers who take patches of publications.
enum DeltaKind: Hashable, Sendable {
  /// Publications as everybody else gets them.
  case none
  /// Whole publications, for subscribers whose client has no base for a patch yet.
  case full
  /// Patches against the publication before, where a patch is smaller.
  case patch
}

/// What the bytes on a tape are like. Subscribers to whom the same bytes may be sent share a tape.
struct TapeForm: Hashable, Sendable {
  var format: WireFormat
  var packing = Packing.frames
  var delta = DeltaKind.none

  /// Whether it is what nearly all subscribers have, for which the hub keeps places of its own.
  var isPlain: Bool { packing == .frames && delta == .none }

  func with(_ delta: DeltaKind) -> TapeForm { TapeForm(format: format, packing: packing, delta: delta) }
}
