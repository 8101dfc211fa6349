import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Wire

@testable import Log

/// Work on another thread, whose end is waited for.
final class Errand<Value: Sendable>: Sendable {
  private let work: @Sendable () throws -> Value
  private let outcome = Mutex<Result<Value, any Error>?>(nil)

  init(_ work: @escaping @Sendable () throws -> Value) { self.work = work }

  func start() {
    Thread.detachNewThread { [self] in
      let result = Result { try work() }
      outcome.withLock { $0 = result }
    }
  }

  func result() throws -> Value {
    try eventually { outcome.withLock { $0 } != nil }
    guard let result = outcome.withLock({ $0 }) else { throw DeadlineExceeded() }
    return try result.get()
  }
}

/// A log with some hundred channels of all kinds, in a number of partitions that changes.
final class PartitionScene {
  /// Where a channel stands, as whoever opens it is told.
  struct Standing: Equatable {
    var epoch: String
    var top: UInt64
    var history: [UInt64]
    var entries: [String]
    var keys: [String]
    var origins: [RequestOrigin: UInt64]
  }

  static let namespaces: NamespaceTable = {
    var pinned = ChannelOptions()
    pinned.push = true
    var following = ChannelOptions()
    following.followsChannel = true
    return NamespaceTable(namespaces: ["chat": ChannelOptions(), "dm": pinned, "receipts": following])
  }()

  let names: [ChannelName]
  let options: PostgresStore.Options
  var partitions = 1
  /// The apps that are shared where the log is shared out.
  var sharedApps: Set<String> = []

  init() throws {
    names = try (0..<240).map { number in
      switch number % 8 {
      case 0: try ChannelName("dm:\(number)")
      case 1: try ChannelName("receipts:chat:\(number)")
      case 2: try ChannelName("$chat:\(number)#a")
      case 3: try ChannelName("plain\(number)")
      default: try ChannelName("chat:\(number)")
      }
    }
    let subject = try Self.subject(nil, 0, of: 1)
    options = subject.options
    subject.store.close()
  }

  private static func subject(_ schema: String?, _ partition: Int, of partitions: Int) throws -> PostgresSubject {
    try PostgresSubject(schema: schema) {
      $0.outboxMilliseconds = 0
      $0.now = { 10_000 }
      ($0.partition, $0.partitions) = (partition, partitions)
      let partitioning = Partitioning(count: partitions, namespaces: namespaces)
      ($0.pinnedNamespaces, $0.followingNamespaces) = (
        partitioning.pinnedNamespaces, partitioning.followingNamespaces
      )
    }
  }

  static func durability(of name: ChannelName) -> Durability { name.string.hasSuffix("3") ? .relaxed : .durable }

  func schema(_ partition: Int) -> String { PostgresStore.Options.schema(options.schema, of: partition) }
  func partition(of name: ChannelName) -> Int {
    Partitioning(count: partitions, namespaces: Self.namespaces).partition(of: name)
  }

  func open(_ partition: Int) throws -> PostgresSubject { try Self.subject(options.schema, partition, of: partitions) }

  @discardableResult
  func query(_ sql: String, _ parameters: [Parameter] = []) throws -> Rows {
    let connection = try PostgresServer.shared().connect()
    try connection.run(script: "SET search_path TO \(options.schema), pg_catalog")
    guard let end = sql.range(of: "; "), sql.hasPrefix("SET ") else {
      return try connection.query(sql, parameters, within: 60)
    }
    try connection.run(script: String(sql[..<end.lowerBound]))
    return try connection.query(String(sql[end.upperBound...]), parameters, within: 60)
  }

  // MARK: Sharing out

  /// For another thread.
  func sharing(_ count: Int, webhooks: Set<String>? = nil) -> @Sendable () throws -> ClusterPartitioning.Outcome {
    var options = options
    options.owner = "sharing"
    options.sharedApps = sharedApps
    let partitioning = Partitioning(count: count, namespaces: namespacesOfApps)
    options.sharedNamespaces = partitioning.sharedNamespaces
    return { [options] in
      try ClusterPartitioning.perform(options, to: count, webhooks: webhooks) { partitioning.partition(of: $0) }
    }
  }

