public import Wire

/// The half of a store that lives in the broker's turn: it keeps the newest publications of each channel in use in
/// memory, hands entries to a writer thread and questions to threads that read.
///
/// What stands on the other side is the subclass's: files (``SQLiteStore``), or a server (``PostgresStore``). This half
/// is the same for both, so that memory answers alike whatever is behind it.
public class TailedStore: LogStore {
  /// What the half in the turn needs to know.
  struct Turn {
    /// Bytes of publications that are held in memory beside those that wait.
    var tailLimit: Int
    var metaTTLMilliseconds: Int64
    var keepsRow: @Sendable (ChannelName) -> Bool
    var quotaNamespaces: Set<String>
    var followers: [String]
    /// The wall clock, in milliseconds since 1970.
    var now: @Sendable () -> Int64
    /// A clock that never goes back, in milliseconds.
    var uptime: @Sendable () -> Int64
  }

  final let inbox: WriterInbox
  final let readers: ReaderThreads
  final let turn: Turn
  final var upkeep = ChannelUpkeep()
  final var epochs: EpochParts
  final var randomness: any RandomNumberGenerator
  final var hot: HotChannels
  final var shares = QuotaShares()
  private(set) final var isClosed = false
  private final var lastTransaction: UInt64 = 0
  /// Channels that are being loaded.
  final var loading: Set<ChannelName> = []
  /// Questions that readers or the writer have, to be answered where the channels are lost meanwhile.
  final var asked: Set<LogQuestion> = []
  final var news: [LogNews] = []
  /// Pages that were read from behind the memory.
  final var coldReadCount = 0
  /// Another broker keeps the channels.
  private final var isLost = false
  /// How often the channels were lost.
  private(set) final var terms = 0
  /// See ``LogStore``.
  public private(set) final var term: UInt64
  /// Until when nobody else can have taken the channels; nil: nobody else ever can.
  private final let lease: LeaseClock?
  /// Nil: nobody but the broker's own clients and services publishes.
  private final let outbox: OutboxLedger?

  init(
    turn: Turn, epochs: EpochParts, randomness: any RandomNumberGenerator, inbox: WriterInbox, readers: ReaderThreads,
    lease: LeaseClock? = nil, term: UInt64 = 0, outbox: OutboxLedger? = nil
  ) {
    self.turn = turn
    self.epochs = epochs
    self.randomness = randomness
    self.inbox = inbox
    self.readers = readers
    self.lease = lease
    self.term = term
    self.outbox = outbox
    hot = HotChannels(bytesLimit: turn.tailLimit, clock: turn.uptime())
  }

  deinit { close() }

  /// Bytes of publications in memory.
  public final var bytesKept: Int { hot.bytes }
  /// Bytes of publications that wait for the disk.
  public final var bytesWaiting: Int { inbox.bytes }
  public final var isRefusing: Bool { inbox.isRefusing }

  /// Whether the broker has the channel open.
  package final func isHeld(_ channel: ChannelName) -> Bool { hot[channel]?.isHeld ?? false }

  /// Ends the threads. Called once, in the turn.
  func end() { preconditionFailure("each store ends its own threads") }

  /// Whether there is such a partition beside the store's own.
  func mayRelay(to partition: Int) -> Bool { false }

  // MARK: LogStore

  public final func append(_ batch: LogBatch) -> AppendOutcome {
    switch batch {
    case .one(let entry): append(entry)
    case .together(let entries): append(entries, [])
    case .relaying(let entries, let relays): append(entries, relays)
    }
  }

