import Foundation
import Log
import Logging
import Synchronization
import TestSupport
import Wire

@testable import Search

/// A log on disk, a clock, and an index of its messages.
final class SearchScene {
  private let folder: TemporaryFolder
  var path: String { folder.path }
  let clock = TestClock()
  private(set) var store: SQLiteStore
  private(set) var index: MessageIndex
  private let completed = Completed()
  private var tickets: UInt64 = 0
  var options = MessageIndex.Options(userLimit: 8)
  private var positions: [ChannelName: StreamPosition] = [:]

  /// - Parameter change: what this test needs otherwise.
  init(_ change: (inout MessageIndex.Options) -> Void = { _ in }) throws {
    let clock = clock
    options.now = { clock.now }
    change(&options)
    folder = try TemporaryFolder()
    store = try Self.store(in: folder.path, clock: clock, completed)
    index = try MessageIndex(
      folder: folder.path, log: store.scan(), options: options, logger: quiet)
  }

  deinit {
    index.close()
    store.close()
  }

  var indexPath: String { path + "/search.sqlite" }

  // MARK: In

  /// Publishes durably, waits until it is on disk, and returns its offset.
  @discardableResult
  func publish(
    _ text: String, on name: ChannelName, by user: String? = nil, tags: [String: String] = [:], size: Int = 1000
  ) throws -> UInt64 {
    try publish(data: Self.data(text), on: name, by: user, tags: tags, size: size)
  }

  @discardableResult
  func publish(
    data: [UInt8], on name: ChannelName, by user: String? = nil, tags: [String: String] = [:], size: Int = 1000,
    ttl: Int64 = 1_000_000, edit: LogEdit? = nil, waits: Bool = true
  ) throws -> UInt64 {
    let position = try positions[name] ?? store.open(name, durability: .durable).position
    let offset = position.offset + 1
    let publication = Publication(
      offset: offset, time: clock.now, data: data, info: user.map { ClientInfo(user: $0, client: "c") }, tags: tags)
    tickets += 1
    let entry = LogEntry(
      ticket: tickets, channel: name, epoch: position.epoch, publication: publication, durability: .durable,
      historySize: size, historyTTLMilliseconds: ttl, edit: edit)
    guard store.append(entry) == .pending else { throw DeadlineExceeded() }
    positions[name] = StreamPosition(epoch: position.epoch, offset: offset)
    clock.advance(1)
    if waits { try waitUntilIndexed() }
    return offset
  }

  /// Everything that was published is on disk.
  func waitUntilIndexed() throws {
    try eventually { completed.last >= tickets }
  }

  /// Edits a message as the broker does it: the publication is replaced, and a notice says so.
  func edit(_ offset: UInt64, of name: ChannelName, to text: String?) throws {
    let range = LogRange(since: offset - 1, through: offset, limit: 1)
    guard var replacement = try store.read(name, range).first else { throw DeadlineExceeded() }
    replacement.data = text.map { Self.data($0) } ?? Array("null".utf8)
    replacement.tags[text == nil ? "deleted" : "edited"] = "1"
    try publish(
      data: replacement.data, on: name, by: replacement.info?.user,
      tags: [text == nil ? "deletes" : "edits": String(offset)], edit: LogEdit(replacement: replacement))
  }

  private static func data(_ text: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.write("text", text) }
    return writer.bytes
  }

  // MARK: Out

  func search(
    _ text: String, in channels: [ChannelName], by publisher: String? = nil, audience: TagFilter? = nil,
    limit: Int = 50
  ) throws -> [FoundMessage] {
    try ask(
      MessageSearch(channels: channels, text: text, publisher: publisher, audience: audience, limit: limit))
  }

  /// Offsets in one channel, newest first.
  func offsets(
    _ text: String, in name: ChannelName, by publisher: String? = nil, audience: TagFilter? = nil, limit: Int = 50
  ) throws -> [UInt64] {
    try search(text, in: [name], by: publisher, audience: audience, limit: limit).map(\.publication.offset)
  }

  func ask(_ query: MessageSearch) throws -> [FoundMessage] {
    let answer = SearchAnswers()
    index.search(query) { answer.add($0) }
    try eventually { answer.all.count == 1 }
    return try answer.all[0].get()
  }

  // MARK: Restarts

  /// - Parameter between: with neither the log nor the index open.
  func restart(_ between: () throws -> Void = {}) throws {
    index.close()
    store.close()
    try between()
    positions = [:]
    store = try Self.store(in: path, clock: clock, completed)
    index = try MessageIndex(folder: path, log: store.scan(), options: options, logger: quiet)
  }

  private static func store(in path: String, clock: TestClock, _ completed: Completed) throws -> SQLiteStore {
    var options = SQLiteStore.Options()
    options.now = { clock.now }
    return try SQLiteStore(folder: path, options: options, logger: quiet) { completed.add($0) }
  }

  func removeIndexFiles() {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: indexPath + suffix) }
  }

  /// Whether any file of the index holds these bytes.
  func indexHolds(_ text: String) -> Bool {
    ["", "-wal"].contains { suffix in
      (try? Data(contentsOf: URL(fileURLWithPath: indexPath + suffix)))?.range(of: Data(text.utf8)) != nil
    }
  }
}

/// A log of one channel without a disk, which fails when it is told to.
final class ScriptedLog: LogScan {
  private let publications: [Publication]
  private let error = Mutex<LogError?>(nil)
  private let pages = Mutex(0)

  init(_ publications: [Publication]) { self.publications = publications }

  /// How often more than one publication was asked for.
  var pagesRead: Int { pages.withLock { $0 } }

  func fail(_ error: LogError?) { self.error.withLock { $0 = error } }

  private func check() throws(LogError) {
    if let error = error.withLock({ $0 }) { throw error }
  }

  func channel(_ name: ChannelName, at now: Int64) throws(LogError) -> ScannedChannel? {
    try check()
    return ScannedChannel(id: 1, epoch: "e", top: publications.last?.offset ?? 0)
  }

  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, notBefore: Int64, _ body: (Publication) -> Bool
  ) throws(LogError) {
    try check()
    if limit > 1 { pages.withLock { $0 += 1 } }
    for publication in publications where span.contains(publication.offset) {
      guard body(publication) else { return }
    }
  }

  func oldest(of id: Int64) throws(LogError) -> UInt64? {
    try check()
    return publications.first?.offset
  }

  func close() {}
}

/// How far the log's writer is.
private final class Completed: Sendable {
  private let ticket = Mutex<UInt64>(0)

  var last: UInt64 { ticket.withLock { $0 } }

  func add(_ completions: [LogCompletion]) {
    ticket.withLock { ticket in ticket = completions.reduce(ticket) { max($0, $1.ticket) } }
  }
}

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

func channel(_ name: String) throws -> ChannelName { try ChannelName(name) }

struct DeadlineExceeded: Error {}

/// Waits until the condition holds; five minutes are a failure, so that a disk that others use may take its time.
func eventually(_ condition: () throws -> Bool) throws {
  guard try blocksUntil(within: .seconds(300), condition) else { throw DeadlineExceeded() }
}

/// Milliseconds that pass when a test says so.
final class TestClock: Sendable {
  private let time = Mutex<Int64>(1_700_000_000_000)

  var now: Int64 { time.withLock { $0 } }

  func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}

final class SearchAnswers: Sendable {
  private let answers = Mutex<[Result<[FoundMessage], LogError>]>([])

  var all: [Result<[FoundMessage], LogError>] { answers.withLock { $0 } }

  func add(_ answer: Result<[FoundMessage], LogError>) { answers.withLock { $0.append(answer) } }
}
