import Apps
import Broker
import Log
import TestSupport
import Wire

/// A broker with gateways that keep to no rules, services that ask what they like, and the app Clique with three people.
final class BrokerRun {
  static func run(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let run = BrokerRun(input)
    try run.perform { core, turn in core.install(run.app, in: &turn) }
    while !run.bytes.isAtEnd { try run.step() }
    try run.perform { core, turn in core.tick(in: &turn) }
    return run.core.counters.published > 0 && !run.nextHeard.isEmpty
  }

  private var bytes: FuzzBytes
  private let core: BrokerCore
  private let app: Clique
  private var time = BrokerTime(monotonic: 1_000, wall: 1_700_000_000_000)
  /// The session of each gateway, and the number of its next message.
  private var sessions: [UInt64: UInt64] = [:]
  private var nextSent: [UInt64: UInt64] = [:]
  /// The number of the next message that each gateway hears.
  private var nextHeard: [UInt64: UInt64] = [:]
  private var nextRequest: UInt64 = 1
  private var nextService: UInt64 = 1
  private var unanswered: Set<UInt64> = []

  private static let channels = ["a", "d:b", "m:c"].compactMap { try? ChannelName($0) }

  private init(_ input: [UInt8]) {
    bytes = FuzzBytes(input)
    var options = ChannelOptions()
    options.historySize = 5
    options.historyTTLMilliseconds = 60_000
    options.presence = true
    options.joinLeave = true
    var table = NamespaceTable(withoutNamespace: options)
    var durable = options
    durable.durability = .durable
    table.namespaces["d"] = durable
    var map = options
    map.kind = .map
    table.namespaces["m"] = map
    app = Clique()
    table.add(app.namespaces, of: app.name)
    var configuration = BrokerConfiguration(namespaces: table, instance: 7)
    configuration.maximumMembers = 8
    configuration.userChannels = 8
    let choices = bytes.byte()
    configuration.linkWindowBytes = choices & 1 != 0 ? 1_000 : 64 << 20
    configuration.memoryBytes = choices & 2 != 0 ? 2_000 : .max
    core = BrokerCore(
      configuration: configuration, memory: MemoryStore(randomness: SameEpochs()),
      disk: MemoryStore(randomness: SameEpochs()))
  }

  private func perform(_ input: (BrokerCore, inout Turn) -> Void) throws(BrokenProperty) {
    var turn = Turn(at: time)
    input(core, &turn)
    for effect in turn.effects { try check(effect) }
  }

  // MARK: What happens

