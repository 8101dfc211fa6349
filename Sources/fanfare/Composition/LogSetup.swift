import Foundation
import Log
import Logging
import Settings
import Vault
import Wire

/// The log, by the engine that `log.engine` names.
enum LogSetup {
  struct Opened {
    let store: any LogStore
    /// Opens the log for somebody other than the broker.
    let scan: () throws -> any LogScan
    /// Where the store itself does not lock the data folder.
    let folderLock: DataFolderLock?
    /// The table of wrapped keys; nil where the engine has none.
    let keys: PostgresKeys?
  }

  /// - Parameters:
  ///   - onNews: as for the stores.
  ///   - onCompletion: likewise.
  static func open(
    for settings: Settings, clock: ClockKeeper, logger: Logger, onNews: @escaping @Sendable () -> Void,
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) throws -> Opened {
    switch settings.log.engine {
    case .sqlite:
      let store = try SQLiteStore(
        folder: settings.data.directory, options: fileOptions(for: settings, clock: clock), logger: logger,
        onNews: onNews, onCompletion: onCompletion)
      return Opened(store: store, scan: { try store.scan() }, folderLock: nil, keys: nil)
    case .postgres:
      let lock = try DataFolderLock(settings.data.directory)
      let signals = StopSignals()
      defer { withExtendedLifetime(signals) {} }
      var options = serverOptions(for: settings, clock: clock)
      options.isStopping = { [flag = signals.flag] in flag.isRaised }
      let store = try PostgresStore(
        options: options, folder: lock, logger: logger, onNews: onNews,
        onCompletion: onCompletion)
      return Opened(store: store, scan: { store.scan() }, folderLock: lock, keys: store.keys)
    }
  }

  /// Where the log is, as people are told; without a password.
  static func place(of settings: Settings) -> String {
    switch settings.log.engine {
    case .sqlite: "\(settings.data.directory)/fanfare.sqlite"
    case .postgres: "PostgreSQL, schema \(settings.log.postgres.schema)"
    }
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
    guard settings.log.engine == .postgres else {
      throw Complaint(
        "the log is a file of this machine (log.engine is sqlite), which one broker has; brokers share a log in "
          + "PostgreSQL: docs/POSTGRESQL.md")
    }
    var options = PostgresStore.Options(
      connection: settings.log.postgres.connection, owner: "cluster status", backlogLimit: 0, metaTTLMilliseconds: 0)
    options.schema = settings.log.postgres.schema
    return try ClusterStatus.read(options)
  }

  private static func serverOptions(for settings: Settings, clock: ClockKeeper) -> PostgresStore.Options {
    let postgres = settings.log.postgres
    var options = PostgresStore.Options(
      connection: postgres.connection,
      owner: "\(ProcessInfo.processInfo.hostName), process \(ProcessInfo.processInfo.processIdentifier)",
      backlogLimit: SQLiteStore.Options.backlogLimit(pausingAt: settings.broker.pendingBytes),
      metaTTLMilliseconds: settings.broker.keeping.historyMetaTTL.milliseconds)
    options.schema = postgres.schema
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
