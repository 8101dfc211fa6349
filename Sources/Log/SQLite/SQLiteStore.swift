import Foundation
import GRDB
public import Logging
public import Wire

/// Keeps `relaxed` and `durable` channels in an SQLite database.
///
/// The broker thread hands entries to a writer thread, which commits all that waits as one transaction (group commit),
/// durable entries at once and relaxed ones within 10 ms. The newest publications of each channel in use stay in memory.
///
/// Epochs: a durable channel keeps its epoch over restarts, killed or not. A relaxed one keeps it over clean shutdowns
/// only: what it had delivered in the last milliseconds may never have been written. Both change when transactions that
/// were acknowledged turn out to be missing (see ``DataFolder``).
public final class SQLiteStore: TransactionalStore {
  public struct Options: Sendable {
    /// Bytes that may wait for the disk; more is refused with ``LogError/backlog(bytes:)``.
    public var backlogLimit = 64 << 20
    /// Bytes of publications that are held in memory beside those that wait.
    public var tailLimit = 64 << 20
    /// How long a relaxed entry may wait for others. Two milliseconds of the ten are left for the commit.
    public var relaxedDelayMilliseconds = 8
    /// Files up to this size are checked after a shutdown that was not clean: about a second for each 500 MiB.
    public var checkLimit = 256 << 20
    /// A channel that was not used for this long gives its memory back.
    public var idleMilliseconds: Int64 = 3_600_000
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    public init() {}
  }

  let writer: LogWriter
  private let inbox: WriterInbox
  let reader: ChannelReader
  private let options: Options
  private let meta: StoreMeta
  private var randomness: any RandomNumberGenerator
  var hot: HotChannels
  private var isClosed = false
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
      folder: DataFolder(folder), checkLimit: options.checkLimit, logger: logger, randomness: &randomness)
    self.randomness = randomness
    self.options = options
    meta = opened.meta
    reader = ChannelReader(queue: opened.reader)
    hot = HotChannels(bytesLimit: options.tailLimit)
    inbox = WriterInbox(
      backlogLimit: options.backlogLimit, relaxedDelayMilliseconds: options.relaxedDelayMilliseconds)
    writer = LogWriter(
      queue: opened.writer, sequence: opened.meta.sequence, folder: opened.folder, inbox: inbox, logger: logger,
      onCompletion: onCompletion)
    writer.start()
  }

  deinit { close() }

  /// Bytes of publications in memory.
  public var bytesKept: Int { hot.bytes }
  /// Bytes of publications that wait for the disk.
  public var bytesWaiting: Int { inbox.bytes }

  // MARK: LogStore

  public func open(_ name: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    if isClosed { throw .closed }
    applyOutcomes()
    let now = options.now()
    do {
      let row = try reader.row(of: name)
      if let known = hot[name], known.isDurable != (durability == .durable), known.isSettled { hot.remove(known) }
      let channel = hot[name] ?? add(name, durability: durability, row: row, now: now)
      channel.lastUse = now
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
    guard let channel = hot[slot: queued.channel.slot] else { return .refused(.notContiguous) }
    if !channel.isDurable, entry.publication.offset != channel.top + 1 { return .refused(.notContiguous) }
    if let error = inbox.add(queued) { return .refused(error) }
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
      if let channel = hot[slot: queued.channel.slot] { take(entry, in: channel) }
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
    channel.lastUse = max(channel.lastUse, entry.publication.time)
    hot.use(channel) { channel.add(entry) }
  }

  public func read(_ name: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    if isClosed { throw .closed }
    applyOutcomes()
    do {
      let now = options.now()
      let row = hot[name] == nil ? try reader.row(of: name) : nil
      let known =
        hot[name]
        ?? row.flatMap { row in
          Durability(rawValue: row.durability).map { add(name, durability: $0, row: row, now: now) }
        }
      guard let channel = known else { return [] }
      channel.lastUse = max(channel.lastUse, now)
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
      let row = try reader.row(of: name)
      let durability = row.flatMap { Durability(rawValue: $0.durability) }
      guard let known = hot[name] ?? durability.map({ add(name, durability: $0, row: row, now: options.now()) }) else {
        return
      }
      channel = known
    } catch {
      throw readFailed(error)
    }
    let reply = Reply<UInt64>()
    guard inbox.ask(.remove(channel.writer, reply)) else { throw .closed }
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
      let id = try reader.row(of: name)?.id
      hot[name]?.rowID = id
      return id
    } catch {
      throw readFailed(error)
    }
  }

  public func sweep(now: Int64) {
    if isClosed { return }
    applyOutcomes()
    hot.sweep(now: now, idleBefore: now.minus(ttl: options.idleMilliseconds))
    _ = inbox.ask(.sweep(now: now))
  }

  public func close() {
    if isClosed { return }
    isClosed = true
    try? reader.queue.close()
    writer.close()
  }

  /// For tests, which cause faults on the writer's connection.
  func ask(_ work: WriterWork) -> Bool { inbox.ask(work) }

  // MARK: Channels

  private func applyOutcomes() {
    for outcome in inbox.takeOutcomes() {
      switch outcome {
      case .committed(let slot, let top, let floor):
        guard let channel = hot[slot: slot] else { continue }
        hot.account(channel) { channel.settle(top: top, floor: floor) }
      case .failed(let slot, let offset, let ticket):
        guard let channel = hot[slot: slot] else { continue }
        hot.account(channel) { channel.fail(offset: offset, ticket: ticket) }
      }
    }
  }

  /// - Parameter epoch: what the broker holds as the channel's epoch; nil where it asks for one.
  private func add(
    _ name: ChannelName, durability: Durability, row: ChannelReader.Row?, now: Int64, epoch: String? = nil
  ) -> HotChannel {
    // A ring that somebody sends here is written rather than refused.
    let durability: Durability = durability == .durable ? .durable : .relaxed
    let suffix = durability == .durable ? meta.era : meta.run
    // With another durability the epochs of the two would be told apart by their suffixes alone: a new one is safe.
    let isRenewed = row.map { $0.durability != durability.rawValue } ?? false
    var stored = isRenewed ? nil : row?.epoch
    if stored == nil, let epoch { stored = epoch.withoutSuffix(suffix) }
    let storedEpoch = stored ?? Epoch.random(using: &randomness)
    let state = WriterChannel.State(id: row?.id, top: row?.top ?? 0, isRenewed: isRenewed)
    let channel = HotChannel(
      writer: WriterChannel(
        name: name, slot: hot.nextSlot, storedEpoch: storedEpoch, durability: durability, state: state),
      epoch: suffix.isEmpty ? storedEpoch : storedEpoch + "." + suffix, now: now)
    channel.ttl = row?.ttl ?? 0
    channel.rowID = row?.id
    hot.insert(channel)
    return channel
  }

  /// A channel that gave its memory back while the broker still held it goes on in the broker's epoch.
  private func reload(_ entry: LogEntry) throws -> HotChannel {
    let row = try reader.row(of: entry.channel)
    return add(entry.channel, durability: entry.durability, row: row, now: options.now(), epoch: entry.epoch)
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
