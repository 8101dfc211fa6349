import Broker
import Log
import Logging
import Search
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
    for settings: Settings, endpoints: BrokerEndpoints, pipe: MemoryPipe?, context: Context, loop: BackboneLoop,
    clock: ClockKeeper, logger: Logger
  ) throws -> BrokerBackbone {
    // Bounded by what may wait for the log, which the broker counts; a full mailbox would lose completions.
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    let news = Mailbox<StoreHasNews>(capacity: .max)  // Bounded by the questions, each of which an input waits for.
    let disk = try SQLiteStore(
      folder: settings.data.directory, options: storeOptions(for: settings, clock: clock), logger: logger,
      onNews: {
        _ = news.post(StoreHasNews(), wakes: false)
        news.run()
      }
    ) {
      // Whoever was waited for goes on here, where it can: the fewer threads take part, the sooner it is there.
      _ = completions.post($0, wakes: false)
      completions.run()
    }
    let memory = MemoryStore(
      metaTTLMilliseconds: min(settings.broker.keeping.historyMetaTTL.milliseconds, 3_600_000),
      quotaNamespaces: AppSetup.namespaces(for: settings).namespacesWithQuota)
    let core = BrokerCore(configuration: configuration(for: settings), memory: memory, disk: disk)
    var turn = Turn(at: clock.brokerTime())
    core.openRevocations(in: &turn)
    if settings.clique.enabled { core.install(AppSetup.clique(settings), in: &turn) }
    let resumptions = Mailbox<AppResumption>(capacity: .max)  // One at a time waits in the vault's thread.
    let vault = try settings.state.enabled ? self.vault(for: settings, telling: resumptions, logger: logger) : nil
    if let vault { core.install(StateApp(rules: AppSetup.stateRules(settings), vault: vault), in: &turn) }
    let broker = try BrokerBackbone(
      core: core, endpoints: endpoints, pipe: pipe, context: context, loop: loop, completions: completions, news: news,
      resumptions: resumptions, finder: index(of: disk, for: settings, clock: clock, logger: logger),
      clock: { clock.brokerTime() }, logger: logger)
    if let vault {
      vault.prepareSoon(at: clock.wall())
      broker.everyMinute = { now in vault.prepareSoon(at: now) }
    }
    return broker
  }

  private static func vault(
    for settings: Settings, telling resumptions: Mailbox<AppResumption>, logger: Logger
  ) throws -> FileKeyVault {
    do throws(VaultFault) {
      return try FileKeyVault(folder: settings.data.directory, rules: AppSetup.stateRules(settings)) { error in
        var news = AppResumption(app: "state")
        if let error {
          logger.error("the keys of hours could not be made or destroyed: \(error)")
          news.error = .internalError.saying("the server's disk takes no keys now; try again later")
        }
        _ = resumptions.post(news)
      }
    } catch {
      throw Complaint("\(error)")
    }
  }

  /// Nil where there can be none: everything but searching goes on.
  private static func index(
    of log: SQLiteStore, for settings: Settings, clock: ClockKeeper, logger: Logger
  ) -> MessageIndex? {
    let folder = settings.data.directory
    var options = MessageIndex.Options()
    options.now = { clock.wall() }
    options.userLimit = settings.broker.keeping.userSearches
    do {
      return try MessageIndex(folder: folder, log: log.scan(), options: options, logger: logger)
    } catch {
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
    configuration.maximumPageBytes = max(
      configuration.maximumPageBytes, settings.client.historyMaxBytes, settings.client.recoveryMaxBytes)
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

  private static func storeOptions(for settings: Settings, clock: ClockKeeper) -> SQLiteStore.Options {
    var options = SQLiteStore.Options()
    options.now = { clock.wall() }
    options.backlogLimit = SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes)
    options.metaTTLMilliseconds = settings.broker.keeping.historyMetaTTL.milliseconds
    let table = AppSetup.namespaces(for: settings)
    // Apps' records count by the offsets of their channels, and channels that belong to no namespace are not ours to end.
    options.keepsRow = { name in table.options(for: name).map { $0.app != nil } ?? true }
    options.followers = table.namespaces.filter { $0.value.followsChannel && $0.value.mapMode == .persistent }
      .map { $0.key + ":" }.sorted()
    options.quotaNamespaces = table.namespacesWithQuota
    options.diskLimits.minimumFreeBytes = settings.data.minimumFreeBytes
    options.diskLimits.maximumBytes = settings.data.maximumBytes
    return options
  }
}

extension MessageIndex: MessageFinder {}
