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
final class SimulatedLog: LogStore {
  private let disk: SimulatedDisk
  private let now: () -> Int64
  /// In memory and not on disk yet.
  private var tails: [ChannelName: [LogEntry]] = [:]
  private var queue: [LogEntry] = []
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
    queue.append(entry)
    if entry.durability == .durable { return .pending }
    tails[entry.channel, default: []].append(entry)
    return .kept
  }

  /// One group commit of the oldest `count` entries.
  func commit(_ count: Int) -> [LogCompletion] {
    var completions: [LogCompletion] = []
    for _ in 0..<min(count, queue.count) {
      let entry = queue.removeFirst()
      let expected = (disk.channels[entry.channel]?.top ?? 0) + 1
      if entry.durability == .durable && (isFull || entry.publication.offset != expected) {
        let error: LogError = isFull ? .full("simulated") : .notContiguous
        completions.append(LogCompletion(ticket: entry.ticket, error: error))
        continue
      }
      if isFull {
        queue.insert(entry, at: 0)
        break
      }
      write(entry)
      if entry.durability == .durable { completions.append(LogCompletion(ticket: entry.ticket)) }
    }
    return completions
  }

  private func write(_ entry: LogEntry) {
    tails[entry.channel]?.removeAll { $0.ticket == entry.ticket }
    guard var stored = disk.channels[entry.channel] else { return }
    stored.top = entry.publication.offset
    stored.kept.append(entry.publication)
    stored.written.append(entry.publication)
    stored.kept = Array(stored.kept.suffix(entry.historySize))
    if let key = entry.idempotency { stored.keys.append(key) }
    if let origin = entry.origin { stored.origins[origin] = entry.publication.offset }
    disk.channels[entry.channel] = stored
  }

  func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    var kept = disk.channels[channel]?.kept ?? []
    kept += (tails[channel] ?? []).map(\.publication)
    kept = kept.filter { $0.offset <= range.through && $0.time >= range.notBefore }
    if range.reverse {
      return Array(kept.reversed().filter { range.since == nil || $0.offset < range.since ?? 0 }.prefix(range.limit))
    }
    return Array(kept.filter { $0.offset > range.since ?? 0 }.prefix(range.limit))
  }

  func removeHistory(of channel: ChannelName) throws(LogError) { disk.channels[channel]?.kept = [] }

  func sweep(now: Int64) {}

  func close() {
    isFull = false
    _ = commit(queue.count)
  }
}
