import Foundation
import TestSupport
import Testing

/// The orderly end: nobody is left guessing.
@Suite("Shutting down", .ownThread)
struct ShutdownTests {
  @Test(
    "SIGTERM and SIGINT end the server: clients are told 3001, the port is closed, acknowledged data stays",
    arguments: [SIGTERM, SIGINT])
  func signal(_ signal: Int32) async throws {
    try await Deployment.with(.serve) { deployment in
      let ann = try await deployment.client("ann")
      try await ann.subscribe("dur:kept")
      var acknowledged: [String] = []
      for number in 1...20 {
        try await ann.publish("m\(number)", to: "dur:kept")
        acknowledged.append("m\(number)")
      }
      let folder = deployment.directory.appendingPathComponent("broker")
      let url = deployment.a
      #expect(await deployment.broker.end(signal) == 0)
      #expect(await eventually { ann.socket.closing?.code == 3001 })
      #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("endpoints.json").path))
      #expect(throws: WebSocketPeer.Failure.self) { try Peer(url) }

      try await deployment.restartBroker()
      // A socket of before may not have noticed yet, and lose what it takes.
      #expect(try await deployment.service().wholeHistory("dur:kept").map(\.data) == acknowledged)
    }
  }

  @Test("A gateway that ends tells its clients, and the broker forgets them at once")
  func gateway() async throws {
    try await Deployment.with(.ipc, settings: ["broker.gateway_timeout=10m"]) { deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      try await ann.subscribe("mem:room")
      try await ben.subscribe("mem:room")
      #expect(await deployment.gateway("b").end() == 0)
      #expect(await eventually { ben.socket.closing?.code == 3001 })
      #expect(await eventually { ann.events("mem:room").contains(.leave("ben")) })
      #expect(try await ann.presentUsers("mem:room") == ["ann"])
    }
  }
}
