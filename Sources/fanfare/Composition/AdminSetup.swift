import Admin
import Auth
import Broker
import Gateway
import Logging
import Metering
import Settings
import Wire
import ZeroMQ

/// The port for backends and operators, from the settings.
enum AdminSetup {
  /// Where the server API asks the broker of this process.
  static func desk(for settings: Settings, role: ServerProcess.Role) -> ServiceDesk {
    ServiceDesk(
      namespaces: AppSetup.namespaces(for: settings), bytes: settings.admin.api.pendingBytes, hasTaps: role.hasCore)
  }

  /// Nil where the port is switched off.
  ///
  /// - Parameters:
  ///   - api: nil where there is no broker in this process.
  ///   - console: nil where it is switched off.
  ///   - gateway: nil where there is none in this process.
  ///   - metrics: what all parts of the process count.
  static func server(
    for settings: Settings, api: ServerAPI?, console: WebConsole?, desk: ServiceDesk?, gateway: GatewayServer?,
    metrics: PrometheusRegistry, logger: Logger
  ) -> AdminServer? {
    let admin = settings.admin
    guard admin.enabled else { return nil }
    let routes = AdminRoutes(
      api: api, console: console,
      metrics: { AdminAnswer(PrometheusRegistry.contentType, metrics.render()) },
      obstacles: { await obstacles(desk: desk, gateway: gateway) }, logger: logger)
    return AdminServer(
      AdminConfiguration(
        host: admin.host, port: admin.port, maximumConnections: admin.maxConnections,
        requestTimeoutMilliseconds: admin.requestTimeout.milliseconds, maximumBodyBytes: admin.api.maxBodyBytes),
      routes: routes, logger: logger)
  }

  static func address(port: Int, for settings: Settings) -> String {
    let host = settings.admin.host
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  static func api(
    for settings: Settings, desk: ServiceDesk, audit: Audit, logger: Logger
  ) throws -> ServerAPI {
    let file: APIKeyFile
    do throws(APIKeyFault) {
      file = try APIKeyFile(
        folder: settings.data.directory, configured: settings.admin.api.key,
        now: { Int64(MonotonicClock.now() / 1_000_000_000) }, logger: logger, audit: audit)
    } catch {
      throw Complaint("\(error)")
    }
    return ServerAPI(
      desk: desk, maximumCommands: settings.admin.api.maxCommands, logger: logger, audit: audit
    ) { file.key(for: $0) }
  }

  /// Why the server cannot serve clients now; empty: it can.
  private static func obstacles(desk: ServiceDesk?, gateway: GatewayServer?) async -> [String] {
    var obstacles: [String] = []
    if let gateway, gateway.isEnding { obstacles.append("the server ends: it takes no new clients") }
    if let gateway, !gateway.hasLink {
      obstacles.append(
        "the link to the broker is not open: is the broker running, and is backbone.endpoint the same on both sides?")
    }
    if let desk, let obstacle = await obstacle(at: desk) { obstacles.append(obstacle) }
    return obstacles
  }

  /// Why the broker serves nobody now; nil: it does.
  private static func obstacle(at desk: ServiceDesk) async -> String? {
    let (answers, tell) = AsyncStream.makeStream(of: String?.self)
    Task {
      // A question that takes the same way as any other, and costs the broker next to nothing to answer.
      var obstacle: String?
      if case .failed(let error) = await desk.ask([.unread(user: "", [])]).first {
        obstacle = "the broker takes no requests: \(error.message)"
      }
      tell.yield(obstacle)
    }
    let patience = Task {
      try await Task.sleep(for: .seconds(1))
      tell.yield("the broker has not answered within a second: it starts, or waits for its disk")
    }
    defer { patience.cancel() }
    for await first in answers { return first }
    return nil
  }
}
