import Foundation
import TestSupport
import Testing

/// Somebody goes as far as the limits let them, or further; an honest client beside them is served all the same.
@Suite("Limits", .ownThread)
struct LimitTests {
  private static let attacker = "127.0.0.66"
  private static let honest = "127.0.0.7"

  /// Connects, subscribes, publishes, and gets each publication once and in order.
  private func checkService(_ deployment: Deployment, _ user: String, from source: String? = nil) async throws {
    let peer = try Peer(deployment.a, from: source)
    try await peer.connect(token: try deployment.token(user))
    let channel = "mem:of-\(user)"
    try await peer.subscribe(channel)
    let sent = (0..<20).map { "\(user) \($0)" }
    for data in sent { try await peer.publish(data, to: channel) }
    #expect(await eventually { peer.data(channel).count >= sent.count })
    #expect(peer.data(channel) == sent)
    #expect(peer.socket.closing == nil)
  }

  private func isLogged(_ deployment: Deployment, _ cause: String, from source: String = "") async -> Bool {
    await eventually {
      deployment.gateway("a").errorOutput.split(separator: "\n").contains {
        $0.contains("info") && $0.contains("cause=\(cause) ") && (source.isEmpty || $0.contains(source))
      }
    }
  }

  @Test("An address has as many connections as it may, and all who come from elsewhere get in")
  func address() async throws {
    let settings = [
      "server.max_connections=48", "server.address.limit_loopback=true", "server.address.max_connections=8",
    ]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let held = try (0..<8).map { _ in try Peer(deployment.a, from: Self.attacker) }
      for _ in 0..<20 {
        #expect(throws: WebSocketPeer.Failure.self) { try Peer(deployment.a, from: Self.attacker) }
      }
      // More honest clients come one after another than there are places for their addresses: each leaves its place to
      // the next.
      for number in 0..<34 {
        try await checkService(deployment, "honest\(number)", from: "127.0.1.\(number / 8 + 1)")
      }
      #expect(await isLogged(deployment, "address_connections", from: Self.attacker))
      #expect(held.allSatisfy { $0.socket.closing == nil })
    }
  }

  @Test("Who publishes too fast is read later and refused nothing, and others notice nothing")
  func connectionRate() async throws {
    let settings = ["client.limits.publications_per_second=200", "client.limits.publications_burst=200"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let flooder = try await deployment.client("mallory")
      let ids = (0..<1000).map { flooder.sendPublish("\($0)", to: "mem:flood") }
      try await checkService(deployment, "ada")
      #expect(await eventually(within: .seconds(120)) { ids.allSatisfy { flooder.reply($0) != nil } })
      let errors = ids.compactMap { flooder.reply($0)?.error }
      #expect(errors.isEmpty)
      #expect(
        try await deployment.service().wholeHistory("mem:flood", pageSize: 500).map(\.data)
          == (0..<1000).map(String.init))
      #expect(await isLogged(deployment, "connection_publications", from: "mallory"))
    }
  }

  @Test(
    "What one user's connections do together beyond the user's rate is done later, and others are not concerned")
  func userRate() async throws {
    let settings = ["client.user_limits.publications_per_second=100", "client.user_limits.publications_burst=100"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      var peers: [Peer] = []
      for _ in 0..<4 { peers.append(try await deployment.client("mallory")) }
      for peer in peers {
        let commands = (0..<100).map {
          #"{"id":\#(1000 + $0),"publish":{"channel":"mem:flood","data":"x"}}"#
        }
        peer.socket.send(commands.joined(separator: "\n"))
      }
      try await checkService(deployment, "ada")
      let replies = { peers.flatMap { peer in (UInt32(1000)..<1100).compactMap { peer.reply($0) } } }
      #expect(await eventually { replies().count == 400 })
      let errors = replies().compactMap(\.error)
      #expect(errors.isEmpty)
      #expect(peers.allSatisfy { $0.socket.closing == nil })
      #expect(await isLogged(deployment, "user_publications", from: "mallory"))
    }
  }

  @Test("One connection too many of a user is ended with 3504; the user's others and other users go on")
  func userConnections() async throws {
    try await Deployment.with(.serve, settings: ["client.max_connections_per_user=2"]) { deployment in
      var own = [try await deployment.client("mallory"), try await deployment.client("mallory")]
      for _ in 0..<5 {
        let third = try Peer(deployment.a)
        third.send(#""connect":{"token":\#(quoted(try deployment.token("mallory")))}"#)
        #expect(await eventually { third.socket.closing != nil })
        #expect(third.socket.closing?.code == 3504)
      }
      try await checkService(deployment, "ada")
      #expect(own.allSatisfy { $0.socket.closing == nil })
      #expect(await isLogged(deployment, "user_connections", from: "127.0.0.1"))
      // A place that is given back can be had again.
      own.removeLast().socket.cut()
      var isIn = false
      for _ in 0..<600 where !isIn {
        let again = try Peer(deployment.a)
        isIn = (try? await again.connect(token: try deployment.token("mallory"))) != nil
      }
      #expect(isIn)
    }
  }

  @Test("A channel has as many subscribers on a gateway as it may; those who are on it, and others' channels, go on")
  func subscribers() async throws {
    let settings = [
      "gateway.max_subscribers_per_channel=5", "channel.without_namespace.allow_subscribe_for_client=true",
    ]
    try await Deployment.with(.serve, settings: settings) { deployment in
      var inside: [Peer] = []
      for _ in 0..<5 {
        inside.append(try await deployment.client("mallory"))
        try await inside[inside.count - 1].subscribe("lobby")
      }
      let late = try await deployment.client("mallory")
      for _ in 0..<20 {
        let reply = try await late.ask(#""subscribe":{"channel":"lobby"}"#)
        #expect(reply.error?.code == 106)
      }
      try await checkService(deployment, "ada")
      _ = try await deployment.service().publish("for those inside", to: "lobby")
      for peer in inside { #expect(await eventually { peer.data("lobby") == ["for those inside"] }) }
      #expect(late.socket.closing == nil && late.data("lobby").isEmpty)
      #expect(await isLogged(deployment, "channel_subscribers", from: "mallory"))
      // A place that is given back can be had again.
      inside.removeLast().socket.cut()
      #expect(
        try await eventually {
          try await late.ask(#""subscribe":{"channel":"lobby"}"#, subscribingTo: "lobby").error == nil
        })
    }
  }

  @Test("One connection that has tokens checked without end delays nobody's sign-in for ever")
  func tokenChecks() async throws {
    try await Deployment.with(.serve) { deployment in
      let flooder = try await deployment.client("mallory")
      for round in 0..<20 {
        let commands = (0..<100).flatMap { number in
          let (channel, id) = ("mem:\(round)-\(number)", 1000 + 200 * round + 2 * number)
          return [
            #"{"id":\#(id),"subscribe":{"channel":"\#(channel)","token":"a.b.c"}}"#,
            #"{"id":\#(id + 1),"unsubscribe":{"channel":"\#(channel)"}}"#,
          ]
        }
        flooder.socket.send(commands.joined(separator: "\n"))
      }
      for number in 0..<5 { try await checkService(deployment, "honest\(number)") }
      #expect(await eventually { (UInt32(1000)..<5000).allSatisfy { flooder.reply($0) != nil } })
      #expect(await isLogged(deployment, "token_checks", from: "mallory"))
    }
  }

  @Test("Behind a listed proxy each client counts for itself, whether the PROXY protocol or a header says so")
  func proxies() async throws {
    let proxy = "127.0.0.99"
    let settings = [
      "server.trusted_proxies=\(proxy)", "server.address.limit_loopback=true", "server.address.max_connections=1",
    ]
    func header(_ client: [UInt8]) -> [UInt8] {
      [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12]
        + client + [127, 0, 0, 1, 1, 2, 3, 4]
    }
    try await Deployment.with(.serve, settings: settings) { deployment in
      func peer(_ client: String) throws -> Peer {
        try Peer(deployment.a, from: proxy, headers: ["X-Forwarded-For: \(client)"])
      }
      let held = [try peer("192.0.2.1"), try peer("10.1.1.1, 192.0.2.2")]
      #expect(throws: WebSocketPeer.Failure.self) { try peer("192.0.2.1") }
      #expect(await isLogged(deployment, "address_connections", from: "192.0.2.1"))
      for peer in held { try await peer.connect(token: try deployment.token("ada")) }
    }
    try await Deployment.with(.serve, settings: settings + ["server.proxy_protocol=true"]) { deployment in
      func peer(_ client: [UInt8]) throws -> Peer { try Peer(deployment.a, from: proxy, preface: header(client)) }
      let held = [try peer([192, 0, 2, 1]), try peer([192, 0, 2, 2])]
      #expect(throws: WebSocketPeer.Failure.self) { try peer([192, 0, 2, 1]) }
      #expect(throws: WebSocketPeer.Failure.self) { try Peer(deployment.a, from: proxy) }
      #expect(await isLogged(deployment, "proxy_header", from: proxy))
      for peer in held { try await peer.connect(token: try deployment.token("ada")) }
      try await checkService(deployment, "bob", from: Self.honest)
    }
  }
}
