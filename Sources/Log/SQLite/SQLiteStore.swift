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
public final class SQLiteStore: LogStore {
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
  let inbox: WriterInbox
  let readers: ReaderThreads
  package let options: Options
  var upkeep = ChannelUpkeep()
  let meta: StoreMeta
  var randomness: any RandomNumberGenerator
  var hot: HotChannels
  var shares = QuotaShares()
  private(set) var isClosed = false
  private var lastTransaction: UInt64 = 0
  /// Channels that are being loaded.
  var loading: Set<ChannelName> = []
  var news: [LogNews] = []
  /// Pages that were read from SQLite.
  var coldReadCount = 0

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
    self.randomness = randomness
    self.options = options
    meta = opened.meta
    journal = opened.journal
    databasePath = opened.folder.databasePath
    hot = HotChannels(bytesLimit: options.tailLimit, clock: options.uptime())
    inbox = WriterInbox(
      backlogLimit: options.backlogLimit, relaxedDelayMilliseconds: options.relaxedDelayMilliseconds, onNews: onNews)
    let (inbox, journal) = (inbox, journal)
    let connections = opened.readers.map { ChannelReader(connection: $0, journal: journal) }
    readers = ReaderThreads(connections, isStepped: options.isStepped) { inbox.post([.read($0, $1)], freeing: 0) }
    writer = LogWriter(
      opened: opened, inbox: inbox, limits: options.diskLimits, journalLimits: options.journalLimits,
      quotaNamespaces: options.quotaNamespaces, logger: logger, onCompletion: onCompletion)
    if !options.isStepped { writer.start() }
  }

  deinit { close() }

  /// Bytes of publications in memory.
  public var bytesKept: Int { hot.bytes }
  /// Bytes of publications that wait for the disk.
  public var bytesWaiting: Int { inbox.bytes }
  public var isRefusing: Bool { inbox.isRefusing }
  /// Committed publications that are not in the tables yet: a search looks through them too.
  let journal: UnfoldedJournal
  let databasePath: String

  // MARK: LogStore

  public func append(_ batch: LogBatch) -> AppendOutcome {
    switch batch {
    case .one(let entry): append(entry)
    case .together(let entries): append(entries)
    }
  }

  private func append(_ entry: LogEntry) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    let queued: QueuedEntry
    do throws(LogError) { queued = try queue(entry, as: 0) } catch { return .refused(error) }
    guard let channel = hot[queued.channel.place] else { return .refused(.notContiguous) }
    if !channel.isDurable, entry.publication.offset != channel.top + 1 { return .refused(.notContiguous) }
    if let error = inbox.add(queued) { return .refused(error) }
    if let claim = entry.claim { shares.claim(claim) }
    note(entry, in: channel)
    return channel.isDurable ? .pending : .kept
  }

  private func append(_ transaction: [LogEntry]) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    lastTransaction += 1
    var queued: [QueuedEntry] = []
    do throws(LogError) {
      for entry in transaction { queued.append(try queue(entry, as: lastTransaction)) }
    } catch {
      return .refused(error)
    }
    // A relaxed entry is delivered before it is written, and could not be taken back with the rest of its transaction.
    precondition(queued.allSatisfy { $0.channel.durability == .durable }, "a transaction is of durable channels alone")
    if let error = inbox.add(transaction: queued) { return .refused(error) }
    for (entry, queued) in zip(transaction, queued) {
      if let channel = hot[queued.channel.place] { note(entry, in: channel) }
    }
    return .pending
  }

  /// Makes the entry into what goes to the writer.
  private func queue(_ entry: LogEntry, as transaction: UInt64) throws(LogError) -> QueuedEntry {
    let offset = entry.publication.offset
    guard offset > 0, offset < UInt64(Int64.max) else { throw .notContiguous }
    guard let channel = hot[entry.channel], channel.epoch.hasSameBytes(as: entry.epoch) else {
      throw .notContiguous
    }
    return QueuedEntry(entry: entry, channel: channel.writer, cost: entry.cost, transaction: transaction)
  }

  private func note(_ entry: LogEntry, in channel: HotChannel) {
    hot.use(channel) { channel.add(entry) }
  }

  public func scrub() {
    if isClosed { return }
    _ = inbox.ask(.scrub)
  }

  /// Frees the channel's memory, because what is kept of the channel stands on the disk. Where entries still wait for
  /// the disk, the memory is freed when they are there.
  public func release(_ name: ChannelName) {
    guard let channel = hot[name] else { return }
    applyOutcomes()
    channel.isHeld = false
    letGo(channel)
  }

  public func sweep(now: Int64) {
    if isClosed { return }
    applyOutcomes()
    hot.sweep(now: now, clock: options.uptime())
    _ = inbox.ask(.sweep(now: now))
    sweepChannels(now: now)
  }

  public func close() {
    if isClosed { return }
    isClosed = true
    readers.close()
    writer.close()
  }

  /// Lets a writer without a thread do up to `limit` pieces of work.
  package func step(_ limit: Int = .max) { _ = writer.step(limit) }

  /// Lets readers without threads answer up to `limit` questions.
  package func stepReaders(_ limit: Int = .max) { _ = readers.step(limit) }

  /// Whether the broker has the channel open.
  package func isHeld(_ channel: ChannelName) -> Bool { hot[channel]?.isHeld ?? false }

  /// For tests, which cause faults on the writer's connection.
  func ask(_ work: WriterWork) -> Bool { inbox.ask(work) }

  // MARK: Channels

  func applyOutcomes() {
    for outcome in inbox.takeOutcomes() {
      switch outcome {
      case .looked(let found): propose(found)
      case .deleted: upkeep.deleted()
      case .quotas(let news): shares.apply(news)
      case .read(let request, let found): receive(found, for: request)
      case .removed(let question, let result): removed(result, question)
      case .erased(let question, let error): erased(question, error)
      case .committed(let place, let top, let floor, let count):
        guard let channel = hot[place] else { continue }
        hot.counting(channel) { channel.advance(top: top, floor: floor, count: count) }
        cameBack(channel)
      case .failed(let place, let offset, let ticket, let isStale):
        guard let channel = hot[place] else { continue }
        hot.counting(channel) { channel.fail(offset: offset, ticket: ticket, isStale: isStale) }
        cameBack(channel)
      }
    }
  }

  /// Looks at a channel after the writer has told what became of entries. A channel that nobody has open is let go when
  /// the last entry under way has come back; one whose entry did not fit what is known of it is read from disk again
  /// then: a fault of one publication, or of ours, ends there and not with the next restart.
  ///
  /// A relaxed channel is not read again: what was delivered of it counts, on disk or not.
  private func cameBack(_ channel: HotChannel) {
    guard channel.isSettled else { return }
    if !channel.isHeld { return letGo(channel) }
    if channel.isStale, channel.isDurable { refresh(channel) }
  }

  private func letGo(_ channel: HotChannel) {
    // A channel that is being loaded stays, because the broker has it open from then on.
    if channel.isSettled, !loading.contains(channel.name) { hot.remove(channel) }
  }

  func read(_ job: ReadJob, for purpose: ReadRequest.Purpose) {
    readers.ask(ReadRequest(job: job, purpose: purpose, deletions: upkeep.deletions))
  }

  func readFailed(_ error: LogError) {
    if case .failed = error { inbox.fail(error) }
  }

  private func sweepChannels(now: Int64) {
    guard case .resting = upkeep.phase else { return }
    let sweep = ChannelSweep(
      now: now, usedBefore: now.minus(ttl: options.metaTTLMilliseconds), after: upkeep.next,
      followers: options.followers)
    if inbox.ask(.look(sweep)) { upkeep.phase = .looking(openedMeanwhile: []) }
  }

  /// Has rows deleted that the writer's look found stale. What it found holds for channels that were not in use since
  /// it began to look: all that was ever appended to them was committed before, and nobody else writes.
  private func propose(_ found: ChannelSweep.Found) {
    guard case .looking(let opened) = upkeep.phase else { return }
    upkeep.next = found.next
    if !found.due.isEmpty { news.append(.due(found.due)) }
    let stale = found.stale.filter {
      hot[$0.name] == nil && !opened.contains($0.name) && !loading.contains($0.name) && !options.keepsRow($0.name)
    }
    let ids = stale.map(\.id)
    upkeep.phase = !ids.isEmpty && inbox.ask(.delete(ids)) ? .deleting(Set(ids)) : .resting
  }
}
