import Foundation
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway
@testable import ZeroMQ

/// The gateway's part of the backbone thread, with a real pipe to a test that is its broker.
@Suite("Gateway on its thread", .ownThread)
struct GatewayLoopTests {
  @Test(
    "What a broker sent before it died is read whole, and the link goes on with the next broker",
    // The loop looks at its descriptors once in four rounds of 256 messages: of the end it hears within the second.
    arguments: [300, 2000])
  func brokerDies(count: Int) async throws {
    try await withTemporaryFolder { directory in
      let endpoint = "ipc://\(directory.path)/b.ipc"
      let scene = LoopScene()
      var broker: PipeBroker? = try PipeBroker(at: endpoint)
      let thread = try scene.start(at: endpoint)
      defer {
        scene.goesOn.signal()
        thread.stop()
      }
      let session = try broker?.open()
      // The loop's thread is kept at the first of them, so that many wait in its pipe: libzmq looks for news of its
      // connections in the middle of such a burst, between two frames of a message too.
      let pictures = (0..<count).map { "picture \($0)" }
      try broker?.discard(pictures[0])
      try #require(scene.isHeld.wait(timeout: .now() + 120) == .success)
      for picture in pictures.dropFirst() { try broker?.discard(picture) }
      broker = nil
      let next = try PipeBroker(at: endpoint)
      try next.awaitConnection()
      scene.goesOn.signal()

      let areAllRead = try blocksUntil(within: .seconds(120)) {
        try #require(scene.failures.isEmpty, "the loop has ended: \(scene.failures)")
        return scene.discarded.count >= pictures.count
      }
      try #require(areAllRead)
      let areTheSame = scene.discarded == pictures
      #expect(areTheSame)

      // The next broker knows nothing of the session, and need not say so: the gateway begins a newer one.
      let first = try #require(session)
      #expect(try next.receive(.hello) == first + 1)
      #expect(try next.open() > first)
    }
  }

  @Test("A broker that follows one that has died hears the gateway at once, whether that was welcomed or waits for it")
  func helloAtOnce() async throws {
    try await withTemporaryFolder { directory in
      let endpoint = "ipc://\(directory.path)/b.ipc"
      let scene = LoopScene()
      var broker: PipeBroker? = try PipeBroker(at: endpoint)
      // By itself the gateway would wait for ten minutes before it says hello again.
      let thread = try scene.start(at: endpoint, heartbeatInterval: 600_000)
      defer { thread.stop() }
      let first = try #require(try broker?.open())
      broker = nil
      broker = try PipeBroker(at: endpoint)
      let second = try #require(try broker?.receive(.hello))
      #expect(second > first)
      // It dies before it has welcomed the gateway.
      broker = nil
      broker = try PipeBroker(at: endpoint)
      let third = try #require(try broker?.open())
      #expect(third > second)
      #expect(scene.failures.isEmpty)
    }
  }

  @Test("A connection on which nothing comes any more is given up, and the gateway is there again with the wire")
  func wireCut() async throws {
    try await withTemporaryFolder { directory in
      let broker = try PipeBroker(at: "ipc://\(directory.path)/b.ipc")
      let wire = try SocketProxy(at: "\(directory.path)/wire.ipc", to: "\(directory.path)/b.ipc")
      let scene = LoopScene()
      let thread = try scene.start(at: "ipc://\(directory.path)/wire.ipc", heartbeatInterval: 600_000)
      defer {
        thread.stop()
        wire.close()
      }
      let session = try broker.open()
      let connections = wire.accepted
      wire.set(.paused)
      let hasGivenUp = blocksUntil(within: .seconds(120)) { wire.accepted > connections }
      try #require(hasGivenUp)
      wire.set(.open)
      #expect(try broker.receive(.hello) > session)
      #expect(scene.failures.isEmpty)
    }
  }

