internal import CZeroMQ
import Glibc

/// One frame, owned by libzmq: up to 33 bytes stand in the value itself, more in one block that can be shared.
///
/// `share()` is what makes a fan-out to many peers cheap: every share refers to the same block, counted.
public struct Message: ~Copyable {
  // A message moves with the struct. libzmq allows that: its own pipes move messages by value, and none points into
  // itself.
  var raw = zmq_msg_t()

  /// An empty message.
  public init() {
    _ = unsafe zmq_msg_init(&raw)
  }

  /// `count` bytes of unspecified content, for an initializer that fills them.
  private init(count: Int) throws(ZeroMQError) {
    guard unsafe zmq_msg_init_size(&raw, max(0, count)) == 0 else {
      // The failed call leaves no message, and deinit must have one to close.
      let error = ZeroMQError.last(.allocate)
      _ = unsafe zmq_msg_init(&raw)
      throw error
    }
  }

  /// A copy of `bytes`.
  public init(_ bytes: Span<UInt8>) throws(ZeroMQError) {
    try self.init(count: bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress, let target = unsafe zmq_msg_data(&raw) else { return }
      unsafe target.copyMemory(from: start, byteCount: source.count)
    }
  }

  /// A copy of `bytes`.
  public init(_ bytes: [UInt8]) throws(ZeroMQError) {
    try self.init(bytes.span)
  }

  deinit {
    var raw = self.raw
    _ = unsafe zmq_msg_close(&raw)
  }

  /// Length of the payload in bytes.
  public var count: Int {
    unsafe withUnsafePointer(to: raw) { unsafe zmq_msg_size($0) }
  }

  /// Whether another frame of the same message follows this one, which was received.
  public var hasMore: Bool {
    unsafe withUnsafePointer(to: raw) { unsafe zmq_msg_more($0) != 0 }
  }

  /// The name under which a `CurveAllowList` let the sender in; nil where there is no list, or no name in it.
  public var user: String? {
    unsafe withUnsafePointer(to: raw) { message in
      guard let text = unsafe zmq_msg_gets(message, "User-Id") else { return nil }
      let name = unsafe String(cString: text)
      return name.isEmpty ? nil : name
    }
  }

  /// Lends the payload for the duration of `body`.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // A small payload stands inside the struct: the span must not outlive this call.
    try unsafe withUnsafePointer(to: raw) { (message) throws(Failure) in
      let start = unsafe zmq_msg_data(UnsafeMutablePointer(mutating: message))
      return try body(unsafe UnsafeRawBufferPointer(start: start, count: zmq_msg_size(message)).bytes)
    }
  }

  /// The payload as an array of its own.
  public borrowing func copyBytes() -> [UInt8] {
    withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) } }
  }

  /// A second owner of the same payload, which is not copied (beyond 33 bytes).
  ///
  /// Mutating, because libzmq marks the first owner as shared too: a mark set on a temporary copy would be lost, and
  /// the payload freed while others still send it.
  public mutating func share() throws(ZeroMQError) -> Message {
    var other = Message()
    guard unsafe zmq_msg_copy(&other.raw, &raw) == 0 else { throw .last(.allocate) }
    return other
  }
}

// One thread at a time: a message is part of the thread that owns its socket.
@available(*, unavailable)
extension Message: Sendable {}
