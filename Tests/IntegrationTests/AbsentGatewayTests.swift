import Foundation
import TestSupport
import Testing

/// Users are deleted while a gateway that keeps intervals of theirs cannot hear of it.
@Suite("A gateway that was away while a user was deleted", .ownThread)
struct AbsentGatewayTests {
  private static let key = "a-key-that-only-this-test-has"
  private static let settings = [
    "admin.api.key=\(key)", "broker.gateway_timeout=1s", "backbone.heartbeat_interval=200ms",
  ]
  private static let user = "zQ7x-who-goes"
  private static let other = "ben-who-stays"

  private func call(_ method: String, _ deployment: Deployment) throws -> JSON {
    try deployment.broker.call(method, "{\"user\":\"\(Self.user)\"}", key: Self.key)
  }

  private func folder(_ deployment: Deployment) -> URL { deployment.directory.appendingPathComponent("b") }

  private func holds(_ text: String, _ deployment: Deployment) throws -> Bool {
    try !ByteSearch.files(in: folder(deployment), holding: [text]).isEmpty
  }

  /// Has the user's intervals, and another's on a channel that names the user, in the file of gateway b.
  private func furnish(_ deployment: Deployment) async throws -> [Peer] {
    var peers: [Peer] = []
    let shared = "dur:x#\(Self.user),\(Self.other)"
    for (user, channel) in [(Self.user, "dur:room"), (Self.other, "dur:room"), (Self.other, shared)] {
      let peer = try await deployment.client(user, at: deployment.b)
      try await peer.subscribe(channel)
      peers.append(peer)
    }
    let isThere = try await eventually {
      try holds("#\(Self.user)", deployment) && holds(Self.other, deployment)
    }
    try #require(isThere)
    return peers
  }

  private func delete(_ deployment: Deployment) async throws {
    // Until the broker knows that the gateway is away, the deletion waits for it.
    #expect(try call("user_delete", deployment)["state"].string == "waiting")
    let isDone = try await eventually(within: DeletionDesk.patience) {
      try call("user_delete_status", deployment)["state"].string == "done"
    }
    let status = try call("user_delete_status", deployment)
    try #require(isDone, "it is \(status)")
  }

  private func expectGone(_ deployment: Deployment) async throws {
    let isGone = try await eventually(within: .seconds(60)) { try !holds(Self.user, deployment) }
    let left = try ByteSearch.files(in: folder(deployment), holding: [Self.user])
    #expect(isGone, "it is in \(left)")
    #expect(try holds(Self.other, deployment))
  }

  @Test("One that did not run deletes the user's intervals when it is started again")
  func stopped() async throws {
    try await Deployment.with(.ipc, settings: Self.settings) { deployment in
      _ = try await furnish(deployment)
      await deployment.gateway("b").kill()
      try await delete(deployment)
      #expect(try holds(Self.user, deployment), "nobody was there who could have deleted it")
      let link = ["backbone.endpoint=\(deployment.broker.endpoints.backbone ?? "")"]
      try await deployment.startGateway("b", settings: link)
      try await expectGone(deployment)
      // What the file knows of the deletion outlives the process, and whoever comes back is kept as anybody.
      await deployment.gateway("b").kill()
      try await deployment.startGateway("b", settings: link)
      let back = try await deployment.client(Self.user, at: deployment.b)
      try await back.subscribe("dur:room")
      #expect(try await eventually { try holds(Self.user, deployment) })
    }
  }

  @Test("One that stood still deletes them when it goes on")
  func stoodStill() async throws {
    try await Deployment.with(.ipc, settings: Self.settings) { deployment in
      let peers = try await furnish(deployment)
      let gateway = deployment.gateway("b")
      await gateway.standStill()
      peers[0].socket.cut()
      try await delete(deployment)
      #expect(try holds(Self.user, deployment))
      gateway.signal(SIGCONT)
      try await expectGone(deployment)
    }
  }
}
