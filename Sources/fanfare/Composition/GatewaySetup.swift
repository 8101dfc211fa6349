import Apps
import Auth
import Gateway
import Settings
import Wire

/// The gateway's parts, from the settings.
enum GatewaySetup {
  static func configuration(for settings: Settings, version: String) throws -> GatewayConfiguration {
    let gateway = settings.gateway
    var configuration = GatewayConfiguration(
      listener: try listener(settings), session: session(settings, version: version),
      namespaces: AppSetup.namespaces(for: settings), eventLoops: settings.server.eventLoops,
      heartbeatInterval: settings.backbone.heartbeatInterval.milliseconds,
      requestTimeout: settings.client.requestTimeout.milliseconds, uplinkWindowBytes: gateway.uplinkWindowBytes,
      clientReadWindowBytes: settings.client.readWindowBytes, readWindowBytes: gateway.readWindowBytes,
      maximumSubscribersPerChannel: gateway.maximumSubscribersPerChannel, usesIOURing: gateway.ioUring)
    configuration.pictures = try AppSetup.pictures(settings)
    configuration.proxies = try ProxySetup.configuration(for: settings)
    configuration.sharedPolls = try SharedPollSetup.configuration(for: settings)
    let origins = settings.channelOrigins
    configuration.partitions = settings.cluster.partitions
    configuration.conversation = Clique.conversationID
    configuration.settingOrigin = { origins.origin(of: $0) }
    return configuration
  }

  private static func listener(_ settings: Settings) throws -> ListenerConfiguration {
    let (server, client) = (settings.server, settings.client)
    let connections = OpenFiles.connectionLimit(configured: server.maxConnections)
    var listener = ListenerConfiguration(
      host: server.host, port: server.port, backlog: Int32(clamping: server.backlog), maxConnections: connections,
      admission: admission(server.admission, of: connections), trustedProxies: server.admission.trustedProxies,
      expectsProxyHeader: server.admission.proxyProtocol,
      headerTimeoutMilliseconds: server.headerTimeout.milliseconds, maxHeaderBytes: server.maxHeaderBytes,
      allowedOrigins: server.allowedOrigins, maxMessageBytes: client.maxMessageBytes,
      queueLimitBytes: client.queueBytes, egressLimitBytes: settings.gateway.egressBytes,
      answerLimitBytes: settings.gateway.egressBytes / 4,
      slowCloseGraceMilliseconds: client.slowCloseGrace.milliseconds)
    listener.answersStreams = server.httpStreaming
    if server.compression.enabled {
      listener.compression = CompressionOptions(leastBytes: server.compression.minBytes)
    }
    if server.tls.enabled { listener.tls = try TLSSetup.context(for: server.tls) }
    return listener
  }

  /// The limits on connections; one that is not set is a share of another.
  private static func admission(_ settings: Settings.Admission, of connections: Int) -> AdmissionLimits {
    func given(_ number: Int, or share: Int) -> Int { number > 0 ? min(number, connections) : share }
    func quarter(of number: Int) -> Int { AdmissionLimits.share(number, oneIn: 4) }
    let unsigned = given(settings.maxUnsigned, or: connections - connections / 4)
    let handshakes = given(settings.maxHandshakes, or: AdmissionLimits.share(connections, oneIn: 2))
    let tlsHandshakes = given(settings.maxTLSHandshakes, or: AdmissionLimits.share(handshakes, oneIn: 2))
    return AdmissionLimits(
      all: .init(
        connections: connections, unsigned: unsigned, handshakes: handshakes, tlsHandshakes: tlsHandshakes),
      address: .init(
        connections: given(settings.address.maxConnections, or: quarter(of: connections)),
        unsigned: given(settings.address.maxUnsigned, or: quarter(of: unsigned)),
        handshakes: given(settings.address.maxHandshakes, or: quarter(of: handshakes)),
        tlsHandshakes: given(settings.address.maxTLSHandshakes, or: quarter(of: tlsHandshakes))),
      newConnections: settings.address.connections, signIns: settings.address.signIns,
      countsLoopback: settings.address.limitsLoopback)
  }

  private static func rates(_ settings: Settings.Rates) -> ClientRates {
    var rates = ClientRates()
    for kind in RateKind.allCases {
      rates[kind] =
        switch kind {
        case .commands: settings.commands
        case .publications: settings.publications
        case .bytes: settings.bytes
        case .subscribes: settings.subscribes
        case .cliqueCalls: settings.cliqueCalls
        case .stateCalls: settings.stateCalls
        case .pushCalls: settings.pushCalls
        }
    }
    return rates
  }

  private static func session(_ settings: Settings, version: String) -> SessionConfiguration {
    let client = settings.client
    var session = SessionConfiguration(
      maximumChannels: client.maxChannels, maximumChannelNameLength: client.maxChannelNameBytes,
      maximumCommandsPerMessage: client.maxCommandsPerMessage, maximumPendingCommands: client.maxPendingRequests,
      maximumHistoryLimit: UInt32(clamping: client.historyMaxPublications),
      recoveryLimit: UInt32(clamping: client.recoveryMaxPublications), historyBytes: client.historyMaxBytes,
      recoveryBytes: client.recoveryMaxBytes, maximumFiltersPerChannel: settings.gateway.maximumFiltersPerChannel,
      connectTimeoutMilliseconds: client.connectTimeout.milliseconds,
      pingIntervalMilliseconds: client.pingInterval.milliseconds,
      pongTimeoutMilliseconds: client.pongTimeout.milliseconds,
      expiryGraceSeconds: client.tokenExpiryGrace.wholeSeconds, maximumTokenChecks: client.maxTokenChecks,
      rates: rates(client.limits), userRates: rates(client.userLimits),
      maximumConnectionsPerUser: client.maxConnectionsPerUser,
      allowAnonymous: client.allowAnonymousConnectWithoutToken)
    session.personalChannelNamespace =
      client.userPersonalChannel.enabled ? client.userPersonalChannel.namespace : nil
    session.reports = WebhookSetup.clientEvents(settings)
    session.version = version
    return session
  }
}

#if canImport(Glibc)
  import Glibc
#endif

/// The limit on open files, which bounds connections before memory does: each takes a descriptor.
enum OpenFiles {
  /// Descriptors that are kept back for the log, the backbone and whatever else the process opens.
  private static let reserve: rlim_t = 256

  /// Raises the process's own limit to what the system allows, and says how many connections that makes.
  static func connectionLimit(configured: Int) -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return configured > 0 ? configured : 1024
    }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let possible = Int(clamping: limit.rlim_cur > 2 * Self.reserve ? limit.rlim_cur - Self.reserve : limit.rlim_cur / 2)
    return configured > 0 ? min(configured, possible) : possible
  }
}