  private func step() throws(BrokenProperty) {
    switch bytes.below(16) {
    case 0, 1: try hello()
    case 2..<8: try request()
    case 8..<11: try sayAnything()
    case 11, 12: try serve()
    case 13: try call()
    case 14: try send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: bytes.number())))
    default: try pass()
    }
  }

  private func gateway() -> UInt64 { UInt64(1 + bytes.below(3)) }

  private func hello() throws(BrokenProperty) {
    let gateway = gateway()
    sessions[gateway] = UInt64(bytes.byte())
    nextSent[gateway] = 0
    // Now and then somebody says that he is another.
    let named = bytes.below(16) == 0 ? gateway + 1 : gateway
    let hello = LinkHello(gateway: named, partition: 0, partitions: 1, hasClients: bytes.below(8) != 0)
    try send(.hello(hello), from: gateway)
  }

  private func request() throws(BrokenProperty) {
    let choices = bytes.byte()
    let id = choices & 0xF0 == 0xF0 ? bytes.number() : nextRequest
    nextRequest += 1
    let message = LinkRequest(
      id: id, oldestPending: choices & 0x80 != 0 ? bytes.number() : 1, isRetry: choices & 1 != 0,
      isResync: choices & 2 != 0, isService: choices & 4 != 0, request: brokerRequest())
    try send(.request(message))
  }

  private func brokerRequest() -> BrokerRequest {
    let channel = bytes.pick(Self.channels)
    let member = bytes.flag() ? ClientInfo(user: "u", client: bytes.pick(["x", "y"])) : nil
    switch bytes.below(10) {
    case 0, 1:
      let since = bytes.flag() ? StreamPosition(epoch: "e", offset: bytes.number()) : nil
      let map = bytes.below(4) == 0 ? MapRead(phase: .state, cursor: "", limit: 2) : nil
      return .subscribe(
        .init(channel: channel, since: since, recoveryLimit: UInt32(bytes.byte()), member: member, map: map))
    case 2: return .unsubscribe(.init(channel: channel, member: member, keepsInterest: bytes.flag()))
    case 3, 4: return .publish(publish(on: channel, by: member))
    case 5:
      return .history(
        .init(channel: channel, limit: UInt32(bytes.byte()), since: nil, reverse: bytes.flag(), viewer: nil))
    case 6: return bytes.flag() ? .presence(channel) : .presenceStats(channel)
    case 7:
      return .edit(
        .init(channel: channel, offset: bytes.number(), data: bytes.flag() ? nil : [0x32], editor: member))
    case 8: return bytes.flag() ? .historyRemove(channel) : .channels(prefix: "")
    default: return .readMap(.init(channel: channel, key: nil, read: MapRead(phase: .state), viewer: nil))
    }
  }

  private func publish(on channel: ChannelName, by member: ClientInfo?) -> BrokerRequest.PublishRequest {
    let write = bytes.flag() ? MapWrite(key: bytes.pick(["k", "l"]), removed: bytes.flag(), score: nil) : nil
    return BrokerRequest.PublishRequest(
      channel: channel, data: [0x31], info: member, tags: [:], idempotencyKey: bytes.flag() ? "i" : nil, write: write)
  }

  /// Any message, as it may come over the wire.
  private func sayAnything() throws(BrokenProperty) {
    guard let kind = LinkHeader.Kind(rawValue: bytes.byte()), kind != .hello else { return }
    let header = LinkHeader(kind: kind, session: 0, sequence: 0)
    try send(LinkMessage(header: header, bytes: bytes.piece()).body)
  }

  private func send(_ body: LinkBody) throws(BrokenProperty) { try send(body, from: gateway()) }

  private func send(_ body: LinkBody, from gateway: UInt64) throws(BrokenProperty) {
    let sequence = nextSent[gateway] ?? 0
    nextSent[gateway] = sequence &+ 1
    let message = LinkMessage(session: sessions[gateway] ?? 0, sequence: sequence, body: body)
    try perform { core, turn in core.receive(message, from: gateway, in: &turn) }
  }

  private func serve() throws(BrokenProperty) {
    let number = nextService
    nextService += 1
    var request = brokerRequest()
    if bytes.flag() {
      var piece = FuzzBytes(bytes.piece())
      guard let read = ServiceTargets.read(&piece) else { return }
      request = read
    }
    unanswered.insert(number)
    try perform { core, turn in core.serve(request, for: ServiceTag(number: number), in: &turn) }
  }

  /// A command of one of three people, as a client gives it.
  private func call() throws(BrokenProperty) {
    let user = bytes.pick(["u", "v", "w"])
    let (method, data) = bytes.pick(SeedTexts.appCommands)
    let given = bytes.flag() ? bytes.piece() : Array(data.utf8)
    guard let command = try? AppCommand(method, given, by: user) else { return }
    let id = nextRequest
    nextRequest += 1
    let request = BrokerRequest.call(.init(command, caller: ClientInfo(user: user, client: "c-" + user)))
    try send(.request(LinkRequest(id: id, oldestPending: 1, request: request)))
  }

  private func pass() throws(BrokenProperty) {
    let milliseconds = Int64(bytes.byte()) * 100
    time.monotonic += milliseconds
    time.wall += milliseconds
    let pauses = bytes.below(16) == 0
    try perform { core, turn in core.tick(ingressPaused: pauses, in: &turn) }
  }

  // MARK: What must hold

  private func check(_ effect: BrokerEffect) throws(BrokenProperty) {
    switch effect {
    case .send(let gateway, let message): try heard(message, by: gateway)
    case .broadcast(let targets, let body):
      for target in targets { try heard(LinkMessage(target, body), by: target.gateway) }
    case .answer(let tag, let response):
      try require(unanswered.remove(tag.number) != nil, "a service is answered once more: \(response)")
    default: break
    }
  }

  private func heard(_ message: LinkMessage, by gateway: UInt64) throws(BrokenProperty) {
    switch message.body {
    case .reset: return
    case .welcome:
      try require(message.sequence == 0, "a welcome is the message \(message.sequence) of its session")
      nextHeard[gateway] = 1
    default:
      let next = nextHeard[gateway] ?? 0
      try require(message.sequence == next, "gateway \(gateway) hears message \(message.sequence), and \(next) is next")
      nextHeard[gateway] = message.sequence + 1
    }
    let again = LinkMessage(header: message.header, bytes: message.body.bytes)
    try require(again == message, "\(message) is read as \(again) by the gateway")
  }
}

/// Epochs that are the same in every run.
private struct SameEpochs: RandomNumberGenerator {
  private var state: UInt64 = 0

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return state ^ (state >> 31)
  }
}
