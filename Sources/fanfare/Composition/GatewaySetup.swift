import Auth
import Gateway
import Settings
import TLS
import Wire

/// The gateway's parts, from the settings.
enum GatewaySetup {
  static func configuration(for settings: Settings, version: String) throws -> GatewayConfiguration {
    var configuration = GatewayConfiguration(
      session: session(settings, version: version), namespaces: AppSetup.namespaces(for: settings))
    configuration.pictures = AppSetup.pictures(settings)
    configuration.listener = try listener(settings)
    configuration.eventLoops = settings.server.eventLoops
    configuration.heartbeatInterval = settings.backbone.heartbeatInterval.milliseconds
    configuration.requestTimeout = settings.client.requestTimeout.milliseconds
    configuration.uplinkWindowBytes = settings.gateway.uplinkWindowBytes
    configuration.clientReadWindowBytes = settings.client.readWindowBytes
    configuration.readWindowBytes = settings.gateway.readWindowBytes
    configuration.maximumSubscribersPerChannel = settings.gateway.maximumSubscribersPerChannel
    configuration.usesIOURing = settings.gateway.ioUring
    return configuration
  }

  private static func listener(_ settings: Settings) throws -> ListenerConfiguration {
    var listener = ListenerConfiguration()
    listener.host = settings.server.host
    listener.port = settings.server.port
    listener.backlog = Int32(clamping: settings.server.backlog)
    listener.maxConnections = OpenFiles.connectionLimit(configured: settings.server.maxConnections)
    listener.headerTimeoutMilliseconds = settings.server.headerTimeout.milliseconds
    listener.maxHeaderBytes = settings.server.maxHeaderBytes
    listener.allowedOrigins = settings.server.allowedOrigins
    listener.maxMessageBytes = settings.client.maxMessageBytes
    listener.queueLimitBytes = settings.client.queueBytes
    listener.slowCloseGraceMilliseconds = settings.client.slowCloseGrace.milliseconds
    listener.egressLimitBytes = settings.gateway.egressBytes
    listener.answerLimitBytes = settings.gateway.egressBytes / 4
    listener.admission = admission(settings.server.admission, of: listener.maxConnections)
    listener.trustedProxies = settings.server.admission.trustedProxies
    listener.expectsProxyHeader = settings.server.admission.proxyProtocol
    let tls = settings.server.tls
    if tls.enabled {
      do throws(SecretFile.Fault) { try SecretFile.requirePrivate(tls.keyFile) } catch {
        throw Complaint("server.tls.key_file: \(error)")
      }
      do throws(TLSError) {
        listener.tls = try TLSContext.server(.init(chainPath: tls.certificateFile, keyPath: tls.keyFile))
      } catch {
        throw Complaint("server.tls: \(error)")
      }
    }
    return listener
  }

  /// What is not set is a share of what is.
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
        }
    }
    return rates
  }

  private static func session(_ settings: Settings, version: String) -> SessionConfiguration {
    let client = settings.client
    var session = SessionConfiguration()
    session.maximumChannels = client.maxChannels
    session.maximumChannelNameLength = client.maxChannelNameBytes
    session.maximumCommandsPerMessage = client.maxCommandsPerMessage
    session.maximumPendingCommands = client.maxPendingRequests
    session.maximumFiltersPerChannel = settings.gateway.maximumFiltersPerChannel
    session.maximumHistoryLimit = UInt32(clamping: client.historyMaxPublications)
    session.historyBytes = client.historyMaxBytes
    session.recoveryBytes = client.recoveryMaxBytes
    session.recoveryLimit = UInt32(clamping: client.recoveryMaxPublications)
    session.connectTimeoutMilliseconds = client.connectTimeout.milliseconds
    session.pingIntervalMilliseconds = client.pingInterval.milliseconds
    session.pongTimeoutMilliseconds = client.pongTimeout.milliseconds
    session.expiryGraceSeconds = client.tokenExpiryGrace.wholeSeconds
    session.allowAnonymous = client.allowAnonymousConnectWithoutToken
    session.personalChannelNamespace =
      client.userPersonalChannel.enabled ? client.userPersonalChannel.namespace : nil
    session.maximumTokenChecks = client.maxTokenChecks
    session.maximumConnectionsPerUser = client.maxConnectionsPerUser
    session.rates = rates(client.limits)
    session.userRates = rates(client.userLimits)
    session.version = version
    return session
  }
}

#if canImport(Glibc)
  import Glibc
#endif

/// Descriptors are what connections cost the system first.
enum OpenFiles {
  /// Kept back for the log, the backbone and whatever else the process opens.
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
