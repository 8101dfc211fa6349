import Log
import Wire

/// A log that answers when the test says so, and how.
final class ScriptedStore: TransactionalStore {
  var position = StreamPosition(epoch: "disk", offset: 0)
  var keys: [IdempotencyRecord] = []
  var origins: [RequestOrigin: UInt64] = [:]
  var refusal: LogError?
  var readError: LogError?
  private(set) var waiting: [LogEntry] = []
  private(set) var written: [Publication] = []
  private(set) var opened: [ChannelName] = []

  func open(_ channel: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    opened.append(channel)
    return OpenedChannel(position: position, idempotencyKeys: keys, recentOrigins: origins)
  }

  func append(_ entry: LogEntry) -> AppendOutcome {
    if let refusal { return .refused(refusal) }
    waiting.append(entry)
    return .pending
  }

  /// The fate of the oldest entries.
  func finish(_ count: Int = 1, error: LogError? = nil) -> [LogCompletion] {
    let entries = waiting.prefix(count)
    waiting.removeFirst(entries.count)
    if error == nil {
      written += entries.map(\.publication)
      position.offset = written.last?.offset ?? position.offset
    }
    return entries.map { LogCompletion(ticket: $0.ticket, error: error) }
  }

  func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    if let readError { throw readError }
    let kept = written.filter { $0.offset <= range.through && $0.offset > range.since ?? 0 }
    return Array(kept.prefix(range.limit))
  }

  func append(_ transaction: [LogEntry]) -> AppendOutcome {
    if let refusal { return .refused(refusal) }
    waiting += transaction
    return .pending
  }

  func entries(of channel: ChannelName) throws(LogError) -> [Publication] {
    if let readError { throw readError }
    return []
  }

  func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    if let readError { throw readError }
    return nil
  }

  func keys(of channel: ChannelName, expiringBy time: Int64, limit: Int) throws(LogError) -> [ExpiringKey] { [] }
  func scrub() {}
  func removeHistory(of channel: ChannelName) throws(LogError) { written = [] }
  func sweep(now: Int64) {}
  func close() {}
}
