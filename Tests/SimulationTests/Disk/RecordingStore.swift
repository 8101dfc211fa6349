import Log
import Wire

/// What brokers appended, by the place where it would stand. It outlives them, as the disk does.
final class AppendRecord {
  var publications: [ChannelName: [UInt64: Publication]] = [:]

  func note(_ entry: LogEntry) {
    publications[entry.channel, default: [:]][entry.publication.offset] = entry.publication
  }

  /// What comes after is lost, and its offsets are given out again.
  func cut(_ channel: ChannelName, after top: UInt64) {
    publications[channel] = publications[channel]?.filter { $0.key <= top }
  }
}

/// The real store, and a note of what it takes.
final class RecordingStore: TransactionalStore {
  private let store: any TransactionalStore
  private let note: ([LogEntry]) -> Void

  /// - Parameter note: told of each entry, or transaction, that the store takes.
  init(_ store: any TransactionalStore, _ note: @escaping ([LogEntry]) -> Void) {
    self.store = store
    self.note = note
  }

  func append(_ entry: LogEntry) -> AppendOutcome {
    let outcome = store.append(entry)
    if case .refused = outcome { return outcome }
    note([entry])
    return outcome
  }

  func append(_ transaction: [LogEntry]) -> AppendOutcome {
    let outcome = store.append(transaction)
    if case .refused = outcome { return outcome }
    note(transaction)
    return outcome
  }

  func open(_ channel: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    try store.open(channel, durability: durability)
  }

  func look(for channel: ChannelName, durability: Durability) throws(LogError) -> FoundChannel {
    try store.look(for: channel, durability: durability)
  }

  func release(_ channel: ChannelName) { store.release(channel) }
  func takeDueMaps() -> [ChannelName] { store.takeDueMaps() }

  func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    try store.read(channel, range)
  }

  func entries(of channel: ChannelName) throws(LogError) -> [Publication] { try store.entries(of: channel) }

  func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    try store.entry(key, of: channel)
  }

  func keys(
    of channel: ChannelName, score: Int64, expiringBy time: Int64, limit: Int
  ) throws(LogError) -> [ExpiringKey] {
    try store.keys(of: channel, score: score, expiringBy: time, limit: limit)
  }

  var bytesWaiting: Int { store.bytesWaiting }
  var isRefusing: Bool { store.isRefusing }
  func scrub() { store.scrub() }
  func removeHistory(of channel: ChannelName) throws(LogError) { try store.removeHistory(of: channel) }
  func sweep(now: Int64) { store.sweep(now: now) }
  func close() { store.close() }
}
