import Log
import Wire

/// A disk that does what disks do: takes its time, gets full, and loses what was not synced when the power goes.
///
/// What is here outlives the broker; a ``SimulatedLog`` is one broker's use of it.
final class SimulatedDisk {
  struct Channel {
    var epoch: String
    var top: UInt64 = 0
    var kept: [Publication] = []
    /// Everything that was ever written, trimmed since or not: for the oracle alone.
    var written: [Publication] = []
    var keys: [IdempotencyRecord] = []
    var origins: [RequestOrigin: UInt64] = [:]
    var isRelaxed: Bool
    /// Of a map channel.
    var entries: [String: Publication] = [:]
  }

  var channels: [ChannelName: Channel] = [:]
  private var epochs = 0

  func newEpoch() -> String {
    epochs += 1
    return "disk\(epochs)"
  }

  /// The broker died: relaxed channels cannot prove that they hold what was handed out.
  func afterCrash() {
    for name in channels.keys.sorted() where channels[name]?.isRelaxed == true {
      channels[name]?.epoch = newEpoch()
    }
  }
}

/// The log of one broker's life on a simulated disk. The simulation decides when it commits, and when it fails.
final class SimulatedLog: TransactionalStore {
  private let disk: SimulatedDisk
  private let now: () -> Int64
  /// In memory and not on disk yet.
  private var tails: [ChannelName: [LogEntry]] = [:]
  /// What is written together stands together.
  private var queue: [[LogEntry]] = []
  private var failedChannels: Set<ChannelName> = []
  var isFull = false

  init(disk: SimulatedDisk, now: @escaping () -> Int64) {
    self.disk = disk
    self.now = now
  }

  var hasWork: Bool { !queue.isEmpty }

  func open(_ channel: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    let stored =
      disk.channels[channel] ?? SimulatedDisk.Channel(epoch: disk.newEpoch(), isRelaxed: durability == .relaxed)
    disk.channels[channel] = stored
    let top = tails[channel]?.last?.publication.offset ?? stored.top
    return OpenedChannel(
      position: StreamPosition(epoch: stored.epoch, offset: top),
      idempotencyKeys: stored.keys.filter { $0.expires > now() }, recentOrigins: stored.origins)
  }

  func append(_ entry: LogEntry) -> AppendOutcome {
    queue.append([entry])
    if entry.durability == .durable { return .pending }
    tails[entry.channel, default: []].append(entry)
    return .kept
  }

  func append(_ transaction: [LogEntry]) -> AppendOutcome {
    queue.append(transaction)
    return .pending
  }

  /// One group commit of the oldest `count` entries and transactions.
  func commit(_ count: Int) -> [LogCompletion] {
    var completions: [LogCompletion] = []
    for _ in 0..<min(count, queue.count) {
      let entries = queue[0]
      let isDurable = entries[0].durability == .durable
      if isFull && !isDurable { break }
      queue.removeFirst()
      if isDurable && (isFull || !follow(entries)) {
        let error: LogError = isFull ? .full("simulated") : .notContiguous
        completions += entries.map { LogCompletion(ticket: $0.ticket, error: error) }
        continue
      }
      for entry in entries { write(entry) }
      if isDurable { completions += entries.map { LogCompletion(ticket: $0.ticket) } }
    }
    return completions
  }

  private func follow(_ entries: [LogEntry]) -> Bool {
    var tops: [ChannelName: UInt64] = [:]
    return entries.allSatisfy { entry in
      let expected = (tops[entry.channel] ?? disk.channels[entry.channel]?.top ?? 0) + 1
      tops[entry.channel] = expected
      return entry.publication.offset == expected
    }
  }

  private func write(_ entry: LogEntry) {
    tails[entry.channel]?.removeAll { $0.ticket == entry.ticket }
    guard var stored = disk.channels[entry.channel] else { return }
    stored.top = entry.publication.offset
    stored.kept.append(entry.publication)
    stored.written.append(entry.publication)
    stored.kept = Array(stored.kept.suffix(entry.historySize))
    if entry.writesMap, let change = entry.publication.change {
      stored.entries[change.key] = change.removed ? nil : entry.publication
    }
    if let edit = entry.edit, let index = stored.kept.firstIndex(where: { $0.offset == edit.replacement.offset }) {
      stored.kept[index] = edit.replacement
    }
    if let key = entry.idempotency { stored.keys.append(key) }
    if let origin = entry.origin { stored.origins[origin] = entry.publication.offset }
    disk.channels[entry.channel] = stored
  }

  func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    var kept = disk.channels[channel]?.kept ?? []
    kept += (tails[channel] ?? []).map(\.publication)
    kept = kept.filter { $0.offset <= range.through && $0.time >= range.notBefore }
    kept =
      range.reverse
      ? kept.reversed().filter { range.since == nil || $0.offset < range.since ?? 0 }
      : kept.filter { $0.offset > range.since ?? 0 }
    var bytes = 0
    let fitting = kept.prefix { publication in
      defer { bytes += publication.cost }
      return bytes <= range.bytes
    }
    return Array(fitting.prefix(range.limit))
  }

  func entries(of channel: ChannelName) throws(LogError) -> [Publication] {
    disk.channels[channel].map { $0.entries.sorted { $0.key < $1.key }.map(\.value) } ?? []
  }

  func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    disk.channels[channel]?.entries[key]
  }

  func keys(
    of channel: ChannelName, score: Int64, expiringBy time: Int64, limit: Int
  ) throws(LogError) -> [ExpiringKey] {
    let due = try entries(of: channel).compactMap(\.change).filter {
      $0.score == score && $0.expires <= time && $0.expires != .max
    }
    return due.sorted { ($0.expires, $0.key) < ($1.expires, $1.key) }.prefix(limit).map {
      ExpiringKey(key: $0.key, expires: $0.expires)
    }
  }

  var bytesWaiting: Int { 0 }
  var isRefusing: Bool { isFull }

  func scrub() {}

  func removeHistory(of channel: ChannelName) throws(LogError) { disk.channels[channel]?.kept = [] }

  func sweep(now: Int64) {}

  func close() {
    isFull = false
    _ = commit(queue.count)
  }
}
