internal import CZeroMQ
import Glibc

// A message of several frames is all or nothing: libzmq delivers none of it before the last frame.
//
// Where a send can fail decides what the caller has to undo:
// - ROUTER with `routerMandatory` refuses at the first frame, the identity: `.unreachable` for an unknown peer,
//   `.wouldBlock` for a full one. Nothing was sent, and the next frame the socket is given starts a new message.
//   Once the identity was taken, the remaining frames of that message are always taken.
// - DEALER fails with `.wouldBlock` at the first frame when every peer is full. If its peer vanishes between two
//   frames, libzmq takes back the earlier ones and swallows the rest of the message, with or without an error.
extension Socket {
  /// Sends one frame; the payload is handed over, not copied.
  ///
  /// After an error the message is gone. To keep it for another try, use `send(sharing:)`.
  public borrowing func send(
    _ message: consuming Message, more: Bool = false, blocking: Bool = false
  ) throws(ZeroMQError) {
    let flags = Self.flags(more: more, blocking: blocking)
    core.noteSent()
    while unsafe zmq_msg_send(&message.raw, core.handle, flags) < 0 {
      if zmq_errno() != EINTR { throw .last(.send) }
    }
  }

  /// Sends one frame with the payload of `message`, which stays with the caller: one body to many peers.
  public borrowing func send(
    sharing message: inout Message, more: Bool = false, blocking: Bool = false
  ) throws(ZeroMQError) {
    try send(message.share(), more: more, blocking: blocking)
  }

  /// Sends one frame with a copy of `bytes`.
  public borrowing func send(
    _ bytes: Span<UInt8>, more: Bool = false, blocking: Bool = false
  ) throws(ZeroMQError) {
    let flags = Self.flags(more: more, blocking: blocking)
    core.noteSent()
    while unsafe bytes.withUnsafeBytes({ unsafe zmq_send(core.handle, $0.baseAddress, $0.count, flags) }) < 0 {
      if zmq_errno() != EINTR { throw .last(.send) }
    }
  }

  /// Sends one frame with a copy of `bytes`.
  public borrowing func send(
    _ bytes: [UInt8], more: Bool = false, blocking: Bool = false
  ) throws(ZeroMQError) {
    try send(bytes.span, more: more, blocking: blocking)
  }

  /// Sends `frames` as one message, or nothing: whatever the error, the socket is ready for a new message.
  public borrowing func send(multipart frames: [[UInt8]], blocking: Bool = false) throws(ZeroMQError) {
    for index in frames.indices {
      let more = index < frames.count - 1
      let frame = frames[index]
      do throws(ZeroMQError) {
        try send(frame, more: more, blocking: blocking)
      } catch {
        // A DEALER swallows frames up to the end of the message that failed half-way: give it that end.
        if index > 0, more { try? send([]) }
        throw error
      }
    }
  }

  private static func flags(more: Bool, blocking: Bool) -> Int32 {
    (more ? ZMQ_SNDMORE : 0) | (blocking ? 0 : ZMQ_DONTWAIT)
  }
}
