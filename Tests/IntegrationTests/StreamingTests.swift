import Auth
import Foundation
import TestSupport
import Testing

/// Clients whose network lets no WebSocket through: the same sessions, recovery and limits.
@Suite("Server-sent events and HTTP streaming", .ownThread)
struct StreamingTests {
  private static let kinds = [StreamPeer.Kind.events, .lines]

  @Test(
    "Beside a WebSocket, each hears all of the other in the same order, and recovers what it missed",
    arguments: [Deployment.Kind.serve, .ipc], kinds)
  func recovery(_ deployment: Deployment.Kind, _ kind: StreamPeer.Kind) async throws {
    try await Deployment.with(deployment, settings: ["server.event_loops=2"]) { deployment in
      let channel = "dur:room"
      let ann = try await deployment.client("ann", over: kind)
      let ben = try await deployment.client("ben", at: deployment.b)
      let start = try await ann.subscribe(channel).position
      try await ben.subscribe(channel)
      for number in 0..<20 {
        try await ann.publish("ann \(number)", to: channel)
        try await ben.publish("ben \(number)", to: channel)
      }
      let expected = (0..<20).flatMap { ["ann \($0)", "ben \($0)"] }
      #expect(await eventually { ann.data(channel) == expected && ben.data(channel) == expected })
      #expect(try await ann.presentUsers(channel) == ["ann", "ben"])
      #expect(ann.events(channel).contains(.join("ben")))
      ann.socket.cut()
      #expect(await eventually { ben.events(channel).contains(.leave("ann")) })
      for number in 20..<30 { try await ben.publish("ben \(number)", to: channel) }
      let again = try await deployment.client("ann", over: kind)
      let recovered = try await again.subscribe(
        channel, since: Peer.Position(epoch: start.epoch, offset: start.offset + 40))
      #expect(recovered.recovered == true && recovered.was_recovering == true)
      try await ben.publish("live", to: channel)
      #expect(await eventually { again.data(channel) == (20..<30).map { "ben \($0)" } + ["live"] })
    }
  }

  @Test("Server-side subscriptions come with the connect, and are recovered with it", arguments: kinds)
  func serverSide(_ kind: StreamPeer.Kind) async throws {
    try await Deployment.with(.serve) { deployment in
      let service = try deployment.service()
      let before = try await service.publish("missed", to: "mem:news").position
      let position = Peer.Position(epoch: before.epoch, offset: before.offset - 1)
      let ann = try await deployment.client("ann", over: kind, channels: ["mem:news"], subs: ["mem:news": position])
      _ = try await service.publish("live", to: "mem:news")
      #expect(await eventually { ann.data("mem:news") == ["missed", "live"] })
    }
  }

