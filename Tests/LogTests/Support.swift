import Foundation
import SQLite
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// The completions that a store told its handler.
final class Completions: Sendable {
  private let log = Mutex<[LogCompletion]>([])

  var all: [LogCompletion] { log.withLock { $0 } }

  func add(_ completions: [LogCompletion]) { log.withLock { $0 += completions } }

  /// Waits until `count` completions came.
  func wait(for count: Int) throws { try eventually { all.count >= count } }
}

struct DeadlineExceeded: Error {}

/// Waits until the condition holds; five minutes are a failure, so that a disk that others use may take its time.
func eventually(_ condition: () throws -> Bool) throws {
  guard try blocksUntil(within: .seconds(300), condition) else { throw DeadlineExceeded() }
}

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

func channel(_ name: String) throws -> ChannelName { try ChannelName(name) }

/// A store under test, and the tickets of what it is given.
protocol StoreSubject: AnyObject {
  associatedtype Store: LogStore
  var store: Store { get }
  func nextTicket() -> UInt64
}

extension StoreSubject {
  /// Appends without waiting.
  @discardableResult
  func append(
    _ name: ChannelName, epoch: String, offset: UInt64, durability: Durability, time: Int64 = 1000, size: Int = 100,
    ttl: Int64 = 1_000_000, data: [UInt8] = [1, 2, 3], key: IdempotencyRecord? = nil, origin: RequestOrigin? = nil
  ) -> AppendOutcome {
    store.append(
      LogEntry(
        ticket: nextTicket(), channel: name, epoch: epoch,
        publication: Publication(offset: offset, time: time, data: data), durability: durability, historySize: size,
        historyTTLMilliseconds: ttl, idempotency: key, origin: origin))
  }

  func offsets(_ name: ChannelName, through: UInt64 = .max) throws -> [UInt64] {
    try store.read(name, LogRange(since: nil, through: through, limit: .max)).map(\.offset)
  }
}

/// An SQLite store in a folder, with its completions.
final class SQLiteSubject: StoreSubject {
  let store: SQLiteStore
  let completions = Completions()
  /// Looks into the tables, beside the store.
  fileprivate let folder: String
  private var ticket: UInt64 = 0

  init(_ folder: String, options: SQLiteStore.Options = .init(), seed: UInt64? = nil) throws {
    self.folder = folder
    let randomness: any RandomNumberGenerator = seed.map { SeededGenerator(seed: $0) } ?? SystemRandomNumberGenerator()
    let completions = completions
    store = try SQLiteStore(folder: folder, options: options, randomness: randomness, logger: quiet) {
      completions.add($0)
    }
  }

  deinit { store.close() }

  func nextTicket() -> UInt64 {
    ticket += 1
    return ticket
  }

  /// Runs SQL on the writer's connection: how these tests cause faults.
  func perform(_ sql: String) throws {
    let reply = Reply<Void>()
    #expect(store.ask(.runInTest({ db in try db.execute(sql) }, reply)))
    try reply.wait()
  }
}

extension SQLiteSubject {
  /// Looks into the tables, beside the store.
  func reader() throws -> ChannelReader {
    ChannelReader(
      connection: try Schema.reader(at: folder + "/" + DataFolder.databaseName), journal: store.journal)
  }
}
