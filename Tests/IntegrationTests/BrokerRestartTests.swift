import Foundation
import TestSupport
import Testing

/// What each durability promises when the broker ends and comes back.
@Suite("A broker that restarts", .ownThread)
struct BrokerRestartTests {
  @Test("Subscribers of a memory channel are told that publications may be lost, never served short")
  func memory() async throws {
    try await Deployment.with(.ipc) { deployment in
      let ann = try await deployment.client("ann")
      let before = try await ann.subscribe("mem:short").position
      try await ann.publish("gone", to: "mem:short")
      #expect(await eventually { ann.data("mem:short") == ["gone"] })
      await deployment.broker.kill()
      try await deployment.restartBroker()
      #expect(await eventually(within: .seconds(60)) { ann.events("mem:short").contains(.unsubscribed(2500)) })
      #expect(ann.socket.closing == nil)
      let again = try await ann.subscribe("mem:short", since: .init(epoch: before.epoch, offset: 1))
      #expect(again.recovered != true)
      #expect(again.position.epoch != before.epoch)
      try await ann.publish("new", to: "mem:short")
      #expect(await eventually { ann.data("mem:short") == ["gone", "new"] })
    }
  }

  @Test("A server-side subscription to a memory channel ends with 3010, so that the client connects anew")
  func memoryServerSide() async throws {
    try await Deployment.with(.ipc) { deployment in
      let ann = try await deployment.client("ann", channels: ["mem:inbox"])
      try await ann.publish("gone", to: "mem:inbox")
      #expect(await eventually { ann.data("mem:inbox") == ["gone"] })
      await deployment.broker.kill()
      try await deployment.restartBroker()
      #expect(await eventually(within: .seconds(60)) { ann.socket.closing?.code == 3010 })
    }
  }

  @Test("A relaxed channel has a new epoch after a crash", arguments: Engine.here)
  func relaxedCrash(on engine: Engine) async throws {
    try await Deployment.with(.serve, settings: engine.settings()) { deployment in
      let ann = try await deployment.client("ann")
      let before = try await ann.subscribe("rel:log").position
      for number in 1...20 { try await ann.publish("m\(number)", to: "rel:log") }
      await deployment.broker.kill()
      try await deployment.restartBroker()
      let again = try await deployment.client("ann")
      let result = try await again.subscribe("rel:log", since: .init(epoch: before.epoch, offset: 10))
      #expect(result.position.epoch != before.epoch)
      #expect(result.recovered != true)
      #expect(result.publications?.isEmpty ?? true)
    }
  }

  @Test("A relaxed channel keeps its epoch and all publications over an orderly end", arguments: Engine.here)
  func relaxedOrderly(on engine: Engine) async throws {
    try await Deployment.with(.serve, settings: engine.settings()) { deployment in
      let ann = try await deployment.client("ann")
      let before = try await ann.subscribe("rel:log").position
      for number in 1...20 { try await ann.publish("m\(number)", to: "rel:log") }
      #expect(await deployment.broker.end() == 0)
      try await deployment.restartBroker()
      let again = try await deployment.client("ann")
      let result = try await again.subscribe("rel:log", since: .init(epoch: before.epoch, offset: 10))
      #expect(result.position == .init(epoch: before.epoch, offset: 20))
      #expect(result.recovered == true)
      #expect(again.data("rel:log") == (11...20).map { "m\($0)" })
    }
  }
}
