import Foundation
import Synchronization
import TestSupport

/// A backend that is asked by the server's proxies: an HTTP server on a free port, a thread for each connection, which
/// answers by path as a test says at the time.
final class Backend: Sendable {
  enum Answer: Sendable {
    /// Status 200 with this body.
    case json(String)
    case status(Int, String = "")
    /// Nothing, until the client goes away or ``Backend/stop()``.
    case hang
    /// A body of so many bytes.
    case flood(Int)
  }

  struct Request: Sendable {
    var path: String
    /// Lines of the head, in lower case.
    var head: [String]
    var body: JSON
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var requests: [Request] = []
  }

  let port: UInt16
  private let server: ConnectionServer
  private let state = Mutex(State())

  init() throws {
    server = try ConnectionServer()
    port = server.port
    server.start { [self] connection in while serve(connection) {} }
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

  /// What requests to a path are answered with from now on.
  func answer(_ path: String, _ answer: Answer) { state.withLock { $0.answers[path] = answer } }

  func requests(_ path: String) -> [Request] { state.withLock { $0.requests.filter { $0.path == path } } }

  /// Ends all connections, and waits for the threads.
  func stop() { server.stop() }

  /// - Returns: whether another request may come on the connection.
  private func serve(_ connection: ServedConnection) -> Bool {
    guard let served = connection.request() else { return false }
    let request = Request(
      path: String(served.path.dropFirst()), head: served.head.lowercased().components(separatedBy: "\r\n"),
      body: (try? JSON(String(decoding: served.body, as: UTF8.self))) ?? JSON(nil))
    let answer = state.withLock { state in
      state.requests.append(request)
      return state.answers[request.path] ?? .status(404)
    }
    switch answer {
    case .json(let body): return connection.answer(200, body)
    case .status(let status, let body): return connection.answer(status, body)
    case .flood(let bytes): return connection.answer(200, String(repeating: " ", count: bytes))
    case .hang:
      connection.waitForEnd()
      return false
    }
  }
}
