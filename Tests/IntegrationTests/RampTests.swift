import FanfareClient
import Foundation
import TestSupport
import Testing
import Wire

/// A server that ends sends its clients away one after another, and serves each until then.
@Suite("Ending slowly", .ownThread)
struct RampTests {
  @Test("Clients get slots all over the time, are served until then, and a second signal sends everybody away")
  func slots() async throws {
    // Nobody waits for the end of this ramp: what is asserted are the slots.
    let settings = ["shutdown.ramp=60s", "shutdown.ramp_floor=1", "server.event_loops=1"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      var (told, untold): ([Peer], [Peer]) = ([], [])
      for number in 0..<12 {
        let peer = try Peer(deployment.a)
        try await peer.connect(token: deployment.token("told\(number)"), reconnects: true)
        told.append(peer)
        untold.append(try await deployment.client("untold\(number)"))
      }
      for peer in told + untold { try await peer.subscribe("dur:room") }
      deployment.broker.signal(SIGTERM)
      try #require(await eventually { told.allSatisfy { $0.slot != nil } })
      let slots = told.compactMap(\.slot)
      // Of the sixty seconds one is for those who leave by themselves: one client in each 24th of the rest.
      #expect(slots.allSatisfy { (0..<59_000).contains($0) })
      #expect(Set(slots.map { $0 * 24 / 59_000 }).count == 12, "\(slots.sorted())")
      #expect(untold.allSatisfy { $0.slot == nil })
      try Self.expectDraining(deployment.a)

      let last = try #require(told.max { ($0.slot ?? 0) < ($1.slot ?? 0) })
      for number in 1...20 { try await last.publish("m\(number)", to: "dur:room") }
      #expect(await eventually { last.data("dur:room").count == 20 })
      for peer in told + untold where peer.socket.closing == nil {
        #expect(await eventually { peer.data("dur:room").count == 20 || peer.socket.closing != nil })
      }
      #expect(await eventually(within: .seconds(60)) { untold.contains { $0.socket.closing?.code == 3001 } })
      #expect(last.socket.closing == nil, "the others went before their time, too")
      #expect(deployment.broker.isRunning)

      #expect(await deployment.broker.end(within: .seconds(30)) == 0)
      #expect(await eventually { (told + untold).allSatisfy { $0.socket.closing?.code == 3001 } })
      #expect(deployment.broker.errorOutput.contains("told again to stop"))

      try await deployment.restartBroker()
      let history = try await deployment.service().wholeHistory("dur:room").map(\.data)
      #expect(history == (1...20).map { "m\($0)" })
    }
  }

  /// Who asks is told that the server ends, and new clients are refused at once.
  private static func expectDraining(_ url: String) throws {
    let port = try #require(URL(string: url)?.port)
    let health = try HTTPExchange(port: port).ask("GET", "/health", "Connection: close\r\n")
    #expect(health.status == 503 && health.text.contains("draining"))
    #expect(throws: WebSocketPeer.Failure.self) { try Peer(url) }
  }

  @Test("With fewer clients than the floor nobody waits")
  func floor() async throws {
    try await Deployment.with(.serve, settings: ["shutdown.ramp=10m", "shutdown.ramp_floor=3"]) { deployment in
      let clients = [try await deployment.client("ann"), try await deployment.client("ben")]
      #expect(await deployment.broker.end(within: .seconds(60)) == 0)
      #expect(clients.allSatisfy { $0.socket.closing?.code == 3001 })
    }
  }

  @Test("When a gateway ends under load, its clients recover at another: each publication once, in order")
  func underLoad() async throws {
    let settings = ["shutdown.ramp=3s", "shutdown.ramp_floor=1"]
    try await Deployment.with(.ipc, settings: settings) { deployment in
      let (a, b) = (try #require(Self.port(deployment.a)), try #require(Self.port(deployment.b)))
      // The load balancer: what is there stays, what is new goes to the gateway that does not end.
      let balancer = try SocketProxy(at: "0", to: "\(a)")
      defer { balancer.close() }
      let record = FireRecord()
      let readers = try await Readers(12, deployment, through: balancer.port)
      let others = try await Readers.peers(6, deployment)
      let publishers = try await Self.publishers(deployment, record) { [seen = readers.seen, others] in
        let there = others.map(\.0).filter { $0.socket.closing == nil }
        let received = seen.map(\.count) + there.map { $0.publications("dur:ramp").count }
        return record.acknowledgements.values.reduce(0, +) - (received.min() ?? 0) < Self.mostBehind
      }
      try #require(await eventually(within: .seconds(60)) { record.hasProgress(since: [:], by: 200) })

      balancer.lead(newOnesTo: "\(b)")
      deployment.gateway("a").signal(SIGTERM)
      var moved: [Peer] = []
      for (peer, start) in others {
        try #require(await eventually(within: .seconds(60)) { peer.socket.closing?.code == 3001 })
        moved.append(try await Self.move(peer, from: start, to: deployment.b, deployment))
      }
      let gateway = deployment.gateway("a")
      #expect(await eventually(within: .seconds(60)) { !gateway.isRunning })
      let before = record.acknowledgements
      try #require(
        await eventually(within: .seconds(60)) {
          record.acknowledgements.contains { $0.key.hasPrefix("b") && $0.value > before[$0.key, default: 0] + 50 }
        })
      record.end()
      for publisher in publishers { await publisher.value }

      let history = try await deployment.service().wholeHistory("dur:ramp").map(\.data)
      #expect(record.faults(in: history).isEmpty)
      #expect(record.refused.isEmpty, "\(record.refused.prefix(5))")
      for ((peer, _), continued) in zip(others, moved) {
        let isWhole = await eventually(within: .seconds(60)) {
          peer.data("dur:ramp") + continued.data("dur:ramp") == history
        }
        #expect(isWhole)
      }
      await readers.expect(history)
      await readers.end()
    }
  }

