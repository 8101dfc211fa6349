import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// A log that is shared in partitions, each with a schema of its own.
@Suite("Partitions in PostgreSQL", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PostgresSharingTests {
  private func partition(
    _ partition: Int, of partitions: Int, in schema: String? = nil,
    _ change: (inout PostgresStore.Options) -> Void = { _ in }
  ) throws -> PostgresSubject {
    try PostgresSubject(schema: schema) {
      $0.outboxMilliseconds = 0
      ($0.partition, $0.partitions) = (partition, partitions)
      change(&$0)
    }
  }

  private func mismatch(_ inLog: Int, _ configured: Int) -> PostgresStartError {
    .otherPartitions(inLog: inLog, configured: configured)
  }

  @Test(
    "The first broker of an empty log says in how many partitions it is shared, whichever it has; another number is refused"
  )
  func number() throws {
    let third = try partition(3, of: 4)
    let home = try partition(0, of: 4, in: third.schema)
    #expect(third.store.term == 1 && home.store.term == 1)
    #expect(try third.query("SELECT partitions FROM sharing").int(0, 0) == 4)
    for (partition, count) in [(0, 1), (3, 8), (1, 2)] {
      #expect(throws: mismatch(4, count)) { try self.partition(partition, of: count, in: third.schema) }
    }
    let sentence = "\(mismatch(4, 8))"
    #expect(sentence.contains("cluster.partitions is 8") && sentence.contains("set it to 4"))
  }

  @Test("A log in which something stands stays as it is until it is shared out")
  func occupied() throws {
    let whole = try partition(0, of: 1)
    try whole.query(
      """
      INSERT INTO channels (shard, bucket, name, epoch, top, floor, durability, history_ttl, used)
      VALUES (0, 0, 'a', 'e', 1, 0, 'durable', 0, 0)
      """)
    for number in [0, 1] {
      #expect(throws: mismatch(1, 2)) { try partition(number, of: 2, in: whole.schema) }
    }
  }

  @Test("What one partition writes is in its schema, and each has leases and epochs of its own")
  func apart() throws {
    let home = try partition(0, of: 2)
    let other = try partition(1, of: 2, in: home.schema)
    let name: ChannelName = "chat:1"
    for subject in [home, other] {
      let epoch = try subject.store.open(name, durability: .durable).position.epoch
      subject.append(name, epoch: epoch, offset: 1, durability: .durable)
      try subject.completions.wait(for: 1)
    }
    #expect(try home.rows("\(home.schema).publications") == 1 && home.rows("\(home.schema)_p1.publications") == 1)
    // Who reads beside a partition's broker reads that partition.
    for subject in [home, other] {
      let scan = try PostgresStore.scan(subject.options)
      let (found, position) = (
        try scan.channel(name, at: 1), try subject.store.open(name, durability: .durable).position
      )
      #expect(found?.epoch == position.epoch && found?.top == 1)
      try scan.close()
    }
    other.store.close()
    let again = try partition(1, of: 2, in: home.schema)
    #expect(again.store.term == 2 && home.store.term == 1)
  }

  // MARK: Where a backend's publications go

  /// Namespaces as brokers have them.
  private static let namespaces: NamespaceTable = {
    var pinned = ChannelOptions()
    pinned.push = true
    var following = ChannelOptions()
    following.followsChannel = true
    return NamespaceTable(
      withoutNamespace: pinned,
      namespaces: [
        "chat": ChannelOptions(), "dm": pinned, "d\u{E9}j\u{E0}": pinned, "receipts": following, "marks": following,
      ])
  }()

  private static func names() -> [String] {
    var random = SeededGenerator(seed: 69)
    let pieces = [
      "chat", "dm", "d\u{E9}j\u{E0}", "receipts", "marks", ":", ":", "$", "#1,2", "\u{1F600}", "x", "", "other",
    ]
    return (0..<2000).compactMap { _ in
      let name =
        (0..<Int.random(in: 1...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined() + "\(Int.random(in: 0..<100, using: &random))"
      return name.isEmpty ? nil : name
    } + ["receipts:", "$receipts:", ":", "$", "$:", "receipts:receipts:chat:1", "receipts:dm:1", "a:b:c", "$dm:1"]
  }

  @Test("The database places a channel where brokers and gateways place it", arguments: [1, 2, 3, 64])
  func placed(partitions: Int) throws {
    let partitioning = Partitioning(count: partitions, namespaces: Self.namespaces)
    let home = try partition(0, of: partitions) {
      $0.pinnedNamespaces = partitioning.pinnedNamespaces
      $0.followingNamespaces = partitioning.followingNamespaces
    }
    let names = Self.names()
    let rows = try home.query(
      "SELECT partition_of(name), slot_of(name) FROM unnest($1) WITH ORDINALITY AS n (name, place) ORDER BY place",
      [.texts(names)])
    for (row, name) in names.enumerated() {
      #expect(rows.int(row, 1) == Partitioning.slot(of: name), "\(name)")
      let channel = try ChannelName(name)
      #expect(rows.int(row, 0) == partitioning.partition(of: channel), "\(name)")
    }
  }

  @Test("Namespaces that are configured otherwise are placed otherwise when home begins again")
  func placedAgain() throws {
    let home = try partition(0, of: 4) {
      $0.pinnedNamespaces = ["chat", "old"]
      $0.followingNamespaces = ["receipts"]
    }
    home.store.close()
    let again = try partition(0, of: 4, in: home.schema) {
      $0.pinnedNamespaces = ["receipts"]
      $0.followingNamespaces = ["chat"]
    }
    let rows = try again.query("SELECT namespace, follows FROM pinned ORDER BY namespace")
    #expect((0..<rows.count).map { rows.text($0, 0) } == ["chat", "receipts"])
    #expect((0..<rows.count).map { rows.bool($0, 1) } == [true, false])
  }

  /// - Returns: the channel's id.
  @discardableResult
  private func add(_ channel: String, to schema: String, _ subject: PostgresSubject) throws -> Int64 {
    try subject.query(
      """
      INSERT INTO \(schema).channels (shard, bucket, name, epoch, top, floor, durability, history_ttl, used)
      VALUES (0, 0, convert_to($1, 'UTF8'), 'e', 1, 0, 'durable', 0, 0) RETURNING id
      """, [.text(channel)]
    ).int(0, 0)
  }

  @Test("A namespace of an operator's own whose name begins like that of notifications is placed otherwise, not kept")
  func ownPush() throws {
    let home = try partition(0, of: 3) { $0.pinnedNamespaces = ["push.news"] }
    home.store.close()
    try add("push.news:1", to: home.schema, home)
    #expect(throws: PostgresStartError.displaced(namespace: "push.news", partitions: 3)) {
      try self.partition(0, of: 3, in: home.schema)
    }
  }

  @Test(
    "A namespace that holds channels already is not placed otherwise: they would be looked for where they are not",
    arguments: [("chat", "$chat:1", 1), ("", "plain", 2), ("chat", "chat:1", 0)])
  func displaced(namespace: String, channel: String, partition: Int) throws {
    let home = try self.partition(0, of: 3)
    home.store.close()
    try add(channel, to: partition == 0 ? home.schema : "\(home.schema)_p\(partition)", home)
    #expect(throws: PostgresStartError.displaced(namespace: namespace, partitions: 3)) {
      try self.partition(0, of: 3, in: home.schema) { $0.pinnedNamespaces = [namespace, "other"] }
    }
    // One in which nothing stands may be placed anywhere, and what was refused has changed nothing.
    let again = try self.partition(0, of: 3, in: home.schema) { $0.followingNamespaces = ["chatter", "other"] }
    #expect(try again.rows("pinned") == 2)
  }

  @Test(
    "An app that has records and no channel is neither shared nor brought home either", arguments: ["state", "clique"],
    [true, false])
  func records(app: String, isShared: Bool) throws {
    // `….profile` is at home either way.
    let (own, home) = ("\(app).list", "\(app).profile")
    func open(_ isShared: Bool, in schema: String?, _ more: Set<String> = []) throws -> PostgresSubject {
      try self.partition(0, of: 3, in: schema) {
        $0.pinnedNamespaces = more.union(isShared ? [home] : [own, home])
        $0.sharedNamespaces = isShared ? [own] : []
      }
    }
    let subject = try open(isShared, in: nil)
    subject.store.close()
    // Nothing keeps an app from being shared, or brought home, that has nothing yet.
    for _ in 0..<2 { for again in [!isShared, isShared] { try open(again, in: subject.schema).store.close() } }
    let schema = isShared ? "\(subject.schema)_p2" : subject.schema
    let id = try add("\(app).records:all", to: schema, subject)
    try subject.query(
      "INSERT INTO \(schema).entries (channel, key, off, time, score, shard, data) VALUES ($1, 'k', 1, 0, 0, 0, '{}')",
      [.int(id)])
    let fault = PostgresStartError.displacedApp(app)
    #expect(throws: fault) { try open(!isShared, in: subject.schema) }
    #expect("\(fault)".hasSuffix("set \(app).partitioned to what it was"))
    // What was refused has changed nothing, and the app may have more namespaces.
    let again = try open(isShared, in: subject.schema, ["\(app).more"])
    #expect(try again.rows("pinned") == (isShared ? 2 : 3))
  }

  @Test(
    "An app that is switched off keeps what it has, where it is: it can be switched on again as it was, and not otherwise",
    arguments: ["state.list", "clique.list", "push.devices"])
  func switchedOff(own: String) throws {
    func open(_ pinned: Set<String>, shared: Set<String> = [], in schema: String?) throws -> PostgresSubject {
      try self.partition(0, of: 3, in: schema) { ($0.pinnedNamespaces, $0.sharedNamespaces) = (pinned, shared) }
    }
    let subject = try open([own, "dm"], in: nil)
    subject.store.close()
    try add("\(own):1", to: subject.schema, subject)
    let off = try open(["dm"], in: subject.schema)
    let kept = try off.query("SELECT namespace FROM pinned ORDER BY namespace")
    #expect((0..<kept.count).map { kept.text($0, 0) }.sorted() == [own, "dm"].sorted())
    off.store.close()
    // Once more, because what was kept has to be found there again; and what is no app's goes as before.
    try open([], in: subject.schema).store.close()
    #expect(throws: PostgresStartError.displaced(namespace: own, partitions: 3)) {
      try open(["\(own).more"], shared: [own], in: subject.schema)
    }
    let on = try open([own], in: subject.schema)
    #expect(try on.rows("pinned") == 1)
  }

  @Test("A broker that has all channels keeps others from sharing the log in which nothing stands yet")
  func running() throws {
    let whole = try partition(0, of: 1)
    #expect(throws: mismatch(1, 2)) { try partition(1, of: 2, in: whole.schema) }
    whole.store.close()
    // PostgreSQL frees the lease's lock once it has ended the session, a moment after the connection is closed.
    var later: PostgresSubject?
    _ = blocksUntil(within: .seconds(60)) {
      later = try? partition(1, of: 2, in: whole.schema)
      return later != nil
    }
    let shared = try #require(later, "it is refused though nobody has all channels any more")
    #expect(try shared.query("SELECT partitions FROM sharing").int(0, 0) == 2)
    // All of its tables are there, so that backends may publish on any channel.
    #expect(try shared.rows("\(whole.schema).outbox") == 0 && shared.rows("\(whole.schema)_p1.outbox") == 0)
    #expect(throws: mismatch(2, 1)) { try partition(0, of: 1, in: whole.schema) }
  }

  @Test("What is published in a transaction waits in the outbox of the channel's partition, once it is committed")
  func outboxes() throws {
    let partitioning = Partitioning(count: 3, namespaces: Self.namespaces)
    let home = try partition(0, of: 3) { $0.pinnedNamespaces = partitioning.pinnedNamespaces }
    let others = try [1, 2].map { try partition($0, of: 3, in: home.schema) }
    var expected = [0, 0, 0]
    for number in 0..<30 {
      let channel = try ChannelName(number % 3 == 0 ? "dm:\(number)" : "chat:\(number)")
      expected[partitioning.partition(of: channel)] += 1
      try home.query("SELECT publish($1, '1')", [.text(channel.string)])
    }
    let schemas = [home.schema] + [1, 2].map { "\(home.schema)_p\($0)" }
    let found = try schemas.map { try home.rows("\($0).outbox") }
    #expect(found == expected && expected.allSatisfy { $0 > 0 })
    #expect(try schemas.allSatisfy { try home.query("SELECT 1 FROM \($0).outbox WHERE position IS NULL").count == 0 })
    withExtendedLifetime(others) {}
  }
}
