import TestSupport
import Telemetry
import Wire

@testable import Broker
@testable import Gateway
@testable import Log

/// Time as the seed draws it: one clock that only goes forward, and one that people set.
final class SimulatedClock: @unchecked Sendable {
  /// Monotonic, in milliseconds.
  fileprivate(set) var now: Int64 = 1_000_000
  fileprivate(set) var wall: Int64 = 1_700_000_000_000
  /// Milliseconds that the wall clock has gone forward in all, jumps back not deducted: something that is kept for a
  /// time by the wall clock may be forgotten after as much.
  fileprivate(set) var forward: Int64 = 0

  func pass(_ milliseconds: Int64) {
    now += milliseconds
    jump(milliseconds)
  }

  func jump(_ milliseconds: Int64) {
    wall += milliseconds
    forward += max(0, milliseconds)
  }
}

/// The simulation: broker, log, two gateways and their clients under one seed, with everything that can go wrong
/// between them. The log is the real one, on a disk that fails and forgets. The gateways are real up to their sockets,
/// which are slow and break.
final class World {
  static let channels: [ChannelName] = ["d:1", "d:2", "r:1", "m:1", "n:1", "t:1"].compactMap { try? ChannelName($0) }

  let seed: UInt64
  let namespaces: NamespaceTable
  var random: SeededRandom
  let clock = SimulatedClock()
  var faults = true
  private(set) var disk: FaultyDisk
  /// The log of the broker that runs; nil: none runs.
  private(set) var log: SteppedStore?
  private(set) var record = AppendRecord()
  var broker: BrokerCore?
  /// The fault that is put into each broker; nil: none.
  let mutation: Mutation?
  private let gatewayMutation: GatewayMutation?
  /// Measures every publication, under each third seed: what is measured must change nothing.
  private let recorder: HopRecorder?
  var gateways: [SimulatedGateway] = []
  var clients: [SimulatedClient] = []
  var violations: [String] = []
  var coverage = Coverage()
  var oracle = Oracle()
  /// Records of subscriptions, and what really went to each socket; nil: nobody asks why in this world.
  var why: WhyLedger?
  private var nextConnection: UInt64 = 1
  let rules: SessionRules
  private var nextPayload = 0
  private let carriesBytes: Bool
  private var nextGateway: UInt64 = 100
  private var brokerLives: UInt64 = 0

  /// A disk with a new log, which each world copies, because making one takes long.
  static let newDisk: FaultyDisk = {
    let disk = FaultyDisk()
    guard let log = try? SteppedStore(on: disk, options: .init(), randomness: SeededRandom(seed: 1)) else {
      preconditionFailure("a log can be made on an empty disk")
    }
    _ = log.close()
    return disk
  }()

  init(seed: UInt64, mutation: Mutation? = nil, gatewayMutation: GatewayMutation? = nil, why: WhyLedger? = nil) {
    self.seed = seed
    self.why = why
    self.mutation = mutation
    self.gatewayMutation = gatewayMutation
    random = SeededRandom(seed: seed)
    carriesBytes = seed.isMultiple(of: 2)
    let namespaces = Self.namespaces(historySize: [2, 5, 40][Int.random(in: 0..<3, using: &random)])
    disk = Self.newDisk.copied()
    let clock = clock
    recorder =
      seed.isMultiple(of: 3) ? HopRecorder(host: 1, clock: { UInt64(clock.now) * 1_000_000 }) : nil
    self.namespaces = namespaces
    rules = Self.rules(namespaces, keepsCoverage: why != nil)
    startBroker()
    for index in 0..<2 { gateways.append(newGateway(index)) }
    clients = Self.clients
    for client in clients { connect(client) }
  }

  /// Clients that want everything, clients with a filter for two publishers, and clients that the server subscribes.
  private static var clients: [SimulatedClient] {
    (0..<15).map { index in
      let names = ["c\(index)", "c\(index + 2)"]
      let feeds =
        index < 12
        ? [Feed(channels[index % channels.count], users: index < 6 ? nil : names)]
        : [0, 2, 3].map { Feed(channels[($0 + index) % 5], isGranted: true) }
      return SimulatedClient(
        name: "c\(index)", feeds: feeds, format: index % 3 == 0 ? .json : .protobuf, loop: index / 2 % 2,
        gateway: index % 2, kernelBytes: index % 2 == 0 ? 300 : 65_536)
    }
  }