  /// How far clients may be behind what is published. More than anybody misses who moves; on a slow machine the
  /// publishers of this test would else be faster than its clients for as long as it runs.
  private static let mostBehind = 2000

  private static func port(_ url: String) -> Int? { URL(string: url)?.port }

  /// Subscribes at another gateway from where a client was.
  private static func move(
    _ peer: Peer, from start: Peer.Position, to url: String, _ deployment: Deployment
  ) async throws -> Peer {
    let newest = peer.publications("dur:ramp").last?.offset ?? start.offset
    let position = Peer.Position(epoch: start.epoch, offset: newest)
    let next = try await deployment.client("moved", at: url)
    let result = try await next.subscribe("dur:ramp", since: position)
    #expect(result.recovered == true, "since \(position), answered \(result)")
    return next
  }

  /// Clients that publish, some at the gateway that ends and some at the other.
  private static func publishers(
    _ deployment: Deployment, _ record: FireRecord, while mayPublish: @escaping @Sendable () -> Bool
  ) async throws -> [Task<Void, Never>] {
    var tasks: [Task<Void, Never>] = []
    for number in 0..<2 {
      let (a, b) = (
        try await deployment.client("pa\(number)", at: deployment.a),
        try await deployment.client("pb\(number)", at: deployment.b)
      )
      tasks.append(Task { await publishUntilClosed("a\(number)", over: a, record) })
      tasks.append(Task { await record.pipeline("b\(number)", to: "dur:ramp", over: b, while: mayPublish) })
    }
    return tasks
  }

  private static func publishUntilClosed(_ name: String, over peer: Peer, _ record: FireRecord) async {
    while peer.socket.closing == nil, !record.isOver {
      let number = record.next(name)
      let id = peer.sendPublish(FireRecord.data(name, number), to: "dur:ramp")
      _ = await eventually(within: .seconds(60)) { peer.reply(id) != nil || peer.socket.closing != nil }
      guard let reply = peer.reply(id) else { continue }
      if let error = reply.error {
        record.refuse(name, number, error.message)
      } else {
        record.acknowledge(name, number)
      }
    }
  }
}

/// Clients in Swift that read a channel through a load balancer, and come back by themselves.
private final class Readers {
  private let threads = OwnThreadExecutor()
  private var clients: [(client: RealtimeClient, seen: SeenEvents, task: Task<Void, Never>)] = []

  init(_ count: Int, _ deployment: Deployment, through port: Int) async throws {
    for number in 0..<count {
      var options = RealtimeClient.Options()
      options.backoff = Backoff(minimum: .milliseconds(20), maximum: .milliseconds(200))
      options.timeout = .seconds(60)
      let client = try RealtimeClient(
        url: "ws://127.0.0.1:\(port)/connection/websocket", token: deployment.token("reader\(number)"),
        options: options)
      try await client.connect()
      let subscription = try await client.subscribe(
        "dur:ramp", .init(recoverable: true, maximumWaitingBytes: 64 << 20))
      let seen = SeenEvents()
      let task = Task(executorPreference: threads) { await seen.read(subscription) }
      try #require(await eventually(within: .seconds(60)) { seen.hasBegun })
      clients.append((client, seen, task))
    }
  }

  /// Clients that know nothing of slots, at the gateway itself.
  static func peers(_ count: Int, _ deployment: Deployment) async throws -> [(Peer, Peer.Position)] {
    var peers: [(Peer, Peer.Position)] = []
    for number in 0..<count {
      let peer = try await deployment.client("peer\(number)", at: deployment.a)
      let start = try await peer.subscribe("dur:ramp").position
      peers.append((peer, start))
    }
    return peers
  }

  var seen: [SeenEvents] { clients.map(\.seen) }

  func expect(_ history: [String]) async {
    for (_, seen, _) in clients {
      let isWhole = await eventually(within: .seconds(60)) { seen.data == history }
      #expect(isWhole, "\(seen.data.count) seen, \(history.count) kept")
      #expect(seen.interruptions == 1, "told its slot, a client leaves once, and comes back at the other gateway")
      #expect(seen.failedRecoveries == 0)
    }
  }

  func end() async {
    for (client, _, task) in clients {
      await client.disconnect()
      task.cancel()
    }
    threads.end()
  }
}