  @Test("Many of every kind on one channel hear the same, on every event loop")
  func crowd() async throws {
    try await Deployment.with(.serve, settings: ["server.event_loops=3"]) { deployment in
      var peers: [Peer] = []
      for number in 0..<24 {
        let kind = [nil, StreamPeer.Kind.events, .lines][number % 3]
        let peer = try await deployment.client("u\(number)", over: kind)
        try await peer.subscribe("mem:crowd")
        peers.append(peer)
      }
      let service = try deployment.service()
      let expected = (0..<300).map { "\($0) " + String(repeating: "x", count: $0 * 7) }
      for text in expected { _ = try await service.publish(text, to: "mem:crowd") }
      for peer in peers { #expect(await eventually { peer.data("mem:crowd") == expected }) }
    }
  }

  @Test(
    "A slow reader is told 3008 behind what it had not read, while the others get everything at once", arguments: kinds)
  func slowReader(_ kind: StreamPeer.Kind) async throws {
    let settings = ["client.queue_bytes=512KiB", "client.slow_close_grace=10m"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let slow = try await deployment.client("sam", over: kind, receiveBufferBytes: 4096)
      let quick = try await deployment.client("quinn", over: kind)
      for peer in [slow, quick] { try await peer.subscribe("mem:flood") }
      slow.socket.pauseReading()
      let service = try deployment.service()
      var expected: [String] = []
      // More than the queue and both kernels' buffers hold.
      for number in 0..<200 {
        let text = "\(number) " + String(repeating: "x", count: 60_000)
        _ = try await service.publish(text, to: "mem:flood")
        expected.append(text)
        // On a busy machine this process is no quick reader while it publishes: half of the queue may wait.
        if number % 4 == 3 { #expect(await eventually { quick.data("mem:flood").count == expected.count }) }
      }
      #expect(quick.data("mem:flood") == expected)
      #expect(await eventually { deployment.broker.errorOutput.contains("cause=slow ") })
      slow.socket.resumeReading()
      #expect(await eventually { slow.socket.closing != nil })
      #expect(slow.socket.closing?.code == 3008)
      let seen = slow.data("mem:flood")
      #expect(!seen.isEmpty && seen.count < expected.count && seen == Array(expected.prefix(seen.count)))
    }
  }

  @Test("A server that ends says 3001 and ends the stream", arguments: kinds)
  func drain(_ kind: StreamPeer.Kind) async throws {
    try await Deployment.with(.serve) { deployment in
      let ann = try await deployment.client("ann", over: kind)
      try await ann.subscribe("mem:room")
      #expect(await deployment.broker.end() == 0)
      #expect(await eventually { ann.socket.closing?.code == 3001 && ann.socket.closing?.reason == "shutdown" })
    }
  }

  @Test("Whose token is revoked, who says nonsense, and who brings no good token is told why", arguments: kinds)
  func sentAway(_ kind: StreamPeer.Kind) async throws {
    try await Deployment.with(.serve) { deployment in
      let service = try deployment.service()
      let ann = try await deployment.client("ann", over: kind)
      try await ann.subscribe("mem:room")
      #expect(await service.ask("invalidate_user_tokens", #"{"user":"ann"}"#)?.isError == false)
      #expect(await eventually { ann.socket.closing?.code == 3500 })
      let ben = try await deployment.client("ben", over: kind)
      ben.socket.send("nonsense")
      #expect(await eventually { ben.socket.closing?.code == 3501 })
      for (connect, code) in [(#""connect":{"token":"x.y.z"}"#, 3500), (#""subscribe":{"channel":"mem:x"}"#, 3501)] {
        let peer = try Peer(deployment.a, over: kind)
        peer.send(connect)
        #expect(await eventually { peer.socket.closing.map { Int($0.code ?? 0) } == code })
      }
    }
  }

  @Test("Who answers pings by requests stays, and who does not is told 3012", arguments: kinds)
  func pings(_ kind: StreamPeer.Kind) async throws {
    let settings = ["client.ping_interval=1s", "client.pong_timeout=500ms"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let ann = try await deployment.client("ann", over: kind)
      let stream = try #require(ann.socket as? StreamPeer)
      #expect(await eventually { stream.statuses.count >= 3 })
      #expect(stream.statuses.allSatisfy { $0 == 204 })
      stream.pauseReading()
      #expect(await eventually { deployment.broker.errorOutput.contains("cause=disconnect_3012") })
      stream.resumeReading()
      #expect(await eventually { stream.closing?.code == 3012 })
    }
  }

  @Test("A session's commands are taken by its own gateway alone, while it lasts, and nobody else's name is a session")
  func sessions() async throws {
    try await Deployment.with(.ipc) { deployment in
      func post(_ url: String, _ session: String, _ node: String) throws -> HTTPExchange.Answer {
        let body = #"{"session":"\#(session)","node":"\#(node)","data":"{}"}"#
        let port = URL(string: url)?.port ?? 0
        let headers = "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n"
        return try HTTPExchange(port: port).ask("POST", "/emulation", headers, Array(body.utf8))
      }
      let ann = try await deployment.client("ann", over: .events)
      let own = try #require((ann.socket as? StreamPeer)?.session)
      // 128 random bits in the form of a UUID.
      #expect(own.name.count == 36 && !own.node.isEmpty)
      let other = try post(deployment.b, own.name, own.node)
      #expect(other.status == 404 && other.text.contains("another gateway"))
      #expect(try post(deployment.a, own.name + "0", own.node).status == 404)
      // A WebSocket's session is commanded over the WebSocket alone.
      let ben = try await deployment.client("ben")
      let name = try #require(ben.reply(1)?.connect?.session)
      let refused = try post(deployment.a, name, own.node)
      #expect(refused.status == 404 && refused.text.contains("no such session"))
      ann.socket.cut()
      #expect(try await eventually { try post(deployment.a, own.name, own.node).status == 404 })
    }
  }

  @Test("Where they are switched off there is nothing")
  func off() async throws {
    try await Deployment.with(.serve, settings: ["server.http_streaming=false"]) { deployment in
      let port = URL(string: deployment.a)?.port ?? 0
      let answer = try HTTPExchange(port: port).ask("GET", "/connection/sse?cf_connect=%7B%7D")
      #expect(answer.status == 404 && answer.text.contains("/connection/websocket"))
    }
  }
}
