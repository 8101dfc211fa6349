import Log
import Wire

/// What brokers appended, by channel and offset. The record outlives the brokers, as the disk does.
final class AppendRecord {
  var publications: [ChannelName: [UInt64: Publication]] = [:]

  func note(_ entry: LogEntry) {
    publications[entry.channel, default: [:]][entry.publication.offset] = entry.publication
  }

  /// Forgets what was appended after an offset: it is lost, and its offsets are given out again.
  func cut(_ channel: ChannelName, after top: UInt64) {
    publications[channel] = publications[channel]?.filter { $0.key <= top }
  }
}

/// The real store, and a closure that is told what it takes.
final class RecordingStore: LogStore {
  private let store: any LogStore
  private let note: ([LogEntry]) -> Void

  /// - Parameter note: called with the entry, or with the entries of the transaction, each time that the store takes
  ///   one.
  init(_ store: any LogStore, _ note: @escaping ([LogEntry]) -> Void) {
    self.store = store
    self.note = note
  }

  func append(_ batch: LogBatch) -> AppendOutcome {
    let outcome = store.append(batch)
    if case .refused = outcome { return outcome }
    switch batch {
    case .one(let entry): note([entry])
    case .together(let entries), .relaying(let entries, _): note(entries)
    }
    return outcome
  }

  func ask(_ question: LogQuestion) -> LogAnswer? { store.ask(question) }
  func takeNews() -> [LogNews] { store.takeNews() }
  func release(_ channel: ChannelName) { store.release(channel) }
  var bytesWaiting: Int { store.bytesWaiting }
  var isRefusing: Bool { store.isRefusing }
  func scrub() { store.scrub() }
  func sweep(now: Int64) { store.sweep(now: now) }
  func close() { store.close() }
}
