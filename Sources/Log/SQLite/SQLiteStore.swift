import Foundation
import GRDB
public import Logging
public import Wire

/// Keeps `relaxed` and `durable` channels in an SQLite database.
///
/// The broker thread hands entries to a writer thread, which commits all that waits as one transaction (group commit),
/// durable entries at once and relaxed ones within 10 ms. The newest publications of each channel in use stay in memory.
///
/// Epochs: a durable channel keeps its epoch over restarts, killed or not, also where nothing was published on it yet. A
/// relaxed one keeps it over clean shutdowns only: what it had delivered in the last milliseconds may never have been
/// written. Both change when transactions that were acknowledged turn out to be missing (see ``DataFolder``).
public final class SQLiteStore: TransactionalStore {
  public struct Options: Sendable {
    /// Bytes that may wait for the disk; more is refused with ``LogError/backlog(bytes:)``. Who reads requests stops
    /// long before: see ``backlogLimit(pausingAt:)``.
    public var backlogLimit = Options.backlogLimit(pausingAt: 64 << 20)
    /// Bytes of publications that are held in memory beside those that wait.
    public var tailLimit = 64 << 20
    /// How long a relaxed entry may wait for others. Two milliseconds of the ten are left for the commit.
    public var relaxedDelayMilliseconds = 8
    /// Files up to this size are checked after a shutdown that was not clean: about a second for each 500 MiB.
    public var checkLimit = 256 << 20
    /// A channel that was not used for this long gives its memory back.
    public var idleMilliseconds: Int64 = 3_600_000
    /// How long epoch and top of a channel are kept after its last publication, once nothing else is.
    public var metaTTLMilliseconds: Int64 = 24 * 3_600_000
    /// Channels whose rows are never deleted: somebody counts by their offsets.
    public var keepsRow: @Sendable (ChannelName) -> Bool = { _ in false }
    /// What stands before the names of channels that hold receipts of others.
    public var followers: [String] = []
    /// Room that is left for others, and for what must be written.
    public var diskLimits = DiskLimits()
    /// Those in which what each user keeps is counted; the empty name: channels without a namespace.
    public var quotaNamespaces: Set<String> = []
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
    /// Milliseconds that never go back.
    public var uptime: @Sendable () -> Int64 = { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }
    /// Opens and locks the folder.
    var openFolder: @Sendable (String) throws(StartError) -> any FolderFiles = { path throws(StartError) in
      try SystemFolder(path, lockName: DataFolder.lockName)
    }
    /// The writer has no thread: it works when it is told to (``SQLiteStore/step(_:)``), and while somebody waits for
    /// it. So a simulation decides what is on disk when.
    var isStepped = false

    public init() {}

    /// What the log may hold so that a broker that stops reading at `bytes` is refused nothing: those; as much again for
    /// what was read in the round that went over them, as what is kept of a request weighs more than the request; and
    /// what timers of apps write meanwhile, which nobody can leave unread.
    public static func backlogLimit(pausingAt bytes: Int) -> Int {
      let (whole, overflow) = bytes.multipliedReportingOverflow(by: 2)
      return overflow ? .max : max(whole, whole &+ (64 << 20))
    }
  }

  let writer: LogWriter
  let inbox: WriterInbox
  let reader: ChannelReader
  let options: Options
  var upkeep = ChannelUpkeep()
  private let meta: StoreMeta
  private var randomness: any RandomNumberGenerator
  var hot: HotChannels
  var shares = QuotaShares()
  private(set) var isClosed = false
  private var lastTransaction: UInt64 = 0
  /// Reads that asked SQLite.
  var coldReadCount = 0

