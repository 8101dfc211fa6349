import TestSupport
import Wire

@testable import Broker
@testable import Gateway
@testable import Log

/// Three brokers on one model of a database, and two gateways that follow whichever has the log: everything between them
/// is delayed, lost, cut or paused, as the seed says. Brokers' clocks show different times.
final class BrokersWorld {
  static let channels: [ChannelName] = ["d:1", "d:2"].compactMap { try? ChannelName($0) }
  static let brokers = 3

  /// A broker that has the log, or has had it. One that is not there stands in line.
  private struct Process {
    var core: BrokerCore
    var store: ModelStore
  }

  private struct Node {
    var process: Process?
    /// Gateways are connected, also to one that stands in line: what they say waits there. It begins some time after its
    /// start.
    var listens = false
    var isPaused = false
    /// How much its monotonic clock is ahead, in milliseconds: each machine's begins at some time of its own.
    var skew: Int64
    /// How much its wall clock is ahead, as far as time servers leave it.
    var wallSkew: Int64
  }

  private struct Pipe {
    var toBroker: [LinkMessage] = []
    var toGateway: [LinkMessage] = []
  }

  private struct Feed {
    var isAsked = false
    var last: UInt64?
  }

  private struct Site {
    var link: GatewayLink
    var pipes = Array(repeating: Pipe(), count: BrokersWorld.brokers)
    var feeds = Array(repeating: Feed(), count: BrokersWorld.channels.count)
    var nextTag: UInt64 = 10
    /// What was published and has no answer.
    var published: [UInt64: (channel: ChannelName, data: [UInt8])] = [:]
  }

  struct Coverage {
    var acknowledged = 0
    var seen = 0
    var owners = 0
    var cuts = 0
    var pauses = 0
    var crashes = 0
    var lostAnswers = 0
    var regained = 0
    var moves: UInt64 = 0
    var refilled: UInt64 = 0

    mutating func add(_ other: Coverage) {
      acknowledged += other.acknowledged
      seen += other.seen
      owners += other.owners
      cuts += other.cuts
      pauses += other.pauses
      crashes += other.crashes
      lostAnswers += other.lostAnswers
      regained += other.regained
      moves += other.moves
      refilled += other.refilled
    }

    /// The things that never happened.
    var missing: [String] {
      Mirror(reflecting: self).children.filter { "\($0.value)" == "0" }.compactMap(\.label)
    }
  }

  private var random: SeededRandom
  private let engine = EngineModel()
  private let mutation: ModelStore.Mutation?
  private var now: Int64 = 1_000_000
  private var nodes: [Node] = []
  private var sites: [Site] = []
  private var nextInstance: UInt64 = 0
  private var nextPayload = 0
  private(set) var coverage = Coverage()
  private(set) var violations: [String] = []

  init(seed: UInt64, mutation: ModelStore.Mutation? = nil) {
    random = SeededRandom(seed: seed)
    self.mutation = mutation
    engine.isUnfenced = mutation == .unfenced
    nodes = (0..<Self.brokers).map { _ in
      Node(
        skew: .random(in: 0...10_000_000, using: &random), wallSkew: .random(in: -1500...1500, using: &random))
    }
    for number in 0..<2 as Range<UInt64> {
      var configuration = GatewayLinkConfiguration(gateway: 100 + number, loops: 1)
      configuration.requestTimeout = 4000
      configuration.brokerTimeout = 2500
      configuration.brokers = Self.brokers
      sites.append(Site(link: GatewayLink(configuration: configuration)))
    }
    for site in sites.indices { perform(site) { $0.start(at: self.now, into: &$1) } }
  }

  private func fail(_ sentence: String) { violations.append(sentence) }

  // MARK: Steps

