public import Wire

/// Keeps channels in memory only: whatever the durability asked for, it is all gone, with its epochs, when the process
/// ends. Every append is `.kept`.
///
/// The store knows a channel while the broker holds it or something of it is kept; then, where it keeps history, for a
/// while longer. A channel's epoch is worked out from its name and a generation, which rises whenever a channel is
/// forgotten on which something was published: so a channel that comes to be again, at offset 0, never does so in its
/// former epoch, and one of which nothing is known has an epoch that anybody may be told.
public final class MemoryStore: LogStore {
  private var channels: [ChannelName: MemoryChannel] = [:]
  /// The channels once more, in no particular order, so that a sweep can look at some and go on later.
  private var order: [MemoryChannel] = []
  /// The index in `order` at which the next sweep goes on.
  private var cursor = 0
  private let seed: String
  private var generation: Int64 = 0
  private let metaTTLMilliseconds: Int64
  /// The latest time seen in an entry or a sweep: the store has no clock of its own.
  private var clock: Int64 = 0
  private var isClosed = false

  /// Bytes of the publications that are kept, over all channels.
  public private(set) var bytesKept = 0
  private var owners = ChannelOwners()
  let ledger = QuotaLedger()
  private let quotaNamespaces: Set<String>
  /// Channels that the store knows.
  public var channelCount: Int { channels.count }

  /// A sweep looks at this many channels that stay, so that it never holds up the broker for long.
  static let channelsPerSweep = 20_000
  /// Channels that a sweep forgets at most: more than come to be in the seconds between two sweeps, whoever opens them.
  static let forgottenPerSweep = 60_000

  /// - Parameters:
  ///   - randomness: where epochs come from.
  ///   - metaTTLMilliseconds: how long epoch and top of a channel with history outlive its last publication, once
  ///     nothing is kept.
  ///   - quotaNamespaces: namespaces in which what each user keeps is counted; the empty name: channels without a
  ///     namespace.
  public init(
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(), metaTTLMilliseconds: Int64,
    quotaNamespaces: Set<String> = []
  ) {
    var randomness = randomness
    seed = Epoch.random(using: &randomness) + Epoch.random(using: &randomness)
    self.metaTTLMilliseconds = metaTTLMilliseconds
    self.quotaNamespaces = quotaNamespaces
  }

  public func ask(_ question: LogQuestion) -> LogAnswer? {
    if isClosed { return .failed(.closed) }
    switch question {
    case .open(let name, _, let withEntries, let ifExists):
      return .opened(open(name, withEntries: withEntries, ifExists: ifExists))
    case .page(let name, let range): return .page(read(name, range))
    case .entry(let name, let key): return .entry(channels[name]?.entries[key], at: nil)
    case .ending(let name, let score, let limit): return .ending(ending(in: name, score: score, limit: limit))
    case .kept(let account): return .kept(ledger[account])
    case .erasure(.trace(let users, _, let position)):
      return .erasure(.page(trace(SoughtUsers(users), after: position)))
    case .erasure: return .erasure(.done)
    case .removeHistory(let name, _):
      if let channel = channels[name] { counting(channel) { channel.kept.removeAll() } }
      return .removed
    }
  }

  /// Always empty: each question is answered at once.
  public func takeNews() -> [LogNews] { [] }

  private func open(_ name: ChannelName, withEntries: Bool, ifExists: Bool) -> OpenedChannel {
    if ifExists, channels[name] == nil {
      return OpenedChannel(position: StreamPosition(epoch: epoch(of: name), offset: 0))
    }
    let exists = channels[name] != nil
    let channel = channels[name] ?? add(MemoryChannel(name: name, epoch: epoch(of: name), top: 0))
    channel.isHeld = true
    channel.lastUse = clock
    var opened = OpenedChannel(
      position: StreamPosition(epoch: channel.epoch, offset: channel.top), exists: exists,
      idempotencyKeys: channel.traces.keys(at: clock), recentOrigins: channel.traces.origins(at: clock))
    if withEntries { opened.entries = Array(channel.entries.values) }
    return opened
  }

  public func release(_ name: ChannelName) {
    guard let channel = channels[name] else { return }
    channel.isHeld = false
    channel.lastUse = clock
    channel.traces.expire(at: clock)
    if isDone(channel, at: clock) { forget(channel) }
  }

  // MARK: Memory

  /// Bytes that a channel takes beside what is kept of it: its object, its epoch, places in two tables.
  static let channelOverhead = 512

  /// Bytes of memory that publications and channels take, roughly, so that the broker can refuse publications before the
  /// process is killed for it.
  public var memoryBytes: Int { bytesKept + channels.count * Self.channelOverhead }

  /// A user's count of channels and bytes; nil where the user owns no channel.
  public func owner(_ user: String) -> ChannelOwner? { owners[user] }

  /// The owner of an open channel; nil: it has none.
  public func owner(of channel: ChannelName) -> ChannelOwner? { channels[channel]?.owner }