  /// With those of apps that are shared; of another app's channels the names are enough.
  var namespacesOfApps: NamespaceTable {
    var namespaces = Self.namespaces.namespaces
    func add(_ name: String, _ sharing: ChannelOptions.Sharing, of app: String) {
      guard sharedApps.contains(app) else { return }
      var options = ChannelOptions()
      (options.app, options.sharing) = (AppName(app), sharing)
      namespaces[name] = options
    }
    add("state.threads", .user, of: "state")
    add("clique.chat", .conversation, of: "clique")
    add("clique.list", .user, of: "clique")
    add("clique.blocked", .home, of: "clique")
    return NamespaceTable(namespaces: namespaces)
  }

  @discardableResult
  func share(_ count: Int, webhooks: Set<String>? = nil) throws -> ClusterPartitioning.Outcome {
    let outcome = try sharing(count, webhooks: webhooks)()
    partitions = count
    return outcome
  }

  func publishing(_ channel: String) -> @Sendable () throws -> Void {
    { [schema = schema(0)] in
      let connection = try PostgresServer.shared().connect()
      try connection.run(script: "SET search_path TO \(schema), pg_catalog")
      _ = try connection.query("SELECT publish($1, '1')", [.text(channel)], within: 120)
    }
  }

  /// Whether somebody waits for a lock of the number's table.
  func waits(for mode: String) throws -> Bool {
    try query(
      """
      SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = $1 AND relation = '\(schema(0)).sharing'::regclass)
      """, [.text(mode)]
    ).bool(0, 0)
  }

  // MARK: Channels

  /// Writes channels with histories, entries of maps, keys, origins with and without their publications, floors, and
  /// channels of which nothing is kept.
  func fill() throws {
    let subject = try open(0)
    for (number, name) in names.enumerated() {
      let durability = Self.durability(of: name)
      let epoch = try subject.store.open(name, durability: durability).position.epoch
      for offset in 1...UInt64(4 + number % 5) {
        let change = number % 4 == 0 ? KeyChange(key: "k\(offset % 3)", removed: false, score: Int64(offset)) : nil
        let entry = LogEntry(
          ticket: subject.nextTicket(), channel: name, epoch: epoch,
          publication: Publication(
            offset: offset, time: 9000 + Int64(offset), data: [1, UInt8(offset)],
            info: ClientInfo(user: "u\(number)", client: "c", connectionInfo: [], channelInfo: nil),
            tags: number % 3 == 0 ? ["a": "b"] : [:], change: change), durability: durability,
          historySize: number % 6 == 5 ? 0 : 3, historyTTLMilliseconds: 60_000,
          idempotency: offset % 2 == 0
            ? IdempotencyRecord(key: "key\(offset)", offset: offset, digest: offset * 7, expires: 100_000) : nil,
          origin: RequestOrigin(gateway: 5, request: UInt64(number) * 100 + offset), writesMap: change != nil)
        let outcome = subject.store.append(entry)
        if outcome != .pending && outcome != .kept { throw PostgresError(.lost, "\(outcome)") }
      }
    }
    try eventually { subject.store.bytesWaiting == 0 }
    guard case .removed = try subject.store.answer(to: .removeHistory(names[4], through: 2)) else {
      throw PostgresError(.lost, "the history was not removed")
    }
    subject.store.close()
    try query("INSERT INTO generations SELECT b, b % 7 FROM generate_series(0, 4095, 3) AS b ON CONFLICT DO NOTHING")
  }

  /// Writes a channel of the server's into a partition's schema, as a broker does.
  ///
  /// - Parameter entries: of its map, by their keys.
  func write(_ name: String, in partition: Int, offsets: [Int64] = [], entries: [String: String] = [:]) throws {
    let schema = schema(partition)
    let top = offsets.max() ?? Int64(entries.count)
    let id = try query(
      """
      INSERT INTO \(schema).channels (shard, bucket, name, epoch, top, floor, durability, history_ttl, used)
      VALUES (0, $1, $2, 'e', $3, 0, 'durable', 0, 0) RETURNING id
      """, [.int(PostgresSchema.bucket(of: name)), .bytes(Array(name.utf8)), .int(top)]
    ).int(0, 0)
    for offset in offsets {
      try query(
        "INSERT INTO \(schema).publications (channel, off, time, shard, data) VALUES ($1, $2, 0, 0, '')",
        [.int(id), .int(offset)])
    }
    for (place, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
      try query(
        """
        INSERT INTO \(schema).entries (channel, key, off, time, score, shard, data)
        VALUES ($1, $2, $3, 0, 0, 0, $4)
        """,
        [
          .int(id), .bytes(Array(entry.key.utf8)), .int(Int64(place + 1)), .bytes(Array(entry.value.utf8)),
        ])
    }
  }

