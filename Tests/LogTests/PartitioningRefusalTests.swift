import Dispatch
import Foundation
import Logging
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// When a log is not shared out anew, and what becomes of the server's own channels when it is.
@Suite(
  "What stands in the way of another number of partitions", .ownThread,
  .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PartitioningRefusalTests {
  private typealias Fault = ClusterPartitioning.Fault

  private func scene(_ partitions: Int) throws -> PartitionScene {
    let scene = try PartitionScene()
    try scene.fill()
    if partitions > 1 { try scene.share(partitions) }
    return scene
  }

  /// Nothing is changed by what was refused, and a broker can begin as before.
  private func expect(_ fault: ClusterPartitioning.Fault, of scene: PartitionScene, to count: Int) throws {
    let rows = try scene.rows()
    let standings = try scene.standings()
    #expect(throws: fault) { try scene.sharing(count)() }
    #expect(try scene.rows() == rows && scene.standings() == standings)
  }

  // MARK: Brokers

  @Test("A log of which a broker has a partition is not shared out", arguments: [0, 1])
  func running(partition: Int) throws {
    let scene = try scene(2)
    let rows = try scene.rows()
    let broker = try scene.open(partition)
    let error = #expect(throws: Fault.self) { try scene.sharing(3)() }
    #expect(error == .held(partition: partition, owner: "tests"))
    #expect(error?.description.contains("stop all brokers") == true)
    // It goes on: neither its lease nor its locks were touched.
    let name = try #require(scene.names.first { scene.partition(of: $0) == partition })
    let position = try broker.store.open(name, durability: PartitionScene.durability(of: name)).position
    let next = position.offset + 1
    broker.append(name, epoch: position.epoch, offset: next, durability: PartitionScene.durability(of: name))
    try eventually { broker.store.bytesWaiting == 0 }
    broker.store.close()
    #expect(broker.completions.all.allSatisfy { $0.error == nil })
    #expect(try scene.rows().count >= rows.count)
    try scene.share(3)
  }

  @Test("A broker that begins meanwhile finds the new number, and is refused")
  func beginning() throws {
    let scene = try scene(1)
    let open = try PostgresServer.shared().connect()
    try open.run(script: "SET search_path TO \(scene.schema(0)); BEGIN")
    _ = try open.query("SELECT publish('chat:1', '1')")
    let sharing = Errand(scene.sharing(2))
    sharing.start()
    try eventually { try scene.waits(for: "AccessExclusiveLock") }
    let (schema, connection) = (scene.options.schema, scene.options.connection)
    let broker = Errand { try PostgresSubject(schema: schema, connection: connection).store.close() }
    broker.start()
    try eventually {
      try scene.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").int(0, 0) > 0
    }
    try open.run(script: "COMMIT")
    _ = try sharing.result()
    #expect(throws: PostgresStartError.otherPartitions(inLog: 2, configured: 1)) { try broker.result() }
  }

  @Test("A broker that was paused writes nothing more, and does not take its partition again")
  func paused() throws {
    let scene = try scene(1)
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let lines = LogLines()
    let broker = try PostgresSubject(
      schema: scene.options.schema, connection: proxy.connection, logger: Logger(label: "test") { _ in lines }
    ) { $0.outboxMilliseconds = 0 }
    let name: ChannelName = "chat:4"
    let position = try broker.store.open(name, durability: .durable).position
    proxy.set(.paused)
    // What the server does where the network is gone.
    try scene.query(
      """
      SELECT pg_terminate_backend(pid) FROM \(scene.schema(0)).shards WHERE pid <> 0
      """)
    try scene.share(2)
    let rows = try scene.rows()
    proxy.set(.open)
    let outcome = broker.append(name, epoch: position.epoch, offset: position.offset + 1, durability: .durable)
    if outcome == .pending {
      try broker.completions.wait(for: 1)
      #expect(broker.completions.all.last?.error == .fenced)
    } else {
      #expect(outcome == .refused(.fenced))
    }
    _ = try broker.news { $0.contains(.lost) }
    try eventually { lines.all.contains { $0.hasPrefix("critical") && $0.contains("shared in 2 partitions") } }
    broker.store.close()
    #expect(try scene.rows() == rows)
  }

  @Test("A lock that somebody has who says nothing of himself is refused too, and a log that is not there")
  func others() throws {
    let scene = try scene(1)
    let other = try PostgresServer.shared().connect()
    let key = PostgresDatabase(
      parameters: ConnectionParameters("", applicationName: ""), schema: scene.schema(1), home: "", partitions: 1,
      patience: 1
    ).lockKey("lease")
    _ = try other.query("SELECT pg_advisory_lock($1)", [.int(key)])
    try expect(.held(partition: 1, owner: ""), of: scene, to: 2)
    other.close()
    var options = scene.options
    options.schema = "nothing_here"
    let error = #expect(throws: PostgresStartError.self) {
      try ClusterPartitioning.perform(options, to: 2) { _ in 0 }
    }
    #expect(error?.description.contains("there is no log in the schema nothing_here") == true)
    #expect(try scene.query("SELECT to_regnamespace('nothing_here') IS NULL").bool(0, 0))
  }

  // MARK: What goes wrong on the way

  @Test("Where something fails on the way nothing is changed", arguments: ["origins", "outbox", "generations"])
  func failure(table: String) throws {
    let scene = try scene(3)
    for number in 0..<9 { try scene.query("SELECT publish('chat:\(number)', '1')") }
    let connection = try PostgresServer.shared().connect()
    try connection.run(
      script: """
        SET search_path TO \(scene.schema(1));
        CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
        CREATE TRIGGER fails BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION fails();
        """)
    let standings = try scene.standings()
    func all() throws -> [String] {
      try scene.rows()
        + (0..<3).flatMap { partition in
          try ["outbox", "generations", "sharing"].flatMap { table -> [String] in
            if table == "sharing", partition > 0 { return [] }
            let rows = try scene.query("SELECT to_jsonb(r)::text FROM \(scene.schema(partition)).\(table) AS r")
            return (0..<rows.count).map { "\(partition) \(table) " + rows.text($0, 0) }.sorted()
          }
        }
    }
    let before = try all()
    let error = #expect(throws: PostgresStartError.self) { try scene.sharing(2)() }
    #expect(error?.description.contains("no room") == true)
    #expect(try all() == before && scene.standings() == standings)
    try connection.run(script: "DROP FUNCTION fails CASCADE")
    try scene.share(2)
    #expect(try scene.standings() == standings && scene.misplaced() == [])
  }

  @Test("A channel that stands in two partitions is named, and not merged")
  func doubled() throws {
    let scene = try scene(2)
    let name = try #require(scene.names.first { scene.partition(of: $0) == 1 })
    try scene.write(name.string, in: 0, offsets: [1])
    #expect(throws: Fault.doubled(channel: name.string, partitions: [0, 1])) { try scene.sharing(1)() }
    #expect(throws: Fault.doubled(channel: name.string, partitions: [0, 1])) { try scene.sharing(2)() }
  }

  // MARK: Apps

  @Test(
    "Where an app is shared and has records, neither the number of partitions nor that it is shared can be changed",
    arguments: ["state", "clique"])
  func sharedApp(_ app: String) throws {
    let scene = try scene(2)
    scene.sharedApps = [app]
    func marks() throws -> Int64 {
      try scene.query(
        "SELECT count(*) FROM \(scene.schema(1)).channels WHERE name = $1", [.bytes(Array("\(app).marks:all".utf8))]
      ).int(0, 0)
    }
    try scene.write("\(app).marks:all", in: 1)
    try scene.share(3)
    #expect(try marks() == 1, "each partition has its own")
    let fault = Fault.sharedApp(app, partitions: 3)
    try scene.query(
      "INSERT INTO \(scene.schema(2)).outbox (channel, data, options, app) VALUES ('', '', '{}', $1)", [.text(app)])
    try expect(fault, of: scene, to: 2)
    try scene.share(3)
    let waiting = try scene.query("DELETE FROM \(scene.schema(2)).outbox WHERE app = $1 RETURNING app", [.text(app)])
    #expect(waiting.count == 1, "what is on its way to the app stays where it is")
    try scene.share(2)
    try scene.share(3)
    for partition in [0, 1] { try scene.write("\(app).records:all", in: partition, entries: ["t": "{}"]) }
    for count in [1, 2, 4] { try expect(fault, of: scene, to: count) }
    #expect("\(fault)".contains("leave the log shared in 3"))
    #expect("\(fault)".hasPrefix(app == "state" ? "State has" : "Clique has"))
    #expect("\(fault)".hasSuffix("set \(app).partitioned to what it was"))
    try scene.share(3)
    #expect(try scene.entries(of: "\(app).records:all", in: 1) == ["t": 1] && marks() == 1)
    // That the other one is shared, too, changes nothing.
    scene.sharedApps = ["state", "clique"]
    try scene.share(3)
    scene.sharedApps.remove(app)
    for count in [2, 3] { try expect(fault, of: scene, to: count) }
  }

  /// A channel of a shared app that is not at home in two partitions.
  private func displaced(_ namespace: String, _ scene: PartitionScene) throws -> String {
    try #require(
      (0..<100).map { "\(namespace):p\($0)" }.first { name in
        (try? ChannelName(name)).map { Partitioning(count: 2, namespaces: scene.namespacesOfApps).partition(of: $0) }
          == 1
      })
  }

  @Test(
    "An app that has records at home is not shared any more, and one that has none is",
    arguments: [("state", ["state.threads"]), ("clique", ["clique.chat", "clique.list"])])
  func sharingApp(_ app: String, _ namespaces: [String]) throws {
    let scene = try scene(2)
    scene.sharedApps = [app]
    let names = try namespaces.map { try displaced($0, scene) }
    scene.sharedApps = []
    for name in names { try scene.write(name, in: 0, entries: ["x": "{}"]) }
    try scene.write("\(app).records:all", in: 0, entries: ["t": "{}"])
    try scene.share(2)
    scene.sharedApps = [app]
    for count in [2, 3] { try expect(.sharedApp(app, partitions: 2), of: scene, to: count) }
    try scene.query("DELETE FROM \(scene.schema(0)).entries WHERE key = 't'")
    try scene.share(2)
    for name in names { #expect(try scene.entries(of: name, in: 1) == ["x": 1], "\(name)") }
  }

  @Test(
    "Nor is one that has records at home and no channel yet",
    arguments: [("state", "state.threads"), ("clique", "clique.list")])
  func sharingRecords(_ app: String, _ namespace: String) throws {
    let scene = try scene(2)
    try scene.write("\(app).records:all", in: 0, entries: ["t": "{}"])
    try scene.query("INSERT INTO pinned VALUES ($1, false)", [.text(namespace)])
    scene.sharedApps = [app]
    for count in [2, 3] { try expect(.sharedApp(app, partitions: 2), of: scene, to: count) }
    try scene.query("DELETE FROM entries WHERE key = 't'")
    try scene.share(2)
    #expect(try scene.query("SELECT 1 FROM pinned WHERE namespace = $1", [.text(namespace)]).count == 0)
  }

  @Test("Of Clique groups and what is of many people stay at home, and what follows a conversation goes with it")
  func cliquePlaces() throws {
    let scene = try scene(2)
    scene.sharedApps = ["clique"]
    let chat = try displaced("clique.chat", scene)
    let user = try displaced("clique.list", scene).dropFirst("clique.list:".count)
    scene.sharedApps = []
    let group = "clique.chat:g" + chat.dropFirst("clique.chat:p".count)
    let (moving, staying) = ([chat, "receipts:\(chat)"], [group, "receipts:\(group)", "clique.blocked:\(user)"])
    // A receipt is where its channel is, in whichever partition its own name would be.
    for name in moving + staying { try scene.write(name, in: 0, entries: ["x": "{}"]) }
    scene.sharedApps = ["clique"]
    #expect(try scene.share(2).movedChannels == moving.count)
    for name in moving { #expect(try scene.entries(of: name, in: 1) == ["x": 1], "\(name)") }
    for name in staying { #expect(try scene.entries(of: name, in: 0) == ["x": 1], "\(name)") }
  }

  // MARK: The server's own channels

  @Test("Events of webhooks that wait, and deletions, are in the way; what is done is not")
  func waiting() throws {
    let scene = try scene(3)
    try scene.write("fanfare.webhook:orders", in: 2, offsets: [5, 6, 7])
    try scene.write(
      "fanfare.webhooks:records", in: 2, entries: ["done/orders": #"{"epoch":"e","offset":6,"total":100}"#])
    let fault = Fault.waitingEvents(webhook: "orders", events: 1, partition: 2, partitions: 3)
    try expect(fault, of: scene, to: 2)
    try expect(fault, of: scene, to: 4)
    for part in ["the webhook orders has 1 event still", "partition 2", "cluster.partitions 3"] {
      #expect("\(fault)".contains(part))
    }
    // Nobody sends what is not configured any more: it stays, for when there is such a webhook again.
    #expect(try scene.share(2, webhooks: ["other"]).restingEvents == 1)
    #expect(try scene.entries(of: "fanfare.webhooks:records", in: 2).count == 1)
    try scene.share(3)
    try expect(fault, of: scene, to: 2)
    try scene.query(
      "UPDATE \(scene.schema(2)).entries SET data = $1 WHERE key = 'done/orders'",
      [.bytes(Array(#"{"epoch":"e","offset":7,"total":100}"#.utf8))])
    try scene.write("fanfare.deletions:all", in: 1, entries: [" pepper": "p", "done:x": "{}", "u1": "{}"])
    try expect(.deletionsUnderWay(1, partition: 1, partitions: 3), of: scene, to: 2)
    try scene.query("DELETE FROM \(scene.schema(1)).entries WHERE key = 'u1'")
    #expect(try scene.share(2).restingEvents == 0)
    #expect(try scene.query("SELECT count(*) FROM \(scene.schema(2)).channels").int(0, 0) == 0)
  }

  @Test("Events that were given up rest in a partition that there is no more, and their cursor with them")
  func givenUp() throws {
    let scene = try scene(2)
    try scene.write("fanfare.webhook-given-up:orders", in: 1, offsets: [3, 4, 5])
    try scene.write("fanfare.webhook:orders", in: 1)
    try scene.write(
      "fanfare.webhooks:records", in: 1, entries: ["resent/orders": #"{"epoch":"e","offset":3,"total":0}"#])
    #expect(try scene.share(1).restingEvents == 2)
    let rows = try scene.query("SELECT convert_from(name, 'UTF8') FROM \(scene.schema(1)).channels ORDER BY 1")
    #expect(
      (0..<rows.count).map { rows.text($0, 0) } == ["fanfare.webhook-given-up:orders", "fanfare.webhooks:records"])
  }

  @Test("A new partition begins with home's revocations, and each keeps what else is the server's")
  func revocations() throws {
    let scene = try scene(1)
    try scene.write("fanfare.revocations:all", in: 0, entries: ["user/1": "{}", "user/2": "{}"])
    try scene.write("fanfare.deletions:all", in: 0, entries: ["done:x": "{}"])
    try scene.share(3)
    for partition in 0..<3 {
      #expect(try scene.entries(of: "fanfare.revocations:all", in: partition) == ["user/1": 1, "user/2": 2])
      #expect(try scene.entries(of: "fanfare.deletions:all", in: partition).count == (partition == 0 ? 1 : 0))
    }
    try scene.query("DELETE FROM \(scene.schema(0)).entries WHERE key = 'user/1'")
    try scene.share(2)
    #expect(try scene.entries(of: "fanfare.revocations:all", in: 1).count == 2)
    try scene.share(3)
    #expect(try scene.entries(of: "fanfare.revocations:all", in: 2) == ["user/2": 2])
  }

  @Test("Which channels are occupied is known where it will be told that they are vacated")
  func occupied() throws {
    let scene = try scene(1)
    let names = (0..<20).map { "chat:occupied\($0)" }
    try scene.write(
      "fanfare.occupied:all", in: 0, entries: Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
    for count in [3, 2, 1] {
      try scene.share(count)
      for partition in 0..<count {
        let entries = try scene.entries(of: "fanfare.occupied:all", in: partition)
        #expect(Set(entries.keys) == Set(try names.filter { scene.partition(of: try channel($0)) == partition }))
        let standing = try scene.query(
          "SELECT top, floor FROM \(scene.schema(partition)).channels WHERE name = 'fanfare.occupied:all'")
        #expect(Set(entries.values).count == entries.count && entries.values.allSatisfy { $0 <= standing.int(0, 0) })
      }
    }
  }

  @Test("Accounts are counted where channels come to whose namespace has a quota, and no more where they go")
  func quotas() throws {
    let scene = try PartitionScene()
    try scene.share(2)
    let names = try (0..<40).map { try ChannelName("diary:\($0)#u") }.filter { scene.partition(of: $0) == 1 }
    try #require(names.count > 5)
    func open(_ partition: Int) throws -> PostgresSubject {
      try PostgresSubject(schema: scene.options.schema) {
        ($0.partition, $0.partitions, $0.quotaNamespaces) = (partition, 2, ["diary"])
        $0.now = { 10_000 }
      }
    }
    try open(0).store.close()
    let subject = try open(1)
    for name in names {
      let epoch = try subject.store.open(name, durability: .durable).position.epoch
      subject.append(name, epoch: epoch, offset: 1, durability: .durable, time: 9000)
    }
    try subject.completions.wait(for: names.count)
    subject.store.close()
    func kept(_ partition: Int) throws -> Int64 {
      try scene.query("SELECT coalesce(sum(bytes), 0)::bigint FROM \(scene.schema(partition)).kept").int(0, 0)
    }
    let bytes = try kept(1)
    #expect(try bytes > 0 && kept(0) == 0)
    // As where the namespace got its quota when its channels were elsewhere already.
    let outcome = try ClusterPartitioning.perform(scene.options, to: 2) { _ in 0 }
    #expect(outcome.movedChannels == names.count)
    #expect(try kept(0) == bytes && kept(1) == 0)
  }
}