  /// Does one thing, drawn by the seed.
  func step() {
    let site = Int.random(in: 0..<sites.count, using: &random)
    let broker = Int.random(in: 0..<Self.brokers, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<24: carryToBroker(site, broker)
    case 24..<48: carryToGateway(site, broker)
    case 48..<57: publish(site)
    case 57..<83: driveStore(broker)
    case 83..<91: standInLine(broker)
    case 91..<97: passTime(.random(in: 1...200, using: &random))
    default: breakSomething(site, broker)
    }
    violations += engine.violations
  }

  private func breakSomething(_ site: Int, _ broker: Int) {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30:
      coverage.cuts += 1
      cut(site, broker)
    case 30..<50:
      guard let store = nodes[broker].process?.store, store.isConnected else { return }
      if store.hasAnswers { coverage.lostAnswers += 1 }
      store.cut()
    case 50..<70:
      if nodes[broker].process == nil { return }
      if !nodes[broker].isPaused { coverage.pauses += 1 }
      nodes[broker].isPaused.toggle()
    case 70..<85: crash(broker)
    default: passTime(.random(in: 2000...5000, using: &random))
    }
  }

  /// A connection between a gateway and a broker is lost, and made again where the broker listens.
  private func cut(_ site: Int, _ broker: Int) {
    sites[site].pipes[broker] = Pipe()
    perform(site) { $0.vanished(broker, at: self.now, into: &$1) }
    if nodes[broker].listens { perform(site) { $0.appeared(broker, at: self.now, into: &$1) } }
  }

  private func listen(_ broker: Int) {
    if nodes[broker].listens { return }
    nodes[broker].listens = true
    for site in sites.indices { perform(site) { $0.appeared(broker, at: self.now, into: &$1) } }
  }

  private func crash(_ broker: Int) {
    guard let process = nodes[broker].process else { return }
    coverage.crashes += 1
    process.store.cut()
    nodes[broker].process = nil
    nodes[broker].listens = false
    nodes[broker].isPaused = false
    for site in sites.indices {
      // What the broker had given to the kernel may still arrive, up to any point, and then the connection ends.
      let all = sites[site].pipes[broker].toGateway
      for message in all.prefix(Int.random(in: 0...all.count, using: &random)) { receive(message, site, broker) }
      cut(site, broker)
    }
  }

  /// A broker that has not the log tries to take it.
  private func standInLine(_ broker: Int) {
    if let process = nodes[broker].process {
      guard !nodes[broker].isPaused, process.store.isLost else { return }
      process.store.retake()
      if !process.store.isLost { (coverage.owners, coverage.regained) = (coverage.owners + 1, coverage.regained + 1) }
      return takeNews(broker)
    }
    if random.chance(70) { listen(broker) }
    let skew = nodes[broker].skew
    guard
      let store = ModelStore(engine, of: broker, mutation: mutation, uptime: { [unowned self] in now + skew })
    else { return }
    coverage.owners += 1
    nextInstance += 1
    var configuration = BrokerConfiguration(namespaces: Self.namespaces, instance: nextInstance)
    configuration.gatewayTimeout = 3000
    let memory = MemoryStore(randomness: SeededRandom(seed: random.next()), metaTTLMilliseconds: 1000)
    nodes[broker].process = Process(
      core: BrokerCore(configuration: configuration, memory: memory, disk: store), store: store)
    listen(broker)
  }

  /// Lets the database, its answers, or the broker's look at them go on.
  private func driveStore(_ broker: Int) {
    guard let store = nodes[broker].process?.store else { return }
    // The database works on what it has got, whatever the broker does.
    if store.hasCalls, random.chance(50) { return store.execute() }
    if nodes[broker].isPaused { return }
    if !store.isConnected, !store.isLost {
      store.reconnect()
    } else if store.hasAnswers, random.chance(60) {
      store.hear()
    } else if store.hasQuestions {
      store.answer()
    }
    takeNews(broker)
  }

  private func takeNews(_ broker: Int) {
    guard let store = nodes[broker].process?.store else { return }
    perform(broker) { core, turn in
      // In either order, as the threads that bring them have none.
      core.takeNews(in: &turn)
      core.complete(store.takeCompletions(), in: &turn)
    }
  }

  private func passTime(_ milliseconds: Int64) {
    now += milliseconds
    engine.now += milliseconds
    for (broker, node) in nodes.enumerated() where !node.isPaused {
      node.process?.store.renew()
      perform(broker) { $0.tick(ingressPaused: false, in: &$1) }
    }
    for site in sites.indices { perform(site) { $0.tick(at: self.now, queuedBytes: 0, into: &$1) } }
  }

  // MARK: Messages

  private func carryToBroker(_ site: Int, _ broker: Int) {
    guard nodes[broker].process != nil, !nodes[broker].isPaused, !sites[site].pipes[broker].toBroker.isEmpty else {
      return
    }
    let message = sites[site].pipes[broker].toBroker.removeFirst()
    let gateway = sites[site].link.configuration.gateway
    perform(broker) { $0.receive(message, from: gateway, in: &$1) }
  }

  private func carryToGateway(_ site: Int, _ broker: Int) {
    if sites[site].pipes[broker].toGateway.isEmpty { return }
    receive(sites[site].pipes[broker].toGateway.removeFirst(), site, broker)
  }

  private func receive(_ message: LinkMessage, _ site: Int, _ broker: Int) {
    perform(site) { $0.receive(message, from: broker, at: self.now, into: &$1) }
  }

  private func perform(_ broker: Int, _ input: (BrokerCore, inout Turn) -> Void) {
    guard let process = nodes[broker].process else { return }
    let time = BrokerTime(monotonic: now + nodes[broker].skew, wall: 1_700_000_000_000 + now + nodes[broker].wallSkew)
    var turn = Turn(at: time)
    input(process.core, &turn)
    for effect in turn.effects {
      switch effect {
      case .send(let gateway, let message): deliver(message, to: gateway, from: broker)
      case .broadcast(let targets, let body):
        for target in targets { deliver(LinkMessage(target, body), to: target.gateway, from: broker) }
      case .tap(let channel, _, let publication): check(publication, on: channel, "broker \(broker) delivers")
      case .answer, .search, .post, .forget, .readPicture, .notify, .push: break
      }
    }
  }

  private func deliver(_ message: LinkMessage, to gateway: UInt64, from broker: Int) {
    for site in sites.indices where sites[site].link.configuration.gateway == gateway {
      sites[site].pipes[broker].toGateway.append(message)
    }
  }

  // MARK: Gateways

  private func publish(_ site: Int) {
    nextPayload += 1
    let channel = Self.channels.randomElement(using: &random) ?? Self.channels[0]
    let data = Array("p\(nextPayload)".utf8)
    sites[site].nextTag += 1
    let tag = sites[site].nextTag
    sites[site].published[tag] = (channel, data)
    submit(.publish(.init(channel: channel, data: data)), tag, site)
  }

  private func submit(_ request: BrokerRequest, _ tag: UInt64, _ site: Int) {
    let request = GatewayRequest(
      source: RequestSource(loop: 0, connection: tag, tag: tag), format: .json, request: request)
    perform(site) { $0.submit(request, at: self.now, into: &$1) }
  }

  private func perform(_ site: Int, _ input: (GatewayLink, inout [GatewayLinkEffect]) -> Void) {
    var effects: [GatewayLinkEffect] = []
    input(sites[site].link, &effects)
    for effect in effects {
      switch effect {
      case .send(let message):
        if message.body.kind == .hello {
          for broker in sites[site].pipes.indices { sites[site].pipes[broker].toBroker.append(message) }
        } else {
          sites[site].pipes[sites[site].link.broker].toBroker.append(message)
        }
      case .greet(let broker, let hello): sites[site].pipes[broker].toBroker.append(hello)
      case .answer(let source, let response): answered(source.tag, response, site)
      case .publication(let channel, let publication, _): see(publication, on: channel, site)
      case .lost(let channel, _): fail("gateway \(site) is told that something of \(channel) is lost")
      default: break
      }
    }
  }

  private func answered(_ tag: UInt64, _ response: BrokerResponse, _ site: Int) {
    if let feed = Self.channels.indices.first(where: { UInt64($0) == tag }) {
      guard case .subscribed(let subscribed) = response else {
        sites[site].feeds[feed].isAsked = false
        return
      }
      sites[site].feeds[feed].last = subscribed.position.offset
      return
    }
    guard let (channel, data) = sites[site].published.removeValue(forKey: tag) else { return }
    guard case .published(let position) = response else { return }
    coverage.acknowledged += 1
    let kept = engine.channels[channel]?.publications.first { $0.offset == position.offset }
    if kept?.data != data { fail("\(channel) at \(position.offset): acknowledged, and not there") }
  }

  private func see(_ publication: Publication, on channel: ChannelName, _ site: Int) {
    guard let feed = Self.channels.firstIndex(of: channel) else { return }
    coverage.seen += 1
    check(publication, on: channel, "gateway \(site) hands on")
    if let last = sites[site].feeds[feed].last, publication.offset != last + 1 {
      fail("gateway \(site): \(channel) at \(publication.offset) after \(last)")
    }
    sites[site].feeds[feed].last = publication.offset
  }

  /// Nobody is told of a publication that is not committed.
  private func check(_ publication: Publication, on channel: ChannelName, _ what: String) {
    let kept = engine.channels[channel]?.publications.first { $0.offset == publication.offset }
    if kept?.data != publication.data { fail("\(what) \(channel) at \(publication.offset), which is not committed") }
  }

  private func subscribe() {
    for site in sites.indices {
      for (feed, channel) in Self.channels.enumerated() where !sites[site].feeds[feed].isAsked {
        sites[site].feeds[feed].isAsked = true
        let member = ClientInfo(user: "u\(site)", client: "c\(site)-\(feed)")
        submit(.subscribe(.init(channel: channel, member: member)), UInt64(feed), site)
      }
    }
  }

  // MARK: A life

  /// - Parameter steps: in which things may break.
  func run(steps: Int) {
    subscribe()
    for number in 0..<steps where violations.isEmpty {
      step()
      if number % 50 == 0 { subscribe() }
    }
    if violations.isEmpty { heal() }
    for site in sites {
      coverage.moves += site.link.counters.moves
      coverage.refilled += site.link.counters.channelsRefilled
    }
  }

  /// Nothing breaks any more: everybody catches up.
  private func heal() {
    for broker in nodes.indices { nodes[broker].isPaused = false }
    for _ in 0..<400 {
      passTime(100)
      subscribe()
      for broker in nodes.indices {
        standInLine(broker)
        for _ in 0..<50 {
          nodes[broker].process?.store.execute()
          driveStore(broker)
        }
        for site in sites.indices {
          while nodes[broker].process != nil, !sites[site].pipes[broker].toBroker.isEmpty {
            carryToBroker(site, broker)
          }
          while !sites[site].pipes[broker].toGateway.isEmpty { carryToGateway(site, broker) }
        }
      }
      violations += engine.violations
      if !violations.isEmpty { return }
    }
    for (number, site) in sites.enumerated() {
      if !site.link.isOpen { fail("gateway \(number) found no broker") }
      if !site.published.isEmpty { fail("gateway \(number): \(site.published.count) publications have no answer") }
      for (feed, channel) in Self.channels.enumerated() {
        let top = engine.channels[channel]?.top ?? 0
        let last = site.feeds[feed].last
        if last != top { fail("gateway \(number) stands at \(last as Any) of \(top) on \(channel)") }
      }
    }
  }

  private static let namespaces: NamespaceTable = {
    var options = ChannelOptions()
    options.allowSubscribeForClient = true
    options.allowPublishForClient = true
    options.forcePositioning = true
    options.historySize = 10_000
    options.historyTTLMilliseconds = 3_600_000
    options.durability = .durable
    var table = NamespaceTable()
    table.namespaces["d"] = options
    return table
  }()
}
