import Apps
import Broker
import Gateway
import Log
import Wire

// What the parts are counted with. None of the counts has a limit in its way.

extension SQLiteStore.Options {
  static var measured: SQLiteStore.Options {
    SQLiteStore.Options(
      backlogLimit: backlogLimit(pausingAt: 64 << 20), metaTTLMilliseconds: 24 * 3_600_000,
      diskLimits: DiskLimits(minimumFreeBytes: 0, maximumBytes: 0))
  }
}

extension MemoryStore {
  static func measured() -> MemoryStore { MemoryStore(metaTTLMilliseconds: 3_600_000) }
}

extension BrokerConfiguration {
  static func measured(_ namespaces: NamespaceTable) -> BrokerConfiguration {
    BrokerConfiguration(
      namespaces: namespaces, instance: 7, idempotencyWindow: 300_000, linkWindowBytes: 1 << 40,
      heartbeatInterval: 1000, gatewayTimeout: 10_000, pendingBytes: 64 << 20, maximumPayloadBytes: 1 << 20,
      maximumRevocations: 100_000, maximumTokenLifetime: 0, idleChannelTimeout: 60_000,
      idleMapLifetime: 24 * 3_600_000, appCacheBytes: 64 << 20, memoryBytes: .max, channelRate: .unlimited,
      maximumMembers: .max, creationRate: .unlimited, userChannels: .max, userMemoryBytes: .max,
      idempotencyKeys: IdempotencyLimits(ofChannel: 65_536, ofUser: 16_384, inAll: 1_000_000))
  }
}

extension GatewayLinkConfiguration {
  static var measured: GatewayLinkConfiguration {
    GatewayLinkConfiguration(
      gateway: 1, loops: 1, heartbeatInterval: 1000, requestTimeout: 10_000, uplinkWindowBytes: 1 << 20,
      maximumSubscribers: 0)
  }
}

extension SessionConfiguration {
  /// Anybody may connect.
  static var measured: SessionConfiguration {
    SessionConfiguration(
      maximumChannels: 128, maximumChannelNameLength: ChannelName.defaultMaximumLength,
      maximumCommandsPerMessage: 1000, maximumPendingCommands: 256, maximumHistoryLimit: 300, recoveryLimit: 300,
      historyBytes: 1 << 20, recoveryBytes: 16 << 20, maximumFiltersPerChannel: 1000,
      connectTimeoutMilliseconds: 10_000, pingIntervalMilliseconds: 25_000, pongTimeoutMilliseconds: 8_000,
      expiryGraceSeconds: 25, maximumTokenChecks: 8, rates: ClientRates(), userRates: ClientRates(),
      maximumConnectionsPerUser: 0, allowAnonymous: true)
  }
}

extension CliqueRules {
  static var measured: CliqueRules {
    let day: Int64 = 24 * 3_600_000
    return CliqueRules(
      requestMessages: 3, requestCharacters: 1000, messageCharacters: 4000, declineCooldown: 30 * day,
      requestLifetime: 14 * day, crossingWindow: day, maximumVisit: 3 * 3_600_000, groupSize: 50,
      maximumConversations: 1000, maximumGroups: 100, maximumRequestsOut: 100, maximumRequestsIn: 500,
      maximumBlocked: 1000, maximumPlaces: 20, requestsPerDay: 200, requestMessagesPerDay: 0,
      groupsPerDay: 40, invitationsPerDay: 40, blocksPerDay: 400, visitsPerDay: 400, requiresPlaceToken: false)
  }
}
