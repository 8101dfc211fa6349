internal import CZeroMQ

/// What happens to the connections of one socket: for logs, metrics and tests.
///
/// Belongs to the thread of the socket it watches. Events beyond its queue of 1000 are lost.
public struct SocketMonitor: ~Copyable {
  public enum Event: Equatable, Sendable {
    case connected
    case accepted
    case handshakeSucceeded
    /// The connection ended before or in the ZMTP handshake, without a protocol error; errno.
    case handshakeFailed(Int32)
    /// The peer spoke another security mechanism, or its cryptography did not check out; ZMTP error code.
    case handshakeProtocolFailed(Int32)
    /// The peer was refused; ZAP status.
    case handshakeRefused(Int32)
    /// The connection was lost, or dropped for a frame over the size limit.
    case disconnected
    /// accept(2) failed, most often for want of descriptors; errno.
    case acceptFailed(Int32)
  }

  private let pair: Socket

  /// Watches `socket` through `inproc://name`, which must be unique in the context.
  public init(_ socket: borrowing Socket, name: String, in context: Context) throws(ZeroMQError) {
    let endpoint = "inproc://\(name)"
    let events =
      ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED
      | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
      | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
    guard unsafe zmq_socket_monitor(socket.core.handle, endpoint, events) == 0 else {
      throw .last(.monitor, endpoint)
    }
    let pair = try Socket(context, .pair)
    try pair.connect(endpoint)
    self.pair = pair
  }

  /// The next event, or nil if there is none.
  public borrowing func next() throws(ZeroMQError) -> Event? {
    var frames: [[UInt8]] = []
    while try pair.receiveMultipart(into: &frames, maxFrames: 2) != nil {
      if let event = Self.parse(frames) { return event }
    }
    return nil
  }

  /// Calls `handler` in each round of the loop in which events wait; it reads them with ``next()``.
  public borrowing func watch<Participant: BackboneParticipant>(
    on loop: BackboneLoop, for participant: Participant, _ handler: @escaping (Participant, Poller.Events) -> Void
  ) -> Poller.Registration {
    loop.watch(pair, for: participant, handler)
  }

  /// 2 bytes of event, 4 bytes of value, both in the machine's order; then a frame with the endpoint.
  private static func parse(_ frames: [[UInt8]]) -> Event? {
    guard let head = frames.first, head.count == 6 else { return nil }
    let event = Int32(UInt16(head[0]) | UInt16(head[1]) << 8)
    let value = Int32(
      bitPattern: UInt32(head[2]) | UInt32(head[3]) << 8 | UInt32(head[4]) << 16 | UInt32(head[5]) << 24)
    switch event {
    case ZMQ_EVENT_CONNECTED: return .connected
    case ZMQ_EVENT_ACCEPTED: return .accepted
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: return .handshakeSucceeded
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: return .handshakeFailed(value)
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: return .handshakeProtocolFailed(value)
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: return .handshakeRefused(value)
    case ZMQ_EVENT_DISCONNECTED: return .disconnected
    case ZMQ_EVENT_ACCEPT_FAILED: return .acceptFailed(value)
    default: return nil
    }
  }
}

@available(*, unavailable)
extension SocketMonitor: Sendable {}
