import Auth
import Foundation
import TestSupport
import Testing

/// Somebody must go, now: on every gateway, and nothing that is published afterwards reaches them.
@Suite("Disconnected, unsubscribed, revoked", .ownThread)
struct RevocationTests {
  /// Publishes without a pause until it is told to stop, and says what was acknowledged last.
  private func whilePublishing(
    to channel: String, _ deployment: Deployment, _ body: () async throws -> Void
  ) async throws {
    let service = try deployment.service()
    let publisher = Task {
      var number = 0
      while !Task.isCancelled {
        number += 1
        _ = try await service.publish("while \(number)", to: channel)
      }
    }
    do { try await body() } catch {
      publisher.cancel()
      throw error
    }
    publisher.cancel()
    _ = try? await publisher.value
  }

  private func hears(_ peer: Peer, _ channel: String, more count: Int = 5) async -> Bool {
    let before = peer.publications(channel).count
    return await eventually { peer.publications(channel).count >= before + count }
  }

  @Test(
    "Once a revocation is acknowledged, nothing published reaches those it meant, on either gateway",
    arguments: [
      Deployment.Kind.serve, .ipc,
    ])
  func nothingAfter(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let service = try deployment.service()
      let channel = "mem:room"
      let now = Int64(Date().timeIntervalSince1970)
      // By id, by user; on one gateway and the other; and those who stay.
      var going: [Peer] = []
      var staying: [Peer] = []
      for gateway in [deployment.a, deployment.b] {
        for (user, id, isGoing) in [
          ("ann", "one", true), ("ben", "two", true), ("ben", "two", true), ("cleo", "three", false),
        ] {
          let peer = try Peer(gateway)
          try await peer.connect(token: token(user, id: id, at: now))
          try await peer.subscribe(channel)
          if isGoing { going.append(peer) } else { staying.append(peer) }
        }
      }
      try await whilePublishing(to: channel, deployment) {
        for peer in going + staying { #expect(await hears(peer, channel)) }
        let byID = await service.ask("revoke_token", #"{"uid":"one"}"#)
        let byUser = await service.ask("invalidate_user_tokens", #"{"user":"ben"}"#)
        #expect(byID?.isError == false && byUser?.isError == false)
        // Whatever they still get was published before this.
        let last = try await service.publish("after", to: channel).position.offset
        for peer in staying { #expect(await hears(peer, channel)) }
        for peer in going {
          #expect(await eventually { peer.socket.closing?.code == 3500 })
          let offsets = peer.publications(channel).map(\.offset)
          #expect(!offsets.isEmpty && offsets.allSatisfy { $0.map { $0 < last } ?? false }, "\(offsets), \(last)")
        }
      }
      // Nor do they come back, with the same token or one of the same time; others do.
      for (user, id) in [("ann", "one"), ("ben", "four")] {
        let peer = try Peer(deployment.b)
        peer.send(#""connect":{"token":\#(quoted(try await token(user, id: id, at: now)))}"#)
        #expect(await eventually { peer.socket.closing?.code == 3500 })
      }
      // Later than the revocation, however long all this took.
      let later = Int64(Date().timeIntervalSince1970) + 2
      for (user, id, time) in [("ann", "five", now), ("ben", "six", later)] {
        try await Peer(deployment.b).connect(token: token(user, id: id, at: time))
      }
      for peer in staying { #expect(peer.socket.closing == nil) }
    }
  }

  @Test("What was revoked is revoked after a power cut of the broker, for a gateway that was away, and for a new one")
  func durable() async throws {
    try await Deployment.with(.ipc, settings: ["backbone.heartbeat_interval=200ms"]) { deployment in
      let stolen = try await token("ann", id: "x", at: Int64(Date().timeIntervalSince1970))
      let away = try Peer(deployment.b)
      try await away.connect(token: stolen)
      try await away.subscribe("mem:room")
      // The gateway stands still while the token is revoked, and the revocation is asked for again until it answers.
      await deployment.gateway("b").standStill()
      let service = try deployment.service()
      _ = service.send("revoke_token", #"{"uid":"x"}"#)
      #expect(
        try await eventually {
          let peer = try Peer(deployment.a)
          peer.send(#""connect":{"token":\#(quoted(stolen))}"#)
          _ = await eventually { peer.socket.closing != nil || peer.reply(1) != nil }
          return peer.socket.closing?.code == 3500
        })
      await deployment.broker.kill()
      try await deployment.restartBroker()
      let after = try deployment.service()
      _ = try await after.publish("after the restart", to: "mem:room")
      deployment.gateway("b").signal(SIGCONT)
      #expect(await eventually { away.socket.closing?.code == 3500 })
      #expect(!away.data("mem:room").contains("after the restart"))
      try await deployment.startGateway(
        "c", settings: ["backbone.endpoint=\(deployment.broker.endpoints.backbone ?? "")"])
      let fresh = try Peer(deployment.gateway("c").endpoints.websocket ?? "")
      fresh.send(#""connect":{"token":\#(quoted(stolen))}"#)
      #expect(await eventually { fresh.socket.closing?.code == 3500 })
    }
  }

  @Test("A service or an operator ends connections and subscriptions of a user or a client, wherever they are")
  func orders() async throws {
    try await Deployment.with(.ipc) { deployment in
      let service = try deployment.service()
      let first = try await deployment.client("ann", at: deployment.a)
      let second = try await deployment.client("ann", at: deployment.b)
      let other = try await deployment.client("ben", at: deployment.b)
      for peer in [first, second, other] { try await peer.subscribe("mem:room") }
      let unsubscribed = await service.ask("unsubscribe", #"{"user":"ann","channel":"mem:room"}"#)
      #expect(unsubscribed?.isError == false)
      for peer in [first, second] {
        #expect(await eventually { peer.events("mem:room").contains(.unsubscribed(2000)) })
      }
      #expect(try await other.presentUsers("mem:room") == ["ben"])
      let spared = try #require(first.reply(1)?.connect?.client)
      let folder = deployment.directory
      let (status, tool) = try await Tool.run(
        [
          "disconnect", "--user", "ann", "--whitelist", spared, "--code", "4001", "--reason", "bye", "-e",
          deployment.commands,
        ],
        in: folder)
      #expect(status == 0, "\(tool.errors)")
      #expect(await eventually { second.socket.closing?.code == 4001 })
      #expect(second.socket.closing?.reason == "bye")
      try await first.subscribe("mem:room")
      let (revoked, revoking) = try await Tool.run(["revoke", "--user", "ann", "-e", deployment.commands], in: folder)
      #expect(revoked == 0, "\(revoking.errors)")
      #expect(await eventually { first.socket.closing?.code == 3500 })
      #expect(other.socket.closing == nil)
    }
  }
}

/// A token with an id and a time that a test chooses.
private func token(_ user: String, id: String, at time: Int64) async throws -> String {
  let minter = try TokenMinter(hmacSecret: Deployment.secret, now: { time }, newID: { id })
  return try minter.connectionToken(user: user, expiresIn: 3600)
}
