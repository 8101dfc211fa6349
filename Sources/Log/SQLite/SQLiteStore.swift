import Foundation
import SQLite
public import Logging
public import Wire

/// Keeps `relaxed` and `durable` channels in an SQLite database.
///
/// Whoever has the broker's turn hands entries to a writer thread, which commits all that waits as one transaction
/// (group commit), durable entries at once and relaxed ones within 10 ms. The newest publications of each channel in
/// use stay in memory; what is older, threads of their own read.
///
/// Epochs: a durable channel keeps its epoch over restarts, killed or not, also where nothing was published on it yet.
/// A relaxed one keeps it over clean shutdowns only: what it had delivered in the last milliseconds may never have been
/// written. Both change when transactions that were acknowledged turn out to be missing (see ``DataFolder``).
public final class SQLiteStore: TailedStore {
  public struct Options: Sendable {
    /// Bytes that may wait for the disk; more is refused with ``LogError/backlog(bytes:)``. The broker stops reading
    /// requests long before: see ``backlogLimit(pausingAt:)``.
    public var backlogLimit: Int
    /// Bytes of publications that are held in memory beside those that wait.
    public var tailLimit = 64 << 20
    /// How long a relaxed entry may wait for others. Two milliseconds of the ten are left for the commit.
    public var relaxedDelayMilliseconds = 8
    /// Files up to this size are checked after a shutdown that was not clean: about a second for each 500 MiB.
    public var checkLimit = 256 << 20
    /// Threads that read what is not in memory.
    public var readers = 2
    /// Milliseconds that epoch and top of a channel are kept after its last publication, once nothing else is.
    public var metaTTLMilliseconds: Int64
    /// Whether a channel's row is never deleted, because others count by its offsets.
    public var keepsRow: @Sendable (ChannelName) -> Bool = { _ in false }
    /// Prefixes of the names of channels that hold receipts of another channel (``ChannelSweep/followers``).
    public var followers: [String] = []
    /// Room on the disk that is left for other programs, and for entries that must be written.
    public var diskLimits: DiskLimits
    /// Namespaces in which what each user keeps is counted; the empty name: channels without a namespace.
    public var quotaNamespaces: Set<String> = []
    /// The wall clock, in milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    /// A clock that never goes back, in milliseconds.
    public var uptime: @Sendable () -> Int64 = { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }
    var journalLimits = JournalLimits()
    /// Opens and locks the folder.
    var openFolder: @Sendable (String) throws(StartError) -> any FolderFiles = { path throws(StartError) in
      try SystemFolder(path, lockName: DataFolder.lockName)
    }
    /// The writer has no thread: it works when it is told to (``SQLiteStore/step(_:)``), and when the store closes. So
    /// a simulation decides what is on disk when.
    package var isStepped = false

    public init(backlogLimit: Int, metaTTLMilliseconds: Int64, diskLimits: DiskLimits) {
      self.backlogLimit = backlogLimit
      self.metaTTLMilliseconds = metaTTLMilliseconds
      self.diskLimits = diskLimits
    }

    /// Bytes that must be allowed to wait so that a broker that stops reading requests at `bytes` is refused nothing.
    /// The sum: `bytes`; as much again for what was read in the round that went beyond them, because what is kept of a
    /// request weighs more than the request; and what timers of apps write meanwhile, which cannot be left unread.
    public static func backlogLimit(pausingAt bytes: Int) -> Int {
      let (whole, overflow) = bytes.multipliedReportingOverflow(by: 2)
      return overflow ? .max : max(whole, whole &+ (64 << 20))
    }
  }

  let writer: LogWriter
  package let options: Options

  /// Opens the log in `folder`, or makes one.
  ///
  /// - Parameters:
  ///   - folder: the data folder; created where it is missing, and locked.
  ///   - randomness: where epochs come from.
  ///   - onNews: called on any of the store's threads when ``takeNews()`` has something to tell.
  ///   - onCompletion: called on the writer thread with the fate of each entry that was `.pending`, in order.
  /// - Throws: ``StartError``.
  public init(
    folder: String, options: Options,
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(),
    logger: Logger = Logger(label: "fanfare.log"), onNews: @escaping @Sendable () -> Void = {},
    onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) throws(StartError) {
    var randomness = randomness
    let opened = try OpenedDatabase(
      folder: DataFolder(folder, files: options.openFolder(folder)), checkLimit: options.checkLimit,
      quotaNamespaces: options.quotaNamespaces, readers: options.isStepped ? 1 : options.readers, logger: logger,
      randomness: &randomness)
    self.options = options
    journal = opened.journal
    databasePath = opened.folder.databasePath
    let inbox = WriterInbox(
      backlogLimit: options.backlogLimit, relaxedDelayMilliseconds: options.relaxedDelayMilliseconds, onNews: onNews)
    let journal = opened.journal
    let connections = opened.readers.map { ChannelReader(connection: $0, journal: journal) }
    let readers = ReaderThreads(connections, isStepped: options.isStepped) { inbox.post([.read($0, $1)], freeing: 0) }
    writer = LogWriter(
      opened: opened, inbox: inbox, limits: options.diskLimits, journalLimits: options.journalLimits,
      quotaNamespaces: options.quotaNamespaces, logger: logger, onCompletion: onCompletion)
    super.init(
      turn: Turn(
        tailLimit: options.tailLimit, metaTTLMilliseconds: options.metaTTLMilliseconds, keepsRow: options.keepsRow,
        quotaNamespaces: options.quotaNamespaces, followers: options.followers, now: options.now,
        uptime: options.uptime),
      epochs: opened.meta.epochs, randomness: randomness, inbox: inbox, readers: readers)
    if !options.isStepped { writer.start() }
  }

  /// Committed publications that are not in the tables yet: a search looks through them too.
  let journal: UnfoldedJournal
  let databasePath: String

  override func end() {
    readers.close()
    writer.close()
  }

  /// Lets a writer without a thread do up to `limit` pieces of work.
  package func step(_ limit: Int = .max) { _ = writer.step(limit) }

  /// Lets readers without threads answer up to `limit` questions.
  package func stepReaders(_ limit: Int = .max) { _ = readers.step(limit) }

  /// For tests, which cause faults on the writer's connection.
  func ask(_ work: WriterWork) -> Bool { inbox.ask(work) }
}
