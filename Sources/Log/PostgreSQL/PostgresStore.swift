import Foundation
public import Logging
import PostgreSQL
public import Wire

/// Keeps `relaxed` and `durable` channels in a PostgreSQL database, which several brokers share: one of them is the
/// owner at a time, and writes (``PostgresLease``).
///
/// The half in the broker's turn is that of ``TailedStore``. A writer thread commits all that waits in one transaction,
/// or in several that are sent one behind another; durable entries at once and relaxed ones within 10 ms. Threads with
/// connections of their own read what is not in memory.
///
/// Epochs: a durable channel keeps its epoch whoever is the owner. A relaxed one keeps it where the former owner closed
/// in order, because what that one had delivered in the last milliseconds may never have been written otherwise.
public final class PostgresStore: TailedStore {
  /// The oldest version of the server that has all that is used.
  static let minimumVersion = 14

  public struct Options: Sendable {
    /// As libpq takes it: `postgresql://user@host:5432/database`. May hold a password.
    public var connection: String
    /// The schema of the tables, made where it is missing: a-z, 0-9 and `_`.
    public var schema = "fanfare"
    /// Which partition of the log this is, of how many. Each has a schema of its own: home, partition 0, the one that
    /// ``schema`` names.
    public var partition = Partitioning.home
    public var partitions = 1
    /// What all processes of this broker, one for each partition, are called among those of the log, also after they were
    /// started again. By the names it is decided which broker is preferred for which partition (``LeaseLine``), and
    /// ``onDrain`` is called where another one is. Empty: nobody is preferred to this one, nor it to anybody.
    public var brokerName = ""
    /// Namespaces whose channels are all at home, and those whose channels are where the channels are that they follow;
    /// the empty name: channels without a namespace. Backends publish by them in transactions of their own.
    public var pinnedNamespaces: Set<String> = []
    public var followingNamespaces: Set<String> = []
    /// Namespaces of apps whose channels are in several partitions: the apps' records are, too, and no broker begins, and
    /// nothing is moved, where these are in other partitions than they are looked for.
    public var sharedNamespaces: Set<String> = []
    /// The names of apps that are shared among as many partitions as there are, or are to be: some of their namespaces
    /// are in neither of these, and their records stay in the partition in which they are (``ClusterPartitioning``).
    public var sharedApps: Set<String> = []
    /// What other brokers are told of who keeps the log.
    public var owner: String
    /// Bytes that may wait for the server; more is refused with ``LogError/backlog(bytes:)``.
    public var backlogLimit: Int
    /// Bytes of publications that are held in memory beside those that wait.
    public var tailLimit = 64 << 20
    /// How long a relaxed entry may wait for others. Two milliseconds of the ten are left for the commit.
    public var relaxedDelayMilliseconds = 8
    /// Threads that read what is not in memory.
    public var readers = 2
    /// Milliseconds that epoch and top of a channel are kept after its last publication, once nothing else is.
    public var metaTTLMilliseconds: Int64
    /// Whether a channel's row is never deleted, because others count by its offsets.
    public var keepsRow: @Sendable (ChannelName) -> Bool = { _ in false }
    /// Prefixes of the names of channels that hold receipts of another channel (``ChannelSweep/followers``).
    public var followers: [String] = []
    /// Namespaces in which what each user keeps is counted; the empty name: channels without a namespace.
    public var quotaNamespaces: Set<String> = []
    /// How long the lease lasts without a word from its owner: as long as others wait for an owner that was paused or
    /// is cut off. It is renewed after a third of that.
    public var leaseMilliseconds: Int64 = 3000
    /// How long a start waits for another broker's lease to end before it gives up.
    public var leaseWaitMilliseconds: Int64 = 10_000
    /// Whether the process is to end, so that a start waits no longer.
    public var isStopping: @Sendable () -> Bool = { false }
    /// How often it is looked for publications that backends have committed (``OutboxReader``), in milliseconds; 0:
    /// never.
    public var outboxMilliseconds: Int64 = 2
    /// Called once, on the writer thread, when another broker is to have the log: an operator wants it
    /// (``ClusterDrain``), or that one is preferred (``LeaseLine``).
    public var onDrain: @Sendable () -> Void = {}
    /// Milliseconds without an answer after which a connection is given up, and what was sent is in doubt.
    public var silenceMilliseconds = 3000
    /// Entries in a transaction at most, so that the first of them does not wait for long.
    var entriesPerTransaction = 4096
    /// The wall clock, in milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    /// A clock that never goes back, in milliseconds.
    public var uptime: @Sendable () -> Int64 = { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

    public init(connection: String, owner: String, backlogLimit: Int, metaTTLMilliseconds: Int64) {
      self.connection = connection
      self.owner = owner
      self.backlogLimit = backlogLimit
      self.metaTTLMilliseconds = metaTTLMilliseconds
    }

    private static let applicationPrefix = "fanfare "

    /// The broker's name in what the server's list of connections calls it. The server cuts it after 63 bytes.
    static func owner(ofApplication name: String) -> String {
      name.hasPrefix(applicationPrefix) ? String(name.dropFirst(applicationPrefix.count)) : name
    }

    /// Where the tables of a partition are.
    ///
    /// - Parameter home: the schema that is configured.
    public static func schema(_ home: String, of partition: Int) -> String {
      partition == Partitioning.home ? home : "\(home)_p\(partition)"
    }

    /// The database, and the schema of this partition.
    func server() throws(PostgresStartError) -> PostgresDatabase { try server(of: partition) }

    func server(of partition: Int) throws(PostgresStartError) -> PostgresDatabase {
      guard PostgresDatabase.isValid(schema: schema) else { throw .invalidSchema(schema) }
      var parameters = ConnectionParameters(connection, applicationName: Self.applicationPrefix + owner)
      parameters.silenceMilliseconds = silenceMilliseconds
      parameters.connectTimeoutSeconds = max(2, silenceMilliseconds / 1000)
      return PostgresDatabase(
        parameters: parameters, schema: Self.schema(schema, of: partition), home: schema, partitions: partitions,
        patience: Double(silenceMilliseconds) / 1000)
    }
  }

