import TestSupport
import Testing
import ZeroMQ

@Suite(.skipUnlessStrict(.curve, isThere: Curve.isAvailable), .ownThread)
struct CurveTests {
  private let context: Context
  private let server: Curve.KeyPair

  init() throws {
    context = try Context()
    server = try Curve.KeyPair.generate()
  }

  @Test("A client that knows the server's key is served")
  func rightKey() throws {
    let router = try socket(context, .router) { $0.curve = .server(server.secretKey) }
    try router.bind("tcp://127.0.0.1:*")
    let own = try Curve.KeyPair.generate()
    let client = try socket(context, .dealer) { $0.curve = .client(own, server: server.publicKey) }
    try client.connect(router.lastEndpoint)
    try client.send([UInt8]("hello"))
    #expect(try receive(router)[1] == [UInt8]("hello"))
  }

  @Test("A client with another server key fails its handshake")
  func wrongKey() throws {
    let own = try Curve.KeyPair.generate()
    let other = try Curve.KeyPair.generate()
    try expectRefusal("wrong-key", .client(own, server: other.publicKey))
  }

  @Test("A client without encryption fails its handshake")
  func plainClient() throws {
    try expectRefusal("plain", nil)
  }

  private func expectRefusal(_ name: String, _ role: Curve.Role?) throws {
    let router = try socket(context, .router) { $0.curve = .server(server.secretKey) }
    let monitor = try SocketMonitor(router, name: name, in: context)
    try router.bind("tcp://127.0.0.1:*")
    let client = try socket(context, .dealer) { $0.curve = role }
    try client.connect(router.lastEndpoint)
    try client.send([UInt8]("let me in"))
    var events: [SocketMonitor.Event] = []
    let isRefused = try eventually {
      guard let event = try monitor.next() else { return false }
      events.append(event)
      if case .handshakeProtocolFailed = event { return true }
      return false
    }
    #expect(isRefused, "saw \(events)")
    #expect(!events.contains(.handshakeSucceeded))
    #expect(try isEmpty(router))
  }

  @Test("Only the clients on the allow list are served", .timeLimit(.minutes(15)))
  func allowList() throws {
    let allowed = try Curve.KeyPair.generate()
    let stranger = try Curve.KeyPair.generate()
    let context = context
    let domains = Report<CurveAllowList.Domain>()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      let list = try CurveAllowList(["backbone": [allowed.publicKey]], in: context, on: loop)
      domains.post(list.domain("backbone"))
      return [list]
    }
    let domain = try #require(domains.all.first)
    let router = try socket(context, .router) { $0.curve = .server(server.secretKey, allowing: domain) }
    let monitor = try SocketMonitor(router, name: "allow-list", in: context)
    try router.bind("tcp://127.0.0.1:*")
    let refused = try socket(context, .dealer) { $0.curve = .client(stranger, server: server.publicKey) }
    try refused.connect(router.lastEndpoint)
    try refused.send([UInt8]("stranger"))
    #expect(try eventually { try monitor.next() == .handshakeRefused(400) })
    let served = try socket(context, .dealer) { $0.curve = .client(allowed, server: server.publicKey) }
    try served.connect(router.lastEndpoint)
    try served.send([UInt8]("friend"))
    #expect(try receive(router)[1] == [UInt8]("friend"))
    #expect(try isEmpty(router))
    thread.stop()
  }

  @Test("The public key can be computed from the secret one")
  func derive() throws {
    #expect(try server.secretKey.publicKey == server.publicKey)
  }

  @Test(
    "A key that is not 40 characters of Z85 is refused",
    arguments: ["", "short", String(repeating: "a", count: 41), String(repeating: "\"", count: 40)])
  func malformed(text: String) {
    let error = #expect(throws: ZeroMQError.self) { _ = try Curve.PublicKey(z85: text) }
    #expect(error?.reason == .invalid)
  }

  @Test("A secret key does not print itself")
  func hidden() {
    let pair = server
    #expect(!"\(pair)".contains(pair.secretKey.z85))
    #expect(!String(reflecting: pair).contains(pair.secretKey.z85))
  }
}
