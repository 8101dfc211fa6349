import Foundation
import Synchronization
import TestSupport

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
  }

  let port: Int
  private let server: ConnectionServer
  private let state = Mutex(State())

  init() throws {
    server = try ConnectionServer()
    port = Int(server.port)
    server.start { [self] connection in
      while let request = connection.request() { connection.answer(note(request), "{}") }
    }
  }

  var spans: [Span] { state.withLock { $0.spans } }
  /// The heads of the requests.
  var heads: [String] { state.withLock { $0.heads } }

  /// Ends its threads.
  func stop() { server.stop() }

  /// - Returns: the status of the answer.
  private func note(_ request: ServedRequest) -> Int {
    let spans = try? JSONDecoder().decode(Request.self, from: Data(request.body))
    state.withLock { state in
      state.heads.append(request.head)
      state.spans += spans?.resourceSpans.flatMap { $0.scopeSpans.flatMap(\.spans) } ?? []
    }
    return spans == nil ? 400 : 200
  }
}
