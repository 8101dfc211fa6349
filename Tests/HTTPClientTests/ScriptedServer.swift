import Foundation
import Synchronization
import TestSupport

/// An HTTP server on a free port of this machine that answers as a test says: a thread for each connection.
final class ScriptedServer: Sendable {
  let port: UInt16
  private let server: ConnectionServer
  private let noted = Mutex<[ServedRequest]>([])

  var url: String { "http://127.0.0.1:\(port)/hook" }
  /// Connections that there have been, and that there were at the same time.
  var connections: Int { server.connections }
  var mostAtOnce: Int { server.mostAtOnce }
  var openNow: Int { server.openNow }
  /// The requests that ``answering(_:)`` has read.
  var requests: [ServedRequest] { noted.withLock { $0 } }

  private init() throws {
    server = try ConnectionServer()
    port = server.port
  }

  /// - Parameter script: what happens on each connection, which is closed when it returns.
  convenience init(_ script: @escaping @Sendable (ServedConnection) -> Void) throws {
    try self.init()
    server.start(script)
  }

  /// Answers requests on each connection, one after another, as long as there are any.
  static func answering(
    _ answer: @escaping @Sendable (ServedConnection, ServedRequest) -> Void
  ) throws -> ScriptedServer {
    let scripted = try ScriptedServer()
    scripted.server.start { connection in
      while let request = connection.request() {
        scripted.noted.withLock { $0.append(request) }
        answer(connection, request)
      }
    }
    return scripted
  }

  /// Ends all connections and threads.
  func stop() { server.stop() }
}
