import Foundation
import TestSupport
import Testing

/// A log that is shared in partitions, over two machines and two gateways.
@Suite("Partitions of a log", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct PartitionsTests {
  /// Somebody who publishes on a channel, and somebody who listens to it.
  private struct Line {
    let channel: String
    let record = FireRecord()
    let publisher: Peer
    let subscriber: Peer
  }

  private func lines(_ machines: Machines) async throws -> [Line] {
    var lines: [Line] = []
    for (index, channel) in try machines.channels(each: 1).enumerated() {
      let (publisher, subscriber) = (
        try await machines.client("w\(index)", at: index % 2 == 0 ? "a" : "b"),
        try await machines.client("s\(index)", at: "a")
      )
      try await subscriber.subscribe(channel)
      lines.append(Line(channel: channel, publisher: publisher, subscriber: subscriber))
    }
    return lines
  }

  @Test("Whatever becomes of the brokers of partitions, or of a whole machine: on each channel once and in order")
  func underFire() async throws {
    let (seed, rounds) = (Fire.seed(of: "partitions under fire"), Fire.rounds(usually: 6))
    var random = SeededGenerator(seed: seed)
    try await Machines.with(partitions: 3) { machines in
      let lines = try await lines(machines)
      let service = FireRecord()
      let asked = try machines.service(at: "two")
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { for record in lines.map(\.record) + [service] { record.end() } }
        for line in lines {
          group.addTask { await line.record.pipeline("w", to: line.channel, over: line.publisher) }
        }
        // By way of a machine, whichever has the partition.
        group.addTask { await service.careful("s", to: lines[1].channel, over: asked) }
        let troubles = (0..<rounds).map { Trouble.allCases[$0 % Trouble.allCases.count] }.shuffled(using: &random)
        for (round, trouble) in troubles.enumerated() {
          let partition = Int.random(in: 0..<machines.partitions, using: &random)
          let what = "round \(round), partition \(partition) \(trouble), seed \(seed)"
          try await follow(trouble, partition, machines, lines, what)
        }
        try await goOn(lines, "the last, seed \(seed)")
        // All brokers of a machine, and whoever has started them.
        try await lose("one", machines, lines)
        for record in lines.map(\.record) + [service] { record.end() }
        try await group.waitForAll()
      }
      try await check(lines, machines, beside: service, seed)
    }
  }

  private func goOn(_ lines: [Line], _ what: String) async throws {
    for line in lines { try await line.record.goesOn(by: 10, "\(line.channel), \(what)") }
  }

  private func follow(
    _ trouble: Trouble, _ partition: Int, _ machines: Machines, _ lines: [Line], _ what: String
  ) async throws {
    let former = try await machines.owner(of: partition)
    kill(former, trouble.signal)
    let isFollowed = await eventually(within: .seconds(60)) {
      let owner = try? machines.ask("SELECT owner FROM \(machines.schema(of: partition)).shards WHERE shard = 0").first
      return owner.map { !$0.isEmpty && !$0.hasSuffix("process \(former)") } ?? false
    }
    try #require(isFollowed, "\(what): nobody has followed")
    try await goOn(lines, what)
    if trouble == .paused { kill(former, SIGCONT) }
  }

  private func lose(_ name: String, _ machines: Machines, _ lines: [Line]) async throws {
    await (try machines.machine(name)).kill()
    for partition in 0..<machines.partitions {
      _ = try await machines.owner(of: partition)
    }
    try await goOn(lines, "without machine \(name)")
    try await machines.start(name)
    try await goOn(lines, "with machine \(name) again")
  }

  private func check(
    _ lines: [Line], _ machines: Machines, beside service: FireRecord, _ seed: UInt64
  ) async throws {
    let reader = try machines.service(at: "one")
    var total = 0
    for (place, line) in lines.enumerated() {
      let history = await FireRecord.whole(try await reader.wholeHistory(line.channel)) {
        line.subscriber.publications(line.channel).map(\.data)
      }
      total += history.count
      let own = history.filter { $0.hasPrefix("w-") }
      let faults = line.record.faults(in: own)
      #expect(faults.isEmpty, "\(line.channel), seed \(seed): \(faults.prefix(10))")
      if place == 1 {
        let faults = service.faults(in: history.filter { $0.hasPrefix("s-") })
        #expect(faults.isEmpty, "the service's, seed \(seed): \(faults.prefix(10))")
        #expect(!service.acknowledgements.isEmpty)
      } else {
        #expect(own.count == history.count)
      }
      #expect(
        await eventually(within: .seconds(60)) { line.subscriber.publications(line.channel).count >= history.count })
      let seen = line.subscriber.publications(line.channel)
      let isWhole = seen.map(\.data) == history
      #expect(isWhole, "\(line.channel), seed \(seed): \(seen.count) seen, \(history.count) kept")
      let isContiguous = seen.compactMap(\.offset) == (0..<seen.count).map { UInt64($0) + 1 }
      #expect(isContiguous, "\(line.channel), seed \(seed)")
      #expect(line.record.refused.isEmpty, "\(line.channel): \(line.record.refused.prefix(5))")
    }
    #expect(lines.allSatisfy { $0.publisher.socket.closing == nil && $0.subscriber.socket.closing == nil })
    print("partitions under fire: \(total) publications on \(lines.count) channels, all there once and in order")
  }

  @Test("A service asks any machine about any channel; what concerns several partitions is answered as one")
  func services() async throws {
    try await Machines.with(partitions: 4) { machines in
      let channels = try machines.channels(each: 2)
      let ann = try await machines.client("ann", at: "a")
      let (first, second) = (try machines.service(at: "one"), try machines.service(at: "two"))
      for channel in channels {
        try await ann.subscribe(channel)
        try await ann.publish("from ann", to: channel)
        let answer = try await second.publish("from a service", to: channel)
        #expect(!answer.isError)
        #expect(try await first.wholeHistory(channel).map(\.data) == ["from ann", "from a service"])
        #expect(await eventually { ann.publications(channel).map(\.data) == ["from ann", "from a service"] })
      }
      // Every partition has its own.
      for partition in 0..<machines.partitions {
        #expect(try machines.ask("SELECT count(*)::text FROM \(machines.schema(of: partition)).publications") == ["4"])
      }
      let key = "the same key"
      let once = try await first.publish("once", to: channels[5], key: key)
      let again = try await second.publish("once", to: channels[5], key: key)
      #expect(once.offset == again.offset && once.offset != nil)
      try await tidy(channels, ann, machines, second)
    }
  }

  /// Ends a user's connection, and deletes what is kept of the user, over all partitions.
  private func tidy(_ channels: [String], _ ann: Peer, _ machines: Machines, _ service: Service) async throws {
    let ended = await service.ask("disconnect", #"{"user":"ann"}"#)
    #expect(ended?.isError == false)
    #expect(await eventually { ann.socket.closing != nil })
    let before = await service.ask("user_data", #"{"user":"ann"}"#)
    #expect(before?.kept?.reduce(0) { $0 + $1.count } == channels.count, "\(String(describing: before))")
    let asked = await service.ask("user_delete", #"{"user":"ann"}"#)
    #expect(asked?.isError == false && asked?.state == "waiting", "\(String(describing: asked))")
    let isDone = await eventually(within: DeletionDesk.patience) {
      await service.ask("user_delete_status", #"{"user":"ann"}"#)?.state == "done"
    }
    try #require(isDone, "the deletion is not done")
    for channel in channels {
      let left = try await service.wholeHistory(channel).map(\.data)
      #expect(!left.contains("from ann") && left.contains("from a service"), "\(channel): \(left)")
    }
    let after = await service.ask("user_data", #"{"user":"ann"}"#)
    #expect(after?.kept?.isEmpty == true)
    // Whoever has signed in again is somebody new.
    let again = try await machines.client("ann", at: "b")
    try await again.subscribe(channels[0])
    try await again.publish("again", to: channels[0])
  }

  @Test("A tap that is connected to the brokers of all partitions hears all channels, whoever has them")
  func taps() async throws {
    try await Machines.with(partitions: 3) { machines in
      let tap = Tap(machines.taps, prefix: "dur:")
      let service = try machines.service(at: "two")
      for round in 0..<2 {
        for channel in try machines.channels(each: 1) {
          // What is published before the tap is connected is heard by nobody.
          let isHeard = try await eventually(within: .seconds(60)) {
            _ = try await service.publish("\(round) on \(channel)", to: channel)
            return tap.heard.contains(#""\#(round) on \#(channel)""#)
          }
          #expect(isHeard, "\(channel) in round \(round)")
        }
        for partition in 0..<machines.partitions { kill(try await machines.owner(of: partition), SIGTERM) }
      }
    }
  }

  @Test("A gateway that takes the log for shared otherwise is let in by nobody, and the brokers say why")
  func otherNumber() async throws {
    try await Machines.with(partitions: 2) { machines in
      try await machines.startGateway("c", settings: ["cluster.partitions=1"])
      let says = await eventually(within: .seconds(60)) {
        machines.names.contains { name in
          (try? machines.machine(name))?.errorOutput.contains("takes this broker for the one of another partition")
            ?? false
        }
      }
      #expect(says)
      #expect(try machines.gateway("c").errorOutput.contains("the link to the broker is open") == false)
    }
  }
}
