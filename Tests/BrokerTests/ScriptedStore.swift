import Log
import Testing
import Wire

/// A log that answers when the test says so, and how. It can be given to a second broker, as after a restart.
final class ScriptedStore: LogStore {
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
  var term: UInt64 = 0
  var refusal: LogError?
  var readError: LogError?
  private(set) var opened: [ChannelName] = []
  private(set) var released: [ChannelName] = []
  /// What is written together stands together.
  private(set) var queue: [[LogEntry]] = []
  /// What goes to other partitions with each of them, and what has gone.
  private(set) var relaysWaiting: [[LogRelay]] = []
  private(set) var relayed: [LogRelay] = []
  private(set) var scrubs = 0
  private var stored: [ChannelName: Stored] = [:]
  private var changed: [ChannelName: [KeyChange]] = [:]

  var waiting: [LogEntry] { queue.flatMap { $0 } }

  /// What was written of a map's keys, in order.
  func changes(of channel: ChannelName) -> [KeyChange] { changed[channel] ?? [] }

  func written(_ channel: ChannelName) -> [Publication] { stored[channel]?.written ?? [] }

  /// Empties a publication, as the store does it where a user's data is deleted.
  func empty(_ channel: ChannelName, at offset: UInt64) {
    guard let place = stored[channel]?.written.firstIndex(where: { $0.offset == offset }) else { return }
    stored[channel]?.written[place].data = ErasureQuestion.emptied
  }

  private func state(_ channel: ChannelName) -> Stored { stored[channel] ?? Stored(top: position.offset) }

  // MARK: Questions

  /// From now on questions are answered when the test says so.
  var delays = false
  /// What was asked and is not answered.
  private(set) var questions: [LogQuestion] = []
  private var news: [LogNews] = []
  /// The call that goes wrong, and how: questions, batches and completions are counted.
  var failing: (call: Int, error: LogError)?
  private(set) var calls = 0
  /// The errors of questions that are not answered yet and will go wrong.
  private var errors: [LogQuestion: LogError] = [:]

  private func nextError() -> LogError? {
    calls += 1
    return failing?.call == calls ? failing?.error : nil
  }

  func ask(_ question: LogQuestion) -> LogAnswer? {
    #expect(!questions.contains(question), "a question is not asked again before it is answered")
    let error = nextError()
    guard delays else { return error.map { .failed($0) } ?? reply(to: question) }
    questions.append(question)
    errors[question] = error
    return nil
  }

  /// Answers those that were asked first, as things stand now.
  func answer(_ count: Int = .max, error: LogError? = nil) {
    let asked = questions.prefix(count)
    questions.removeFirst(asked.count)
    for question in asked {
      let error = errors.removeValue(forKey: question) ?? error
      news.append(.answered(question, error.map { .failed($0) } ?? reply(to: question)))
    }
  }

  /// What became of messages of the outbox.
  private(set) var fates: [(row: Int64, fate: OutboxFate)] = []

  func conclude(_ message: OutboxMessage.ID, _ fate: OutboxFate) { fates.append((message.row, fate)) }

  /// The store has something to tell by itself.
  func tell(_ something: LogNews) { news.append(something) }

  func takeNews() -> [LogNews] {
    defer { news = [] }
    return news
  }

  private func reply(to question: LogQuestion) -> LogAnswer {
    switch question {
    case .open(let channel, _, let withEntries, let ifExists):
      return open(channel, withEntries: withEntries, ifExists: ifExists)
    case .removeHistory(let channel, _):
      stored[channel]?.written = []
      return .removed
    case .kept: return .kept(KeptAmount())
    case .erasure(.trace): return .erasure(.page(TracePage()))
    case .erasure: return .erasure(.done)
    case .page, .entry, .ending: break
    }
    if let readError { return .failed(readError) }
    switch question {
    case .page(let channel, let range): return .page(read(channel, range))
    case .entry(let channel, let key):
      return .entry(
        state(channel).entries[key.string], at: .init(epoch: position.epoch, offset: state(channel).top))
    case .ending(let channel, let score, let limit): return .ending(ending(in: channel, score, limit))
    case .open, .kept, .removeHistory, .erasure: preconditionFailure("answered above")
    }
  }

  private func open(_ channel: ChannelName, withEntries: Bool, ifExists: Bool) -> LogAnswer {
    let state = state(channel)
    var found = OpenedChannel(
      position: .init(epoch: position.epoch, offset: state.top), exists: stored[channel] != nil || position.offset > 0,
      idempotencyKeys: keys + state.keys, recentOrigins: origins.merging(state.origins) { $1 })
    if ifExists, let readError { return .failed(readError) }
    if withEntries, let readError { return .failed(readError) }
    if ifExists && !found.exists { return .opened(found) }
    opened.append(channel)
    if withEntries { found.entries = Array(state.entries.values) }
    return .opened(found)
  }

  func release(_ channel: ChannelName) { released.append(channel) }

  func append(_ batch: LogBatch) -> AppendOutcome {
    if let refusal { return .refused(refusal) }
    if let error = nextError() { return .refused(error) }
    switch batch {
    case .one(let entry): queue.append([entry])
    case .together(let entries), .relaying(let entries, _): queue.append(entries)
    }
    if case .relaying(_, let relays) = batch { relaysWaiting.append(relays) } else { relaysWaiting.append([]) }
    return .pending
  }

  /// The fate of what was asked for first: entries alone, or transactions as a whole.
  func finish(_ count: Int = 1, error: LogError? = nil) -> [LogCompletion] {
    let transactions = queue.prefix(count)
    queue.removeFirst(transactions.count)
    let relays = relaysWaiting.prefix(transactions.count)
    relaysWaiting.removeFirst(relays.count)
    return zip(transactions, relays).flatMap { entries, relays in
      let error = error ?? nextError() ?? (follow(entries) ? nil : .notContiguous)
      if error == nil {
        for entry in entries { write(entry) }
        relayed += relays
      }
      return entries.map { LogCompletion(ticket: $0.ticket, error: error) }
    }
  }

  /// The broker was killed: what waits is lost.
  func crash() { (queue, relaysWaiting) = ([], []) }

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
      changed[entry.channel, default: []].append(change)
    }
    if let edit = entry.edit, let index = state.written.firstIndex(where: { $0.offset == edit.replacement.offset }) {
      state.written[index] = edit.replacement
    }
    if let key = entry.idempotency { state.keys.append(key) }
    if let origin = entry.origin { state.origins[origin] = entry.publication.offset }
    stored[entry.channel] = state
  }

  private func read(_ channel: ChannelName, _ range: LogRange) -> [Publication] {
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

  private func ending(in channel: ChannelName, _ score: Int64, _ limit: Int) -> [ExpiringKey] {
    let lane = state(channel).entries.values.compactMap(\.change).filter { $0.score == score && $0.expires != .max }
    return lane.sorted { ($0.expires, $0.key) < ($1.expires, $1.key) }.prefix(limit)
      .map { ExpiringKey(key: $0.key, expires: $0.expires) }
  }

  var bytesWaiting: Int { waiting.reduce(0) { $0 + $1.publication.data.count } }

  var isRefusing = false

  func scrub() { scrubs += 1 }
  func sweep(now: Int64) {}
  func close() {}
}