  /// Opens the log in `folder`, or makes one.
  ///
  /// - Parameters:
  ///   - folder: the data folder; created where it is missing, and locked.
  ///   - randomness: where epochs come from.
  ///   - onCompletion: called on the writer thread with the fate of each entry that was `.pending`, in order. It must
  ///     not wait for the broker thread, which may be waiting for the writer thread in ``removeHistory(of:)``.
  /// - Throws: ``StartError``.
  public init(
    folder: String, options: Options = Options(),
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(),
    logger: Logger = Logger(label: "fanfare.log"), onCompletion: @escaping @Sendable ([LogCompletion]) -> Void
  ) throws(StartError) {
    var randomness = randomness
    let opened = try OpenedDatabase(
      folder: DataFolder(folder, files: options.openFolder(folder)), checkLimit: options.checkLimit,
      quotaNamespaces: options.quotaNamespaces, logger: logger, randomness: &randomness)
    self.randomness = randomness
    self.options = options
    meta = opened.meta
    reader = ChannelReader(queue: opened.reader)
    hot = HotChannels(bytesLimit: options.tailLimit, clock: options.uptime())
    inbox = WriterInbox(
      backlogLimit: options.backlogLimit, relaxedDelayMilliseconds: options.relaxedDelayMilliseconds)
    writer = LogWriter(
      queue: opened.writer, sequence: opened.meta.sequence, folder: opened.folder, inbox: inbox,
      limits: options.diskLimits, quotaNamespaces: options.quotaNamespaces, logger: logger,
      onCompletion: onCompletion)
    if !options.isStepped { writer.start() }
  }

  deinit { close() }

  /// Bytes of publications in memory.
  public var bytesKept: Int { hot.bytes }
  /// Bytes of publications that wait for the disk.
  public var bytesWaiting: Int { inbox.bytes }
  public var isRefusing: Bool { inbox.isRefusing }

  // MARK: LogStore

  public func open(_ name: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    if isClosed { throw .closed }
    applyOutcomes()
    let now = options.now()
    do {
      let row = try row(staying: name)
      if let known = hot[name], known.isDurable != (durability == .durable), known.isSettled { hot.remove(known) }
      let channel = try hot[name] ?? add(name, durability: durability, row: row)
      channel.lastUse = hot.clock
      var keys = channel.traces.keys(at: now)
      var origins = channel.traces.origins(at: now)
      if let row {
        keys = (try reader.keys(of: row.id, at: now) + keys).newestPerKey()
        origins.merge(try reader.origins(of: row.id, at: now)) { max($0, $1) }
      }
      return OpenedChannel(position: channel.position, idempotencyKeys: keys, recentOrigins: origins)
    } catch {
      throw readFailed(error)
    }
  }

