public import Apps
public import Broker
public import Gateway
public import Log
public import Wire

// What tests run the server's parts with, where they say nothing else. The parts have no defaults of their own: in the server
// all of it comes from the settings. These are values of the tests, which a change of a setting's default does not change.

extension SQLiteStore.Options {
  public init() {
    self.init(
      backlogLimit: Self.backlogLimit(pausingAt: 64 << 20), metaTTLMilliseconds: 24 * 3_600_000,
      diskLimits: DiskLimits(minimumFreeBytes: 0, maximumBytes: 0))
  }
}

extension PostgresStore.Options {
  /// A lease that outlasts whatever else the machine does.
  public init(connection: String, schema: String) {
    self.init(
      connection: connection, owner: "tests", backlogLimit: SQLiteStore.Options.backlogLimit(pausingAt: 64 << 20),
      metaTTLMilliseconds: 24 * 3_600_000)
    self.schema = schema
    leaseMilliseconds = 60_000
    silenceMilliseconds = 60_000
  }
}

extension MemoryStore {
  public convenience init(
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(), quotaNamespaces: Set<String> = []
  ) {
    self.init(randomness: randomness, metaTTLMilliseconds: 3_600_000, quotaNamespaces: quotaNamespaces)
  }
}

extension BrokerConfiguration {
  /// Limits nothing but what is held at once.
  public init(namespaces: NamespaceTable, instance: UInt64) {
    self.init(
      namespaces: namespaces, instance: instance, idempotencyWindow: 300_000, linkWindowBytes: 64 << 20,
      heartbeatInterval: 1000, gatewayTimeout: 10_000, pendingBytes: 64 << 20, maximumPayloadBytes: 1 << 20,
      maximumRevocations: 100_000, maximumTokenLifetime: 0, idleChannelTimeout: 60_000,
      idleMapLifetime: 24 * 3_600_000, appCacheBytes: 64 << 20, memoryBytes: .max, channelRate: .unlimited,
      maximumMembers: .max, creationRate: .unlimited, userChannels: .max, userMemoryBytes: .max,
      idempotencyKeys: IdempotencyLimits())
  }
}

extension IdempotencyLimits {
  public init() { self.init(ofChannel: 65_536, ofUser: 16_384, inAll: 1_000_000) }
}

extension BrokerEndpoints {
  public init(backbone: String?) { self.init(backbone: backbone, maximumServiceMessageBytes: 1 << 20) }
}

extension SessionConfiguration {
  /// Of rates, none is limited.
  public init() {
    self.init(
      maximumChannels: 128, maximumChannelNameLength: ChannelName.defaultMaximumLength,
      maximumCommandsPerMessage: 1000, maximumPendingCommands: 256, maximumHistoryLimit: 300, recoveryLimit: 300,
      historyBytes: 1 << 20, recoveryBytes: 16 << 20, maximumFiltersPerChannel: 1000,
      connectTimeoutMilliseconds: 10_000, pingIntervalMilliseconds: 25_000, pongTimeoutMilliseconds: 8_000,
      expiryGraceSeconds: 25, maximumTokenChecks: 8, rates: ClientRates(), userRates: ClientRates(),
      maximumConnectionsPerUser: 0, allowAnonymous: false)
  }
}

extension ListenerConfiguration {
  /// Of connections, only their number is limited.
  public init() {
    self.init(
      host: "0.0.0.0", port: 8000, backlog: 4096, maxConnections: 100_000, admission: .none, trustedProxies: [],
      expectsProxyHeader: false, headerTimeoutMilliseconds: 5_000, maxHeaderBytes: 8_192, allowedOrigins: [],
      maxMessageBytes: 65_536, queueLimitBytes: 1_048_576, egressLimitBytes: 256 << 20, answerLimitBytes: 64 << 20,
      slowCloseGraceMilliseconds: 1_000)
  }
}

extension GatewayLinkConfiguration {
  public init(gateway: UInt64, loops: Int) {
    self.init(
      gateway: gateway, loops: loops, heartbeatInterval: 1000, requestTimeout: 10_000, uplinkWindowBytes: 1 << 20,
      maximumSubscribers: 0)
  }
}

extension PictureConfiguration {
  public init(folder: String) {
    self.init(folder: folder, maximumBytes: 8 << 20, maximumRequests: 256, maximumRequestsPerUser: 8)
  }
}

extension Clique {
  public init() { self.init(CliqueRules()) }
}

extension CliqueRules {
  public init() {
    let day: Int64 = 24 * 3_600_000
    self.init(
      requestMessages: 3, requestCharacters: 1000, messageCharacters: 4000, declineCooldown: 30 * day,
      requestLifetime: 14 * day, crossingWindow: day, maximumVisit: 3 * 3_600_000, groupSize: 50,
      maximumConversations: 1000, maximumGroups: 100, maximumRequestsOut: 100, maximumRequestsIn: 500,
      maximumBlocked: 1000, maximumPlaces: 20, requestsPerDay: 200, requestMessagesPerDay: 0,
      groupsPerDay: 40, invitationsPerDay: 40, blocksPerDay: 400, visitsPerDay: 400, requiresPlaceToken: false)
  }
}

extension StateRules {
  public init() {
    let day: Int64 = 24 * 3_600_000
    self.init(
      lifetime: day, revealLifetime: day, recordLimit: 120_000, uploadGrace: 60_000, pictureLifetime: 3_600_000,
      unsentPictures: 16, pictureBytes: 1 << 30, openRecorders: 20, waitingThreads: 256, receivedThreads: 256,
      receivedPerDay: 1_000, blocks: 1_000, changesPerMinute: 120)
  }
}
