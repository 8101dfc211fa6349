import Foundation
import Synchronization
import Wire

@testable import Log

/// A log on disk, a clock, and an index of its messages.
final class SearchScene {
  let folder = try? TemporaryFolder()
  let clock = TestClock()
  private(set) var subject: SQLiteSubject
  private(set) var index: MessageIndex
  var options = MessageIndex.Options()
  private var positions: [ChannelName: StreamPosition] = [:]

  /// - Parameter change: what this test needs otherwise.
  init(_ change: (inout MessageIndex.Options) -> Void = { _ in }) throws {
    guard let folder else { throw DeadlineExceeded() }
    let clock = clock
    options.now = { clock.now }
    change(&options)
    var store = SQLiteStore.Options()
    store.now = { clock.now }
    subject = try SQLiteSubject(folder.path, options: store)
    index = try MessageIndex(folder: folder.path, options: options, logger: quiet)
  }

  deinit {
    index.close()
    subject.store.close()
  }

  var path: String { folder?.path ?? "" }
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
    let position = try positions[name] ?? subject.store.open(name, durability: .durable).position
    let offset = position.offset + 1
    let publication = Publication(
      offset: offset, time: clock.now, data: data, info: user.map { ClientInfo(user: $0, client: "c") }, tags: tags)
    let ticket = subject.nextTicket()
    let entry = LogEntry(
      ticket: ticket, channel: name, epoch: position.epoch, publication: publication, durability: .durable,
      historySize: size, historyTTLMilliseconds: ttl, edit: edit)
    guard subject.store.append(entry) == .pending else { throw DeadlineExceeded() }
    positions[name] = StreamPosition(epoch: position.epoch, offset: offset)
    clock.advance(1)
    if waits { try settle() }
    return offset
  }

  /// Everything that was published is on disk.
  func settle() throws {
    let last = subject.nextTicket() - 1
    if last > 0 { try eventually { subject.completions.all.last.map { $0.ticket >= last } ?? false } }
  }

  /// As the broker does it: the publication is replaced, and a notice says so.
  func edit(_ offset: UInt64, of name: ChannelName, to text: String?) throws {
    let range = LogRange(since: offset - 1, through: offset, limit: 1)
    guard var replacement = try subject.store.read(name, range).first else { throw DeadlineExceeded() }
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
  ) throws -> [MessageIndex.Found] {
    try ask(
      MessageIndex.Query(channels: channels, text: text, publisher: publisher, audience: audience, limit: limit))
  }

  /// Offsets in one channel, newest first.
  func offsets(
    _ text: String, in name: ChannelName, by publisher: String? = nil, audience: TagFilter? = nil, limit: Int = 50
  ) throws -> [UInt64] {
    try search(text, in: [name], by: publisher, audience: audience, limit: limit).map(\.publication.offset)
  }

  func ask(_ query: MessageIndex.Query) throws -> [MessageIndex.Found] {
    let answer = SearchAnswers()
    index.search(query) { answer.add($0) }
    try eventually { answer.all.count == 1 }
    return try answer.all[0].get()
  }

  // MARK: Restarts

  /// - Parameter between: with neither the log nor the index open.
  func restart(_ between: () throws -> Void = {}) throws {
    index.close()
    subject.store.close()
    try between()
    positions = [:]
    let clock = clock
    var store = SQLiteStore.Options()
    store.now = { clock.now }
    subject = try SQLiteSubject(path, options: store)
    index = try MessageIndex(folder: path, options: options, logger: quiet)
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

/// Milliseconds that pass when a test says so.
final class TestClock: Sendable {
  private let time = Mutex<Int64>(1_700_000_000_000)

  var now: Int64 { time.withLock { $0 } }

  func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}

final class SearchAnswers: Sendable {
  private let answers = Mutex<[Result<[MessageIndex.Found], LogError>]>([])

  var all: [Result<[MessageIndex.Found], LogError>] { answers.withLock { $0 } }

  func add(_ answer: Result<[MessageIndex.Found], LogError>) { answers.withLock { $0.append(answer) } }
}
