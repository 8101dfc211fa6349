import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Wire

@testable import Gateway

/// A listener with sessions that write down what they are told, and do what a test gives them to do.
final class ListenerHarness: Sendable {
  /// A session that writes down what it is told. It is used on its connection's event loop alone.
  final class Session: ConnectionDelegate {
    let connection: Connection
    var sessionID: String { "session-\(connection.id)" }
    var messages: [[UInt8]] = []
    var bursts = 0
    var timesDrained = 0
    var timesRelieved = 0
    var timesClosed = 0
    let onMessage: @Sendable (Session, [UInt8]) -> Void

    init(_ connection: Connection, onMessage: @escaping @Sendable (Session, [UInt8]) -> Void) {
      self.connection = connection
      self.onMessage = onMessage
    }

    func received(_ message: ByteBuffer) {
      messages.append(Array(message.readableBytesView))
      onMessage(self, Array(message.readableBytesView))
    }
    func readCompleted() { bursts += 1 }
    func drained() { timesDrained += 1 }
    func relieved() { timesRelieved += 1 }
    func closed() { timesClosed += 1 }
  }

  let group: MultiThreadedEventLoopGroup
  let listener: Listener
  let refusals: Refusals
  private let sessions: Recorder

  private final class Recorder: Sendable {
    let bound = Mutex<[NIOLoopBound<Session>]>([])
  }

  /// - Parameter onMessage: called on the event loop. The default echoes.
  init(
    loops: Int = 2, _ configure: (inout ListenerConfiguration) -> Void = { _ in },
    onMessage: @escaping @Sendable (Session, [UInt8]) -> Void = ListenerHarness.echo
  ) throws {
    group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
    var configuration = ListenerConfiguration()
    configuration.host = "127.0.0.1"
    configuration.port = 0
    // Tests of these limits set their own; the others must not depend on who runs beside them.
    configuration.headerTimeoutMilliseconds = 600_000
    configuration.closeGraceMilliseconds = 600_000
    configuration.slowCloseGraceMilliseconds = 600_000
    configure(&configuration)
    refusals = configuration.refusals
    let recorder = Recorder()
    sessions = recorder
    listener = try Listener.start(configuration, on: Array(group.makeIterator())) { connection in
      let session = Session(connection, onMessage: onMessage)
      let bound = NIOLoopBound(session, eventLoop: connection.eventLoop)
      recorder.bound.withLock { $0.append(bound) }
      return session
    }
  }

  /// Sends every message back as the same kind.
  static func echo(_ session: Session, _ message: [UInt8]) {
    let isText = session.connection.input.reader.isText
    session.connection.send(ServerFrame.message(message, format: isText ? .json : .protobuf))
  }

  func stop() {
    listener.stopAccepting()
    try? group.syncShutdownGracefully()
  }

  var port: Int { listener.boundPort }
  var sessionCount: Int { sessions.bound.withLock(\.count) }

  /// Runs on the event loop of the session that was made as number `index`.
  @discardableResult
  func onLoop<T: Sendable>(_ index: Int = 0, _ body: @escaping @Sendable (Session) -> T) throws -> T {
    guard try wait(until: { self.sessionCount > index }) else { throw ListenerRawClient.Failure.timedOut }
    let bound = sessions.bound.withLock { $0[index] }
    return try bound.eventLoop.submit { body(bound.value) }.wait()
  }

  /// False where the condition does not come true within ten minutes.
  func wait(until condition: () throws -> Bool) throws -> Bool {
    let deadline = ContinuousClock.now.advanced(by: .seconds(600))
    while try !condition() {
      if ContinuousClock.now > deadline { return false }
      usleep(1_000)
    }
    return true
  }
}

/// Starts a harness, gives it to the test, and stops it in any case.
func withListener(
  loops: Int = 2, _ configure: (inout ListenerConfiguration) -> Void = { _ in },
  onMessage: @escaping @Sendable (ListenerHarness.Session, [UInt8]) -> Void = ListenerHarness.echo,
  _ body: (ListenerHarness) throws -> Void
) throws {
  let harness = try ListenerHarness(loops: loops, configure, onMessage: onMessage)
  defer { harness.stop() }
  try body(harness)
}