  private final func append(_ entry: LogEntry) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    if isFenced { return .refused(.fenced) }
    let queued: QueuedEntry
    do throws(LogError) { queued = try queue(entry, as: 0) } catch { return .refused(error) }
    guard let channel = hot[queued.channel.place] else { return .refused(.notContiguous) }
    if !channel.isDurable, entry.publication.offset != channel.top + 1 { return .refused(.notContiguous) }
    if let error = inbox.add(queued) { return .refused(error) }
    if let claim = entry.claim { shares.claim(claim) }
    note(entry, in: channel)
    return channel.isDurable ? .pending : .kept
  }

  private final func append(_ transaction: [LogEntry], _ relays: [LogRelay]) -> AppendOutcome {
    precondition(
      relays.allSatisfy { mayRelay(to: $0.partition) }, "what is relayed goes to another partition of the same log")
    if isClosed { return .refused(.closed) }
    applyOutcomes()
    if isFenced { return .refused(.fenced) }
    lastTransaction += 1
    var queued: [QueuedEntry] = []
    do throws(LogError) {
      for entry in transaction { queued.append(try queue(entry, as: lastTransaction)) }
    } catch {
      return .refused(error)
    }
    // A relaxed entry is delivered before it is written, and could not be taken back with the rest of its transaction.
    precondition(queued.allSatisfy { $0.channel.durability == .durable }, "a transaction is of durable channels alone")
    if !relays.isEmpty { queued[0].carry(relays) }
    if let error = inbox.add(transaction: queued) { return .refused(error) }
    for (entry, queued) in zip(transaction, queued) {
      if let channel = hot[queued.channel.place] { note(entry, in: channel) }
    }
    return .pending
  }

  /// Makes the entry into what goes to the writer.
  private final func queue(_ entry: LogEntry, as transaction: UInt64) throws(LogError) -> QueuedEntry {
    let offset = entry.publication.offset
    guard offset > 0, offset < UInt64(Int64.max) else { throw .notContiguous }
    guard let channel = hot[entry.channel], channel.epoch.hasSameBytes(as: entry.epoch) else {
      throw .notContiguous
    }
    if let outbox, let row = entry.origin?.outboxRow, !outbox.carry(row) { throw .notContiguous }
    return QueuedEntry(entry: entry, channel: channel.writer, cost: entry.cost, transaction: transaction)
  }

  private final func note(_ entry: LogEntry, in channel: HotChannel) {
    hot.use(channel) { channel.add(entry) }
  }

  public final func conclude(_ message: OutboxMessage.ID, _ fate: OutboxFate) {
    guard let ending = outbox?.conclude(message, fate) else { return }
    _ = inbox.ask(.endOutbox([ending]))
  }

  public final func scrub() {
    if isClosed { return }
    _ = inbox.ask(.scrub)
  }

  /// Frees the channel's memory, because what is kept of the channel stands on the disk. Where entries still wait for
  /// the disk, the memory is freed when they are there.
  public final func release(_ name: ChannelName) {
    guard let channel = hot[name] else { return }
    applyOutcomes()
    channel.isHeld = false
    letGo(channel)
  }

  public final func sweep(now: Int64) {
    if isClosed { return }
    applyOutcomes()
    if isFenced { return }
    hot.sweep(now: now, clock: turn.uptime())
    _ = inbox.ask(.sweep(now: now))
    sweepChannels(now: now)
  }

  public final func close() {
    if isClosed { return }
    isClosed = true
    end()
  }

  // MARK: Channels

  final func applyOutcomes() {
    for outcome in inbox.takeOutcomes() {
      switch outcome {
      case .lost: lost()
      case .regained(let epochs, let term): regained(epochs, term)
      case .outbox(let messages): news.append(.outbox(messages))
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
  private final func cameBack(_ channel: HotChannel) {
    guard channel.isSettled else { return }
    if !channel.isHeld { return letGo(channel) }
    if channel.isStale, channel.isDurable { refresh(channel) }
  }

  private final func letGo(_ channel: HotChannel) {
    // A channel that is being loaded stays, because the broker has it open from then on.
    if channel.isSettled, !loading.contains(channel.name) { hot.remove(channel) }
  }

  final func read(_ job: ReadJob, for purpose: ReadRequest.Purpose) {
    var request = ReadRequest(job: job, purpose: purpose, deletions: upkeep.deletions, terms: terms)
    if case .channel(let name, _, _) = job { request.committed = hot[name]?.committed ?? 0 }
    readers.ask(request)
  }

  final func readFailed(_ error: LogError) {
    if case .failed = error { inbox.fail(error) }
  }

  private final func sweepChannels(now: Int64) {
    guard case .resting = upkeep.phase else { return }
    let sweep = ChannelSweep(
      now: now, usedBefore: now.minus(ttl: turn.metaTTLMilliseconds), after: upkeep.next,
      followers: turn.followers)
    if inbox.ask(.look(sweep)) { upkeep.phase = .looking(openedMeanwhile: []) }
  }

  /// Has rows deleted that the writer's look found stale. What it found holds for channels that were not in use since
  /// it began to look: all that was ever appended to them was committed before, and nobody else writes.
  private final func propose(_ found: ChannelSweep.Found) {
    guard case .looking(let opened) = upkeep.phase else { return }
    upkeep.next = found.next
    if !found.due.isEmpty { news.append(.due(found.due)) }
    let stale = found.stale.filter {
      hot[$0.name] == nil && !opened.contains($0.name) && !loading.contains($0.name) && !turn.keepsRow($0.name)
    }
    let ids = stale.map(\.id)
    upkeep.phase = !ids.isEmpty && inbox.ask(.delete(ids)) ? .deleting(Set(ids)) : .resting
  }

  // MARK: Another broker

  /// Whether the channels are another broker's, or may be by now.
  final var isFenced: Bool { isLost || lease.map { !$0.holds(at: turn.uptime()) } ?? false }

  /// Forgets all that is known of channels. Entries under way fail one by one; questions under way are answered here,
  /// since what is read for them from now on is of a time in which another broker writes.
  private final func lost() {
    if isLost { return }
    isLost = true
    terms += 1
    for question in asked { tell(.failed(.fenced), to: question) }
    loading = []
    upkeep = ChannelUpkeep()
    hot = HotChannels(bytesLimit: turn.tailLimit, clock: turn.uptime(), after: hot)
    shares = QuotaShares()
    news.append(.lost)
    _ = inbox.ask(.resume)
  }

  /// Answers a question that waits. One that was answered when the channels were lost waits no more.
  final func tell(_ answer: LogAnswer, to question: LogQuestion) {
    guard asked.remove(question) != nil else { return }
    news.append(.answered(question, answer))
  }

  private final func regained(_ epochs: EpochParts, _ term: UInt64) {
    self.epochs = epochs
    self.term = term
    isLost = false
    news.append(.regained)
  }
}
