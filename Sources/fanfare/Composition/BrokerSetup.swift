import Broker
import Log
import Logging
import Settings
import Apps
import Auth
import Vault
import Wire
import ZeroMQ

/// The broker's parts, from the settings.
enum BrokerSetup {
  /// Call it on the backbone thread.
  static func loop(
    for settings: Settings, address: String, curve: Curve.Role?, context: Context, loop: Loop, logger: Logger
  ) throws -> BrokerLoop {
    // Bounded by what may wait for the log, which the broker counts; a full mailbox would lose completions.
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    let disk = try SQLiteStore(
      folder: settings.data.directory, options: storeOptions(for: settings), logger: logger
    ) { _ = completions.post($0) }
    let memory = MemoryStore(metaTTLMilliseconds: min(settings.broker.keeping.historyMetaTTL.milliseconds, 3_600_000))
    let core = BrokerCore(configuration: configuration(for: settings), memory: memory, disk: disk)
    try core.openRevocations()
    if settings.clique.enabled { try core.install(AppSetup.clique(settings)) }
    var vault: FileKeyVault?
    if settings.state.enabled {
      let rules = AppSetup.stateRules(settings)
      do { vault = try FileKeyVault(folder: settings.data.directory, rules: rules) } catch {
        throw Complaint("\(error)")
      }
      if let vault { try core.install(StateApp(rules: rules, vault: vault)) }
    }
    var endpoints = BrokerEndpoints(backbone: address)
    endpoints.curve = curve
    if settings.broker.services.enabled {
      endpoints.commands = settings.broker.services.commands
      endpoints.tap = settings.broker.services.tap
      endpoints.maximumServiceMessageBytes = Int64(settings.broker.services.maxMessageBytes)
    }
    let broker = try BrokerLoop(
      core: core, endpoints: endpoints, context: context, loop: loop, completions: completions,
      index: index(for: settings, logger: logger), logger: logger)
    if let vault {
      broker.everyMinute = { now in
        do { try vault.destroyExpiredKeys(at: now) } catch {
          logger.error("keys whose time is over could not be destroyed: \(error)")
        }
      }
    }
    return broker
  }

  /// Nil where there can be none: everything but searching goes on.
  private static func index(for settings: Settings, logger: Logger) -> MessageIndex? {
    let folder = settings.data.directory
    var options = MessageIndex.Options()
    options.userLimit = settings.broker.keeping.userSearches
    do { return try MessageIndex(folder: folder, options: options, logger: logger) } catch {
      logger.warning("messages cannot be searched, \(folder)/search.sqlite cannot be used: \(error)")
      return nil
    }
  }

  private static func configuration(for settings: Settings) -> BrokerConfiguration {
    var configuration = BrokerConfiguration(
      namespaces: AppSetup.namespaces(for: settings), instance: .random(in: .min ... .max))
    configuration.idempotencyWindow = settings.broker.idempotencyWindow.milliseconds
    configuration.linkWindowBytes = UInt64(settings.broker.linkWindowBytes)
    configuration.gatewayTimeout = settings.broker.gatewayTimeout.milliseconds
    configuration.pendingBytes = settings.broker.pendingBytes
    configuration.heartbeatInterval = settings.backbone.heartbeatInterval.milliseconds
    keep(settings.broker.keeping, in: &configuration)
    configuration.maximumPayloadBytes = max(settings.client.maxMessageBytes, settings.broker.services.maxMessageBytes)
    configuration.maximumRevocations = settings.token.maxRevocations
    // Clocks of backends and brokers differ by some seconds.
    let lifetime = settings.token.maxLifetime.wholeSeconds
    configuration.maximumTokenLifetime = lifetime > 0 ? lifetime + 2 * VerifierConfiguration.clockLeeway : 0
    return configuration
  }

  private static func keep(_ keeping: Settings.Keeping, in configuration: inout BrokerConfiguration) {
    configuration.idleChannelTimeout = keeping.idleChannelTimeout.milliseconds
    configuration.idleMapLifetime = keeping.idleMapLifetime.milliseconds
    configuration.memoryBytes = keeping.memoryBytes > 0 ? keeping.memoryBytes : MemoryReturn.machineBytes / 2
    configuration.appCacheBytes = keeping.appCacheBytes
    configuration.idempotencyKeys.inAll = keeping.maxKeys
    configuration.idempotencyKeys.ofChannel = keeping.channelKeys
    configuration.idempotencyKeys.ofUser = keeping.userKeys
    configuration.channelRate = keeping.channelRate
    configuration.maximumMembers = keeping.channelMembers
    configuration.creationRate = keeping.userChannelRate
    configuration.userChannels = keeping.userChannels
    configuration.userMemoryBytes = keeping.userMemoryBytes
  }

  private static func storeOptions(for settings: Settings) -> SQLiteStore.Options {
    var options = SQLiteStore.Options()
    options.backlogLimit = SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes)
    options.metaTTLMilliseconds = settings.broker.keeping.historyMetaTTL.milliseconds
    let table = AppSetup.namespaces(for: settings)
    // Apps' records count by the offsets of their channels, and channels that belong to no namespace are not ours to end.
    options.keepsRow = { name in table.options(for: name).map { $0.app != nil } ?? true }
    options.followers = table.namespaces.filter { $0.value.followsChannel && $0.value.mapMode == .persistent }
      .map { $0.key + ":" }.sorted()
    options.diskLimits.minimumFreeBytes = settings.data.minimumFreeBytes
    options.diskLimits.maximumBytes = settings.data.maximumBytes
    return options
  }
}