  private static func rules(_ namespaces: NamespaceTable, keepsCoverage: Bool) -> SessionRules {
    var configuration = SessionConfiguration()
    configuration.keepsCoverage = keepsCoverage
    configuration.recoveryBytes = 1000
    // Only one client of each channel has a filter, so one is enough if a client that leaves gives its place back.
    configuration.maximumFiltersPerChannel = 1
    return SessionRules(configuration, namespaces: namespaces)
  }

  var now: Int64 { clock.now }
  var time: BrokerTime { BrokerTime(monotonic: clock.now, wall: clock.wall) }

  func newConnection() -> UInt64 {
    nextConnection += 1
    return nextConnection
  }

  func fail(_ sentence: String) { violations.append(sentence) }

  // MARK: Processes

  func startBroker() {
    brokerLives += 1
    guard let log = openLog() else { return }
    var configuration = BrokerConfiguration(namespaces: namespaces, instance: brokerLives)
    configuration.linkWindowBytes = random.chance(50) ? 4096 : 1 << 20
    configuration.gatewayTimeout = 3000
    configuration.idleChannelTimeout = random.chance(50) ? 1000 : 60_000
    let memory = MemoryStore(randomness: SeededRandom(seed: random.next()))
    let disk = RecordingStore(log.store) { [record] in $0.forEach(record.note) }
    broker = BrokerCore(configuration: configuration, memory: memory, disk: disk)
    broker?.hops = recorder.map { BrokerHops($0, services: .off) }
    // Broadcasts are dropped at the end only: see ``heal()``.
    if mutation != .dropsBroadcasts { broker?.mutation = mutation }
  }

  /// Opens the log; nil where the disk takes nothing: then the broker does not come up, and is started again later.
  private func openLog() -> SteppedStore? {
    var options = SQLiteStore.Options()
    let clock = clock
    options.now = { clock.wall }
    options.uptime = { clock.now }
    options.tailLimit = random.chance(50) ? 2000 : 1 << 20
    let opened: SteppedStore
    do throws(StartError) {
      opened = try SteppedStore(on: disk, options: options, randomness: SeededRandom(seed: random.next()))
    } catch {
      coverage.failedStarts += 1
      if case .unusableFolder = error, faults { return nil }
      fail("the log does not open: \(error)")
      return nil
    }
    log = opened
    for name in Self.channels where name.namespace == "d" || name.namespace == "r" {
      do throws(LogError) {
        let durability: Durability = name.namespace == "d" ? .durable : .relaxed
        let position = try opened.store.look(for: name, durability: durability).position
        let kept = try opened.store.read(name, LogRange(since: nil, through: .max, limit: .max))
        record.cut(name, after: position.offset)
        if let complaint = oracle.survived(name, position, kept, record.publications[name] ?? [:]) { fail(complaint) }
      } catch {
        fail("\(name) cannot be opened: \(error)")
      }
    }
    return opened
  }

  enum Stop {
    /// The broker ends in order: all that waits is written.
    case clean
    /// The process is killed in the middle of something.
    case killed
    case powerCut
  }

  func stopBroker(_ stop: Stop) {
    guard let log else { return }
    switch stop {
    case .clean:
      step(.max)
      _ = log.close()
      // A log whose disk had failed leaves the disk as it is, without what could not be written.
      disk = disk.killed()
    case .killed, .powerCut:
      // Some of what waits gets to the disk, and the broker dies before it can tell anybody.
      _ = log.step(Int.random(in: 0...3, using: &random))
      disk = stop == .killed ? disk.killed() : disk.powerCut(seed: random.next())
    }
    coverage.deferred += broker?.counters.requestsDeferred ?? 0
    broker = nil
    self.log = nil
    for index in gateways.indices {
      gateways[index].toBroker = []
      // The messages that the broker had given to the kernel may still arrive, up to any point.
      let arrived = Int.random(in: 0...gateways[index].toGateway.count, using: &random)
      gateways[index].toGateway = Array(gateways[index].toGateway.prefix(arrived))
    }
  }

  private func newGateway(_ index: Int) -> SimulatedGateway {
    nextGateway += 1
    var configuration = GatewayLinkConfiguration(gateway: nextGateway, loops: 2)
    configuration.uplinkWindowBytes = 4096
    configuration.acknowledgeBytes = 512
    configuration.requestTimeout = 4000
    configuration.brokerTimeout = 2500
    let gateway = SimulatedGateway(
      configuration: configuration, rules: rules, limits: .init(), clock: clock, random: &random)
    for loop in gateway.loops { loop.shard.mutation = gatewayMutation }
    if let why { for loop in gateway.loops { loop.shard.coverage = why.sink(of: index) } }
    if let recorder { gateway.measure(with: recorder) }
    gateway.carry = { [unowned self] in carried($0) }
    return gateway
  }

