import Apps
import Gateway
import Log
import TestSupport
import Wire

@testable import Broker
@testable import Gateway

/// A world of people who block each other, leave, and send what stays sealed, of clients that ask for too much or for
/// what is not theirs, and of one who hardly reads: for the questions why that ``World`` has no answers to. Both apps are
/// the real ones, and so is everything between broker and socket. Nothing breaks here but connections and gateways.
final class WhyAppWorld {
  static let people = ["ann", "bob", "cat"]
  static let hall = AppOracle.name("p:hall")
  /// The channel that is one too many for its client.
  static let annex = AppOracle.name("p:annex")

  let ledger: WhyLedger
  let clock = SimulatedClock()
  var random: SeededRandom
  let clique = Clique(CliqueRules())
  let state: StateApp
  let namespaces: NamespaceTable
  private let rules: SessionRules
  private let log: SteppedStore
  let broker: BrokerCore
  var gateways: [SimulatedGateway] = []
  var clients: [SimulatedClient] = []
  /// Who blocks whom in Clique, as they were answered.
  private(set) var blocks: Set<[String]> = []
  /// What was said to somebody who blocked its author then, whenever it is published.
  private var withheldTexts: [String: String] = [:]
  /// From whom a publication is kept.
  private(set) var withheld: [WhyLedger.Place: String] = [:]
  /// Whether a notice is of something sealed, as its sender was answered.
  private(set) var sealed: [WhyLedger.Place: Bool] = [:]
  private var told: [WhyLedger.Place] = []
  private var answers: [UInt64: BrokerResponse] = [:]
  private var nextConnection: UInt64 = 1
  private var nextGateway: UInt64 = 100
  private var nextTag: UInt64 = 1
  private var nextText = 0

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    ledger = try WhyLedger()
    state = StateApp(rules: StateRules(), vault: SimulatedVault())
    var table = NamespaceTable()
    table.add(clique.namespaces, of: clique.name)
    table.add(state.namespaces, of: state.name)
    var open = ChannelOptions()
    open.allowSubscribeForClient = true
    open.allowPublishForClient = true
    open.forcePositioning = true
    open.historySize = 6
    open.historyTTLMilliseconds = 3_600_000
    table.namespaces["p"] = open
    namespaces = table
    var configuration = SessionConfiguration()
    configuration.keepsCoverage = true
    configuration.maximumChannels = 1
    rules = SessionRules(configuration, namespaces: table)
    var options = SQLiteStore.Options()
    let clock = clock
    options.now = { clock.wall }
    options.uptime = { clock.now }
    options.keepsRow = { _ in true }
    log = try SteppedStore(on: World.newDisk.copied(), options: options, randomness: SeededRandom(seed: random.next()))
    var brokers = BrokerConfiguration(namespaces: table, instance: 1)
    brokers.gatewayTimeout = 3000
    broker = BrokerCore(
      configuration: brokers, memory: MemoryStore(randomness: SeededRandom(seed: random.next())), disk: log.store)
    perform { core, turn in for app in [clique, state] as [any App] { core.install(app, in: &turn) } }
    for index in 0..<2 { gateways.append(newGateway(index)) }
    clients = Self.clients()
    for client in clients { connect(client) }
    runUntilQuiet()
  }

  /// One client for each person and channel. The one called `sid` has next to no room in its kernel.
  private static func clients() -> [SimulatedClient] {
    var feeds: [(String, Feed)] = []
    for (a, b) in AppOracle.couples {
      let chat = AppOracle.chat(a, b)
      feeds += [(a, Feed(chat)), (b, Feed(chat)), ("eve", Feed(chat))]
    }
    for user in people { feeds.append((user, Feed(AppOracle.name("state.events:" + user)))) }
    feeds += [("gus", Feed(hall)), ("sid", Feed(hall)), ("pam", Feed(hall, users: ["pam", "sid"]))]
    return feeds.enumerated().map { index, feed in
      SimulatedClient(
        name: feed.0, feeds: [feed.1], format: .protobuf, loop: index % 2, gateway: index / 2 % 2,
        kernelBytes: feed.0 == "sid" ? 250 : 65_536)
    }
  }

  var now: Int64 { clock.now }

  private func newConnection() -> UInt64 {
    nextConnection += 1
    return nextConnection
  }

  func newText() -> String {
    nextText += 1
    return "text-\(nextText)."
  }

  private func newGateway(_ index: Int) -> SimulatedGateway {
    nextGateway += 1
    var configuration = GatewayLinkConfiguration(gateway: nextGateway, loops: 2)
    configuration.requestTimeout = 4000
    configuration.brokerTimeout = 2500
    let gateway = SimulatedGateway(
      configuration: configuration, rules: rules, limits: .init(), clock: clock, random: &random)
    for loop in gateway.loops { loop.shard.coverage = ledger.sink(of: index) }
    return gateway
  }

  func connect(_ client: SimulatedClient) {
    client.gateway = Int.random(in: 0..<gateways.count, using: &random)
    let socket = SimulatedSocket(
      id: newConnection(), loop: gateways[client.gateway].loops[client.loop], format: client.format,
      kernelBytes: client.kernelBytes, remembers: true)
    ledger.opened(socket, of: client)
    client.connect(through: socket)
  }

  /// A gateway's process is killed. Its successor opens the file.
  func replaceGateway(_ index: Int) {
    for client in clients where client.gateway == index { client.disconnect() }
    ledger.died(index, at: clock.wall)
    gateways[index] = newGateway(index)
  }

  // MARK: The broker

  func perform(_ input: (BrokerCore, inout Turn) -> Void) {
    var turn = Turn(at: BrokerTime(monotonic: clock.now, wall: clock.wall))
    input(broker, &turn)
    for effect in turn.effects {
      switch effect {
      case .send(let gateway, let message): deliver(message, to: gateway)
      case .broadcast(let targets, let body):
        for target in targets { deliver(LinkMessage(target, body), to: target.gateway) }
      case .tap(let channel, let epoch, let publication): published(publication, on: channel, epoch)
      case .answer(let tag, let response): answers[tag.number] = response
      case .search, .post, .forget, .readPicture, .notify, .push: break
      }
    }
  }

  private func deliver(_ message: LinkMessage, to gateway: UInt64) {
    for index in gateways.indices where gateways[index].link.configuration.gateway == gateway {
      gateways[index].toGateway.append(message)
    }
  }

  private func published(_ publication: Publication, on channel: ChannelName, _ epoch: String) {
    ledger.published(publication, on: channel, epoch)
    let place = WhyLedger.Place(channel: channel, epoch: epoch, offset: publication.offset)
    // What tells of a reveal's end or of a reaction to it is of the exchange before, and not sealed.
    let event = channel.namespace == "state.events" ? AppOracle.object(publication.data)?["event"] as? String : nil
    if let event, event != "ended", event != "reacted" { told.append(place) }
    let text = AppOracle.object(publication.data)?["text"] as? String
    if let other = text.flatMap({ withheldTexts[$0] }) { withheld[place] = other }
  }

  /// Gives the broker a command of a person's, and waits for the answer.
  @discardableResult
  func ask(_ method: String, _ data: String, by user: String) -> BrokerResponse? {
    guard let command = try? AppCommand(method, Array(data.utf8), by: user) else { return nil }
    nextTag += 1
    let tag = nextTag
    let call = BrokerRequest.CallRequest(command, caller: ClientInfo(user: user, client: "phone-of-" + user))
    perform { $0.serve(.call(call), for: ServiceTag(number: tag), in: &$1) }
    for _ in 0..<50 where answers[tag] == nil { work() }
    return answers.removeValue(forKey: tag)
  }

  /// Gives the broker a command that only gateways may give.
  private func ask(_ command: StateCommand, for user: String) {
    nextTag += 1
    let call = BrokerRequest.CallRequest(
      .state(command), caller: ClientInfo(user: user, client: "phone-of-" + user), isGateways: true)
    // To a connection that is gone: nobody waits for the answer.
    let source = RequestSource(loop: 0, connection: newConnection(), tag: nextTag)
    let request = GatewayRequest(source: source, format: .protobuf, request: .call(call))
    gateways[0].perform { $0.submit(request, at: now, into: &$1) }
    runUntilQuiet()
  }

  /// Lets the log do all that it has to.
  private func work() {
    log.stepReaders()
    perform { $0.takeNews(in: &$1) }
    let completions = log.step()
    perform { $0.complete(completions, in: &$1) }
  }

  // MARK: What people do

  func say(_ user: String, _ other: String) {
    let text = newText()
    if blocks.contains([other, user]) { withheldTexts[text] = other }
    ask("clique.send", #"{"to":"\#(other)","text":"\#(text)","key":"\#(text)"}"#, by: user)
  }

  func accept(_ user: String, _ other: String) { ask("clique.accept", #"{"person":"\#(other)"}"#, by: user) }
  func leave(_ user: String, _ other: String) { ask("clique.disconnect", #"{"person":"\#(other)"}"#, by: user) }

  func block(_ user: String, _ other: String, _ isBlock: Bool) {
    let answer = ask(isBlock ? "clique.block" : "clique.unblock", #"{"person":"\#(other)"}"#, by: user)
    guard case .result? = answer else { return }
    if isBlock { blocks.insert([user, other]) } else { blocks.remove([user, other]) }
  }

  /// Records, uploads two pictures, and sends. What the two are told of it is sealed, unless it is the answer.
  func seal(_ user: String, _ other: String) {
    nextText += 1
    let pictures = ["front", "rear"].map { "\($0)-of-picture-\(nextText)-0000000000" }
    ask("state.begin", #"{"to":"\#(other)"}"#, by: user)
    for picture in pictures {
      let key = [UInt8](repeating: 1, count: 32)
      ask(.addPicture(StateCommand.Picture(id: picture, type: "image/png", bytes: 9, key: key, upload: nil)), for: user)
    }
    runUntilQuiet()
    told = []
    let data = #"{"to":"\#(other)","front":"\#(pictures[0])","rear":"\#(pictures[1])","key":"k\#(nextText)"}"#
    guard case .result(let reply)? = ask("state.send", data, by: user) else { return }
    let isRevealed = AppOracle.object(reply)?["phase"] as? String == "revealed"
    for place in told { sealed[place] = !isRevealed }
  }

  // MARK: The way

  func passTime(_ milliseconds: Int64) {
    clock.pass(milliseconds)
    perform { $0.tick(ingressPaused: $0.isStarting, in: &$1) }
    for gateway in gateways {
      for loop in gateway.loops { loop.pass(milliseconds) }
      for loop in gateway.loops { loop.shard.markCoverage() }
      gateway.tick(at: now)
    }
  }

  /// Carries what is under way, until nothing is any more.
  ///
  /// - Parameter sidReads: the client with next to no room reads, too. Else what waits for it is never carried, and all
  ///   the rest is within some rounds.
  func runUntilQuiet(sidReads: Bool = true) {
    for _ in 0..<(sidReads ? 10_000 : 50) { if carry(sidReads: sidReads) { return } }
  }

  /// Carries each message that is there by one station.
  ///
  /// - Returns: whether there was nothing to carry.
  @discardableResult
  func carry(sidReads: Bool) -> Bool {
    var isQuiet = true
    if broker.isStarting || !broker.stores.room.isEmpty { isQuiet = false }
    work()
    for gateway in gateways {
      if gateway.takeRequests(at: now) { isQuiet = false }
      while !gateway.toBroker.isEmpty, !broker.isStarting {
        isQuiet = false
        let message = gateway.toBroker.removeFirst()
        perform { $0.receive(message, from: gateway.link.configuration.gateway, in: &$1) }
      }
      work()
      while !gateway.toGateway.isEmpty {
        isQuiet = false
        let message = gateway.toGateway.removeFirst()
        gateway.perform { $0.receive(message, at: now, into: &$1) }
      }
      if gateway.handOver(at: now) { isQuiet = false }
      for loop in gateway.loops {
        if !loop.isQuiet { isQuiet = false }
        loop.run()
      }
    }
    for client in clients where exchange(client, reads: sidReads || client.name != "sid") { isQuiet = false }
    return isQuiet
  }

  private func exchange(_ client: SimulatedClient, reads: Bool) -> Bool {
    let hasServed = client.socket?.serve(2) ?? false
    guard reads, let messages = client.read(.max) else { return hasServed }
    for message in messages {
      guard client.socket != nil else { break }
      switch message {
      case .replies(let replies): for reply in replies where client.socket != nil { hears(reply, client) }
      case .close, .malformed: client.disconnect()
      }
    }
    return true
  }

  private func hears(_ reply: ClientReply, _ client: SimulatedClient) {
    switch reply {
    case .connect(_, let result):
      client.state = .up
      client.client = result.client
    case .subscribe(let id, let result):
      guard let feed = client.feeds.first(where: { $0.state.isAsked(id) }) else { return }
      feed.state = .live
      feed.position = StreamPosition(epoch: result.epoch, offset: result.offset)
    case .unsubscribe(let id): for feed in client.feeds where feed.state == .leaving(id: id) { feed.state = .idle }
    case .error(let id, let error):
      if client.state == .connecting(id: id) { return client.disconnect() }
      for feed in client.feeds where feed.state.isAsked(id) {
        feed.state = .idle
        if error.code == ClientError.unrecoverablePosition.code { feed.position = nil }
      }
    case .serverPing: client.command(.pong)
    case .push(.unsubscribe(let channel, _)): client.feed(channel)?.state = .idle
    case .push(.publication(let channel, let publication, _)):
      guard let feed = client.feed(channel), feed.state == .live, publication.offset > 0 else { return }
      feed.position?.offset = publication.offset
    default: break
    }
  }
}
