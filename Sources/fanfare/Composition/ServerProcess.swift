import Admin
import Auth
import Broker
import Coverage
import Foundation
import Gateway
import Log
import Logging
import Metering
import ServiceLifecycle
import Settings
import UnixSignals
import Vault
import Wire
import ZeroMQ

/// Puts a server together from its settings and runs it until it is told to stop.
///
/// `serve`, `broker` and `gateway` differ in which parts there are and in the backbone's endpoint: the code that runs
/// is the same. Where channels are shared among partitions, `broker` is one process for each, with settings of that one
/// partition (``Settings/brokerOfPartition(_:)``), which another process has started (``PartitionProcesses``).
struct ServerProcess: Service {
  enum Role: String {
    case serve, broker, gateway
    /// Takes in what services and backends ask, and asks the brokers of all partitions, as a gateway does.
    case front

    /// Whether the process has a log, and decides what becomes of channels.
    var hasCore: Bool { self == .serve || self == .broker }
    /// Whether services and backends ask this process: at the endpoints for services, and by the server API.
    var hasServices: Bool { self != .gateway }
    /// Whether clients connect to it.
    var hasGateway: Bool { self == .serve || self == .gateway }
  }

  let role: Role
  let settings: Settings
  let logger: Logger
  let audit: Audit

  init(_ role: Role, _ settings: Settings) {
    (self.role, self.settings) = (role, settings)
    var logger = LogOutput.logger(for: settings.log)
    if let partition = settings.cluster.partition { logger[metadataKey: "partition"] = "\(partition)" }
    self.logger = logger
    audit = AuditSetup.audit(to: logger)
  }

  static func run(_ role: Role, settings: Settings) async throws { try await run([ServerProcess(role, settings)]) }

