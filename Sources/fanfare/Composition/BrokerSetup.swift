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
    for settings: Settings, endpoints: BrokerEndpoints, context: Context, loop: Loop, logger: Logger
  ) throws -> BrokerLoop {
    // Bounded by what may wait for the log, which the broker counts; a full mailbox would lose completions.
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    var options = SQLiteStore.Options()
    options.backlogLimit = SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes)
    let disk = try SQLiteStore(folder: settings.data.directory, options: options, logger: logger) {
      _ = completions.post($0)
    }
    let core = BrokerCore(configuration: configuration(for: settings), memory: MemoryStore(), disk: disk)
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
    let broker = try BrokerLoop(
      core: core, endpoints: endpoints, context: context, loop: loop, completions: completions,
      index: index(in: settings.data.directory, logger: logger), logger: logger)
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
  private static func index(in folder: String, logger: Logger) -> MessageIndex? {
    do { return try MessageIndex(folder: folder, logger: logger) } catch {
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
    configuration.maximumPayloadBytes = max(settings.client.maxMessageBytes, settings.broker.services.maxMessageBytes)
    configuration.maximumRevocations = settings.token.maxRevocations
    // Clocks of backends and brokers differ by some seconds.
    let lifetime = settings.token.maxLifetime.wholeSeconds
    configuration.maximumTokenLifetime = lifetime > 0 ? lifetime + 2 * VerifierConfiguration.clockLeeway : 0
    return configuration
  }
}