  @Test("What an event loop has worked off the loop's own thread tells the broker, also where a poster has noticed it")
  func acknowledges() async throws {
    try await withTemporaryFolder { directory in
      let endpoint = "ipc://\(directory.path)/b.ipc"
      let broker = try PipeBroker(at: endpoint)
      let scene = LoopScene()
      scene.goesOn.signal()
      let shard = try ShardScene(members: 0)
      let held = 1 << 20
      shard.load.handOver(held)
      let loop = try HandRunLoop()
      defer { loop.loop.tearDown() }
      let uplink = Mailbox<UplinkMessage>(capacity: 1 << 20)
      let links = scene.links(count: 1, heartbeatInterval: 2000) { $0.acknowledgeBytes = 1 }
      try loop.build {
        let eventLoop = shard.egress.loop
        let mailbox = ShardMailbox(
          eventLoop: eventLoop, shard: NIOLoopBound(shard.shard, eventLoop: eventLoop), load: shard.load)
        return try scene.backbone(of: links, at: [endpoint], shards: [mailbox], loop: $0, uplink: uplink)
      }
      _ = try broker.receive(.hello)
      try broker.send(.welcome, LinkWelcome(broker: 1).bytes)
      try broker.discard("picture")
      try loop.run { !scene.discarded.isEmpty }
      #expect(!links[0].owesAcknowledgement(queuedBytes: shard.load.queuedBytes))

      shard.load.taken(held)
      try #require(links[0].owesAcknowledgement(queuedBytes: shard.load.queuedBytes))
      // A poster's round, as an event loop runs it. The dealer's socket belongs to the loop's thread.
      uplink.run()
      #expect(links[0].owesAcknowledgement(queuedBytes: shard.load.queuedBytes))
      try loop.run { !links[0].owesAcknowledgement(queuedBytes: shard.load.queuedBytes) }
      _ = try broker.receive(.gatewayHeartbeat)
      #expect(scene.failures.isEmpty)
    }
  }

  @Test(
    "Which pictures are gone is asked when home's link opens, and another one's where State is shared, not Clique",
    arguments: [true, false])
  func asksForPictures(isShared: Bool) async throws {
    try await withTemporaryFolder { directory in
      let endpoints = (0..<2).map { "ipc://\(directory.path)/\($0).ipc" }
      let brokers = try endpoints.map { try PipeBroker(at: $0) }
      let scene = LoopScene()
      let thread = try scene.start(at: endpoints, sharesState: isShared)
      defer { thread.stop() }
      _ = try brokers[0].open()
      try #require(blocksUntil(within: .seconds(120)) { scene.opened > 0 })
      _ = try brokers[1].open()
      // That all links are open is said after it.
      try #require(blocksUntil(within: .seconds(120)) { scene.isLinked })
      #expect(scene.opened == (isShared ? 2 : 1) && scene.failures.isEmpty)
    }
  }
}

/// The loop, and what it told of.
private final class LoopScene: Sendable {
  let isHeld = DispatchSemaphore(value: 0)
  let goesOn = DispatchSemaphore(value: 0)
  private let state = Mutex((discarded: [String](), failures: [String](), opened: 0, isLinked: false))

  var discarded: [String] { state.withLock { $0.discarded } }
  var failures: [String] { state.withLock { $0.failures } }
  var opened: Int { state.withLock { $0.opened } }
  var isLinked: Bool { state.withLock { $0.isLinked } }

  func start(at endpoint: String, heartbeatInterval: Int64 = 20) throws -> BackboneThread {
    try start(at: [endpoint], heartbeatInterval: heartbeatInterval)
  }

  /// - Parameter endpoints: of each partition's broker.
  func start(at endpoints: [String], heartbeatInterval: Int64 = 20, sharesState: Bool = false) throws -> BackboneThread
  {
    try BackboneThread.start(
      onFailure: { [self] error in state.withLock { $0.failures.append("\(error)") } },
      build: { [self] loop in
        let links = links(count: endpoints.count, heartbeatInterval: heartbeatInterval)
        return [try backbone(of: links, at: endpoints, sharesState: sharesState, loop: loop)]
      })
  }

  /// - Parameter count: of partitions.
  func links(
    count: Int, heartbeatInterval: Int64, _ change: (inout GatewayLinkConfiguration) -> Void = { _ in }
  ) -> [GatewayLink] {
    (0..<count).map { partition in
      var configuration = GatewayLinkConfiguration(gateway: 7, loops: 1)
      configuration.heartbeatInterval = heartbeatInterval
      configuration.brokerTimeout = 600_000
      (configuration.partition, configuration.partitions) = (partition, count)
      change(&configuration)
      return GatewayLink(configuration: configuration)
    }
  }