  /// Runs services until the process is told to stop; then they end, the last first.
  static func run(_ services: [any Service]) async throws {
    let group = ServiceGroup(
      configuration: .init(
        services: services, gracefulShutdownSignals: [.sigterm, .sigint],
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
    } catch PostgresStartError.stopped {
      logger.notice("stopped while it waited for the log")
      // Whoever told the process to stop has told the group as well, which may hear of it a moment later.
      try await gracefulShutdown()
    } catch let error as PostgresStartError {
      throw Complaint("\(error)")
    } catch let error as ListenerError {
      throw Complaint("\(error)")
    } catch let error as AdminError {
      throw Complaint("\(error)")
    }
  }

  private func runParts() async throws {
    if role != .serve { try BackboneSetup.requireOpen(settings) }
    try DataFolderSetup.create(settings.data.homeDirectory)
    try DataFolderSetup.create(settings.data.directory)
    if role.hasServices { try ServicesSetup.prepareFolders(for: settings) }
    // Before anything is made that counts: what is made earlier counts nowhere.
    let metrics = PrometheusRegistry.bootstrap(version: Fanfare.version)
    let collector = Collector(settings, version: Fanfare.version, logger: logger)
    defer { collector?.close() }
    let tracing = TracingSetup(settings, exporter: collector?.exporter)
    let clock = try ClockSetup.keeper(for: settings, role: role, logger: logger)
    let secret = try role.hasGateway ? TokenSetup.secret(for: settings, logger: logger) : nil
    let coverage = role.hasGateway ? CoverageSetup.store(for: settings, clock: clock, logger: logger) : nil
    // Last of all: what ends with the server is written too.
    defer { coverage?.close() }
    let server =
      try await role.hasGateway
      ? makeGateway(secret: secret?.value, clock: clock, tracing: tracing, coverage: coverage)
      : role == .front ? makeUplink() : nil
    let context = try Context()
    let failure = FailureBox()
    let backbone = Backbone()
    let desk = role.hasServices && settings.admin.enabled ? AdminSetup.desk(for: settings, role: role) : nil
    // The broker of one partition answers for no other: backends and operators ask the process that has started it.
    let isWhole = settings.cluster.partition == nil
    let api = isWhole ? try desk.map { try AdminSetup.api(for: settings, desk: $0, audit: audit, logger: logger) } : nil
    let console =
      isWhole
      ? try ConsoleSetup(for: settings, role: role, api: api, metrics: metrics, audit: audit, logger: logger) : nil
    defer { console?.close() }
    let admin = AdminSetup.server(
      for: settings, api: api, console: console?.console, desk: desk, gateway: server, metrics: metrics, logger: logger)
    let thread = try startBackbone(
      context: context, gateway: server, desk: desk, clock: clock, tracing: tracing, reporting: backbone,
      failure: failure)
    // The log's lock keeps other processes from the data folder by now, so the clock's files in it are this process's own.
    clock.start()
    defer { clock.stop() }
    let endpoints = try await open(server, admin, beside: backbone, of: thread)
    try endpoints.write(to: settings.data.directory)
    audit.note(.settingsLoaded, AuditSetup.fields(of: settings, role: role.rawValue))
    announce(endpoints, madeSecret: secret?.isNew ?? false)
    if let console, let address = endpoints.admin { try console.announce(at: address, logger: logger) }
    let reloading = Task { await reloadCertificatesOnHangup(server) }
    let returning = Task.detached(priority: .background) { [logger] in await MemoryReturn.run(logger: logger) }
    await failure.waitForFailureOrShutdown()
    reloading.cancel()
    returning.cancel()
    logger.notice("stopping: no new clients, what was accepted is finished")
    // Without its backbone a gateway serves nobody: then there is nothing to wait for.
    await stop(server, ramp: failure.error == nil ? settings.shutdown.ramp : .zero)
    // The desk is closed with the loop, so that requests which are under way are answered.
    await admin?.stop(deadline: settings.shutdown.deadline)
    thread.stop()
    await collector?.finish()
    Endpoints.remove(from: settings.data.directory)
    if let error = failure.error { throw Complaint("the backbone failed: \(error)") }
    logger.notice("stopped")
  }

  /// Opens the ports; where one cannot be, ends what runs already.
  private func open(
    _ server: GatewayServer?, _ admin: AdminServer?, beside backbone: Backbone, of thread: BackboneThread
  ) async throws -> Endpoints {
    var endpoints = Endpoints(
      commands: backbone.services?.commands, tap: backbone.services?.tap, backbone: backbone.address)
    do {
      if role.hasGateway { endpoints.websocket = try server?.listen() }
      if let admin { endpoints.admin = AdminSetup.address(port: try await admin.start(), for: settings) }
    } catch {
      thread.stop()
      await server?.stop(GatewayEnding(deadline: .zero))
      throw error
    }
    return endpoints
  }

  /// Ends the gateway. The backbone, and with it a broker in this process, runs on until the last client has left.
  private func stop(_ server: GatewayServer?, ramp: Duration) async {
    guard let server else { return }
    let hurrying = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
        logger.notice("told again to stop: all clients are sent away now")
        server.hurry()
      }
    }
    await server.stop(
      GatewayEnding(ramp: ramp, rampFloor: settings.shutdown.rampFloor, deadline: settings.shutdown.deadline))
    hurrying.cancel()
  }

  private func reloadCertificatesOnHangup(_ server: GatewayServer?) async {
    for await _ in await UnixSignalsSequence(trapping: .sighup) { server?.reloadCertificates() }
  }

  // MARK: Parts

  private func makeGateway(
    secret: String?, clock: ClockKeeper, tracing: TracingSetup, coverage: CoverageStore?
  ) async throws -> GatewayServer {
    let configured = try TokenSetup.verifier(
      for: settings, secret: secret, logger: logger, now: { clock.unmovedSeconds() })
    let demo = try DemoSetup.configuration(for: settings, role: role, version: Fanfare.version, clock: clock)
    let verifier: any TokenVerifier = demo?.tokens.verifier(beside: configured) ?? configured
    var configuration = try GatewaySetup.configuration(for: settings, version: "Fanfare \(Fanfare.version)")
    configuration.wallClock = { clock.unmovedSeconds() }
    configuration.coverage = coverage?.sink
    tracing.apply(to: &configuration)
    configuration.audit = audit
    configuration.demo = demo
    return try await GatewayServer(configuration, verifier: verifier, logger: logger)
  }

  /// The front's way to the brokers: a gateway to which no client connects.
  private func makeUplink() async throws -> GatewayServer {
    var configuration = try GatewaySetup.configuration(for: settings, version: "Fanfare \(Fanfare.version)")
    (configuration.hasClients, configuration.eventLoops, configuration.pictures) = (false, 1, nil)
    return try await GatewayServer(configuration, verifier: NoClients(), logger: logger)
  }

  private struct NoClients: TokenVerifier {
    private static let refusal = TokenError.invalid(reason: "no client connects here")

    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims { throw Self.refusal }
    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims { throw Self.refusal }
  }

  private func startBackbone(
    context: Context, gateway: GatewayServer?, desk: ServiceDesk?, clock: ClockKeeper, tracing: TracingSetup,
    reporting backbone: Backbone, failure: FailureBox
  ) throws -> BackboneThread {
    let settings = settings
    let role = role
    let (logger, audit) = (logger, audit)
    let curve = try BackboneSetup.curve(for: settings, role: role)
    let serviceKeys = try role.hasServices ? ServicesSetup.keys(for: settings) : nil
    return try BackboneThread.start(onFailure: { failure.fail($0) }) { loop in
      var participants: [any BackboneParticipant] = []
      // In one process broker and gateway hand their messages over as they are, unless the endpoint is inproc://.
      let wantsSocket = role != .serve || settings.backbone.isInProcess
      let pipe = wantsSocket ? nil : gateway.map { MemoryPipe(gateway: $0.gateway) }
      let list = try Self.allowList(curve, serviceKeys, context: context, loop: loop)
      if let list { participants.append(list) }
      if role.hasCore {
        let endpoints = Self.endpoints(
          settings, backbone: pipe == nil ? settings.backbone.endpoint : nil, curve: curve, serviceKeys: serviceKeys,
          list: list)
        let broker = try BrokerSetup.loop(
          for: settings, endpoints: endpoints, list: list, pipe: pipe, desk: desk, context: context, loop: loop,
          clock: clock, tracing: tracing, audit: audit, logger: logger)
        backbone.services = broker.serviceEndpoints.map { .init(commands: $0.commands, tap: $0.tap) }
        backbone.address = role == .serve ? nil : broker.backboneEndpoint
        participants.append(broker)
      }
      if let gateway {
        let link =
          try pipe.map(BackbonePipe.memory)
          ?? .sockets(BackboneSetup.brokersOfPartitions(for: settings, curve), context)
        participants.append(try gateway.makeLink(over: link, loop: loop))
      }
      if role == .front, let gateway {
        let endpoints = Self.endpoints(settings, backbone: nil, curve: nil, serviceKeys: serviceKeys, list: list)
        let front = try ServiceFront(
          endpoints: endpoints, namespaces: AppSetup.namespaces(for: settings), limit: settings.broker.pendingBytes,
          desk: desk, context: context, loop: loop, audit: audit, logger: logger
        ) { gateway.serve($0, answer: $1) }
        backbone.services = front.commandsEndpoint.map { .init(commands: $0, tap: nil) }
        participants.append(front)
      }
      return participants
    }
  }

  /// Who may connect to the process's endpoints; nil: nobody is asked for a key. All endpoints of the process share one
  /// list: libzmq asks no more than one.
  private static func allowList(
    _ curve: BackboneSetup.Keys?, _ serviceKeys: ServicesSetup.Keys?, context: Context, loop: BackboneLoop
  ) throws -> CurveAllowList? {
    var listed = serviceKeys.map { [ServicesSetup.domain: $0.clients] } ?? [:]
    if case .broker(_, let clients) = curve, !clients.isEmpty {
      listed[BackboneSetup.domain] = Dictionary(uniqueKeysWithValues: clients.map { ($0, "") })
    }
    return try listed.isEmpty ? nil : CurveAllowList(named: listed, in: context, on: loop)
  }

  /// Where a broker listens.
  ///
  /// - Parameter backbone: for gateways; nil: the only one is in this process.
  private static func endpoints(
    _ settings: Settings, backbone: String?, curve: BackboneSetup.Keys?, serviceKeys: ServicesSetup.Keys?,
    list: CurveAllowList?
  ) -> BrokerEndpoints {
    var endpoints = BrokerEndpoints(
      backbone: backbone, maximumServiceMessageBytes: Int64(settings.broker.services.maxMessageBytes))
    if case .broker(let secret, let clients) = curve {
      endpoints.curve = .server(secret, allowing: clients.isEmpty ? nil : list?.domain(BackboneSetup.domain))
    }
    ServicesSetup.endpoints(
      &endpoints, for: settings, keys: serviceKeys, domain: list?.domain(ServicesSetup.domain))
    return endpoints
  }

  /// Warns of brokers that services and backends will not reach by way of this process.
  private func warnOfUnreachedBrokers() {
    guard role == .front, settings.backbone.brokers.isEmpty else { return }
    logger.warning(
      """
      what services and backends ask here is passed on to the brokers of this machine alone, and has no answer while those \
      of other machines are at work; name the brokers of all machines in backbone.brokers, as gateways do
      """)
  }

  /// Warns of ports and endpoints that are open beyond what somebody may have wanted.
  private func warnOfOpenDoors() {
    let server = settings.server
    if role.hasGateway, !server.isOnLoopback, !server.tls.enabled, server.admission.trustedProxies.isEmpty {
      logger.warning(
        """
        the port for clients is open beyond this machine without TLS: whoever is on the way reads tokens and messages; \
        set server.tls; or, behind a proxy that speaks TLS, server.host to 127.0.0.1 or server.trusted_proxies
        """,
        metadata: ["host": "\(server.host)"])
    }
    if settings.admin.enabled, !settings.admin.isOnLoopback {
      logger.warning(
        """
        the port for backends and operators is open beyond this machine, without TLS: whoever is on the way reads keys \
        and messages; set admin.host to 127.0.0.1 and put a proxy that speaks TLS before it
        """,
        metadata: ["host": "\(settings.admin.host)"])
    }
    if DemoSetup.isOn(settings, role: role) {
      logger.warning(
        """
        the demo is on: whoever reaches the port for clients signs in as anybody, without a password; set demo.enabled \
        to false where real people are served
        """)
    }
    if DemoSetup.movesClock(settings, role: role) {
      logger.warning(
        """
        the clock can be moved forward by whoever signs in on the demo's page: what people wait for ends, and is destroyed, \
        before its time; set demo.clock to false where that is no test
        """)
    }
    if role.hasServices, settings.broker.services.enabled, settings.broker.services.allowAnyoneOnThisMachine {
      logger.warning(
        "every process on this machine may publish, listen and disconnect, as broker.services.allow_anyone_on_this_machine says"
      )
    }
  }

  /// Logs the one line that says what runs.
  private func announce(_ endpoints: Endpoints, madeSecret: Bool) {
    var metadata: Logger.Metadata = ["version": "\(Fanfare.version)", "role": "\(role.rawValue)"]
    if let websocket = endpoints.websocket { metadata["clients"] = "\(websocket)" }
    if let commands = endpoints.commands { metadata["commands"] = "\(commands)" }
    if let tap = endpoints.tap { metadata["tap"] = "\(tap)" }
    if let admin = endpoints.admin { metadata["admin"] = "\(admin)" }
    if let backbone = endpoints.backbone { metadata["backbone"] = "\(backbone)" }
    if role.hasCore { metadata["store"] = "\(LogSetup.place(of: settings))" }
    if role.hasGateway {
      metadata["max_message_bytes"] = "\(settings.client.maxMessageBytes)"
      metadata["queue_bytes"] = "\(settings.client.queueBytes)"
      metadata["max_channels"] = "\(settings.client.maxChannels)"
    }
    logger.notice("fanfare runs", metadata: metadata)
    warnOfOpenDoors()
    warnOfUnreachedBrokers()
    if madeSecret {
      logger.notice("made a secret for tokens; mint one with: fanfare token USER")
    }
    if DemoSetup.isOn(settings, role: role), let address = DemoSetup.address(endpoints.websocket) {
      logger.notice("open the demo in two windows of a browser: \(address)")
    }
  }
}

/// What the backbone thread tells the rest of the process while it is built.
private final class Backbone: @unchecked Sendable {
  struct Services {
    var commands: String?
    var tap: String?
  }

  // Both are safe without a lock: they are written on the backbone thread before `BackboneThread.start` returns, read only after.
  var services: Services?
  var address: String?
}
