import Foundation
import Synchronization
import TestSupport

/// An HTTP server on a free port of this machine: one request, and one answer, on each connection.
final class LocalServer: Sendable {
  enum Answer: Sendable {
    case body(String)
    case status(Int, headers: String)
    /// Headers, then this many bytes without a stated length.
    case flood(bytes: Int)
    /// Headers, then nothing until the client goes away.
    case stall
    /// Headers, then a byte now and then until the client goes away.
    case drip
  }

  private let server: ConnectionServer
  private let answer: Mutex<Answer>
  private let count = Mutex(0)

  var url: String { "http://127.0.0.1:\(server.port)/keys.json" }
  var requests: Int { count.withLock { $0 } }

  init(_ answer: Answer) throws {
    self.answer = Mutex(answer)
    server = try ConnectionServer()
    server.start { [self] connection in serve(connection) }
  }

  func respond(_ new: Answer) { answer.withLock { $0 = new } }

  /// Ends all connections: a client that says nothing and does not go away must not keep the test.
  func stop() { server.stop() }

  private func serve(_ connection: ServedConnection) {
    guard connection.request() != nil else { return }
    count.withLock { $0 += 1 }
    switch answer.withLock({ $0 }) {
    case .body(let text): connection.answer(headers: "Connection: close\r\n", text)
    case .status(let code, let headers): connection.answer(code, headers: "Connection: close\r\n\(headers)")
    case .flood(let bytes):
      connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
      connection.write(String(repeating: " ", count: bytes))
    case .stall:
      connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n")
      connection.waitForEnd()
    case .drip:
      connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n")
      var waiting = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
      while poll(&waiting, 1, 20) == 0 { connection.write(" ") }
    }
  }
}