  /// Lets a gateway's process die. Its clients connect to the other gateway, or to this one's successor.
  func replaceGateway(_ index: Int) {
    for client in clients where client.gateway == index { client.disconnect() }
    note(gateways[index])
    why?.died(index, at: clock.wall)
    gateways[index] = newGateway(index)
    for client in clients where client.state == .down { connect(client) }
  }

  /// Adds what a gateway has counted to the coverage.
  func note(_ gateway: SimulatedGateway) {
    coverage.gaps += gateway.link.counters.gaps
    coverage.measured += gateway.measured
    coverage.resets += gateway.link.counters.resets
    coverage.refilled += gateway.link.counters.channelsRefilled
    for loop in gateway.loops { coverage.conflated += loop.fanOut.conflations }
  }

  // MARK: Effects

  /// Lets the log's writer do some of its work.
  func step(_ limit: Int) {
    guard let completions = log?.step(limit) else { return }
    perform { $0.complete(completions, in: &$1) }
  }

  /// Lets the log's readers answer some of the broker's questions, and the broker take the answers.
  func read(_ limit: Int = .max) {
    log?.stepReaders(limit)
    perform { $0.takeNews(in: &$1) }
  }

  func perform(_ input: (BrokerCore, inout Turn) -> Void) {
    guard let broker else { return }
    var turn = Turn(at: time)
    input(broker, &turn)
    for effect in turn.effects {
      switch effect {
      case .send(let gateway, let message): deliver(message, to: gateway)
      case .broadcast(let targets, let body):
        for target in targets { deliver(LinkMessage(target, body), to: target.gateway) }
      case .tap(let channel, let epoch, let publication):
        if let complaint = oracle.delivered(channel, epoch, publication) { fail(complaint) }
        why?.published(publication, on: channel, epoch)
      case .answer, .search, .post, .forget, .readPicture, .notify, .push: break
      }
    }
  }

  /// A message as it arrives. In half of the worlds the pipe carries bytes, so the message is encoded and decoded.
  func carried(_ message: LinkMessage) -> LinkMessage {
    guard carriesBytes else { return message }
    guard let header = try? LinkHeader(bytes: message.header.bytes) else {
      fail("the header of \(message.body.kind) cannot be read")
      return message
    }
    let carried = LinkMessage(header: header, bytes: message.body.bytes)
    if carried != message { fail("\(message.body.kind) changes on its way") }
    return carried
  }

  private func deliver(_ message: LinkMessage, to gateway: UInt64) {
    let message = carried(message)
    for index in gateways.indices where gateways[index].link.configuration.gateway == gateway {
      gateways[index].toGateway.append(message)
    }
  }

  func perform(_ index: Int, _ input: (GatewayLink, inout [GatewayLinkEffect]) -> Void) {
    gateways[index].perform(input)
    listen(to: gateways[index])
  }

  /// The clients that the broker shows as present on the channel.
  func presence(on channel: ChannelName) -> [String] {
    var turn = Turn(at: time)
    broker?.serve(.presence(channel), for: ServiceTag(number: 0), in: &turn)
    guard case .answer(_, .presence(let members, _))? = turn.effects.first else { return [] }
    return members.map(\.client)
  }

  func newPayload() -> [UInt8] {
    nextPayload += 1
    return Array("\"p\(nextPayload)\"".utf8)
  }

  /// The namespaces: durable, relaxed, in memory, without history, and of the lane for typing. A short history makes
  /// recoveries that cannot be whole.
  static func namespaces(historySize: Int) -> NamespaceTable {
    var options = ChannelOptions()
    options.allowSubscribeForClient = true
    options.allowPublishForClient = true
    options.forcePositioning = true
    let bare = options
    var typing = options
    typing.forcePositioning = false
    typing.lane = .typing
    options.historySize = historySize
    options.historyTTLMilliseconds = 3_600_000
    options.presence = true
    options.joinLeave = true
    var table = NamespaceTable()
    for (name, durability) in [("d", Durability.durable), ("r", .relaxed), ("m", .memory)] {
      options.durability = durability
      table.namespaces[name] = options
    }
    table.namespaces["n"] = bare
    table.namespaces["t"] = typing
    return table
  }
}
