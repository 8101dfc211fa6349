import HTTPClient
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SessionDriver and the backend")
struct SessionDriverProxyTests {
  /// A backend that answers when the test says so.
  private final class Backend: Sendable {
    typealias Done = @Sendable (Result<ProxyCalls.Reply, HTTPCallError>) -> Void
    let calls = Mutex<[(call: HTTPCall, done: Done)]>([])

    var count: Int { calls.withLock { $0.count } }

    func answer(_ body: String) {
      let first = calls.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      first?.done(.success(.init(status: 200, body: Array(body.utf8))))
    }
  }

  private final class Scene {
    let loop = EmbeddedEventLoop()
    let backend = Backend()
    let transport: RecordingTransport
    let host = RecordingHost()
    let driver: SessionDriver

    init() {
      transport = RecordingTransport(eventLoop: loop)
      let endpoint = ProxyEndpoint(
        url: "http://backend/", timeoutMilliseconds: 1000, forwardedHeaders: ["cookie"], maximumCalls: 10,
        breaker: .init(failures: 10, openMilliseconds: 1000))
      let configuration = ProxyConfiguration(
        endpoints: [.connect: endpoint, .rpc: endpoint], connections: 1, replyBytes: 1024,
        allowsPrivateAddresses: true, certificateAuthorities: nil, callsPerClient: 4)
      let backend = backend
      host.proxies = ProxyCalls(
        configuration, logger: Logger(label: "test"),
        send: { _ in { call, done in backend.calls.withLock { $0.append((call, done)) } } }, now: { 0 })
      host.transport = transport
      driver = SessionDriver(
        transport: transport, host: host,
        rules: SessionRules(SessionConfiguration(), namespaces: NamespaceTable(), proxies: ProxyRules(configuration)),
        identity: .init(client: "c", session: "s"), firstPingDelayMilliseconds: 10_000)
      driver.opened()
    }

    func say(_ text: String) {
      driver.received(ByteBuffer(string: text))
      driver.readCompleted()
    }

    func answer(_ body: String) {
      backend.answer(body)
      loop.run()
    }

    var lastFrame: String { String(decoding: transport.frames.last ?? [], as: UTF8.self) }
  }

  @Test("the answer comes back to the event loop, and what the client said meanwhile is done behind it")
  func connect() throws {
    let scene = Scene()
    scene.transport.forwardedHeaders = [.init(name: "cookie", value: "s=1")]
    scene.say(#"{"id":1,"connect":{}}"#)
    let call = try #require(scene.backend.calls.withLock { $0.first?.call })
    #expect(call.headers.contains { $0.name == "cookie" && $0.value == "s=1" })
    #expect(String(decoding: call.body, as: UTF8.self).hasPrefix(#"{"client":"c","transport":"websocket""#))
    #expect(scene.transport.isPaused && scene.transport.frames.isEmpty)
    scene.answer(#"{"result":{"user":"56"}}"#)
    #expect(scene.driver.user == "56" && scene.lastFrame.contains(#""client":"c""#))
    #expect(!scene.transport.isPaused)
    scene.say(#"{"id":2,"rpc":{"method":"m"}}"#)
    scene.answer(#"{"result":{"data":"done"}}"#)
    #expect(scene.lastFrame.contains(#"{"id":2,"rpc":{"data":"done"}}"#))
  }

  @Test("a client that has gone is ended once, and a late answer finds nobody")
  func late() {
    let scene = Scene()
    scene.say(#"{"id":1,"connect":{}}"#)
    scene.driver.closed()
    #expect(scene.host.log == ["ended"])
    scene.answer(#"{"result":{"user":"56","channels":["a"]}}"#)
    #expect(scene.host.log == ["ended"] && scene.transport.frames.isEmpty)
  }

  @Test("whom the backend lets in may still be one connection too many of its user's")
  func accounts() {
    let scene = Scene()
    let accounts = UserAccounts(ClientRates(), mostConnections: 1)
    scene.host.accounts = accounts
    let first = accounts.open("56")
    scene.say(#"{"id":1,"connect":{}}"#)
    scene.answer(#"{"result":{"user":"56"}}"#)
    #expect(scene.transport.closedWith == .connectionLimit)
    #expect(first != nil && scene.host.notes.contains(.userConnections))
    // A client that is let in counts until its connection is gone.
    let other = Scene()
    other.host.accounts = accounts
    other.say(#"{"id":1,"connect":{}}"#)
    other.answer(#"{"result":{"user":"57"}}"#)
    #expect(accounts.open("57") == nil)
    other.driver.closed()
    #expect(accounts.open("57") != nil)
  }

  @Test("an address that signs in too often costs the backend no call")
  func signIns() {
    let scene = Scene()
    scene.transport.signInWait = nil
    scene.say(#"{"id":1,"connect":{}}"#)
    #expect(scene.backend.count == 0 && scene.transport.closedWith == .tooManyRequests)
    let other = Scene()
    other.transport.signInWait = 500
    other.say(#"{"id":1,"connect":{}}"#)
    #expect(other.backend.count == 0)
    other.loop.advanceTime(by: .milliseconds(500))
    #expect(other.backend.count == 1)
  }
}
