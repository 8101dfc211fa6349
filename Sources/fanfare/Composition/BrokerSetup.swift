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
  /// Makes the broker. Call this on the backbone thread.
  ///
  /// - Parameter list: who may connect, which has to be asked while the broker waits for the log; nil: anybody may.
  static func loop(
    for settings: Settings, endpoints: BrokerEndpoints, list: CurveAllowList?, pipe: MemoryPipe?, desk: ServiceDesk?,
    context: Context, loop: BackboneLoop, clock: ClockKeeper, tracing: TracingSetup, audit: Audit, logger: Logger
  ) throws -> BrokerBackbone {
    // Completions are bounded by what may wait for the log, which the broker counts; a full mailbox would lose some.
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    // News is bounded by the questions to the log, for each of which an input waits.
    let news = Mailbox<StoreHasNews>(capacity: .max)
    let hasApps = settings.cluster.isHome || settings.sharesApps
    if hasApps { try KeySetup.check(settings) }
    var index: MessageIndex?
    var router: BackboneRouter?
    let disk = try LogSetup.open(
      for: settings, clock: clock, logger: logger,
      beforehand: { scan in
        index = self.index(of: scan, for: settings, clock: clock, logger: logger)
        router = try self.router(endpoints, in: context)
      }, inLine: { list?.answer() },
      onNews: {
        _ = news.post(StoreHasNews(), wakes: false)
        news.run()
      }
    ) {
      // The writer thread runs the broker's turn itself where it is free: an acknowledgement that no other thread has to
      // be woken for is out sooner.
      _ = completions.post($0, wakes: false)
      completions.run()
    }
    let memory = MemoryStore(
      metaTTLMilliseconds: min(settings.broker.keeping.historyMetaTTL.milliseconds, 3_600_000),
      quotaNamespaces: AppSetup.namespaces(for: settings).namespacesWithQuota)
    let core = BrokerCore(configuration: configuration(for: settings), memory: memory, disk: disk.store)
    tracing.apply(to: core)
    var turn = Turn(at: clock.brokerTime())
    core.openRevocations(in: &turn)
    core.openWebhooks(in: &turn)
    core.openDeletions(in: &turn)
    // The vault's thread posts one resumption at a time.
    let resumptions = Mailbox<AppResumption>(capacity: .max)
    let apps =
      try hasApps
      ? installApps(
        in: core, settings, keys: disk.keys, resumptions: resumptions, clock: clock, turn: &turn, logger: logger) : nil
    let broker = try BrokerBackbone(
      core: core, endpoints: endpoints, router: router, pipe: pipe, context: context, loop: loop,
      completions: completions, news: news, resumptions: resumptions, desk: desk, finder: index,
      poster: try WebhookSetup.poster(settings) { clock.unmovedSeconds() }, otherPlaces: otherPlaces(index),
      pictures: try apps == nil ? nil : AppSetup.pictureSource(settings), notifier: apps?.notifier,
      clock: { clock.brokerTime() }, audit: audit, logger: logger)
    broker.folderLock = disk.folderLock
    follow(clock, by: broker, apps)
    return broker
  }

  /// What a broker with apps has beside its core: the vaults of their keys, nil where the app is off or elsewhere, and
  /// what sends notifications. Home has all of them (``Settings/Cluster/isHome``), other partitions the apps that are
  /// shared.
  private struct Apps {
    var vault: StateVault?
    var vanishing: CliqueVault?
    var notifier: PushNotifier?
  }

  /// - Parameter keys: the table of wrapped keys; nil where the engine has none.
  private static func installApps(
    in core: BrokerCore, _ settings: Settings, keys table: PostgresKeys?, resumptions: Mailbox<AppResumption>,
    clock: ClockKeeper, turn: inout Turn, logger: Logger
  ) throws -> Apps {
    let keys = try KeySetup(for: settings, table: table, logger: logger)
    let isHome = settings.cluster.isHome
    let hasClique = isHome ? settings.clique.enabled : settings.sharesClique
    let vanishing = try hasClique ? vanishingVault(keys, clock: clock, logger: logger) : nil
    if let vanishing { core.install(AppSetup.clique(settings, vault: vanishing), in: &turn) }
    let hasState = isHome ? settings.state.enabled : settings.sharesState
    let vault = try hasState ? self.vault(keys, for: settings, telling: resumptions, logger: logger) : nil
    if let vault { core.install(AppSetup.state(settings, vault: vault), in: &turn) }
    guard isHome else { return Apps(vault: vault, vanishing: vanishing) }
    let notifier = try PushSetup.notifier(settings) { clock.unmovedSeconds() }
    if let notifications = AppSetup.notifications(settings, notifier) { core.install(notifications, in: &turn) }
    return Apps(vault: vault, vanishing: vanishing, notifier: notifier)
  }

  /// Has broker and vaults do what is due by the clock.
  private static func follow(
    _ clock: ClockKeeper, by broker: BrokerBackbone, _ apps: Apps?
  ) {
    let (vault, vanishing) = (apps?.vault, apps?.vanishing)
    // Posts are bounded by what may be asked of the clock (`DemoService.rate`).
    let moves = Mailbox<ClockMoved>(capacity: .max)
    clock.whenMoved { _ = moves.post(ClockMoved()) }
    broker.lookAtClock(after: moves)
    vault?.prepareSoon(at: clock.wall())
    if vault == nil && vanishing == nil { return }
    broker.everyMinute = { now in
      vault?.prepareSoon(at: now)
      vanishing?.prepareSoon(at: now)
    }
  }

  /// Opens the gateways' way to this broker, unless another program has the endpoint, which may be another broker of this
  /// machine: then it is opened once the log is this broker's, or refused.
  private static func router(_ endpoints: BrokerEndpoints, in context: Context) throws -> BackboneRouter? {
    if let path = endpoints.backbone.flatMap(Settings.Broker.Services.path(of:)), UnixSocket.isListening(at: path) {
      return nil
    }
    do { return try BackboneRouter(endpoints, in: context) } catch {
      if error.reason == .addressInUse { return nil }
      throw error
    }
  }

  private static func vanishingVault(_ keys: KeySetup, clock: ClockKeeper, logger: Logger) throws -> CliqueVault {
    do throws(VaultFault) {
      return try CliqueVault(in: keys.place(CliqueVault.name), now: clock.wall()) { fault in
        // Whoever has the log makes and destroys them, in home's partition.
        if fault == .notOurs { return }
        logger.error("the keys of messages that disappear could not be made, destroyed or read: \(fault)")
      }
    } catch {
      throw Complaint("\(error)")
    }
  }

  private static func vault(
    _ keys: KeySetup, for settings: Settings, telling resumptions: Mailbox<AppResumption>, logger: Logger
  ) throws -> StateVault {
    do throws(VaultFault) {
      return try StateVault(
        hours: keys.place(StateVault.sealed), lasting: keys.place(StateVault.lastingName),
        rules: AppSetup.stateRules(settings)
      ) { fault in
        var news = AppResumption(app: "state")
        if let fault {
          if fault != .notOurs { logger.error("the keys of hours could not be made, destroyed or read: \(fault)") }
          news.error = .internalError.saying("the server can make no keys now; try again later")
        }
        _ = resumptions.post(news)
      }
    } catch {
      throw Complaint("\(error)")
    }
  }

  /// The index of the messages that this partition has, in the folder of its broker; nil where it has none, or the file
  /// cannot be used: then everything but searching goes on.
  private static func index(
    of log: () throws -> any LogScan, for settings: Settings, clock: ClockKeeper, logger: Logger
  ) -> MessageIndex? {
    let isHome = settings.cluster.isHome
    // Clique alone searches.
    guard isHome || settings.sharesClique else { return nil }
    let folder = isHome ? settings.data.homeDirectory : settings.data.directory
    var options = MessageIndex.Options(userLimit: settings.broker.keeping.user.maxSearches)
    options.now = { clock.wall() }
    do {
      return try MessageIndex(folder: folder, log: try log(), options: options, logger: logger)
    } catch {
      logger.warning("messages cannot be searched, \(folder)/search.sqlite cannot be used: \(error)")
      return nil
    }
  }

  /// What keeps something of users beside the log, and forgets them when their data is deleted.
  private static func otherPlaces(_ index: MessageIndex?) -> [OtherPlace] {
    guard let index else { return [] }
    return [{ _, done in index.forget { done($0?.description) } }]
  }

  /// Half of the machine's memory, where nobody has said how much: the brokers of all partitions may be at work on one
  /// machine.
  private static func memoryBytes(for settings: Settings) -> Int {
    MemoryReturn.machineBytes / 2 / (settings.cluster.partition == nil ? 1 : settings.cluster.partitions)
  }

  private static func configuration(for settings: Settings) -> BrokerConfiguration {
    let (broker, client) = (settings.broker, settings.client)
    let keeping = broker.keeping
    // Clocks of backends and brokers differ by some seconds.
    let lifetime = settings.token.maxLifetime.wholeSeconds
    let longest = lifetime > 0 ? lifetime + 2 * VerifierConfiguration.clockLeeway : 0
    var configuration = BrokerConfiguration(
      namespaces: AppSetup.namespaces(for: settings), instance: .random(in: .min ... .max),
      idempotencyWindow: broker.idempotencyWindow.milliseconds, linkWindowBytes: UInt64(broker.linkWindowBytes),
      heartbeatInterval: settings.backbone.heartbeatInterval.milliseconds,
      gatewayTimeout: broker.gatewayTimeout.milliseconds, pendingBytes: broker.pendingBytes,
      maximumPayloadBytes: max(client.maxMessageBytes, broker.services.maxMessageBytes),
      maximumRevocations: settings.token.maxRevocations, maximumTokenLifetime: longest,
      idleChannelTimeout: keeping.idleChannelTimeout.milliseconds,
      idleMapLifetime: keeping.idleMapLifetime.milliseconds, appCacheBytes: keeping.appCacheBytes,
      memoryBytes: keeping.memoryBytes > 0 ? keeping.memoryBytes : memoryBytes(for: settings),
      channelRate: keeping.channel.publications, maximumMembers: keeping.channel.maxMembers,
      creationRate: keeping.user.creations, userChannels: keeping.user.maxChannels,
      userMemoryBytes: keeping.user.memoryBytes,
      idempotencyKeys: IdempotencyLimits(
        ofChannel: keeping.channel.maxKeys, ofUser: keeping.user.maxKeys, inAll: keeping.maxKeys))
    configuration.partitioning = AppSetup.partitioning(for: settings)
    configuration.partition = settings.cluster.partition ?? Partitioning.home
    configuration.webhooks = WebhookSetup.configurations(settings)
    configuration.gatewaysKeepPictures =
      settings.sharesState || settings.cluster.isHome && (settings.state.enabled || settings.clique.enabled)
    configuration.accounts = AccountRules(
      allowsExport: settings.account.allowExport, allowsDelete: settings.account.allowDelete,
      exportsPerDay: settings.account.exportsPerDay)
    configuration.vacatedAfter = broker.vacatedAfter.milliseconds
    configuration.version = "Fanfare \(Fanfare.version)"
    configuration.maximumPublications = max(
      configuration.maximumPublications, UInt32(clamping: client.historyMaxPublications),
      UInt32(clamping: client.recoveryMaxPublications))
    configuration.maximumPageBytes = max(
      configuration.maximumPageBytes, client.historyMaxBytes, client.recoveryMaxBytes)
    return configuration
  }
}

extension MessageIndex: MessageFinder {}