  public func append(_ entry: LogEntry) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    let queued: QueuedEntry
    do throws(LogError) { queued = try queue(entry, as: 0) } catch { return .refused(error) }
    guard let channel = hot[queued.channel.place] else { return .refused(.notContiguous) }
    if !channel.isDurable, entry.publication.offset != channel.top + 1 { return .refused(.notContiguous) }
    if let error = inbox.add(queued) { return .refused(error) }
    claim(for: entry)
    take(entry, in: channel)
    return channel.isDurable ? .pending : .kept
  }

  public func append(_ transaction: [LogEntry]) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    lastTransaction += 1
    var queued: [QueuedEntry] = []
    do throws(LogError) {
      for entry in transaction { queued.append(try queue(entry, as: lastTransaction)) }
    } catch {
      return .refused(error)
    }
    // What is delivered before it is written could not be taken back with the rest.
    precondition(queued.allSatisfy { $0.channel.durability == .durable }, "a transaction is of durable channels alone")
    if let error = inbox.add(transaction: queued) { return .refused(error) }
    for (entry, queued) in zip(transaction, queued) {
      if let channel = hot[queued.channel.place] { take(entry, in: channel) }
    }
    return .pending
  }

  /// The entry as it goes to the writer.
  private func queue(_ entry: LogEntry, as transaction: UInt64) throws(LogError) -> QueuedEntry {
    let offset = entry.publication.offset
    guard offset > 0, offset < UInt64(Int64.max) else { throw .notContiguous }
    let channel: HotChannel
    do { channel = try hot[entry.channel] ?? reload(entry) } catch { throw readFailed(error) }
    guard channel.epoch.hasSameBytes(as: entry.epoch) else { throw .notContiguous }
    return QueuedEntry(entry: entry, channel: channel.writer, cost: entry.cost, transaction: transaction)
  }

  private func take(_ entry: LogEntry, in channel: HotChannel) {
    hot.use(channel) { channel.add(entry) }
  }

  public func read(_ name: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    if isClosed { throw .closed }
    applyOutcomes()
    do {
      guard let channel = try known(name) else { return [] }
      channel.lastUse = hot.clock
      return try read(channel, range)
    } catch {
      throw readFailed(error)
    }
  }

  public func removeHistory(of name: ChannelName) throws(LogError) {
    if isClosed { throw .closed }
    applyOutcomes()
    let channel: HotChannel
    do {
      guard let known = try known(name) else { return }
      channel = known
    } catch {
      throw readFailed(error)
    }
    let reply = Reply<UInt64>()
    guard inbox.ask(.remove(channel.writer, reply)) else { throw .closed }
    if options.isStepped { step() }
    let removed = try reply.wait()
    applyOutcomes()
    hot.account(channel) {
      channel.floor = max(channel.floor, removed)
      channel.trimTail()
    }
  }

  public func scrub() {
    if isClosed { return }
    _ = inbox.ask(.scrub)
  }

  /// Where a channel stands in the tables; nil where it never had a publication.
  func row(of name: ChannelName) throws(LogError) -> Int64? {
    if isClosed { throw .closed }
    do {
      if let known = hot[name]?.rowID { return known }
      let id = try row(staying: name)?.id
      hot[name]?.rowID = id
      return id
    } catch {
      throw readFailed(error)
    }
  }

  public func sweep(now: Int64) {
    if isClosed { return }
    applyOutcomes()
    hot.sweep(now: now, clock: options.uptime(), idle: options.idleMilliseconds)
    _ = inbox.ask(.sweep(now: now))
    sweepChannels(now: now)
  }

  public func close() {
    if isClosed { return }
    isClosed = true
    try? reader.queue.close()
    writer.close()
  }

  /// Lets a writer without a thread do up to `limit` pieces of work.
  func step(_ limit: Int = .max) { _ = writer.step(limit) }

  /// For tests, which cause faults on the writer's connection.
  func ask(_ work: WriterWork) -> Bool { inbox.ask(work) }

  // MARK: Channels

  func applyOutcomes() {
    for outcome in inbox.takeOutcomes() {
      switch outcome {
      case .looked(let found): propose(found)
      case .deleted: upkeep.phase = .resting
      case .quotas(let news): shares.apply(news)
      case .committed(let place, let top, let floor, let count):
        guard let channel = hot[place] else { continue }
        hot.account(channel) { channel.settle(top: top, floor: floor, count: count) }
        refreshIfStale(channel)
      case .failed(let place, let offset, let ticket, let isStale):
        guard let channel = hot[place] else { continue }
        hot.account(channel) { channel.fail(offset: offset, ticket: ticket, isStale: isStale) }
        refreshIfStale(channel)
      }
    }
  }

  /// An entry did not fit what is known of its channel. When the last one under way has come back, the channel is read
  /// from disk again: what is wrong with one publication, or with us, ends with it and not with the next restart.
  ///
  /// Not a relaxed one: what was delivered of it counts, on disk or not.
  private func refreshIfStale(_ channel: HotChannel) {
    guard channel.isStale, channel.isSettled, channel.isDurable else { return }
    // What cannot be read now is read after the next failure.
    guard case .success(let row) = Result(catching: { try row(staying: channel.name) }) else { return }
    hot.remove(channel)
    let standing = Standing(storedEpoch: channel.writer.storedEpoch, top: channel.committed)
    _ = try? add(channel.name, durability: .durable, row: row, standing: standing)
  }

  /// The channel as it is in use or on disk; nil where it is neither.
  private func known(_ name: ChannelName) throws -> HotChannel? {
    if let channel = hot[name] { return channel }
    guard let row = try row(staying: name), let durability = Durability(rawValue: row.durability) else { return nil }
    return try add(name, durability: durability, row: row)
  }

  /// Where a channel without a row stands.
  private struct Standing {
    var storedEpoch: String?
    var top: UInt64
  }

  func lookUp(_ name: ChannelName, durability: Durability) throws(LogError) -> FoundChannel {
    if isClosed { throw .closed }
    applyOutcomes()
    if let known = hot[name], known.isDurable == (durability == .durable) {
      return FoundChannel(exists: true, position: known.position)
    }
    do {
      let row = try row(staying: name)
      let suffix = self.suffix(of: durability)
      let position = { (epoch: String, top: UInt64) in
        StreamPosition(epoch: suffix.isEmpty ? epoch : epoch + "." + suffix, offset: top)
      }
      if let row, row.durability == durability.rawValue {
        return FoundChannel(exists: true, position: position(row.epoch, row.top))
      }
      return FoundChannel(exists: false, position: position(try epochWithoutRow(of: name, durability), 0))
    } catch {
      throw readFailed(error)
    }
  }

  /// - Parameter standing: what somebody holds of the channel; nil where it was never opened.
  private func add(
    _ name: ChannelName, durability: Durability, row: ChannelReader.Row?, standing: Standing? = nil
  ) throws -> HotChannel {
    // A ring that somebody sends here is written rather than refused.
    let durability: Durability = durability == .durable ? .durable : .relaxed
    let suffix = self.suffix(of: durability)
    // With another durability the epochs of the two would be told apart by their suffixes alone: a new one is safe.
    let isRenewed = row.map { $0.durability != durability.rawValue } ?? false
    var stored = isRenewed ? nil : row?.epoch
    if stored == nil { stored = standing?.storedEpoch }
    if stored == nil, row != nil { stored = Epoch.random(using: &randomness) }
    let storedEpoch = try stored ?? epochWithoutRow(of: name, durability)
    let state = WriterChannel.State(id: row?.id, top: row?.top ?? standing?.top ?? 0, isRenewed: isRenewed)
    let channel = HotChannel(
      writer: WriterChannel(
        name: name, place: hot.nextPlace, storedEpoch: storedEpoch, durability: durability, state: state,
        quota: QuotaScope(of: name, in: options.quotaNamespaces)),
      epoch: suffix.isEmpty ? storedEpoch : storedEpoch + "." + suffix, clock: hot.clock)
    channel.ttl = row?.ttl ?? 0
    channel.rowID = row?.id
    hot.insert(channel)
    upkeep.opened(name)
    return channel
  }

  /// A channel that gave its memory back while the broker still held it goes on in the broker's epoch; one whose row is
  /// gone too, where the broker stands. Nothing of it is under way, or it would be in use.
  private func reload(_ entry: LogEntry) throws -> HotChannel {
    let row = try row(staying: entry.channel)
    let suffix = self.suffix(of: entry.durability)
    let standing = Standing(storedEpoch: entry.epoch.withoutSuffix(suffix), top: entry.publication.offset - 1)
    return try add(entry.channel, durability: entry.durability, row: row, standing: standing)
  }

  /// What an epoch ends with.
  private func suffix(of durability: Durability) -> String { durability == .durable ? meta.era : meta.run }

  /// Nothing was ever given out under it but the offset 0, or the row would be there: so it still holds.
  private func epochWithoutRow(of name: ChannelName, _ durability: Durability) throws -> String {
    // Rows are about to be deleted, and the generations of their names have not risen yet.
    if upkeep.isDeleting { return Epoch.random(using: &randomness) }
    return Epoch.derived(
      from: meta.seed, generation: try reader.epochGeneration(of: name), durability: durability, name: name)
  }

  func readFailed(_ error: any Error) -> LogError {
    let error = (error as? LogError) ?? StoreFault.logError(for: error)
    if case .failed = error { inbox.fail(error) }
    return error
  }
}

extension String {
  fileprivate func withoutSuffix(_ suffix: String) -> String {
    suffix.isEmpty || !hasSuffix("." + suffix) ? self : String(dropLast(suffix.count + 1))
  }
}
