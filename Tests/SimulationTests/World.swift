import Broker
import Gateway
import Log
import Wire

/// Broker, log, two gateways and their clients under one seed, with everything that can go wrong between them.
final class World {
  static let channels: [ChannelName] = ["d:1", "d:2", "r:1", "m:1", "n:1"].compactMap { try? ChannelName($0) }

  /// What one event loop has not worked off yet.
  enum Handover {
    case answer(RequestSource, BrokerResponse)
    case publication(ChannelName, Publication)
    case lost(ChannelName)
  }

  struct GatewayNode {
    var link: GatewayLink
    var toBroker: [LinkMessage] = []
    var toGateway: [LinkMessage] = []
    var loops: [[Handover]] = [[], []]
    var queuedBytes: UInt64 { UInt64(loops[0].count + loops[1].count) * 200 }
  }

  let seed: UInt64
  let namespaces: NamespaceTable
  var random: SeededRandom
  var now: Int64 = 1_000_000
  var faults = true
  let disk = SimulatedDisk()
  var log: SimulatedLog
  var broker: BrokerCore?
  var gateways: [GatewayNode] = []
  var clients: [SimulatedClient] = []
  var violations: [String] = []
  var coverage = Coverage()
  var oracle = Oracle()
  private var nextConnection: UInt64 = 1
  private var nextTag: UInt64 = 1
  private var nextPayload = 0
  private var nextGateway: UInt64 = 100
  private var brokerLives: UInt64 = 0

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
    namespaces = Self.namespaces(historySize: [2, 5, 40][Int.random(in: 0..<3, using: &random)])
    log = SimulatedLog(disk: disk, now: { 0 })
    startBroker()
    for _ in 0..<2 { gateways.append(newGateway()) }
    for index in 0..<10 {
      let channel = Self.channels[index % Self.channels.count]
      clients.append(
        SimulatedClient(
          name: "c\(index)", channel: channel, format: index % 3 == 0 ? .json : .protobuf, loop: index / 2 % 2,
          gateway: index % 2, connection: newConnection()))
    }
  }

  var time: BrokerTime { BrokerTime(monotonic: now, wall: now) }

  func newConnection() -> UInt64 {
    nextConnection += 1
    return nextConnection
  }

  func fail(_ sentence: String) { violations.append(sentence) }

  // MARK: Processes

  func startBroker() {
    brokerLives += 1
    log = SimulatedLog(disk: disk, now: { [unowned self] in now })
    var configuration = BrokerConfiguration(namespaces: namespaces, instance: brokerLives)
    configuration.linkWindowBytes = random.chance(50) ? 4096 : 1 << 20
    configuration.gatewayTimeout = 3000
    let memory = MemoryStore(randomness: SeededRandom(seed: random.next()))
    broker = BrokerCore(configuration: configuration, memory: memory, disk: log)
  }

  func stopBroker(cleanly: Bool) {
    if cleanly {
      perform { $0.complete(self.log.commit(.max), at: self.time, into: &$1) }
      log.close()
    } else {
      // Some of what waited made it to the disk, and the broker died before it could tell anybody.
      _ = log.commit(Int.random(in: 0...3, using: &random))
      disk.afterCrash()
    }
    for (name, channel) in disk.channels {
      if let complaint = oracle.survived(name, channel) { fail(complaint) }
    }
    coverage.deferred += broker?.counters.requestsDeferred ?? 0
    broker = nil
    for index in gateways.indices {
      gateways[index].toBroker = []
      // What the broker had given to the kernel may still arrive, up to any point.
      let arrived = Int.random(in: 0...gateways[index].toGateway.count, using: &random)
      gateways[index].toGateway = Array(gateways[index].toGateway.prefix(arrived))
    }
  }

  func newGateway() -> GatewayNode {
    nextGateway += 1
    var configuration = GatewayLinkConfiguration(gateway: nextGateway, loops: 2)
    configuration.uplinkWindowBytes = 4096
    configuration.acknowledgeBytes = 512
    configuration.requestTimeout = 4000
    configuration.brokerTimeout = 2500
    var node = GatewayNode(link: GatewayLink(configuration: configuration))
    var effects: [GatewayLinkEffect] = []
    node.link.start(at: now, into: &effects)
    for case .send(let message) in effects { node.toBroker.append(message) }
    return node
  }

  /// The process dies; its clients find the other gateway, or this one when it is back.
  func replaceGateway(_ index: Int) {
    gateways[index] = newGateway()
    for client in clients where client.gateway == index { reconnect(client) }
  }

  func reconnect(_ client: SimulatedClient) {
    client.connection = newConnection()
    client.state = .idle
    client.publishing = [:]
    client.gateway = Int.random(in: 0..<gateways.count, using: &random)
  }

  // MARK: Effects

  func perform(_ input: (BrokerCore, inout [BrokerEffect]) -> Void) {
    guard let broker else { return }
    var effects: [BrokerEffect] = []
    input(broker, &effects)
    for effect in effects {
      switch effect {
      case .send(let gateway, let message): deliver(message, to: gateway)
      case .broadcast(let targets, let body):
        for target in targets { deliver(LinkMessage(header: target.header, body: body), to: target.gateway) }
      case .tap(let channel, let epoch, let publication):
        if let complaint = oracle.delivered(channel, epoch, publication) { fail(complaint) }
      case .answer, .search: break
      }
    }
  }

  private func deliver(_ message: LinkMessage, to gateway: UInt64) {
    for index in gateways.indices where gateways[index].link.configuration.gateway == gateway {
      gateways[index].toGateway.append(message)
    }
  }

  func perform(_ index: Int, _ input: (GatewayLink, inout [GatewayLinkEffect]) -> Void) {
    var effects: [GatewayLinkEffect] = []
    input(gateways[index].link, &effects)
    for effect in effects {
      switch effect {
      case .send(let message): gateways[index].toBroker.append(message)
      case .answer(let source, let response): gateways[index].loops[source.loop].append(.answer(source, response))
      case .publication(let channel, let publication, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) {
          gateways[index].loops[loop].append(.publication(channel, publication))
        }
      case .lost(let channel, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) { gateways[index].loops[loop].append(.lost(channel)) }
      case .joined, .left, .holdClients, .filteredPublication, .audienceChanged, .discard, .sessionOrder, .revoked:
        break
      }
    }
  }

  func request(_ request: BrokerRequest, from client: SimulatedClient) -> UInt64 {
    nextTag += 1
    let source = RequestSource(loop: client.loop, connection: client.connection, tag: nextTag)
    let whole = GatewayRequest(source: source, format: client.format, request: request)
    perform(client.gateway) { $0.submit(whole, at: self.now, into: &$1) }
    return nextTag
  }

  /// Whom the broker believes to be on the channel.
  func presence(on channel: ChannelName) -> [String] {
    var effects: [BrokerEffect] = []
    broker?.serve(.presence(channel), for: ServiceTag(number: 0), at: time, into: &effects)
    guard case .answer(_, .presence(let members))? = effects.first else { return [] }
    return members.map(\.client)
  }

  func newPayload() -> [UInt8] {
    nextPayload += 1
    return Array("\"p\(nextPayload)\"".utf8)
  }

  /// A short history makes recoveries that cannot be whole.
  static func namespaces(historySize: Int) -> NamespaceTable {
    var options = ChannelOptions()
    options.historySize = historySize
    options.historyTTLMilliseconds = 3_600_000
    options.presence = true
    options.joinLeave = true
    var table = NamespaceTable()
    for (name, durability) in [("d", Durability.durable), ("r", .relaxed), ("m", .memory)] {
      options.durability = durability
      table.namespaces[name] = options
    }
    table.namespaces["n"] = ChannelOptions()
    return table
  }
}
