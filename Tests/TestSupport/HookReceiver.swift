import Foundation
import Synchronization

/// A receiver of webhooks on a free port of this machine: a thread for each connection, and answers as a test says.
public final class HookReceiver: Sendable {
  public struct Request: Sendable {
    public var headers: [String: String]
    public var body: [UInt8]
    /// It was answered with 200.
    public var isTaken = false

    /// The events of the body.
    public var events: [[String: Any]] {
      let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
      return object?["events"] as? [[String: Any]] ?? []
    }
  }

  /// How a request is answered.
  public enum Answer: Sendable {
    case status(Int, headers: [String] = [])
    /// These bytes, and then the connection ends.
    case raw(String)
    /// Nothing, until the other side goes.
    case silence
  }

  private struct State {
    var requests: [Request] = []
    var answer: @Sendable (Int) -> Answer
  }

  public let port: UInt16
  private let server: ConnectionServer
  private let state: Mutex<State>

  /// - Parameter answer: called with the request's place among all, from 0.
  public init(_ answer: @escaping @Sendable (Int) -> Answer = { _ in .status(200) }) throws {
    state = Mutex(State(answer: answer))
    server = try ConnectionServer()
    port = server.port
    server.start { [self] connection in while serve(connection) {} }
  }

  public var url: String { "http://127.0.0.1:\(port)/hook" }
  public var requests: [Request] { state.withLock { $0.requests } }
  /// All events of all requests, in the order in which they came.
  public var events: [[String: Any]] { requests.flatMap(\.events) }
  /// Of them, those of the requests that were answered with 200.
  public var takenEvents: [[String: Any]] { requests.filter(\.isTaken).flatMap(\.events) }

  public func answers(_ answer: @escaping @Sendable (Int) -> Answer) { state.withLock { $0.answer = answer } }

  /// Ends all connections and threads.
  public func stop() { server.stop() }

  /// - Returns: whether another request may come on the connection.
  private func serve(_ connection: ServedConnection) -> Bool {
    guard let request = connection.request() else { return false }
    let answer = state.withLock { state in
      let answer = state.answer(state.requests.count)
      var noted = Request(headers: request.headers, body: request.body)
      if case .status(200, _) = answer { noted.isTaken = true }
      state.requests.append(noted)
      return answer
    }
    switch answer {
    case .status(let status, let headers):
      return connection.answer(status, headers: headers.map { "\($0)\r\n" }.joined())
    case .raw(let text): connection.write(text)
    case .silence: connection.waitForEnd()
    }
    return false
  }
}
