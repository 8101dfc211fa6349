import Foundation
import TestSupport
import Testing

/// A gateway that is gone must not leave ghosts behind, one that comes back must not lose anything.
@Suite("A gateway that is lost", .ownThread)
struct GatewayLossTests {
  @Test("The members of a killed gateway leave, and the others hear it")
  func killed() async throws {
    try await Deployment.with(.ipc, settings: ["broker.gateway_timeout=1s", "backbone.heartbeat_interval=200ms"]) {
      deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      try await ann.subscribe("mem:room")
      var others: [Peer] = []
      for user in ["ben", "cleo", "dora"] {
        let peer = try await deployment.client(user, at: deployment.b)
        try await peer.subscribe("mem:room")
        others.append(peer)
      }
      // This is asked repeatedly, because a gateway that gets no turn for a second is forgotten until it is heard
      // again.
      let all = ["ann", "ben", "cleo", "dora"]
      #expect(try await eventually { try await ann.presentUsers("mem:room") == all })
      await deployment.gateway("b").kill()
      for user in ["ben", "cleo", "dora"] {
        #expect(await eventually(within: .seconds(60)) { ann.events("mem:room").contains(.leave(user)) })
      }
      #expect(try await eventually { try await ann.presentUsers("mem:room") == ["ann"] })
      #expect(await eventually { others.allSatisfy { $0.socket.closing != nil } })
    }
  }

  @Test("The clients of a gateway that stood still are back in presence and got everything")
  func stopped() async throws {
    try await Deployment.with(.ipc, settings: ["broker.gateway_timeout=1s", "backbone.heartbeat_interval=200ms"]) {
      deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      for channel in ["mem:room", "dur:room"] {
        try await ann.subscribe(channel)
        try await ben.subscribe(channel)
      }
      await deployment.gateway("b").standStill()
      for number in 1...5 {
        try await ann.publish("early \(number)", to: "mem:room")
        try await ann.publish("early \(number)", to: "dur:room")
      }
      #expect(await eventually(within: .seconds(60)) { ann.events("mem:room").contains(.leave("ben")) })
      for number in 1...5 {
        try await ann.publish("late \(number)", to: "mem:room")
        try await ann.publish("late \(number)", to: "dur:room")
      }
      deployment.gateway("b").signal(SIGCONT)
      let expected = (1...5).map { "early \($0)" } + (1...5).map { "late \($0)" }
      for channel in ["mem:room", "dur:room"] {
        #expect(await eventually(within: .seconds(60)) { ben.data(channel).count >= 10 })
        #expect(ben.data(channel) == expected)
        #expect(try await eventually { try await ann.presentUsers(channel) == ["ann", "ben"] })
      }
      #expect(ben.socket.closing == nil)
    }
  }
}
