import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// What an app sends to another partition goes with its decision, or not at all, and comes there once and in order.
@Suite(
  "What apps send to other partitions", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresRelayTests {
  private static let name: ChannelName = "state.records:all"

  /// A partition's store, which appends to one channel of which no publication is kept.
  private final class Side {
    let subject: PostgresSubject
    let partition: Int
    private let epoch: String
    private(set) var messages: [OutboxMessage] = []
    var texts: [String] { messages.map { String(decoding: $0.data ?? [], as: UTF8.self) } }

    init(
      _ partition: Int, in schema: String? = nil, connection: String? = nil,
      _ change: (inout PostgresStore.Options) -> Void = { _ in }
    ) throws {
      self.partition = partition
      subject = try PostgresSubject(schema: schema, connection: connection) {
        ($0.partition, $0.partitions) = (partition, 2)
        change(&$0)
      }
      epoch = try subject.store.open(PostgresRelayTests.name, durability: .durable).position.epoch
    }

    var schema: String { PostgresStore.Options.schema(subject.schema, of: partition) }

    func rows(_ table: String) throws -> Int { try subject.rows("\(schema).\(table)") }

    func entry(_ offset: UInt64, from row: Int64? = nil) -> LogEntry {
      LogEntry(
        ticket: subject.nextTicket(), channel: PostgresRelayTests.name, epoch: epoch,
        publication: Publication(offset: offset, time: 1000, data: [1]), durability: .durable, historySize: 0,
        historyTTLMilliseconds: 0, origin: row.map(RequestOrigin.init(outboxRow:)))
    }

    /// Sends to the other partition.
    func relay(_ offsets: ClosedRange<UInt64>, _ texts: String..., from row: Int64? = nil) -> AppendOutcome {
      let entries = offsets.map { entry($0, from: $0 == offsets.lowerBound ? row : nil) }
      return subject.store.append(
        .relaying(entries, texts.map { LogRelay(to: 1 - partition, of: "state", Array($0.utf8)) }))
    }

    /// Takes messages as the broker does.
    func take(until count: Int, _ conclude: (OutboxMessage) -> OutboxFate? = { _ in .published }) throws {
      try eventually {
        for case .outbox(let news) in subject.store.takeNews() {
          for message in news {
            messages.append(message)
            if let fate = conclude(message) { subject.store.conclude(message.id, fate) }
          }
        }
        return messages.count >= count
      }
    }

    func isEmpty() throws { try eventually { try rows("outbox") == 0 } }
  }

  @Test("They arrive once, in the order of the transactions and within them, also beside rows of backends")
  func order() throws {
    let home = try Side(0) { $0.entriesPerTransaction = 3 }
    let other = try Side(1, in: home.subject.schema)
    let partitioning = Partitioning(count: 2, namespaces: NamespaceTable())
    let theirs = try #require(
      try (0..<100).map { "chat:\($0)" }.first { try partitioning.partition(of: channel($0)) == 1 })
    for number in 1...40 as ClosedRange<UInt64> {
      #expect(home.relay(2 * number - 1...2 * number, "\(2 * number - 1)", "\(2 * number)") == .pending)
      if number % 4 == 0 {
        try home.subject.query("SELECT publish($1, $2::text::jsonb)", [.text(theirs), .text("\(number)")])
      }
    }
    try other.take(until: 90)
    try other.isEmpty()
    #expect(other.messages.count == 90)
    let relays = other.messages.filter { $0.app != nil }
    #expect(relays.map { String(decoding: $0.data ?? [], as: UTF8.self) } == (1...80).map { "\($0)" })
    #expect(relays.allSatisfy { $0.app == "state" && $0.channel == "" && $0.options == Array("{}".utf8) })
    let backends = other.messages.filter { $0.app == nil }
    #expect(backends.map { String(decoding: $0.data ?? [], as: UTF8.self) } == (1...10).map { "\($0 * 4)" })
    #expect(backends.allSatisfy { $0.channel == theirs })
    try home.subject.completions.wait(for: 80)
    #expect(home.subject.completions.all.allSatisfy { $0.error == nil })
    #expect(try home.rows("outbox") == 0)
  }

  @Test("Who takes one in deletes it in the transaction of what it decides, by one of its entries, and may answer")
  func received() throws {
    let home = try Side(0)
    let other = try Side(1, in: home.subject.schema)
    #expect(home.relay(1...1, "there") == .pending)
    try other.take(until: 1) { _ in nil }
    let row = other.messages[0].id.row
    #expect(other.relay(1...2, "back", from: row) == .pending)
    try home.take(until: 1)
    #expect(home.texts == ["back"])
    try other.subject.completions.wait(for: 2)
    #expect(other.subject.completions.all.allSatisfy { $0.error == nil })
    // Of a channel without a history nothing is written that would have to be swept.
    #expect(try other.rows("outbox") == 0 && other.rows("publications") == 0 && other.rows("origins") == 0)
    #expect(other.relay(3...3, "again", from: row) == .refused(.notContiguous), "a row is taken in once")
    try home.isEmpty()
    #expect(home.texts == ["back"])
  }

  @Test("What goes with entries that do not follow is not sent, and what goes with others of their batch is")
  func notContiguous() throws {
    let home = try Side(0)
    let other = try Side(1, in: home.subject.schema)
    for (offset, text) in [(1, "one"), (3, "three"), (2, "two")] as [(UInt64, String)] {
      #expect(home.relay(offset...offset, text) == .pending)
    }
    try home.subject.completions.wait(for: 3)
    #expect(home.subject.completions.all.map(\.error) == [nil, .notContiguous, nil])
    try other.take(until: 2)
    try other.isEmpty()
    #expect(other.texts == ["one", "two"])
  }

  @Test("A broker that has lost its partition sends nothing more")
  func fenced() throws {
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let first = try Side(0, connection: proxy.connection) { $0.leaseMilliseconds = 4000 }
    let other = try Side(1, in: first.subject.schema)
    #expect(first.relay(1...1, "one") == .pending)
    try other.take(until: 1)
    proxy.set(.paused)
    _ = first.relay(2...2, "late")
    let second = try Side(0, in: first.subject.schema) { $0.leaseMilliseconds = 60_000 }
    proxy.set(.open)
    _ = try first.subject.news { $0.contains(.lost) }
    #expect(second.relay(2...2, "two") == .pending)
    try second.subject.completions.wait(for: 1)
    try other.take(until: 2)
    try other.isEmpty()
    #expect(other.texts == ["one", "two"])
  }

  @Test("One that the app refuses for good is put aside with the reason, and names the app")
  func refused() throws {
    let home = try Side(0)
    let other = try Side(1, in: home.subject.schema)
    #expect(home.relay(1...1, "bad") == .pending)
    try other.take(until: 1) { _ in .refused(.badRequest.saying("it says nothing")) }
    try other.isEmpty()
    let rows = try home.subject.query(
      "SELECT app, convert_from(data, 'UTF8'), reason FROM \(other.schema).outbox_refused")
    #expect(rows.count == 1)
    #expect((0..<3).map { rows.text(0, $0) } == ["state", "bad", "it says nothing"])
  }

  @Test("A partition whose tables are of an older version makes the sender wait, and it is told what to do")
  func olderVersion() throws {
    let home = try Side(0)
    let outbox = "\(home.subject.schema)_p1.outbox"
    try home.subject.query("ALTER TABLE \(outbox) DROP COLUMN app")
    #expect(home.relay(1...1, "one") == .pending)
    try home.subject.completions.wait(for: 1)
    guard case .unavailable(let reason)? = home.subject.completions.all[0].error else {
      Issue.record("\(home.subject.completions.all)")
      return
    }
    #expect(reason.contains("start the new version of Fanfare on all partitions"))
    #expect(try home.subject.rows("channels") == 0 && home.subject.rows(outbox) == 0)
    try home.subject.query("ALTER TABLE \(outbox) ADD COLUMN app text")
    #expect(home.relay(1...1, "one") == .pending)
    try home.subject.completions.wait(for: 2)
    #expect(home.subject.completions.all[1].error == nil)
    #expect(try home.subject.rows(outbox) == 1)
  }

  @Test("Bytes that are sent count among those that wait")
  func backlog() throws {
    let home = try Side(0) { $0.backlogLimit = 5000 }
    #expect(home.relay(1...1, String(repeating: "x", count: 5000)) == .refused(.backlog(bytes: 0)))
    #expect(home.relay(1...1, "x") == .pending)
    try home.subject.completions.wait(for: 1)
  }

  @Test("A backend cannot say that an app has sent what it publishes")
  func backends() throws {
    let home = try Side(0) { $0.outboxMilliseconds = 0 }
    #expect(throws: PostgresError.self) {
      try home.subject.query("SELECT publish('chat:1', '1', '{\"app\": \"state\"}')")
    }
    try home.subject.query("SELECT publish('chat:1', '1')")
    let rows = try home.subject.query(
      "SELECT app IS NULL FROM \(home.schema).outbox UNION ALL SELECT app IS NULL FROM \(home.schema)_p1.outbox")
    #expect(rows.count == 1 && rows.bool(0, 0))
  }
}
