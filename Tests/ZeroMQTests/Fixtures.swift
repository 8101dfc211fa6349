import Dispatch
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// A socket on which a lost message ends a test instead of hanging it.
func socket(
  _ context: Context, _ kind: Socket.Kind, _ fill: (inout Socket.Options) -> Void = { _ in }
) throws -> Socket {
  try Socket(
    context, kind,
    Socket.Options {
      $0.receiveTimeoutMilliseconds = 120_000
      $0.sendTimeoutMilliseconds = 120_000
      // libzmq's own limit, half a minute, ends connections of a loaded machine; not all of them are tried again.
      $0.handshakeIntervalMilliseconds = 600_000
      fill(&$0)
    })
}

/// The next whole message; waits for it.
func receive(_ socket: borrowing Socket, maxFrames: Int = 16) throws -> [[UInt8]] {
  var frames: [[UInt8]] = []
  let received = try socket.receiveMultipart(into: &frames, maxFrames: maxFrames, blocking: true)
  try #require(received != nil, "nothing arrived within two minutes")
  return frames
}

/// Repeats `attempt` until it is true or two minutes have passed; the last attempt begins after them.
func eventually(_ attempt: () throws -> Bool) throws -> Bool {
  try blocksUntil(within: .seconds(120), attempt)
}

/// What a loop under test reports to the test's thread.
final class Report<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])
  private let posted = DispatchSemaphore(value: 0)

  func post(_ value: Value) {
    values.withLock { $0.append(value) }
    posted.signal()
  }

  var all: [Value] { values.withLock { $0 } }

  /// Waits for the next post.
  func next() throws {
    try #require(posted.wait(timeout: .now() + 120) == .success, "nothing was reported within two minutes")
  }
}

extension [UInt8] {
  init(_ text: String) { self = Array(text.utf8) }
}

/// Whether nothing waits to be received.
func isEmpty(_ socket: borrowing Socket) throws -> Bool {
  var frames: [[UInt8]] = []
  return try socket.receiveMultipart(into: &frames) == nil
}
