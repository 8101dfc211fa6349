import FanfareClient
import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

/// Acknowledged means on disk, whenever the broker dies.
@Suite("Durable under fire", .ownThread)
struct DurableUnderFireTests {
  private static let channel = "dur:fire"

  private static func rounds(on engine: Engine) -> Int { Fire.rounds(usually: engine == .sqlite ? 16 : 8) }

  @Test(
    "With a gateway that survives, its subscribers see every publication once and notice nothing but pauses",
    arguments: Engine.here)
  func split(on engine: Engine) async throws {
    let settings = try engine.settings() + ["backbone.heartbeat_interval=200ms"]
    try await Deployment.with(.ipc, settings: settings) { deployment in
      let subscriber = try await deployment.client("sub", at: deployment.a)
      try await subscriber.subscribe(Self.channel)
      let record = FireRecord()
      let history = try await Self.burn(
        deployment, Self.rounds(on: engine), record,
        websockets: [
          try await deployment.client("w0", at: deployment.a), try await deployment.client("w1", at: deployment.b),
        ], seen: { subscriber.publications(Self.channel).map(\.data) })
      #expect(record.refused.isEmpty, "a broker that is away for a moment is no error: \(record.refused.prefix(5))")
      #expect(await eventually { subscriber.publications(Self.channel).count >= history.count })
      let seen = subscriber.publications(Self.channel)
      let isWhole = seen.map(\.data) == history
      #expect(isWhole, "\(seen.count) seen, \(history.count) kept")
      let offsets = seen.compactMap(\.offset)
      let isContiguous = offsets == (0..<seen.count).map { UInt64($0) + 1 }
      #expect(isContiguous)
      #expect(subscriber.events(Self.channel).filter { if case .unsubscribed = $0 { true } else { false } }.isEmpty)
      #expect(subscriber.socket.closing == nil)
    }
  }

  @Test(
    "In one process, clients that reconnect and recover miss nothing and see nothing twice", arguments: Engine.here)
  func serve(on engine: Engine) async throws {
    try await Deployment.with(.serve, settings: engine.settings()) { deployment in
      var options = RealtimeClient.Options()
      options.backoff = Backoff(minimum: .milliseconds(20), maximum: .milliseconds(200))
      let client = try RealtimeClient(url: deployment.a, token: deployment.token("sub"), options: options)
      try await client.connect()
      let subscription = try await client.subscribe(
        Self.channel, .init(recoverable: true, maximumWaitingBytes: 64 << 20))
      let seen = SeenEvents()
      // The reader has a thread of its own, so that it reads whenever something comes, whatever the test waits for.
      let readers = OwnThreadExecutor()
      defer { readers.end() }
      let reader = Task(executorPreference: readers) { await seen.read(subscription) }
      defer { reader.cancel() }
      // Asking is not having: what is published before the subscription has begun is not the client's to see.
      try #require(await eventually(within: .seconds(60)) { seen.hasBegun })
      let history = try await Self.burn(
        deployment, Self.rounds(on: engine), FireRecord(), websockets: [], seen: { seen.data })
      #expect(await eventually(within: .seconds(60)) { seen.data.count >= history.count })
      let isWhole = seen.data == history
      let firstDifference = zip(seen.data, history).enumerated().first { $0.element.0 != $0.element.1 }
      #expect(
        isWhole,
        "\(seen.data.count) seen, \(history.count) kept; they differ first at \(String(describing: firstDifference))")
      #expect(seen.interruptions > 0, "the server was killed and the client did not notice")
      #expect(seen.failedRecoveries == 0)
      await client.disconnect()
    }
  }

  /// Publishes at full speed while the broker is killed, and checks the history.
  ///
  /// - Parameter seen: what a subscriber has seen.
  /// - Returns: all that was published.
  private static func burn(
    _ deployment: Deployment, _ rounds: Int, _ record: FireRecord, websockets: [Peer],
    seen: () -> [String]
  ) async throws -> [String] {
    let seed = Fire.seed(of: "durable under fire, \(deployment.kind)")
    var random = SeededGenerator(seed: seed)
    let services = try (0..<3).map { _ in try deployment.service() }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      defer { record.end() }
      group.addTask { await record.pipeline("s0", to: channel, over: services[0]) }
      group.addTask { await record.pipeline("s1", to: channel, over: services[1]) }
      group.addTask { await record.careful("c0", to: channel, over: services[2]) }
      for (index, peer) in websockets.enumerated() {
        group.addTask { await record.pipeline("w\(index)", to: channel, over: peer) }
      }
      for round in 1...rounds {
        // Every publisher's link is up again, and then some: a gateway that finds its broker after a second would
        // otherwise never find one that lives for half of that.
        let before = record.acknowledgements
        let some = Int.random(in: 0...150, using: &random)
        let goesOn = await eventually(within: .seconds(60)) { record.hasProgress(since: before, by: some) }
        try #require(goesOn, "round \(round), seed \(seed): \(record.account(since: before))")
        await deployment.broker.kill()
        try await deployment.restartBroker()
        record.noteRestart()
      }
      let before = record.acknowledgements
      #expect(await eventually(within: .seconds(60)) { record.hasProgress(since: before, by: 100) })
      record.end()
      try await group.waitForAll()
      let history = await FireRecord.whole(try await deployment.service().wholeHistory(channel), seen: seen)
      let faults = record.faults(in: history)
      #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(10))")
      print("durable under fire: \(record.acknowledgements.values.reduce(0, +)) acknowledged, \(history.count) kept")
      return history
    }
  }
}
