import Auth
import Broker
import Foundation
import Gateway
import Log
import Logging
import ServiceLifecycle
import Settings
import UnixSignals
import Wire
import ZeroMQ

/// Puts a server together from its settings and runs it until it is told to stop.
///
/// `serve`, `broker` and `gateway` differ in which parts there are and in the backbone's endpoint: the code that runs
/// is the same.
struct ServerProcess: Service {
  enum Role: String {
    case serve, broker, gateway

    var hasBroker: Bool { self != .gateway }
    var hasGateway: Bool { self != .broker }
  }

  /// The backbone of a process that has both ends.
  private static let inProcess = "inproc://backbone"

  let role: Role
  let settings: Settings
  let logger: Logger

  static func run(_ role: Role, settings: Settings) async throws {
    let logger = LogOutput.logger(for: settings.log)
    let process = ServerProcess(role: role, settings: settings, logger: logger)
    let group = ServiceGroup(
      configuration: .init(
        services: [process], gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "fanfare.lifecycle") { _ in SwiftLogNoOpLogHandler() }))
    try await group.run()
  }

  func run() async throws {
    do {
      try await runParts()
    } catch let error as ZeroMQError {
      throw Complaint("\(error)")
    } catch let error as StartError {
      throw Complaint("\(error)")
    } catch let error as ListenerError {
      throw Complaint("\(error)")
    }
  }

  private func runParts() async throws {
    try DataFolderSetup.create(settings.data.directory)
    let secret = try role.hasGateway ? TokenSetup.secret(for: settings, logger: logger) : nil
    let server = try await role.hasGateway ? makeGateway(secret: secret?.value) : nil
    let context = try Context()
    let failure = FailureBox()
    let backbone = Backbone()
    let thread = try startBackbone(context: context, gateway: server, reporting: backbone, failure: failure)
    var websocket: String?
    do { websocket = try server?.listen() } catch {
      thread.stop()
      await server?.stop(deadline: .zero)
      throw error
    }
    let endpoints = Endpoints(
      websocket: websocket, commands: backbone.services?.commands, tap: backbone.services?.tap,
      backbone: backbone.address)
    try endpoints.write(to: settings.data.directory)
    announce(endpoints, madeSecret: secret?.isNew ?? false)
    let reloading = Task { await reloadCertificatesOnHangup(server) }
    let returning = Task.detached(priority: .background) { [logger] in await MemoryReturn.run(logger: logger) }
    await failure.waitForFailureOrShutdown()
    reloading.cancel()
    returning.cancel()
    logger.notice("stopping: no new clients, what was accepted is finished")
    await server?.stop(deadline: settings.shutdown.deadline)
    thread.stop()
    Endpoints.remove(from: settings.data.directory)
    if let error = failure.error { throw Complaint("the backbone failed: \(error)") }
    logger.notice("stopped")
  }

  private func reloadCertificatesOnHangup(_ server: GatewayServer?) async {
    for await _ in await UnixSignalsSequence(trapping: .sighup) { server?.reloadCertificates() }
  }

  // MARK: Parts

  private func makeGateway(secret: String?) async throws -> GatewayServer {
    let verifier = try await TokenSetup.verifier(for: settings, secret: secret, logger: logger)
    return try await GatewayServer(
      try GatewaySetup.configuration(for: settings, version: "Fanfare \(Fanfare.version)"), verifier: verifier,
      logger: logger)
  }

  private func startBackbone(
    context: Context, gateway: GatewayServer?, reporting backbone: Backbone, failure: FailureBox
  ) throws -> LoopThread {
    let settings = settings
    let role = role
    let logger = logger
    let curve = try BackboneSetup.curve(for: settings, role: role)
    return try LoopThread.start(onFailure: { failure.fail($0) }) { loop in
      var participants: [any LoopParticipant] = []
      if role.hasBroker {
        var serverCurve: Curve.Role?
        if let curve, case .broker(let secret, let clients) = curve {
          var domain: CurveAllowList.Domain?
          if !clients.isEmpty {
            let list = try CurveAllowList(["backbone": clients], in: context, on: loop)
            domain = list.domain("backbone")
            participants.append(list)
          }
          serverCurve = .server(secret, allowing: domain)
        }
        let broker = try BrokerSetup.loop(
          for: settings, address: role == .serve ? Self.inProcess : settings.backbone.endpoint, curve: serverCurve,
          context: context, loop: loop, logger: logger)
        backbone.services = broker.serviceEndpoints.map { .init(commands: $0.commands, tap: $0.tap) }
        backbone.address = role == .serve ? nil : broker.backboneEndpoint
        participants.append(broker)
      }
      if let gateway {
        var endpoint = GatewayEndpoint(role == .serve ? Self.inProcess : settings.backbone.endpoint)
        if let curve, case .gateway(let keys, let server) = curve { endpoint.curve = .client(keys, server: server) }
        participants.append(try gateway.makeLink(to: endpoint, context: context, loop: loop))
      }
      return participants
    }
  }

  /// The one line that says what runs.
  private func announce(_ endpoints: Endpoints, madeSecret: Bool) {
    var metadata: Logger.Metadata = ["version": "\(Fanfare.version)", "role": "\(role.rawValue)"]
    if let websocket = endpoints.websocket { metadata["clients"] = "\(websocket)" }
    if let commands = endpoints.commands { metadata["commands"] = "\(commands)" }
    if let tap = endpoints.tap { metadata["tap"] = "\(tap)" }
    if let backbone = endpoints.backbone { metadata["backbone"] = "\(backbone)" }
    if role.hasBroker { metadata["store"] = "\(settings.data.directory)/fanfare.sqlite" }
    if role.hasGateway {
      metadata["max_message_bytes"] = "\(settings.client.maxMessageBytes)"
      metadata["queue_bytes"] = "\(settings.client.queueBytes)"
      metadata["max_channels"] = "\(settings.client.maxChannels)"
    }
    logger.notice("fanfare runs", metadata: metadata)
    if madeSecret {
      logger.notice("made a secret for tokens; mint one with: fanfare token USER")
    }
  }
}

/// What the backbone thread tells the rest of the process while it is built.
private final class Backbone: @unchecked Sendable {
  struct Services {
    var commands: String
    var tap: String
  }

  // Safe without a lock: written on the backbone thread before `LoopThread.start` returns, read only after.
  var services: Services?
  var address: String?
}