  /// Makes the user the owner of a channel, which is open and new.
  public func own(_ name: ChannelName, by user: String) {
    guard let channel = channels[name], channel.owner == nil else { return }
    channel.owner = owners.adding(user)
  }

  /// Counts an entry of a map that the broker alone keeps, where its namespace has a quota.
  ///
  /// - Parameters:
  ///   - before: the entry that `now` takes the place of; nil: there was none.
  ///   - now: the entry from now on; nil: it is removed.
  public func countEntry(_ before: Publication?, replacedBy now: Publication?, in scope: QuotaScope) {
    QuotaTally(scope: scope, ledger: ledger).replaced(before, by: now)
  }

  /// Runs `body`, which changes what is kept of a channel, and counts the bytes that this adds or frees.
  private func counting(_ channel: MemoryChannel, _ body: () -> Void) {
    let before = channel.kept.bytes
    body()
    let change = channel.kept.bytes - before
    bytesKept += change
    if let owner = channel.owner { owner.bytes += change }
  }

  private func epoch(of name: ChannelName) -> String {
    Epoch.derived(from: seed, generation: generation, durability: .memory, name: name)
  }

  public func append(_ batch: LogBatch) -> AppendOutcome {
    switch batch {
    case .one(let entry): append(entry)
    case .together(let entries): append(entries)
    case .relaying: preconditionFailure("what is kept in memory has no other partitions")
    }
  }

  private func append(_ entry: LogEntry) -> AppendOutcome {
    if isClosed { return .refused(.closed) }
    let offset = entry.publication.offset
    guard offset > 0 else { return .refused(.notContiguous) }
    // A channel that a sweep forgot, while the broker did not, goes on where the broker stands.
    let channel =
      channels[entry.channel] ?? add(MemoryChannel(name: entry.channel, epoch: entry.epoch, top: offset - 1))
    guard channel.top == offset - 1, channel.epoch.hasSameBytes(as: entry.epoch) else {
      return .refused(.notContiguous)
    }
    clock = max(clock, entry.publication.time)
    channel.top = offset
    channel.lastUse = clock
    channel.ttl = entry.historyTTLMilliseconds
    channel.keepsHistory = entry.isKept
    channel.traces.add(entry)
    counting(channel) {
      if entry.isKept { channel.kept.append(entry.publication, ticket: entry.ticket) }
      channel.kept.drop(through: entry.floor)
      if let edit = entry.edit { channel.kept.replace(with: edit.replacement) }
    }
    if entry.writesMap, let change = entry.publication.change {
      let key = IdentifierKey(change.key)
      let now = change.removed ? nil : entry.publication
      channel.kept.tally?.replaced(channel.entries[key], by: now)
      channel.entries[key] = now
    }
    return .kept
  }

  private func append(_ transaction: [LogEntry]) -> AppendOutcome {
    var tops: [ChannelName: UInt64] = [:]
    for entry in transaction {
      let before = tops[entry.channel] ?? channels[entry.channel]?.top ?? entry.publication.offset &- 1
      let isInEpoch = channels[entry.channel]?.epoch.hasSameBytes(as: entry.epoch) ?? true
      guard isInEpoch, entry.publication.offset == before &+ 1 else {
        return .refused(isClosed ? .closed : .notContiguous)
      }
      tops[entry.channel] = entry.publication.offset
    }
    for entry in transaction {
      let outcome = append(entry)
      if outcome != .kept { return outcome }
    }
    return .kept
  }

  /// What one page of a trace looks at: channels, publications and entries together. A map is looked at whole, which
  /// its limit of entries bounds.
  static let tracedPerPage = 2000
  /// Bytes of rows with which a page ends, and bytes of one channel's publications that are looked at together: so an
  /// export has answers of a few mebibytes, however long a history is.
  static let tracedBytes = 1 << 20

  /// Looks for users from the last channel to the first. A position is how many places are still to be looked at, and
  /// the offset up to which the last of them was read already.
  ///
  /// A channel that stays from the first page to the last is looked at whole. When another is forgotten, the last one
  /// takes its place: it was looked at or came later, or the free place is still to be looked at. Where the channel
  /// that was read in part is forgotten, either such a channel stands in its place, or there are fewer places than the
  /// position says.
  private func trace(_ users: SoughtUsers, after position: TracePosition) -> TracePage {
    let isFirst = position.table == .channels
    var left = isFirst ? order.count : min(Int(clamping: position.channel), order.count)
    var read = isFirst || position.channel > order.count ? 0 : position.offset
    var (page, cost, bytes) = (TracePage(), 0, 0)
    func add(_ row: TracedRow) {
      page.rows.append(row)
      bytes += row.publication.cost
    }
    while left > 0 {
      if cost >= Self.tracedPerPage || bytes >= Self.tracedBytes {
        page.next = TracePosition(table: .publications, channel: Int64(left), offset: read)
        return page
      }
      let channel = order[left - 1]
      if read == 0 {
        cost += 1 + channel.entries.count
        for entry in channel.entries.values where users.areNamed(by: entry) {
          add(TracedRow(.entry, channel.name, entry))
        }
      }
      let room = max(1, Self.tracedPerPage - cost)
      let range = LogRange(since: nil, through: channel.top, limit: room, bytes: Self.tracedBytes)
      var found = FoundPublications(range)
      if channel.top > read { channel.kept.read(read + 1...channel.top, into: &found) }
      cost += found.publications.count
      for publication in found.publications where users.areNamed(by: publication) {
        add(TracedRow(.publication, channel.name, publication))
      }
      if found.isFull, let last = found.publications.last, last.offset < channel.top {
        read = last.offset
      } else {
        (left, read) = (left - 1, 0)
      }
    }
    return page
  }

