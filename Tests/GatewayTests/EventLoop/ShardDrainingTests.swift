import Auth
import Foundation
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway
@testable import ZeroMQ

/// An event loop whose clients leave one after another.
@Suite("The clients of an event loop that ends")
struct ShardDrainingTests {
  private static let window: Int64 = 10_000

  @Test("Each client is closed with 3001 at its slot, and not before")
  func slots() throws {
    let scene = try DrainingScene()
    let clients = (0..<20).map { _ in scene.client() }
    var isOver = 0
    scene.shard.beginRamp(over: Self.window) { isOver += 1 }
    var closings: [Int64] = []
    for now: Int64 in 0...Self.window {
      scene.now = now
      scene.shard.sendAwayDue()
      while closings.count < clients.count - scene.left(of: clients) { closings.append(now) }
    }
    // One in each twentieth of what is left when those that are told have had their grace.
    #expect(closings.map { $0 * 20 / (Self.window - 1000) } == Array(0..<20))
    #expect(clients.allSatisfy { $0.closedWith == .shutdown })
    #expect(isOver == 1)
  }

  @Test("A client that understands it is told its slot, and closed only some time later")
  func told() throws {
    let scene = try DrainingScene()
    let (knows, ignorant) = (scene.client(reconnects: true), scene.client())
    scene.shard.beginRamp(over: Self.window) {}
    #expect(ignorant.frames.isEmpty)
    let after = try #require(knows.toldSlot)
    #expect((0..<9000).contains(after))
    scene.now = after + 999
    scene.shard.sendAwayDue()
    #expect(knows.closedWith == nil)
    scene.now = after + 1000
    scene.shard.sendAwayDue()
    #expect(knows.closedWith == .shutdown)
  }

