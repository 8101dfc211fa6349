import HTTPTypes
public import Logging
import Wire

/// The head of a request on the port for backends and operators.
struct AdminRequest: Sendable {
  var method: String
  /// The path without the query.
  var path: String
  var authorization: String?
  var apiKey: String?
  /// The header `traceparent`, as it came.
  var traceparent: String?
  /// The address of whoever asks; nil: not known.
  var peer: String?
  /// What stands behind the path's question mark; nil: there is none.
  var query: String?
  /// The `Host` that was asked for.
  var authority: String?
  /// The whole head.
  var fields = HTTPFields()
}

/// Says which part of the server answers which path.
public struct AdminRoutes: Sendable {
  /// Nil where there is no broker in this process.
  private let api: ServerAPI?
  private let metrics: @Sendable () -> AdminAnswer
  /// Why the server cannot serve clients now, as sentences; empty: it can.
  private let obstacles: @Sendable () async -> [String]
  /// Nil where it is switched off.
  let console: WebConsole?
  private let logger: Logger

  /// - Parameters:
  ///   - api: nil where no broker is in this process.
  ///   - console: the web console; nil where it is switched off.
  ///   - metrics: what a scraper gets.
  ///   - obstacles: why the server cannot serve clients now, as sentences; empty: it can.
  public init(
    api: ServerAPI?, console: WebConsole? = nil, metrics: @escaping @Sendable () -> AdminAnswer,
    obstacles: @escaping @Sendable () async -> [String], logger: Logger
  ) {
    self.api = api
    self.console = console
    self.metrics = metrics
    self.obstacles = obstacles
    self.logger = logger
  }

  /// Replies to a request, to one of the console with a stream if it asks for one.
  func reply(to request: AdminRequest, body: () async throws -> [UInt8]) async rethrows -> AdminReply {
    if let console, WebConsole.owns(request.path) { return try await console.reply(to: request, body: body) }
    return .answer(try await answer(request, body: body))
  }

  /// Answers a request that is none of the console. Its body is read only where it is needed, and by whoever may send one.
  func answer(_ request: AdminRequest, body: () async throws -> [UInt8]) async rethrows -> AdminAnswer {
    switch request.path {
    case "/health": return reading(request) { .sentence(200, "ok") }
    case "/ready":
      let obstacles = await obstacles()
      return reading(request) {
        obstacles.isEmpty ? .sentence(200, "ready") : .sentence(503, obstacles.joined(separator: "\n"))
      }
    case "/metrics": return reading(request, metrics)
    case "/api/openapi.json": return reading(request) { AdminAnswer(AdminAnswer.json, OpenAPI.document) }
    case let path where path.hasPrefix("/api/"):
      guard request.method == "POST" else {
        return .sentence(405, "methods of the server API are called with POST")
      }
      guard let api else {
        return .sentence(404, "there is no broker in this process: the server API is on the broker's port")
      }
      guard let key = api.key(shownBy: request) else {
        // At a level that is off by default: a stranger must not fill the disk with lines.
        logger.debug("the server API was called without a key that holds")
        api.audit.note(.keyRefused, ["method": String(path.dropFirst("/api/".count)), "from": request.peer ?? ""])
        return ServerAPI.unauthorized
      }
      let context = request.traceparent.flatMap { TraceContext(traceparent: $0) }
      return await api.answer(String(path.dropFirst("/api/".count)), try await body(), by: key, under: context)
    default:
      return .sentence(
        404,
        "there is /api/METHOD, /api/openapi.json, /metrics, /health and /ready here"
          + (console == nil ? "" : ", and a console at /console/"))
    }
  }

  private func reading(_ request: AdminRequest, _ answer: () -> AdminAnswer) -> AdminAnswer {
    guard request.method == "GET" || request.method == "HEAD" else {
      return .sentence(405, "\(request.path) is read with GET")
    }
    return answer()
  }
}
