import NIOCore
import Synchronization

/// Who has which session, of the clients whose commands come by requests of their own: those come over other
/// connections, on any event loop.
///
/// Whoever knows a session's name may command it, so the name is 128 random bits that only its client is told. There is
/// an entry for each open stream, and so never more than there may be connections.
final class StreamTable: Sendable {
  private let streams = Mutex<[String: NIOLoopBound<Connection>]>([:])

  var count: Int { streams.withLock(\.count) }

  /// Nil: nobody has the session, or has it any more. The connection is to be used on its own event loop.
  subscript(session: String) -> NIOLoopBound<Connection>? { streams.withLock { $0[session] } }

  /// Call it on the connection's event loop, which calls ``remove(_:)`` when the stream has ended.
  func add(_ session: String, _ connection: Connection) {
    let stream = NIOLoopBound(connection, eventLoop: connection.eventLoop)
    streams.withLock { $0[session] = stream }
  }

  func remove(_ session: String) {
    // Released behind the lock: it may be the last reference.
    let last = streams.withLock { $0.removeValue(forKey: session) }
    withExtendedLifetime(last) {}
  }
}
