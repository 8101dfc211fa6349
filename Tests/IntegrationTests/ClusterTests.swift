import Foundation
import TestSupport
import Testing
import ZeroMQ

/// Three brokers on one log, and two gateways that follow whichever has it.
@Suite("Several brokers", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct ClusterTests {
  private static let channel = "dur:fire"

  @Test("Whatever becomes of the broker that has the log: each publication once and in order, for all connected")
  func underFire() async throws {
    let (seed, rounds) = (Fire.seed(of: "brokers under fire"), Fire.rounds(usually: 9))
    var random = SeededGenerator(seed: seed)
    try await Cluster.with(brokers: 3) { cluster in
      let (record, history) = try await cluster.fire(on: Self.channel, "seed \(seed)") { record in
        // Each trouble as often as the others, in an order of the seed's.
        let troubles = (0..<rounds).map { Trouble.allCases[$0 % Trouble.allCases.count] }.shuffled(using: &random)
        for (round, trouble) in troubles.enumerated() {
          let what = "round \(round), seed \(seed)"
          try await record.goesOn(by: .random(in: 0...150, using: &random), what)
          try await follow(trouble, cluster, record, what)
        }
        try await record.goesOn(by: 100, "seed \(seed)")
      }
      #expect(record.refused.isEmpty, "a change of brokers is no error: \(record.refused.prefix(5))")
      // The database has seen as many owners as there were changes, and one more.
      let owners = try cluster.ask("SELECT owner FROM leases ORDER BY epoch")
      #expect(owners.count == rounds + 1 && zip(owners, owners.dropFirst()).allSatisfy { $0 != $1 }, "\(owners)")
      print("brokers under fire: \(history.count) publications over \(rounds) changes, all there once and in order")
    }
  }

  /// Lets the trouble happen, waits until another broker serves, and puts the former one in line behind it.
  private func follow(_ trouble: Trouble, _ cluster: Cluster, _ record: FireRecord, _ what: String) async throws {
    let former = try await cluster.owner()
    let process = cluster.process(former)
    let begun = ContinuousClock.now
    process.signal(trouble.signal)
    let isFollowed = await eventually(within: .seconds(60)) {
      (try? cluster.ask("SELECT owner FROM shards WHERE shard = 0"))?.first?
        .hasSuffix("process \(process.identifier)") == false
    }
    try #require(isFollowed, "\(what): nobody has followed the broker that was \(trouble)")
    try await record.goesOn(by: 1, "\(what), \(trouble)")
    let pause = ContinuousClock.now - begun
    print("brokers under fire: a broker was \(trouble), and publications went on after \(pause)")
    // Whoever takes so long waits for something that nobody should: what all have said tells for what.
    if pause > .seconds(10) { print(cluster.account) }
    if trouble == .paused {
      process.signal(SIGCONT)
      let notices = await eventually(within: .seconds(60)) {
        cluster.errorOutput(of: former).contains("another broker keeps the log now")
      }
      #expect(notices, "\(what): it takes itself for the owner still")
    } else {
      #expect(await eventually(within: .seconds(60)) { !process.isRunning })
      try cluster.begin(again: former)
    }
  }

  /// A network that fails, between two of the cluster's processes.
  private struct Fault: CustomStringConvertible {
    enum Place: CaseIterable { case database, linkA, linkB }

    let place: Place
    let broker: Int
    /// Nil: what goes through it is cut once.
    let mode: SocketProxy.Mode?
    let milliseconds: Int

    init(brokers: Int, using random: inout SeededGenerator) {
      place = Place.allCases.randomElement(using: &random) ?? .database
      broker = .random(in: 0..<brokers, using: &random)
      mode = [nil, .paused, .deaf, .mute, .slow].randomElement(using: &random) ?? nil
      milliseconds = .random(in: 50...4000, using: &random)
    }

    var description: String { "\(place) of broker \(broker) \(mode.map { "\($0) for \(milliseconds) ms" } ?? "cut")" }
  }

  @Test("Whatever becomes of the ways between brokers, gateways and database: once and in order")
  func faultyNetwork() async throws {
    let (seed, rounds) = (Fire.seed(of: "faulty network"), Fire.rounds(usually: 8))
    var random = SeededGenerator(seed: seed)
    try await Cluster.with(brokers: 3) { cluster in
      let (record, history) = try await cluster.fire(on: Self.channel, "seed \(seed)") { record in
        for round in 0..<rounds {
          let fault = Fault(brokers: 3, using: &random)
          try await happen(fault, cluster)
          try await record.goesOn(by: 50, "round \(round), \(fault), seed \(seed)")
        }
      }
      let owners = try cluster.ask("SELECT count(*)::text FROM leases").first ?? ""
      print(
        "faulty network: \(history.count) publications over \(rounds) faults and \(owners) owners, \(record.refused.count) "
          + "refused, all there once and in order")
    }
  }

  private func happen(_ fault: Fault, _ cluster: Cluster) async throws {
    let proxy =
      switch fault.place {
      case .database: cluster.database(of: fault.broker)
      case .linkA: try cluster.link(from: "a", to: fault.broker)
      case .linkB: try cluster.link(from: "b", to: fault.broker)
      }
    guard let mode = fault.mode else { return proxy.cut() }
    proxy.set(mode)
    await Fire.letPass(.milliseconds(fault.milliseconds))
    // Where bytes were dropped, what follows them must not pass: no network tears a stream.
    if mode == .deaf || mode == .mute { proxy.cut() }
    proxy.set(.open)
  }

  @Test("A gateway connects to a broker that stands in line where the broker's list has its key, and nobody else does")
  func connectedInLine() async throws {
    try await Cluster.with(brokers: 2) { cluster in
      let isInLine = await eventually(within: .seconds(60)) { cluster.errorOutput(of: 1).contains("this one waits") }
      try #require(isInLine)
      #expect(try await handshake(as: cluster.keys.gateway, cluster) == .handshakeSucceeded)
      #expect(try await handshake(as: .generate(), cluster) == .handshakeRefused(400))
      #expect(try await cluster.owner() == 0)
    }
  }

  /// How the handshake with the second broker ends.
  private func handshake(as keys: Curve.KeyPair, _ cluster: Cluster) async throws -> SocketMonitor.Event? {
    let thread = Task.detached { [directory = cluster.directory, server = cluster.keys.broker.publicKey] in
      let context = try Context()
      var options = Socket.Options()
      options.curve = .client(keys, server: server)
      let socket = try Socket(context, .dealer, options)
      let monitor = try SocketMonitor(socket, name: "handshake", in: context)
      try socket.connect("ipc://\(directory.path)/own1.ipc")
      var last: SocketMonitor.Event?
      _ = blocksUntil(within: .seconds(60)) {
        while let event = try? monitor.next() {
          if event != .connected, event != .disconnected { last = event }
        }
        return last != nil
      }
      return last
    }
    return try await thread.value
  }

  @Test("Told to hand the log over, a broker ends once another stands in line, and nobody is told anything")
  func drained() async throws {
    try await Cluster.with(brokers: 2) { cluster in
      let drain = ["cluster", "drain"] + cluster.engine.flatMap { ["--set", $0] }
      let (record, _) = try await cluster.fire(on: Self.channel, "drained") { record in
        let former = try await cluster.owner()
        let next = cluster.process(1 - former)
        let isInLine = await eventually(within: .seconds(60)) {
          cluster.errorOutput(of: 1 - former).contains("this one waits")
        }
        try #require(isInLine)
        let told = try await Tool.run(drain, in: cluster.directory)
        #expect(told.status == 0, "\(told.tool.errors)")
        #expect(told.tool.output.contains("process \(next.identifier) has the log now"), "\(told.tool.output)")
        #expect(await eventually(within: .seconds(60)) { !cluster.process(former).isRunning })
        #expect(cluster.process(former).status == 0 && next.isRunning)
        try await record.goesOn(by: 50, "drained")
      }
      #expect(record.refused.isEmpty, "\(record.refused.prefix(5))")
      // Nobody stands in line any more.
      let alone = try await Tool.run(drain, in: cluster.directory)
      #expect(alone.status == 1 && alone.tool.errors.contains("nobody stands in line"), "\(alone.tool.errors)")
      #expect(try cluster.ask("SELECT drain::text FROM shards WHERE shard = 0 AND drain = epoch").isEmpty)
      let forced = try await Tool.run(drain + ["--alone"], in: cluster.directory)
      #expect(forced.status == 0 && forced.tool.output.contains("nobody has the log now"), "\(forced.tool.output)")
      let nobody = try await Tool.run(drain, in: cluster.directory)
      #expect(nobody.status == 1 && nobody.tool.errors.contains("no broker has the log"), "\(nobody.tool.errors)")
    }
  }

  @Test("Gateways say which broker they are with, and how often they have changed")
  func told() async throws {
    try await Cluster.with(brokers: 2) { cluster in
      let ann = try await cluster.client("ann", at: "a")
      try await ann.subscribe("dur:room")
      try await ann.publish("first", to: "dur:room")
      let first = try await cluster.owner()
      cluster.process(first).signal(SIGKILL)
      try await ann.publish("second", to: "dur:room")
      #expect(await eventually { ann.data("dur:room") == ["first", "second"] })
      let gateway = try #require(cluster.gateway("a"))
      let said = "broker=\(cluster.endpoint(of: 1 - first, from: "a"))"
      #expect(await eventually { gateway.errorOutput.contains(said) }, "\(gateway.errorOutput.suffix(2000))")
      let port = try #require(gateway.endpoints.admin.flatMap(URL.init(string:))?.port)
      let page = try HTTPExchange(port: port).ask("GET", "/metrics", "Connection: close\r\n").text
      #expect(page.contains("fanfare_gateway_link_moves_total 1"), "\(page)")
    }
  }
}
