import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// What a network does between machines: a broker and two gateways over TCP with CURVE, each in a network namespace.
@Suite("Machines with a network between them", .skipUnlessStrict(.namespaces, isThere: Network.isPossible), .ownThread)
struct NamespacesTests {
  private static let channel = "dur:fire"

  private enum Trouble: CaseIterable {
    /// A device at one end is down.
    case unplugged
    /// Nothing arrives, and nobody is told.
    case silent
    /// The broker does not hear the gateway, and is heard.
    case deaf
    /// The broker hears the gateway, and is not heard.
    case mute
    /// A device goes down and up again and again.
    case flapping
    /// Little fits through, late.
    case narrow
    /// The broker is killed and started again while nothing arrives, so that the gateway takes its connection for open.
    case restarted
  }

  /// Runs a broker and two gateways on machines of their own, and has one client of each gateway publish and one listen
  /// while `body` lets things happen.
  private static func fire(
    _ what: String, _ body: (FireRecord, Network, Deployment) async throws -> Void
  ) async throws {
    try await Network.with { network in
      try await Deployment.with(.curve, settings: ["backbone.heartbeat_interval=200ms"], on: network) { deployment in
        var (publishers, subscribers): ([Peer], [Peer]) = ([], [])
        for gateway in ["a", "b"] {
          publishers.append(try await client("w-\(gateway)", at: gateway, network, deployment))
          subscribers.append(try await client("sub-\(gateway)", at: gateway, network, deployment))
        }
        let (record, history) = try await FireRecord.fire(
          on: channel, publishers: publishers, subscribers: subscribers, what,
          history: { try await deployment.service().wholeHistory(channel) },
          { try await body($0, network, deployment) })
        // What was given up is closed: each gateway has one connection, and the broker one to each of them.
        var left: [Int] = []
        let isTidy = try await eventually(within: .seconds(120)) {
          left = try Network.machines.map { try Network.openLinks(of: deployment[$0]) }
          return left == [2, 1, 1]
        }
        #expect(isTidy, "\(what): connections of broker and gateways that are open: \(left)")
        print("\(what): \(history.count) publications, once and in order, \(record.refused.count) refused")
      }
    }
  }

  private static func client(
    _ user: String, at gateway: String, _ network: Network, _ deployment: Deployment
  ) async throws -> Peer {
    let url = deployment.gateway(gateway).endpoints.websocket ?? ""
    let peer = try await network.on(gateway) { try Peer(url) }
    try await peer.connect(token: deployment.token(user))
    return peer
  }

  @Test("Whatever becomes of the cables: each publication once and in order, for all who are connected")
  func underFire() async throws {
    let (seed, rounds) = (Fire.seed(of: "cables under fire"), Fire.rounds(usually: 7))
    var random = SeededGenerator(seed: seed)
    try await Self.fire("cables under fire, seed \(seed)") { record, network, deployment in
      // Each trouble as often as the others, in an order of the seed's.
      let troubles = (0..<rounds).map { Trouble.allCases[$0 % Trouble.allCases.count] }.shuffled(using: &random)
      for (round, trouble) in troubles.enumerated() {
        let cable = network.cables[Int.random(in: 0...1, using: &random)]
        // Some are over before anybody has noticed them, and some last for longer than the link waits.
        let duration = Duration.milliseconds(50 << Int.random(in: 0...6, using: &random))
        let what = "round \(round), seed \(seed): \(trouble) for \(duration) between broker and \(cable.name)"
        try await record.goesOn(by: .random(in: 0...100, using: &random), what)
        try await Self.happen(trouble, to: cable, deployment, using: &random)
        await Fire.letPass(duration)
        try await cable.mend()
        try await record.goesOn(by: 50, what)
      }
      #expect(record.refused.isEmpty, "seed \(seed): what is mended soon is no error: \(record.refused.prefix(5))")
    }
  }

  private static func happen(
    _ trouble: Trouble, to cable: Cable, _ deployment: Deployment, using random: inout SeededGenerator
  ) async throws {
    let end = Bool.random(using: &random) ? cable.near : cable.far
    switch trouble {
    case .unplugged: try await end.set(up: false)
    case .silent: try await cable.lose()
    case .deaf: try await cable.lose([.fromGateway])
    case .mute: try await cable.lose([.fromBroker])
    case .flapping:
      for _ in 0..<Int.random(in: 2...10, using: &random) {
        try await end.set(up: false)
        await Fire.letPass(.milliseconds(Int.random(in: 0...100, using: &random)))
        try await cable.mend()
        await Fire.letPass(.milliseconds(Int.random(in: 0...100, using: &random)))
      }
    case .narrow: try await cable.narrow()
    case .restarted:
      try await cable.lose()
      await deployment.broker.kill()
      try await deployment.restartBroker()
    }
  }

