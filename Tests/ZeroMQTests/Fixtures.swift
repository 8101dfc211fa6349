import Dispatch
import Glibc
import Synchronization
import Testing
import ZeroMQ

/// A socket on which a lost message ends a test instead of hanging it.
func socket(
  _ context: Context, _ kind: Socket.Kind, _ fill: (inout Socket.Options) -> Void = { _ in }
) throws -> Socket {
  try Socket(
    context, kind,
    Socket.Options {
      $0.receiveTimeoutMilliseconds = 10_000
      $0.sendTimeoutMilliseconds = 10_000
      fill(&$0)
    })
}

/// The next whole message; waits for it.
func receive(_ socket: borrowing Socket, maxFrames: Int = 16) throws -> [[UInt8]] {
  var frames: [[UInt8]] = []
  let received = try socket.receiveMultipart(into: &frames, maxFrames: maxFrames, blocking: true)
  try #require(received != nil, "nothing arrived within 10 s")
  return frames
}

/// Repeats `attempt` until it is true or 10 s have passed.
func eventually(_ attempt: () throws -> Bool) throws -> Bool {
  let deadline = MonotonicClock.now() + 10_000_000_000
  while MonotonicClock.now() < deadline {
    if try attempt() { return true }
    sched_yield()
  }
  return false
}

/// A directory that is gone when its owner is.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/fanfare-zmq-XXXXXX".utf8CString)
    let isMade = template.withUnsafeMutableBufferPointer { buffer -> Bool in
      guard let start = buffer.baseAddress else { return false }
      return mkdtemp(start) != nil
    }
    try #require(isMade)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    unlink("\(path)/socket")
    rmdir(path)
  }
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
    try #require(posted.wait(timeout: .now() + 10) == .success, "nothing was reported within 10 s")
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
