import Log
import Wire

/// A log in memory that writes when it is told to, in the order in which it took entries, and forgets what it has not
/// written when the broker is killed. It is given to the next broker then.
final class PlainLog: LogStore {
  private struct Channel {
    var top: UInt64 = 0
    var kept: [Publication] = []
    var entries: [String: Publication] = [:]
  }

  private static let epoch = "plain"
  private var channels: [ChannelName: Channel] = [:]
  private var queue: [[LogEntry]] = []
  /// Called with each entry that is written.
  var written: (LogEntry) -> Void = { _ in }

  var waiting: Int { queue.count }

  func entries(of channel: ChannelName) -> [String: Publication] { channels[channel]?.entries ?? [:] }

  func ask(_ question: LogQuestion) -> LogAnswer? {
    switch question {
    case .open(let name, _, let withEntries, _):
      let channel = channels[name]
      var found = OpenedChannel(
        position: StreamPosition(epoch: Self.epoch, offset: channel?.top ?? 0), exists: channel != nil)
      if withEntries { found.entries = Array((channel?.entries ?? [:]).values) }
      return .opened(found)
    case .page(let name, let range): return .page(page(of: name, range))
    case .entry(let name, let key):
      let channel = channels[name]
      return .entry(
        channel?.entries[key.string], at: StreamPosition(epoch: Self.epoch, offset: channel?.top ?? 0))
    case .ending(let name, let score, let limit):
      let lane = (channels[name]?.entries ?? [:]).values.compactMap(\.change)
        .filter { $0.score == score && $0.expires != .max }
      return .ending(
        lane.sorted { ($0.expires, $0.key) < ($1.expires, $1.key) }.prefix(limit)
          .map { ExpiringKey(key: $0.key, expires: $0.expires) })
    case .removeHistory(let name, _):
      channels[name]?.kept = []
      return .removed
    case .kept: return .kept(KeptAmount())
    case .erasure: return .erasure(.done)
    }
  }

  private func page(of name: ChannelName, _ range: LogRange) -> [Publication] {
    let kept = (channels[name]?.kept ?? []).filter { $0.offset <= range.through }
    let wanted =
      range.reverse
      ? kept.filter { $0.offset < range.since ?? .max }.reversed() : kept.filter { $0.offset > range.since ?? 0 }
    var bytes = 0
    return Array(
      wanted.prefix(range.limit).prefix { publication in
        defer { bytes += publication.cost }
        return bytes <= range.bytes
      })
  }

  func append(_ batch: LogBatch) -> AppendOutcome {
    switch batch {
    case .one(let entry): queue.append([entry])
    case .together(let entries): queue.append(entries)
    case .relaying: preconditionFailure("this log has one partition, and nobody to send anything to")
    }
    return .pending
  }

  /// Writes the transactions that it took first.
  ///
  /// - Parameter error: with which the first of them fails; nil: none does.
  func write(_ count: Int = .max, failing error: LogError? = nil) -> [LogCompletion] {
    let transactions = queue.prefix(count)
    queue.removeFirst(transactions.count)
    var error = error
    return transactions.flatMap { entries in
      let failure = error ?? (follow(entries) ? nil : .notContiguous)
      error = nil
      if failure == nil { for entry in entries { write(entry) } }
      return entries.map { LogCompletion(ticket: $0.ticket, error: failure) }
    }
  }

  private func follow(_ entries: [LogEntry]) -> Bool {
    var tops: [ChannelName: UInt64] = [:]
    return entries.allSatisfy { entry in
      let next = (tops[entry.channel] ?? channels[entry.channel]?.top ?? 0) + 1
      tops[entry.channel] = next
      return entry.publication.offset == next
    }
  }

  private func write(_ entry: LogEntry) {
    var channel = channels.removeValue(forKey: entry.channel) ?? Channel()
    channel.top = entry.publication.offset
    if entry.historySize > 0 {
      channel.kept.append(entry.publication)
      if channel.kept.count > entry.historySize { channel.kept.removeFirst(channel.kept.count - entry.historySize) }
    }
    if entry.writesMap, let change = entry.publication.change {
      channel.entries[change.key] = change.removed ? nil : entry.publication
    }
    channels[entry.channel] = channel
    written(entry)
  }

  /// The broker is killed: what was not written is lost.
  func kill() { queue = [] }

  func takeNews() -> [LogNews] { [] }
  func release(_ channel: ChannelName) {}
  func sweep(now: Int64) {}
  func scrub() {}
  func close() {}
  let bytesWaiting = 0
  let isRefusing = false
}
