import Foundation
import PostgreSQL
import TestSupport
import Testing
import Wire

@testable import Log

/// `fanfare cluster partition`: channels move among the schemas of partitions, and stay what they were.
@Suite(
  "Sharing a log out in another number of partitions", .ownThread,
  .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct ClusterPartitioningTests {
  @Test("From 1 to 4, 3, 1 and 4 partitions each channel keeps its rows, and stands where it stood")
  func there() throws {
    let scene = try PartitionScene()
    try scene.fill()
    let rows = try scene.rows()
    let standings = try scene.standings()
    #expect(rows.count > 2000 && standings.count == scene.names.count)
    for count in [4, 3, 1, 4] {
      let before = scene.partitions
      let outcome = try scene.share(count)
      #expect(outcome.from == before && outcome.to == count && outcome.movedChannels > 50)
      #expect(try scene.rows() == rows, "\(count)")
      #expect(try scene.misplaced() == [], "\(count)")
      #expect(try scene.standings() == standings, "\(count)")
    }
    // Nothing is to do where everything is in its place.
    #expect(try scene.share(4).movedChannels == 0)
  }

  @Test("A namespace that is configured otherwise has its channels moved, and home's broker begins again")
  func placedOtherwise() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(3)
    try scene.open(Partitioning.home).store.close()
    var pinned = ChannelOptions()
    pinned.push = true
    var following = ChannelOptions()
    following.followsChannel = true
    let partitioning = Partitioning(
      count: 3, namespaces: NamespaceTable(namespaces: ["chat": pinned, "dm": ChannelOptions(), "receipts": following]))
    let moved = scene.names.filter { partitioning.partition(of: $0) != scene.partition(of: $0) }
    #expect(moved.count > 20)
    func home() throws -> PostgresSubject {
      try PostgresSubject(schema: scene.options.schema) {
        $0.partitions = 3
        ($0.pinnedNamespaces, $0.followingNamespaces) = (
          partitioning.pinnedNamespaces, partitioning.followingNamespaces
        )
      }
    }
    let error = #expect(throws: PostgresStartError.self) { try home() }
    #expect(error?.description.contains("run fanfare cluster partition 3") == true)
    var options = scene.options
    (options.pinnedNamespaces, options.followingNamespaces) = (
      partitioning.pinnedNamespaces, partitioning.followingNamespaces
    )
    let outcome = try ClusterPartitioning.perform(options, to: 3) { partitioning.partition(of: $0) }
    #expect(outcome.movedChannels == moved.count)
    try home().store.close()
  }

  @Test("What is published afterwards goes on behind what was, and idempotency keys still count")
  func goingOn() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(3)
    for partition in 0..<3 {
      let subject = try scene.open(partition)
      for name in scene.names where scene.partition(of: name) == partition {
        let opened = try subject.store.open(name, durability: PartitionScene.durability(of: name))
        let next = opened.position.offset + 1
        let outcome = subject.append(
          name, epoch: opened.position.epoch, offset: next, durability: PartitionScene.durability(of: name))
        #expect(outcome != .refused(.notContiguous))
      }
      try eventually { subject.store.bytesWaiting == 0 }
      subject.store.close()
      #expect(subject.completions.all.allSatisfy { $0.error == nil })
    }
    let before = try scene.rows()
    try scene.share(2)
    #expect(try scene.rows() == before && scene.misplaced() == [])
  }

  // MARK: Epochs

  @Test("Where partitions have lost something, or were not ended, channels that keep their epochs keep them")
  func eras() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(3)
    for (partition, era, run) in [(0, "", "r0"), (1, "e1", ""), (2, "e2", "r2")] {
      let schema = scene.schema(partition)
      try scene.query("UPDATE \(schema).meta SET value = '\(era)' WHERE key = 'era'")
      try scene.query("UPDATE \(schema).meta SET value = '\(run)' WHERE key = 'run'")
    }
    let standings = try scene.standings()
    let bare = try scene.bareEpochs()
    #expect(Set(standings.values.map { $0.epoch.drop { $0 != "." } }) == ["", ".r0", ".e1", ".e2", ".r2"])
    for count in [2, 4, 1] {
      try scene.share(count)
      #expect(try scene.standings() == standings, "\(count)")
      // What was never published on begins a new epoch, and not one that it had before the loss.
      #expect(Set(try scene.bareEpochs()).isDisjoint(with: bare))
    }
  }

  @Test("Without a loss, channels on which nothing was published keep their epochs too")
  func bare() throws {
    let scene = try PartitionScene()
    try scene.fill()
    let bare = try scene.bareEpochs()
    for count in [4, 3, 1] {
      try scene.share(count)
      #expect(try scene.bareEpochs() == bare, "\(count)")
    }
  }

  @Test("Where a partition was not ended in order, relaxed channels of all begin new epochs, and durable ones do not")
  func unclean() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(3)
    let before = try scene.standings()
    try scene.query("UPDATE \(scene.schema(2)).meta SET value = '0' WHERE key = 'clean'")
    try scene.share(2)
    let after = try scene.standings()
    for name in scene.names {
      let isSame = before[name.string]?.epoch == after[name.string]?.epoch
      #expect(isSame == (PartitionScene.durability(of: name) == .durable), "\(name)")
      #expect(before[name.string]?.top == after[name.string]?.top)
    }
  }

  @Test("A name whose channel was forgotten in a partition never gets that channel's epoch again")
  func forgotten() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(4)
    let name = try #require(scene.names.first { scene.partition(of: $0) == 3 })
    let bucket = PostgresSchema.bucket(of: name.string)
    try scene.query("SET search_path TO \(scene.schema(3)); DELETE FROM channels WHERE name = $1", [.bytes(name.bytes)])
    let generation = try scene.query(
      "SELECT generation FROM \(scene.schema(3)).generations WHERE bucket = $1",
      [
        .int(bucket)
      ]
    ).int(0, 0)
    try scene.share(1)
    let now = try scene.query("SELECT generation FROM \(scene.schema(0)).generations WHERE bucket = $1", [.int(bucket)])
    #expect(now.int(0, 0) >= generation && generation > 0)
  }

  // MARK: Outboxes

  @Test("What backends have published waits in order in the outbox of the channel's new partition")
  func outboxes() throws {
    let scene = try PartitionScene()
    try scene.fill()
    let channels = (0..<12).map { "chat:o\($0)" }
    func publish(_ numbers: Range<Int>) throws {
      for number in numbers {
        try scene.query(
          "SELECT publish($1, to_jsonb($2))", [.text(channels[number % channels.count]), .int(Int64(number))])
      }
    }
    try publish(0..<60)
    #expect(try scene.share(4).movedMessages > 0)
    try publish(60..<120)
    try scene.share(3)
    try publish(120..<180)
    let highest = try scene.query("SELECT max(id) FROM \(scene.schema(2)).outbox").int(0, 0)
    var found: [Int: [Int]] = [:]
    for partition in 0..<3 {
      let rows = try scene.query(
        "SELECT channel, data, position FROM \(scene.schema(partition)).outbox ORDER BY position")
      for row in 0..<rows.count {
        #expect(scene.partition(of: try channel(rows.text(row, 0))) == partition && !rows.isNull(row, 2))
        let number = try #require(Int(String(decoding: rows.bytes(row, 1), as: UTF8.self)))
        found[number % channels.count, default: []].append(number)
      }
    }
    #expect(found.count == channels.count)
    for (channel, numbers) in found {
      #expect(numbers == (0..<15).map { $0 * channels.count + channel })
    }
    try scene.share(1)
    // A row's number is the origin of its publication: none comes again in another outbox.
    try publish(180..<181)
    #expect(try scene.query("SELECT max(id) FROM \(scene.schema(0)).outbox").int(0, 0) > highest)
    #expect(try scene.query("SELECT count(*) FROM \(scene.schema(0)).outbox").int(0, 0) == 181)
    #expect(try scene.taken(181).count == 181)
  }

  @Test("A backend that publishes meanwhile waits, and finds the channel's new partition")
  func meanwhile() throws {
    let scene = try PartitionScene()
    try scene.fill()
    let partitioning = Partitioning(count: 4, namespaces: PartitionScene.namespaces)
    let names = try (0..<100).map { try ChannelName("chat:\($0)") }.filter { partitioning.partition(of: $0) == 2 }
    let (first, second) = (names[0], names[1])
    let open = try PostgresServer.shared().connect()
    try open.run(script: "SET search_path TO \(scene.schema(0)); BEGIN")
    _ = try open.query("SELECT publish($1, '1')", [.text(first.string)])
    let (sharing, late) = (Errand(scene.sharing(4)), Errand(scene.publishing(second.string)))
    sharing.start()
    try eventually { try scene.waits(for: "AccessExclusiveLock") }
    late.start()
    try eventually { try scene.waits(for: "AccessShareLock") }
    try open.run(script: "COMMIT")
    #expect(try sharing.result().movedMessages == 1)
    try late.result()
    let rows = try scene.query("SELECT channel FROM \(scene.schema(2)).outbox ORDER BY position")
    #expect((0..<rows.count).map { rows.text($0, 0) } == [first.string, second.string])
  }

  @Test("In a transaction that goes on seeing the former number, publishing fails")
  func repeatableRead() throws {
    let scene = try PartitionScene()
    try scene.fill()
    try scene.share(2)
    let backend = try PostgresServer.shared().connect()
    try backend.run(script: "SET search_path TO \(scene.schema(0)); BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    _ = try backend.query("SELECT count(*) FROM channels")
    try scene.share(4)
    let error = #expect(throws: PostgresError.self) { try backend.query("SELECT publish('chat:1', '1')") }
    #expect(error?.state == SQLState("40001"))
  }
}
