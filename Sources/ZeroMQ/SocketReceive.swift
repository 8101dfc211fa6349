internal import CZeroMQ
import Glibc

extension Socket {
  /// What `receiveMultipart` found.
  public struct Received: Equatable, Sendable {
    /// Frames that were kept.
    public let frames: Int
    /// Frames beyond the limit: read and thrown away. A peer that sends these breaks the protocol.
    public let surplus: Int
    /// The name under which a `CurveAllowList` let the sender in, where that was asked for.
    public var user: String?
  }

  /// The next frame, or nil if none is there (with `blocking`, if none came within the receive timeout).
  public borrowing func receive(blocking: Bool = false) throws(ZeroMQError) -> Message? {
    var message = Message()
    while unsafe zmq_msg_recv(&message.raw, core.handle, blocking ? 0 : ZMQ_DONTWAIT) < 0 {
      switch zmq_errno() {
      case EINTR: continue
      case EAGAIN:
        core.noteReceived(false)
        return nil
      default: throw .last(.receive)
      }
    }
    core.noteReceived(true)
    return message
  }

  /// Replaces `frames` with the next message, or returns nil if none is there.
  ///
  /// A message is never left half read: frames beyond `maxFrames` are drained and counted.
  ///
  /// - Parameter askingForUser: look up who sent it, which costs something for each frame.
  public borrowing func receiveMultipart(
    into frames: inout [[UInt8]], maxFrames: Int = 16, blocking: Bool = false, askingForUser: Bool = false
  ) throws(ZeroMQError) -> Received? {
    frames.removeAll(keepingCapacity: true)
    var surplus = 0
    var blocks = blocking
    var user: String?
    while let frame = try receive(blocking: blocks) {
      blocks = false
      if frames.count < maxFrames { frames.append(frame.copyBytes()) } else { surplus &+= 1 }
      if askingForUser { user = frame.user ?? user }
      if !frame.hasMore { return Received(frames: frames.count, surplus: surplus, user: user) }
    }
    if frames.isEmpty, surplus == 0 { return nil }
    // Without ZMQ_IMMEDIATE libzmq hands out whole messages only, so the rest of one cannot be missing.
    throw ZeroMQError(code: EPROTO, operation: .receive)
  }
}