  func backbone(
    of links: [GatewayLink], at endpoints: [String], sharesState: Bool = false, shards: [ShardMailbox] = [],
    loop: BackboneLoop, uplink: Mailbox<UplinkMessage> = Mailbox(capacity: 1 << 20)
  ) throws -> GatewayBackbone {
    var threads = ChannelOptions()
    (threads.app, threads.sharing) = ("state", sharesState ? .user : .home)
    var chats = ChannelOptions()
    (chats.app, chats.sharing) = ("clique", .conversation)
    let namespaces = NamespaceTable(namespaces: ["state.threads": threads, "clique.chat": chats])
    return try GatewayBackbone(
      links: links, partitioning: Partitioning(count: links.count, namespaces: namespaces),
      pipe: .sockets(endpoints.map { [GatewayEndpoint($0)] }, Context()),
      rules: SessionRules(SessionConfiguration(), namespaces: namespaces), shards: shards,
      loop: loop, uplink: uplink, revocations: Revocations(partitions: links.count),
      discardPictures: { [self] in discard($0) },
      linkOpened: { [self] in state.withLock { $0.opened += 1 } },
      linkIs: { [self] isOpen in state.withLock { $0.isLinked = isOpen } },
      logger: Logger(label: "test"))
  }

  private func discard(_ pictures: [PictureFate]) {
    let isFirst = state.withLock { state in
      state.discarded += pictures.map(\.id)
      return state.discarded.count == 1
    }
    guard isFirst else { return }
    isHeld.signal()
    goesOn.wait()
  }
}

/// A loop whose rounds a test runs on its own thread.
private struct HandRunLoop {
  private let control: LoopControl
  let loop: BackboneLoop

  init() throws {
    control = try LoopControl()
    loop = BackboneLoop(control, messagesPerRound: 256)
  }

  func build(_ participant: (BackboneLoop) throws -> any BackboneParticipant) throws {
    try loop.build { [try participant($0)] }
    control.turn.open(loop)
  }

  func run(until isOver: () -> Bool) throws {
    for _ in 0..<1000 where !isOver() { try loop.runRound() }
    try #require(isOver(), "it did not come to that in a thousand rounds")
  }
}

/// A broker's end of the pipe, and the numbers of one session.
private final class PipeBroker {
  private let monitor: SocketMonitor
  private let router: Socket
  private var gateway: [UInt8] = []
  private var session: UInt64 = 0
  private var nextSequence: UInt64 = 0

  init(at endpoint: String) throws {
    let context = try Context()
    router = try Socket(
      context, .router,
      Socket.Options {
        $0.sendHighWaterMark = 0
        $0.receiveTimeoutMilliseconds = 120_000
        // A gateway that comes back may be there before its former connection is gone.
        $0.routerHandover = true
        // The socket stays until all that was sent is on its way, and the context stays with it.
        $0.lingerMilliseconds = -1
      })
    monitor = try SocketMonitor(router, name: "broker", in: context)
    try router.bind(endpoint)
  }

  func awaitConnection() throws {
    try #require(try blocksUntil(within: .seconds(120)) { try monitor.next() == .handshakeSucceeded })
  }

  /// Welcomes the gateway, again where that took it too long.
  ///
  /// - Returns: the session that it took up.
  func open() throws -> UInt64 {
    while true {
      switch try next() {
      case .hello: try send(.welcome, LinkWelcome(broker: 1).bytes)
      case .resynced: return session
      default: break
      }
    }
  }

  /// Passes over what comes before a message of this kind.
  ///
  /// - Returns: its session.
  func receive(_ kind: LinkHeader.Kind) throws -> UInt64 {
    while try next() != kind {}
    return session
  }

  private func next() throws -> LinkHeader.Kind {
    var frames: [[UInt8]] = []
    let received = try router.receiveMultipart(into: &frames, blocking: true)
    try #require(received?.frames == 3, "the gateway said nothing for two minutes, or not in three frames")
    let header = try LinkHeader(bytes: frames[1])
    gateway = frames[0]
    if header.session != session { nextSequence = 0 }
    session = header.session
    return header.kind
  }

  func send(_ kind: LinkHeader.Kind, _ body: [UInt8]) throws {
    let header = LinkHeader(kind: kind, session: session, sequence: nextSequence)
    nextSequence += 1
    try router.send(multipart: [gateway, header.bytes, body])
  }

  func discard(_ picture: String) throws {
    try send(.discard, LinkDiscard(pictures: [PictureFate(gone: picture)]).bytes)
  }
}