  /// The entries of a map in a partition's schema: their keys and offsets.
  func entries(of name: String, in partition: Int) throws -> [String: Int64] {
    let schema = schema(partition)
    let rows = try query(
      """
      SELECT e.key, e.off FROM \(schema).entries AS e JOIN \(schema).channels AS c ON c.id = e.channel WHERE c.name = $1
      """, [.bytes(Array(name.utf8))])
    return Dictionary(uniqueKeysWithValues: (0..<rows.count).map { (rows.text($0, 0), rows.int($0, 1)) })
  }

  /// All rows of channels, with their names in place of ids, sorted.
  func rows() throws -> [String] {
    var all: [String] = []
    for partition in 0..<partitions {
      let schema = schema(partition)
      var questions = ["SELECT encode(name, 'hex') || (to_jsonb(c) - 'id')::text FROM \(schema).channels AS c"]
      for table in ["publications", "entries", "idempotency", "origins"] {
        questions.append(
          """
          SELECT '\(table) ' || encode(c.name, 'hex') || (to_jsonb(r) - 'channel')::text
          FROM \(schema).\(table) AS r LEFT JOIN \(schema).channels AS c ON c.id = r.channel
          """)
      }
      for question in questions {
        let rows = try query(question)
        all += (0..<rows.count).map { rows.text($0, 0) }
      }
    }
    return all.sorted()
  }

  /// Channels that stand elsewhere than they should, and rows that are of no channel.
  func misplaced() throws -> [String] {
    var found: [String] = []
    for partition in 0..<64 {
      let schema = schema(partition)
      if try query("SELECT to_regclass('\(schema).channels') IS NULL").bool(0, 0) { continue }
      let rows = try query("SELECT name FROM \(schema).channels")
      for row in 0..<rows.count where self.partition(of: try ChannelName(rows.text(row, 0))) != partition {
        found.append("\(rows.text(row, 0)) in \(partition)")
      }
      for table in ["publications", "entries", "idempotency", "origins"] {
        let lost = try query(
          "SELECT count(*) FROM \(schema).\(table) WHERE channel NOT IN (SELECT id FROM \(schema).channels)")
        if lost.int(0, 0) > 0 { found.append("\(lost.int(0, 0)) rows of no channel in \(schema).\(table)") }
      }
    }
    return found
  }

  /// Where each channel stands, as the store of its partition says, which ends in order then.
  func standings() throws -> [String: Standing] {
    var standings: [String: Standing] = [:]
    for partition in 0..<partitions {
      let subject = try open(partition)
      for name in names where self.partition(of: name) == partition {
        let opened = try subject.store.open(name, durability: Self.durability(of: name), withEntries: true)
        standings[name.string] = Standing(
          epoch: opened.position.epoch, top: opened.position.offset, history: try subject.offsets(name),
          entries: opened.entries.map { "\($0.change?.key ?? "") \($0.offset)" }.sorted(),
          keys: opened.idempotencyKeys.map { "\($0.key) \($0.offset) \($0.digest) \($0.expires)" }.sorted(),
          origins: opened.recentOrigins)
      }
      subject.store.close()
    }
    return standings
  }

  /// Epochs of channels on which nothing was published, whose names' generations are the same everywhere.
  func bareEpochs() throws -> [String] {
    var epochs: [String: String] = [:]
    let bare = try (0..<30).map { try ChannelName("chat:bare\($0)") }
    for partition in 0..<partitions {
      let subject = try open(partition)
      for (number, name) in bare.enumerated() where self.partition(of: name) == partition {
        let durability: Durability = number % 2 == 0 ? .durable : .relaxed
        epochs[name.string] = try subject.store.open(name, durability: durability).position.epoch
      }
      subject.store.close()
    }
    return bare.compactMap { epochs[$0.string] }
  }

  /// The messages of home's outbox, as its broker takes them.
  func taken(_ count: Int) throws -> [OutboxMessage] {
    let subject = try PostgresSubject(schema: options.schema) { $0.partitions = self.partitions }
    defer { subject.store.close() }
    var messages: [OutboxMessage] = []
    try eventually {
      for case .outbox(let news) in subject.store.takeNews() {
        for message in news {
          messages.append(message)
          subject.store.conclude(message.id, .published)
        }
      }
      return messages.count >= count
    }
    return messages
  }
}
