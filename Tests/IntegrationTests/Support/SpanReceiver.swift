import Foundation
import Glibc
import Synchronization

/// A collector of traces: takes OTLP/HTTP in JSON on a free port, and remembers the spans.
final class SpanReceiver: Sendable {
  struct Span: Decodable, Sendable {
    var traceId: String
    var spanId: String
    var parentSpanId: String?
    var name: String
    var kind: Int
    var startTimeUnixNano: String
    var endTimeUnixNano: String

    var start: UInt64 { UInt64(startTimeUnixNano) ?? 0 }
    var end: UInt64 { UInt64(endTimeUnixNano) ?? 0 }
  }

  private struct Request: Decodable {
    struct Resource: Decodable { var scopeSpans: [Scope] }
    struct Scope: Decodable { var spans: [Span] }
    var resourceSpans: [Resource]
  }

  private struct State {
    var spans: [Span] = []
    var heads: [String] = []
    var connections: [Int32] = []
    var isClosed = false
  }

  let port: Int
  private let listening: Int32
  private let state = Mutex(State())

  init() throws {
    listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listening
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw Failure("no port for a collector: errno \(errno)") }
    port = Int(in_port_t(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in accept() }
  }

  var spans: [Span] { state.withLock { $0.spans } }
  /// The heads of the requests.
  var heads: [String] { state.withLock { $0.heads } }

  /// Ends its threads.
  func stop() {
    let connections = state.withLock { state in
      state.isClosed = true
      return state.connections
    }
    shutdown(listening, Int32(SHUT_RDWR))
    for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
  }

  private func accept() {
    while true {
      let connection = Glibc.accept(listening, nil, nil)
      let isKept =
        connection >= 0
        && state.withLock { state in
          if !state.isClosed { state.connections.append(connection) }
          return !state.isClosed
        }
      guard isKept else { break }
      Thread.detachNewThread { [self] in
        while serve(connection) {}
        state.withLock { $0.connections.removeAll { $0 == connection } }
        close(connection)
      }
    }
    close(listening)
  }

  /// - Returns: false where the connection has ended.
  private func serve(_ connection: Int32) -> Bool {
    var bytes: [UInt8] = []
    while true {
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let length = head.lowercased().firstMatch(of: /content-length: *(\d+)/).flatMap { Int($0.1) } ?? 0
        if bytes.count - end.upperBound >= length { return answer(head, Data(bytes[end.upperBound...]), connection) }
      }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return false }
      bytes += buffer[..<count]
    }
  }

  private func answer(_ head: String, _ body: Data, _ connection: Int32) -> Bool {
    let request = try? JSONDecoder().decode(Request.self, from: body)
    state.withLock { state in
      state.heads.append(head)
      state.spans += request?.resourceSpans.flatMap { $0.scopeSpans.flatMap(\.spans) } ?? []
    }
    let status = request == nil ? "400 Bad Request" : "200 OK"
    let text = Array("HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".utf8)
    return send(connection, text, text.count, Int32(MSG_NOSIGNAL)) == text.count
  }
}