  @Test("Until its slot a client is served: commands go to the broker, and publications come")
  func served() throws {
    let scene = try DrainingScene()
    let client = scene.client()
    scene.subscribe(client, to: "a")
    client.frames = []
    scene.shard.beginRamp(over: Self.window) {}
    client.say(#"{"id":3,"publish":{"channel":"a","data":1}}"#)
    #expect(!client.isPaused)
    #expect(scene.posted() == ["publish"])
    #expect(scene.subscribers(of: "a") == 1)
  }

  @Test("Who is not signed in leaves at once, and so does whoever comes meanwhile")
  func unsigned() throws {
    let scene = try DrainingScene()
    let (unsigned, signed) = (scene.client(connects: false), scene.client())
    scene.shard.beginRamp(over: Self.window) {}
    #expect(unsigned.closedWith == .shutdown)
    #expect(signed.closedWith == nil)
    let late = scene.client(connects: false)
    scene.loop.run()
    #expect(late.closedWith == .shutdown)
  }

  @Test("The ramp is over early when the last client has left by itself")
  func empty() throws {
    let scene = try DrainingScene()
    let clients = [scene.client(reconnects: true), scene.client(reconnects: true)]
    var isOver = false
    scene.shard.beginRamp(over: Self.window) { isOver = true }
    clients[0].leave()
    #expect(!isOver)
    clients[1].leave()
    #expect(isOver)
    var isEmpty = false
    scene.shard.shutDown { isEmpty = true }
    #expect(isEmpty)
  }

  @Test("Whoever hurries ends the ramp: all leave now, after their answers")
  func hurried() throws {
    let scene = try DrainingScene()
    let clients = (0..<5).map { _ in scene.client() }
    clients[0].say(#"{"id":3,"subscribe":{"channel":"a"}}"#)
    var isOver = 0
    scene.shard.beginRamp(over: Self.window) { isOver += 1 }
    scene.shard.endRamp()
    scene.shard.endRamp()
    #expect(isOver == 1)
    var isEmpty = false
    scene.shard.shutDown { isEmpty = true }
    #expect(clients[1...].allSatisfy { $0.closedWith == .shutdown })
    #expect(clients[0].closedWith == nil, "its answer is under way")
    scene.shard.shutDownNow()
    #expect(clients[0].closedWith == .shutdown)
    for client in clients { client.leave() }
    #expect(!isEmpty, "the broker still has to answer for the subscription")
    scene.answerAll()
    #expect(isEmpty)
  }

  @Test("Without time for a ramp it is over at once")
  func noWindow() throws {
    let scene = try DrainingScene()
    let client = scene.client()
    var isOver = false
    scene.shard.beginRamp(over: 0) { isOver = true }
    #expect(isOver && client.closedWith == .shutdown)
  }
}

/// A shard with clients that write down what they are sent, and a clock in the test's hand.
private final class DrainingScene {
  private final class Clock: @unchecked Sendable {
    // Safe without a lock: one thread runs the test.
    var now: Int64 = 0
  }

  let loop = EmbeddedEventLoop()
  let shard: Shard
  private let clock = Clock()
  private let uplink = Mailbox<UplinkMessage>(capacity: 1 << 20)
  private let egress: EgressScene
  private var lastID: UInt64 = 0
  private var unanswered: [GatewayRequest] = []

  var now: Int64 {
    get { clock.now }
    set { clock.now = newValue }
  }

  init() throws {
    egress = try EgressScene(ring: false)
    var configuration = SessionConfiguration()
    configuration.allowAnonymous = true
    var channels = ChannelOptions.open
    channels.allowPublishForAnonymous = true
    shard = Shard(
      loopIndex: 0, verifier: FixedVerifier(user: ""),
      rules: SessionRules(configuration, namespaces: NamespaceTable(withoutNamespace: channels)), uplink: uplink,
      windowBytes: 1 << 20, reads: .init(), requestTimeout: 10_000, load: ShardLoad(uplink: uplink),
      fanOut: egress.fanOut, randomness: SeededGenerator(seed: 7),
      clock: { [clock] in SessionTime(monotonic: clock.now, wall: 1_700_000_000) }, atTurnsEnd: { _ in })
  }

  func client(reconnects: Bool = false, connects: Bool = true) -> LeavingClient {
    lastID += 1
    let client = LeavingClient(id: lastID, on: loop)
    client.driver = shard.open(client)
    if connects {
      client.say(#"{"id":1,"connect":{\#(reconnects ? #""reconnects":true"# : "")}}"#)
      client.frames = []
    }
    return client
  }

  func left(of clients: [LeavingClient]) -> Int { clients.count { $0.closedWith == nil } }

  func subscribe(_ client: LeavingClient, to channel: String) {
    client.say(#"{"id":2,"subscribe":{"channel":"\#(channel)"}}"#)
    answerAll()
  }

  func subscribers(of channel: String) -> Int {
    (try? ChannelName(channel)).map { shard.hub.clientCount(on: $0) } ?? 0
  }

  /// What the broker was asked since this was asked last.
  func posted() -> [String] {
    take()
    defer { unanswered = [] }
    return unanswered.map { request in
      switch request.request {
      case .publish: "publish"
      case .subscribe: "subscribe"
      default: "another"
      }
    }
  }

  /// Answers each subscribe as the broker would.
  func answerAll() {
    take()
    let requests = unanswered
    unanswered = []
    shard.carryOut(
      requests.map { request -> Handover in
        var response = BrokerResponse.done
        if case .subscribe = request.request { response = .at(0) }
        return .answer(connection: request.source.connection, tag: request.source.tag, response)
      })
  }

  private func take() {
    var batch: [UplinkMessage] = []
    uplink.take(&batch)
    for case .request(let request) in batch { unanswered.append(request) }
  }
}

private final class LeavingClient: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format = WireFormat.json
  var driver: SessionDriver?
  var frames: [[UInt8]] = []
  private(set) var closedWith: DisconnectCode?
  private(set) var isPaused = false
  var progress: PeerProgress? { nil }

  init(id: UInt64, on loop: EmbeddedEventLoop) {
    eventLoop = loop
    super.init(id: id, descriptor: -1)
  }

  /// Milliseconds from when it was told; nil: it was not.
  var toldSlot: Int64? {
    let text = String(decoding: frames.joined(), as: UTF8.self)
    guard let start = text.range(of: #"{"push":{"reconnect":{"after":"#) else { return nil }
    return Int64(text[start.upperBound...].prefix { $0.isNumber })
  }

  func say(_ text: String) {
    driver?.received(ByteBuffer(string: text))
    driver?.readCompleted()
  }

  /// The connection is gone.
  func leave() {
    driver?.closed()
    driver = nil
  }

  func send(_ frame: [UInt8]) { frames.append(frame) }
  func close(_ code: DisconnectCode) { closedWith = code }
  func pauseReading() { isPaused = true }
  func resumeReading() { isPaused = false }
}
