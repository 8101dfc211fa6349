import Foundation
import Log
import Logging
import Settings
import Vault
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The log, by the engine that `log.engine` names.
enum LogSetup {
  struct Opened {
    let store: any LogStore
    /// Where the store itself does not lock the data folder.
    let folderLock: DataFolderLock?
    /// The table of wrapped keys; nil where the engine has none.
    let keys: PostgresKeys?
  }

  /// Opens the log, which may have to wait for another broker's end.
  ///
  /// - Parameters:
  ///   - beforehand: called once the data folder is this process's, and as soon as the log can be read, with a function
  ///     that opens it for somebody other than the broker. What is made in it, nobody waits for after a wait.
  ///   - inLine: called now and then during a wait.
  ///   - onNews: as for the stores.
  ///   - onCompletion: likewise.
  static func open(
    for settings: Settings, clock: ClockKeeper, logger: Logger,
    beforehand: (_ scan: () throws -> any LogScan) throws -> Void, inLine: () -> Void,
    onNews: @escaping @Sendable () -> Void,
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) throws -> Opened {
    switch settings.log.engine {
    case .sqlite:
      let store = try SQLiteStore(
        folder: settings.data.directory, options: fileOptions(for: settings, clock: clock), logger: logger,
        onNews: onNews, onCompletion: onCompletion)
      try beforehand { try store.scan() }
      return Opened(store: store, folderLock: nil, keys: nil)
    case .postgres:
      let lock = try DataFolderLock(settings.data.directory)
      let signals = StopSignals()
      defer { withExtendedLifetime(signals) {} }
      var options = serverOptions(for: settings, clock: clock)
      options.isStopping = { [flag = signals.flag] in flag.isRaised }
      options.onDrain = {
        logger.notice("another broker is to have the log, which is preferred or an operator wants: this one ends")
        kill(getpid(), SIGTERM)
      }
      try beforehand { [options] in try PostgresStore.scan(options) }
      let store = try PostgresStore(
        options: options, folder: lock, logger: logger, inLine: inLine, onNews: onNews, onCompletion: onCompletion)
      return Opened(store: store, folderLock: lock, keys: store.keys)
    }
  }

  /// Where the log is, as people are told; without a password.
  static func place(of settings: Settings) -> String {
    let partition = settings.cluster.partition ?? Partitioning.home
    let schema = PostgresStore.Options.schema(settings.log.postgres.schema, of: partition)
    return settings.log.engine == .sqlite ? "\(settings.data.directory)/fanfare.sqlite" : "PostgreSQL, schema \(schema)"
  }

  private static func fileOptions(for settings: Settings, clock: ClockKeeper) -> SQLiteStore.Options {
    var options = SQLiteStore.Options(
      backlogLimit: SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes),
      metaTTLMilliseconds: settings.broker.keeping.historyMetaTTL.milliseconds,
      diskLimits: DiskLimits(
        minimumFreeBytes: settings.data.minimumFreeBytes, maximumBytes: settings.data.maximumBytes))
    options.now = { clock.wall() }
    let table = AppSetup.namespaces(for: settings)
    options.keepsRow = keepsRow(table)
    options.followers = followers(table)
    options.quotaNamespaces = table.namespacesWithQuota
    return options
  }

  /// What the brokers that share a log say of it.
  static func status(for settings: Settings) throws -> ClusterStatus {
    try ClusterStatus.read(operatorOptions(for: settings, as: "cluster status"))
  }

  /// Has brokers hand over what they have of the log.
  static func drain(
    for settings: Settings, _ target: ClusterDrain.Target, within patience: Int64, alone: Bool,
    done: (ClusterDrain.Outcome) -> Void
  ) throws {
    try ClusterDrain.perform(
      operatorOptions(for: settings, as: "cluster drain"), target, within: patience, alone: alone, done: done)
  }

  /// Shares the log out in another number of partitions.
  static func partition(for settings: Settings, in count: Int) throws -> ClusterPartitioning.Outcome {
    var options = try operatorOptions(for: settings, as: "cluster partition")
    let partitioning = AppSetup.partitioning(for: settings, partitions: count)
    options.pinnedNamespaces = partitioning.pinnedNamespaces
    options.followingNamespaces = partitioning.followingNamespaces
    options.sharedNamespaces = partitioning.sharedNamespaces
    options.sharedApps = AppSetup.shared(among: partitioning)
    return try ClusterPartitioning.perform(options, to: count, webhooks: Set(settings.webhooks.map(\.name))) {
      partitioning.partition(of: $0)
    }
  }

  private static func operatorOptions(for settings: Settings, as name: String) throws -> PostgresStore.Options {
    guard settings.log.engine == .postgres else {
      throw Complaint(
        "the log is a file of this machine (log.engine is sqlite), which one broker has; brokers share a log in "
          + "PostgreSQL: docs/POSTGRESQL.md")
    }
    var options = PostgresStore.Options(
      connection: settings.log.postgres.connection, owner: name, backlogLimit: 0, metaTTLMilliseconds: 0)
    options.schema = settings.log.postgres.schema
    options.partitions = settings.cluster.partitions
    return options
  }

  private static func serverOptions(for settings: Settings, clock: ClockKeeper) -> PostgresStore.Options {
    let postgres = settings.log.postgres
    let name = settings.cluster.name.isEmpty ? ProcessInfo.processInfo.hostName : settings.cluster.name
    var options = PostgresStore.Options(
      connection: postgres.connection,
      owner: "\(name), process \(ProcessInfo.processInfo.processIdentifier)",
      backlogLimit: SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes),
      metaTTLMilliseconds: settings.broker.keeping.historyMetaTTL.milliseconds)
    options.schema = postgres.schema
    // One partition has no better place, and would only move back to it.
    if settings.cluster.partitions > 1 { options.brokerName = name }
    let partitioning = AppSetup.partitioning(for: settings)
    (options.partition, options.partitions) = (settings.cluster.partition ?? Partitioning.home, partitioning.count)
    options.pinnedNamespaces = partitioning.pinnedNamespaces
    options.followingNamespaces = partitioning.followingNamespaces
    options.sharedNamespaces = partitioning.sharedNamespaces
    options.leaseWaitMilliseconds = postgres.wait.milliseconds
    options.outboxMilliseconds = postgres.outboxInterval.milliseconds
    options.now = { clock.wall() }
    let table = AppSetup.namespaces(for: settings)
    options.keepsRow = keepsRow(table)
    options.followers = followers(table)
    options.quotaNamespaces = table.namespacesWithQuota
    return options
  }

  /// Rows that are never deleted: those of apps' channels, because the apps' records count by their offsets, and those of
  /// channels whose namespace is not configured any more.
  private static func keepsRow(_ table: NamespaceTable) -> @Sendable (ChannelName) -> Bool {
    { name in table.options(for: name).map { $0.app != nil } ?? true }
  }

  private static func followers(_ table: NamespaceTable) -> [String] {
    table.namespaces.filter { $0.value.followsChannel && $0.value.mapMode == .persistent }.map { $0.key + ":" }.sorted()
  }
}
