import FanfareClient
import TestSupport
import Testing
import Wire

/// A recovery that is not whole says what it lacks: to clients of both encodings.
@Suite("What a recovery lacks", .ownThread)
struct RecoveryGapTests {
  @Test("The reason and the offsets arrive, and what is kept can be read", arguments: [Deployment.Kind.serve, .ipc])
  func gaps(kind: Deployment.Kind) async throws {
    try await Deployment.with(kind, settings: ["client.recovery_max_publications=3"]) { deployment in
      let service = try deployment.service()
      let watcher = try await deployment.client("watcher")
      let start = try await watcher.subscribe("dur:gap").position
      for number in 1...5 { _ = try await service.publish("m\(number)", to: "dur:gap") }
      let epoch = start.epoch

      let limited = try await Self.recover(deployment, since: .init(epoch: epoch, offset: 1))
      #expect(limited.recovered != true && (limited.publications ?? []).isEmpty)
      #expect(limited.gap == .init(from: 2, to: 5, reason: "limit"))
      let page = try await watcher.history("dur:gap", limit: 10, since: .init(epoch: epoch, offset: 1))
      #expect(page.publications?.compactMap(\.offset) == [2, 3, 4, 5])

      #expect(try await Self.recover(deployment, since: .init(epoch: "none", offset: 1)).gap?.reason == "epoch")
      #expect(try await Self.recover(deployment, since: .init(epoch: epoch, offset: 9)).gap == .init(reason: "ahead"))
      #expect(try await Self.recover(deployment, since: .init(epoch: epoch, offset: 3)).gap == nil)

      _ = await service.ask("history_remove", #"{"channel":"dur:gap"}"#)
      let removed = try await Self.recover(deployment, since: .init(epoch: epoch, offset: 3))
      #expect(removed.gap == .init(from: 4, to: 5, reason: "removed"))
      try await Self.expectSwiftClientIsTold(deployment, since: .init(epoch: epoch, offset: 3))
    }
  }

  @Test("A recovery and a page hold as many as was configured, also where that is more than 10,000")
  func beyondTenThousand() async throws {
    let count = 10_500
    let settings = [
      "client.recovery_max_publications=11000", "client.history_max_publications=11000",
      "client.history_max_bytes=16MiB",
    ]
    try await Deployment.with(.ipc, settings: settings) { deployment in
      let service = try deployment.service()
      for part in 0..<count / 500 {
        let asked = (1...500).map { service.sendPublish("m\(part * 500 + $0)", to: "mem:gap") }
        try #require(await eventually(within: .seconds(60)) { asked.allSatisfy { service.answer($0) != nil } })
      }
      let epoch = try #require(try await deployment.client("first").subscribe("mem:gap").epoch)
      let start = Peer.Position(epoch: epoch, offset: 0)

      let late = try await deployment.client("late")
      let recovery = try await late.subscribe("mem:gap", since: start)
      #expect(recovery.recovered == true, "\(String(describing: recovery.gap))")
      #expect(recovery.publications?.compactMap(\.offset) == (1...UInt64(count)).map { $0 })
      let page = try await late.history("mem:gap", limit: -1, since: start)
      #expect(page.publications?.count == count)
    }
  }

  private static func recover(_ deployment: Deployment, since: Peer.Position) async throws -> Peer.Subscribed {
    try await deployment.client("late").subscribe("dur:gap", since: since)
  }

  private static func expectSwiftClientIsTold(_ deployment: Deployment, since: StreamPosition) async throws {
    let client = try RealtimeClient(url: deployment.a, token: deployment.token("swift"))
    try await client.connect()
    let subscription = try await client.subscribe("dur:gap", .init(since: since, recoverable: true))
    var events = subscription.events.makeAsyncIterator()
    guard case .subscribed(_, wasRecovering: true, recovered: false)? = await events.next() else {
      throw Failure("the subscription did not begin without a recovery")
    }
    #expect(await events.next() == .gap(RecoveryGap(4...5, .removed)))
    await client.disconnect()
  }
}