  /// How long a standby stands in line for the lease's lock before it looks whether the owner hangs, in milliseconds.
  private static let lineMilliseconds: Int64 = 500

  /// Wrapped keys in the log's database, for whoever keeps keys there.
  public let keys: PostgresKeys
  private let writer: PostgresWriter
  private let server: PostgresDatabase
  private let partition: Int
  private let outboxReader: OutboxReader?

  /// Opens the log in the database, and makes its tables where they are missing. Waits for the lease
  /// (``Options/leaseWaitMilliseconds``).
  ///
  /// - Parameters:
  ///   - folder: keeps up to where the log was acknowledged, so that it is noticed when the database has lost some of it.
  ///   - randomness: where epochs come from.
  ///   - inLine: called now and then while somebody else has the lease.
  ///   - onNews: called on any of the store's threads when ``takeNews()`` has something to tell.
  ///   - onCompletion: called on the writer thread with the fate of each entry that was `.pending`, in order.
  public init(
    options: Options, folder: DataFolderLock? = nil,
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(),
    logger: Logger = Logger(label: "fanfare.log"), inLine: () -> Void = {},
    onNews: @escaping @Sendable () -> Void = {},
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) throws(PostgresStartError) {
    var randomness = randomness
    let server = try options.server()
    let clock = LeaseClock()
    let session: PostgresSession
    let epochs: EpochParts
    do {
      session = try Self.session(
        on: server, folder: folder, options: options, lease: clock, logger: logger, inLine: inLine)
      epochs = try session.begin(quotaNamespaces: options.quotaNamespaces, &randomness)
      if options.partitions > 1, options.partition == Partitioning.home { try session.place(options) }
    } catch {
      throw Self.startError(for: error, server)
    }
    self.server = server
    partition = options.partition
    let inbox = WriterInbox(
      backlogLimit: options.backlogLimit, relaxedDelayMilliseconds: options.relaxedDelayMilliseconds, onNews: onNews)
    keys = PostgresKeys(inbox)
    let connections = (0..<max(1, options.readers)).map { _ in PostgresReader(server) }
    let readers = ReaderThreads(connections, isStepped: false) { inbox.post([.read($0, $1)], freeing: 0) }
    let outbox = options.outboxMilliseconds > 0 ? OutboxLedger() : nil
    outboxReader = outbox.map { outbox in
      OutboxReader(server, outbox, pause: .milliseconds(Int(clamping: options.outboxMilliseconds)), logger: logger) {
        inbox.post([.outbox($0)], freeing: 0)
      }
    }
    writer = PostgresWriter(
      session, inbox: inbox, keys: keys, entriesPerTransaction: options.entriesPerTransaction,
      quotaNamespaces: options.quotaNamespaces, outbox: outbox, randomness: randomness, logger: logger,
      onDrain: options.onDrain, onCompletion: onCompletion)
    super.init(
      turn: Turn(
        tailLimit: options.tailLimit, metaTTLMilliseconds: options.metaTTLMilliseconds, keepsRow: options.keepsRow,
        quotaNamespaces: options.quotaNamespaces, followers: options.followers, now: options.now,
        uptime: options.uptime),
      epochs: epochs, randomness: randomness, inbox: inbox, readers: readers, lease: clock,
      term: session.term, outbox: outbox)
    writer.start()
    // What it reads first must be later than the lease, or rows that the owner before this one has published could be
    // among it.
    outboxReader?.start()
  }