  @Test("A machine that vanished without a word is given up by both ends, long before TCP would, and found again")
  func vanished() async throws {
    try await Self.fire("vanished machine") { record, network, deployment in
      try await record.goesOn(by: 50, "before")
      for cable in network.cables { try await cable.lose() }
      // The kernel would try for a quarter of an hour to have an answer. Nothing arrives until the cables are mended.
      for machine in Network.machines {
        let process = deployment[machine]
        let givesUp = try await eventually(within: .seconds(120)) { try Network.openLinks(of: process) == 0 }
        #expect(givesUp, "\(machine) takes a connection for open: \(process.errorOutput.suffix(500))")
      }
      for cable in network.cables { try await cable.mend() }
      try await record.goesOn(by: 50, "after")
    }
  }

  // MARK: The cables themselves

  @Test("A cable loses what it is to lose, carries the rest, and is well again when it is mended")
  func cables() async throws {
    try await Network.with { network in
      let cable = network.cables[0]
      let gateway = try await network.on("a") { try Datagrams(at: cable.near.address) }
      let broker = try await network.on("broker") { try Datagrams(at: cable.far.address) }
      let states: [(name: String, reaches: (broker: Bool, gateway: Bool), begin: () async throws -> Void)] = [
        ("new", (true, true), {}),
        ("deaf", (false, true), { try await cable.lose([.fromGateway]) }),
        ("mute", (true, false), { try await cable.lose([.fromBroker]) }),
        ("silent", (false, false), { try await cable.lose() }),
        ("down here", (false, false), { try await cable.near.set(up: false) }),
        ("down there", (false, false), { try await cable.far.set(up: false) }),
        ("narrow", (true, true), { try await cable.narrow() }),
        // What comes last says that nothing of before is under way.
        ("mended", (true, true), {}),
      ]
      var (atBroker, atGateway): (Set<String>, Set<String>) = ([], [])
      for (name, reaches, begin) in states {
        try await begin()
        // Repeated, since a device that is up again takes its time.
        let arrives = await eventually {
          gateway.send(name, to: broker)
          broker.send(name, to: gateway)
          atBroker.formUnion(broker.received())
          atGateway.formUnion(gateway.received())
          return (!reaches.broker || atBroker.contains(name)) && (!reaches.gateway || atGateway.contains(name))
        }
        #expect(arrives, "\(name)")
        try await cable.mend()
      }
      #expect(atBroker == Set(states.filter(\.reaches.broker).map(\.name)))
      #expect(atGateway == Set(states.filter(\.reaches.gateway).map(\.name)))
    }
  }

  @Test("What a killed test process left behind is removed, with what runs there")
  func leftovers() async throws {
    let folder = try TemporaryFolder()
    let ended = try ChildProcess(
      URL(fileURLWithPath: "/bin/true"), [], environment: [:], errors: folder.url.appendingPathComponent("true"))
    try #require(await eventually { !ended.isRunning })
    // Of a kind of its own, so that no other test removes it first.
    let left = "left-\(ended.identifier)-1-broker"
    #expect(Command(named: "ip", ["netns", "add", left]).succeeds())
    let server = try ChildProcess(
      URL(fileURLWithPath: "/usr/bin/env"), ["ip", "netns", "exec", left, "sleep", "1h"],
      environment: ProcessInfo.processInfo.environment, errors: folder.url.appendingPathComponent("sleep"))
    let isThere = await eventually { Self.namespace(of: server.identifier) == Self.namespace(named: left) }
    try #require(isThere)
    try await Network.removeLeftovers("left")
    #expect(Self.namespace(named: left) == nil)
    #expect(await eventually { server.status == -SIGKILL })
  }

  @Test("A network of somebody who is alive stays, and nothing is left of it at its end")
  func end() async throws {
    let names = Mutex<[String]>([])
    try await Network.with { network in
      let own = Network.machines.map { network.namespace(of: $0) }
      try await Network.removeLeftovers()
      #expect(own.count { Self.namespace(named: $0) != nil } == 3)
      names.withLock { $0 = own }
    }
    #expect(names.withLock { $0 }.count { Self.namespace(named: $0) == nil } == 3)
  }

  /// The number of a namespace; nil: there is none of that name.
  private static func namespace(named name: String) -> UInt64? { number(of: "/run/netns/\(name)") }
  private static func namespace(of process: Int32) -> UInt64? { number(of: "/proc/\(process)/ns/net") }

  private static func number(of path: String) -> UInt64? {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}

/// A socket for datagrams, on the machine of whoever makes it.
private final class Datagrams: Sendable {
  private static let port = in_port_t(7000)

  private let descriptor: Int32
  private let address: String

  init(at address: String) throws {
    self.address = address
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let isBound = Self.withAddress(address) { bind(descriptor, $0, $1) == 0 }
    guard isBound else { throw Failure("\(address) cannot be used: errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Where it cannot be sent, it is lost as well.
  func send(_ text: String, to other: Datagrams) {
    let bytes = Array(text.utf8)
    _ = Self.withAddress(other.address) { sendto(descriptor, bytes, bytes.count, 0, $0, $1) == bytes.count }
  }

  /// What has come.
  func received() -> [String] {
    var buffer = [UInt8](repeating: 0, count: 100)
    var texts: [String] = []
    while case let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count >= 0 {
      texts.append(String(decoding: buffer[..<count], as: UTF8.self))
    }
    return texts
  }

  private static func withAddress(_ text: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr(text)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