  private func ending(in name: ChannelName, score: Int64, limit: Int) -> [ExpiringKey] {
    let ends = (channels[name]?.entries.values).map { $0.compactMap(\.change) } ?? []
    let lane = ends.filter { $0.score == score && $0.expires != .max }.sorted { $0.expires < $1.expires }
    return lane.prefix(limit).map { ExpiringKey(key: $0.key, expires: $0.expires) }
  }

  public var bytesWaiting: Int { 0 }
  public var isRefusing: Bool { false }

  public func scrub() {}

  private func read(_ name: ChannelName, _ range: LogRange) -> [Publication] {
    guard let channel = channels[name], let span = range.span(above: 0, through: channel.top) else { return [] }
    var found = FoundPublications(range)
    channel.kept.read(span, into: &found)
    return found.publications
  }

  public func sweep(now: Int64) {
    clock = max(clock, now)
    var (staying, leaving) = (min(order.count, Self.channelsPerSweep), Self.forgottenPerSweep)
    while staying > 0, leaving > 0, !order.isEmpty {
      if cursor >= order.count { cursor = 0 }
      let channel = order[cursor]
      counting(channel) { _ = channel.kept.drop(before: now.minus(ttl: channel.ttl)) }
      channel.traces.expire(at: clock)
      if channel.lastUse == 0 { channel.lastUse = now }  // Opened before any time was known.
      if isDone(channel, at: now) {
        forget(channel)
        leaving -= 1
      } else {
        cursor += 1
        staying -= 1
      }
    }
    channels.giveBackMemory()
    order.giveBackMemory()
    ledger.giveBackMemory()
  }

  /// Whether nobody will ask for the channel's epoch and top any more. Where the channel keeps no history there is
  /// nothing to recover: a client that comes back later is told so, whether the channel was forgotten or not.
  private func isDone(_ channel: MemoryChannel, at now: Int64) -> Bool {
    guard !channel.isHeld, channel.kept.isEmpty, channel.traces.isEmpty, channel.entries.isEmpty else { return false }
    return channel.top == 0 || !channel.keepsHistory || channel.lastUse < now.minus(ttl: metaTTLMilliseconds)
  }

  private func forget(_ channel: MemoryChannel) {
    if channel.top > 0 { generation += 1 }
    if let owner = channel.owner { owners.remove(owner) }
    channels[channel.name] = nil
    let last = order.removeLast()
    guard last !== channel else { return }
    order[channel.place] = last
    last.place = channel.place
  }

  /// Forgets everything, so that each channel begins anew in another epoch: another broker had the channels meanwhile, in a
  /// memory of its own.
  public func forgetAll() {
    for channel in order {
      counting(channel) { channel.kept.removeAll() }
      if let owner = channel.owner { owners.remove(owner) }
    }
    generation += 1
    channels = [:]
    order = []
    cursor = 0
  }

  public func close() {
    isClosed = true
    channels = [:]
    order = []
    bytesKept = 0
  }

  private func add(_ channel: MemoryChannel) -> MemoryChannel {
    channels[channel.name] = channel
    if let scope = QuotaScope(of: channel.name, in: quotaNamespaces) {
      channel.kept.tally = QuotaTally(scope: scope, ledger: ledger)
    }
    channel.place = order.count
    order.append(channel)
    return channel
  }
}

private final class MemoryChannel {
  let name: ChannelName
  let epoch: String
  var top: UInt64
  var ttl: Int64 = 0
  var keepsHistory = false
  var lastUse: Int64 = 0
  /// The user who made the channel, and pays for what is kept of it.
  var owner: ChannelOwner?
  /// The broker has it open.
  var isHeld = false
  /// The channel's index in ``MemoryStore/order``.
  var place = 0
  var kept = KeptPublications()
  var traces = RequestTraces()
  var entries: [IdentifierKey: Publication] = [:]

  init(name: ChannelName, epoch: String, top: UInt64) {
    self.name = name
    self.epoch = epoch
    self.top = top
  }
}