  override func mayRelay(to partition: Int) -> Bool {
    partition != self.partition && (0..<server.partitions).contains(partition)
  }

  override func end() {
    outboxReader?.close()
    readers.close()
    writer.close()
  }

  /// Opens the log for somebody other than the broker, on a connection of its own, which is made when it is first used.
  ///
  /// - Throws: ``PostgresStartError`` where the options name no schema.
  public static func scan(_ options: Options) throws(PostgresStartError) -> any LogScan {
    PostgresScan(try options.server())
  }

  // MARK: The start

  private static func session(
    on server: PostgresDatabase, folder: DataFolderLock?, options: Options, lease: LeaseClock, logger: Logger,
    inLine: () -> Void
  ) throws -> PostgresSession {
    var connection: Connection? = try connection(to: server, options)
    let deadline = options.uptime() + options.leaseWaitMilliseconds
    let known = folder?.mark?.epoch ?? 0
    var holder: String?
    var line = try options.line(logger)
    while true {
      if options.isStopping() { throw PostgresStartError.stopped }
      if holder != nil { inLine() }
      let begun = options.uptime()
      var place = PostgresLease.Place.unordered
      do {
        let open = try connection ?? self.connection(to: server, options)
        connection = open
        place = line?.stand(open, now: begun) ?? .unordered
        let taken = try PostgresLease.take(
          open, of: server, owner: options.owner, life: options.leaseMilliseconds, after: known,
          as: place, waiting: holder == nil || place == .behind ? 0 : Self.lineMilliseconds)
        try PostgresSharing.confirm(open, server)
        try server.migrate(open)
        return PostgresSession(
          open, taken, of: server, folder: folder, owner: options.owner, life: options.leaseMilliseconds,
          begun: begun, lease: lease, line: line, uptime: options.uptime, logger: logger)
      } catch PostgresLease.Fault.held(let owner, let until) {
        guard begun < deadline else { throw PostgresStartError.held(by: owner, until: until) }
        if holder != owner {
          logger.notice(
            "another broker keeps the log: this one waits until that has ended", metadata: ["owner": "\(owner)"])
        }
        holder = owner
        if place == .behind { Thread.sleep(forTimeInterval: Double(PostgresLine.pollMilliseconds) / 1000) }
      } catch let error where holder != nil && begun < deadline && isPassing(error) {
        connection?.close()
        connection = nil
        Thread.sleep(forTimeInterval: PostgresWriter.retakePause)
      }
    }
  }

  /// Whether somebody in line outlives what has happened to the server, which was there before: a restart of it, or its
  /// replacement.
  private static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as PostgresError: error.isLost
    case PostgresStartError.readOnly, PostgresStartError.unreachable: true
    default: false
    }
  }

  /// A connection to a server that can keep the log, with the tables that a lease needs.
  private static func connection(to server: PostgresDatabase, _ options: Options) throws -> Connection {
    let connection = try server.connect()
    if connection.serverVersion < minimumVersion * 10_000 {
      throw PostgresStartError.oldServer(version: "\(connection.serverVersion / 10_000)")
    }
    let isReadOnly = try connection.query(
      "SELECT current_setting('transaction_read_only') = 'on'", within: server.patience
    ).bool(0, 0)
    if isReadOnly { throw PostgresStartError.readOnly(server.target) }
    try PostgresSharing.check(connection, options)
    try server.prepare(connection)
    return connection
  }

  static func startError(for error: any Error, _ server: PostgresDatabase) -> PostgresStartError {
    if let error = error as? PostgresStartError { return error }
    guard let error = error as? PostgresError else { return .refused(reason: "\(error)") }
    switch error.kind {
    case .malformed: return .malformedConnection
    case .lost: return .unreachable(server.target, reason: error.message)
    case .refused(.invalidDatabase): return .missingDatabase(server.target)
    case .refused(.invalidPassword): return .login(server.target, reason: error.message)
    case .refused(.insufficientPrivilege): return .notPermitted(schema: server.schema, reason: error.message)
    case .refused(.readOnlyTransaction): return .readOnly(server.target)
    case .refused: return .refused(reason: error.description)
    }
  }
}
