import Log
import Wire

/// A log that answers when the test says so, and how. It can be given to a second broker, as after a restart.
final class ScriptedStore: TransactionalStore {
  private struct Stored {
    var top: UInt64
    var written: [Publication] = []
    var entries: [String: Publication] = [:]
    var keys: [IdempotencyRecord] = []
    var origins: [RequestOrigin: UInt64] = [:]
  }

  /// Where channels stand that nothing was written to yet.
  var position = StreamPosition(epoch: "disk", offset: 0)
  /// What every channel is opened with, besides what was written.
  var keys: [IdempotencyRecord] = []
  var origins: [RequestOrigin: UInt64] = [:]
  var refusal: LogError?
  var readError: LogError?
  private(set) var opened: [ChannelName] = []
  private(set) var released: [ChannelName] = []
  /// What is written together stands together.
  private(set) var queue: [[LogEntry]] = []
  private(set) var scrubs = 0
  private var stored: [ChannelName: Stored] = [:]

  var waiting: [LogEntry] { queue.flatMap { $0 } }

  func written(_ channel: ChannelName) -> [Publication] { stored[channel]?.written ?? [] }

  private func state(_ channel: ChannelName) -> Stored { stored[channel] ?? Stored(top: position.offset) }

  func open(_ channel: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    opened.append(channel)
    let state = state(channel)
    return OpenedChannel(
      position: .init(epoch: position.epoch, offset: state.top), idempotencyKeys: keys + state.keys,
      recentOrigins: origins.merging(state.origins) { $1 })
  }

  func look(for channel: ChannelName, durability: Durability) throws(LogError) -> FoundChannel {
    if let readError { throw readError }
    return FoundChannel(
      exists: stored[channel] != nil || position.offset > 0,
      position: .init(epoch: position.epoch, offset: state(channel).top))
  }

  func release(_ channel: ChannelName) { released.append(channel) }

  func append(_ entry: LogEntry) -> AppendOutcome { append([entry]) }

  func append(_ transaction: [LogEntry]) -> AppendOutcome {
    if let refusal { return .refused(refusal) }
    queue.append(transaction)
    return .pending
  }

  /// The fate of what was asked for first: entries alone, or transactions as a whole.
  func finish(_ count: Int = 1, error: LogError? = nil) -> [LogCompletion] {
    let transactions = queue.prefix(count)
    queue.removeFirst(transactions.count)
    return transactions.flatMap { entries in
      let error = error ?? (follow(entries) ? nil : .notContiguous)
      if error == nil { for entry in entries { write(entry) } }
      return entries.map { LogCompletion(ticket: $0.ticket, error: error) }
    }
  }

  /// The broker was killed: what waits is lost.
  func crash() { queue = [] }

  private func follow(_ entries: [LogEntry]) -> Bool {
    var tops: [ChannelName: UInt64] = [:]
    return entries.allSatisfy { entry in
      let next = (tops[entry.channel] ?? state(entry.channel).top) + 1
      tops[entry.channel] = next
      return entry.publication.offset == next
    }
  }

  private func write(_ entry: LogEntry) {
    var state = state(entry.channel)
    state.top = entry.publication.offset
    if entry.historySize > 0 { state.written.append(entry.publication) }
    if entry.writesMap, let change = entry.publication.change {
      state.entries[change.key] = change.removed ? nil : entry.publication
    }
    if let edit = entry.edit, let index = state.written.firstIndex(where: { $0.offset == edit.replacement.offset }) {
      state.written[index] = edit.replacement
    }
    if let key = entry.idempotency { state.keys.append(key) }
    if let origin = entry.origin { state.origins[origin] = entry.publication.offset }
    stored[entry.channel] = state
  }

  func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    if let readError { throw readError }
    var kept = written(channel).filter { $0.offset <= range.through }
    kept =
      range.reverse
      ? kept.filter { $0.offset < range.since ?? .max }.reversed() : kept.filter { $0.offset > range.since ?? 0 }
    var bytes = 0
    let fitting = kept.prefix { publication in
      defer { bytes += publication.cost }
      return bytes <= range.bytes
    }
    return Array(fitting.prefix(range.limit))
  }

  func entries(of channel: ChannelName) throws(LogError) -> [Publication] {
    if let readError { throw readError }
    return Array(state(channel).entries.values)
  }

  func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    if let readError { throw readError }
    return state(channel).entries[key]
  }

  func keys(
    of channel: ChannelName, score: Int64, expiringBy time: Int64, limit: Int
  ) throws(LogError) -> [ExpiringKey] {
    if let readError { throw readError }
    let due = state(channel).entries.values.compactMap(\.change).filter {
      $0.score == score && $0.expires != .max && $0.expires <= time
    }
    return due.sorted { ($0.expires, $0.key) < ($1.expires, $1.key) }.prefix(limit)
      .map { ExpiringKey(key: $0.key, expires: $0.expires) }
  }

  var bytesWaiting: Int { waiting.reduce(0) { $0 + $1.publication.data.count } }

  var isRefusing = false

  func scrub() { scrubs += 1 }
  func removeHistory(of channel: ChannelName) throws(LogError) { stored[channel]?.written = [] }
  func sweep(now: Int64) {}
  func close() {}
}
