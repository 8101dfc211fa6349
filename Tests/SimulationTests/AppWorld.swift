import Apps
import Gateway
import TestSupport
import Wire

@testable import Broker
@testable import Log

/// The simulation of the apps: both in one broker, three people with two phones each over two gateways, and everything
/// that can go wrong between them. The log is the real one, on a disk that fails and forgets.
final class AppWorld {
  static let people = ["ann", "bob", "cat"]

  /// Something that the gateway's link has given an event loop.
  enum Handover {
    case answer(RequestSource, BrokerResponse)
    /// Filtered: phones that have a filter get the publication only if it passes.
    case publication(ChannelName, Publication, isFiltered: Bool)
    case audience(LinkAudience)
    case lost(ChannelName)
    case presence(ChannelName, ClientInfo, isThere: Bool)
  }

  struct GatewayNode {
    var link: GatewayLink
    var toBroker: [LinkMessage] = []
    var toGateway: [LinkMessage] = []
    var loops: [[Handover]] = [[], []]
    var queuedBytes: UInt64 { UInt64(loops[0].count + loops[1].count) * 200 }
  }

  let clique: Clique
  let state: StateApp
  let namespaces: NamespaceTable
  var random: SeededRandom
  /// The simulated time. Its wall clock jumps while the broker is down.
  let clock = SimulatedClock()
  var faults = true
  /// Phones note joins and leaves too (``Phone/heard``).
  var notesPresence = false
  /// People found groups, and do everything with them.
  var hasGroups = false
  /// Of a hundred things that people do, how many are about groups.
  var groupShare = 12
  /// People agree on messages that disappear.
  var hasVanishing = false
  /// People do things with pictures of Clique.
  var hasPictures = false
  /// Of a hundred things that people do, how many are about pictures.
  var pictureShare = 10
  /// What people know of their pictures.
  var album = PictureAlbum()
  /// The disks of the gateways.
  var folders = [SimulatedFolder(), SimulatedFolder()]
  /// Answers to what gateways ask about their pictures are lost.
  var losesReconciliations = false
  /// Links into groups that somebody has got.
  var groupLinks: [String] = []
  /// The newest link, and the command that made it, which names its group.
  var freshLink: (made: String, link: String)?
  /// Channels that a phone follows beside those that every phone does.
  var extraChannels: (Phone) -> [ChannelName] = { _ in [] }
  private(set) var disk = World.newDisk.copied()
  /// The log of the broker that runs; nil: none runs.
  private(set) var log: SteppedStore?
  /// What must be on the disk, by what the log has said.
  let ledger = Ledger()
  private let mutation: Mutation?
  var broker: BrokerCore?
  var gateways: [GatewayNode] = []
  var phones: [Phone] = []
  var violations: [String] = []
  /// All answers to phones, as text.
  var answers: [String] = []
  /// Hears of each answer to a command, when its text is the last of the answers.
  var onAnswer: ((Phone, BrokerResponse) -> Void)?
  var coverage = AppCoverage()
  var oracle = AppOracle()
  private var nextConnection: UInt64 = 1
  private var nextTag: UInt64 = 1
  private var nextText = 0
  private var nextGateway: UInt64 = 100
  private var brokerLives: UInt64 = 0

  init(seed: UInt64, mutation: Mutation? = nil) {
    self.mutation = mutation
    random = SeededRandom(seed: seed)
    var cliqueRules = CliqueRules()
    cliqueRules.requestLifetime = 40_000
    cliqueRules.declineCooldown = 25_000
    cliqueRules.pictureLifetime = 300_000
    cliqueRules.profileChangesPerDay = 10_000
    cliqueRules.reportsPerDay = 10_000
    var stateRules = StateRules()
    stateRules.lifetime = 20_000
    stateRules.revealLifetime = 20_000
    stateRules.expiredLifetime = 10_000
    stateRules.recordLimit = 8000
    stateRules.uploadGrace = 2000
    stateRules.pictureLifetime = 15_000
    clique = Clique(cliqueRules, vault: InvertingVault())
    state = StateApp(rules: stateRules, vault: SimulatedVault())
    var table = NamespaceTable()
    table.add(clique.namespaces, of: clique.name)
    table.add(state.namespaces, of: state.name)
    namespaces = table
    startBroker()
    for _ in 0..<2 { gateways.append(newGateway()) }
    for (index, user) in Self.people.enumerated() {
      for number in 0..<2 {
        phones.append(
          Phone(
            user: user, number: number, loop: (index + number) % 2, format: number == 0 ? .json : .protobuf,
            gateway: number, connection: newConnection()))
      }
    }
  }

  var now: Int64 { clock.now }
  var wall: Int64 { clock.wall }
  var time: BrokerTime { BrokerTime(monotonic: now, wall: wall) }

  func newConnection() -> UInt64 {
    nextConnection += 1
    return nextConnection
  }

  func newText(_ kind: String) -> String {
    nextText += 1
    return "\(kind)-\(nextText)."
  }

  func fail(_ sentence: String) { violations.append(sentence) }

  // MARK: Processes

  func startBroker() {
    brokerLives += 1
    guard let log = openLog() else { return }
    var configuration = BrokerConfiguration(namespaces: namespaces, instance: brokerLives)
    configuration.linkWindowBytes = random.chance(30) ? 65_536 : 1 << 20
    configuration.gatewayTimeout = 3000
    configuration.idleChannelTimeout = 2000
    let memory = MemoryStore(randomness: SeededRandom(seed: random.next()))
    let core = BrokerCore(
      configuration: configuration, memory: memory, disk: RecordingStore(log.store) { [ledger] in ledger.took($0) })
    core.mutation = mutation
    broker = core
    perform { core, turn in for app in [self.clique, self.state] as [any App] { core.install(app, in: &turn) } }
  }

  /// Opens the log; nil where the disk takes nothing: then the broker does not come up, and is started again later.
  private func openLog() -> SteppedStore? {
    var options = SQLiteStore.Options()
    let clock = clock
    options.now = { clock.wall }
    options.uptime = { clock.now }
    options.keepsRow = { _ in true }
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
    let complaints = ledger.opened(opened.store) { [self] in
      for complaint in oracle.committed(ledger, time: wall, state) { fail(complaint + ", found on disk") }
    }
    for complaint in complaints { fail(complaint) }
    judgePictureRecords()
    return opened
  }

  func stopBroker(_ stop: World.Stop) {
    guard let log else { return }
    switch stop {
    case .clean:
      commit(.max)
      _ = log.close()
      // A log whose disk had failed leaves the disk as it is, without what could not be written.
      disk = disk.killed()
    case .killed, .powerCut:
      // Some of what waits gets to the disk, and the broker dies before it can tell anybody.
      _ = log.step(Int.random(in: 0...3, using: &random))
      disk = stop == .killed ? disk.killed() : disk.powerCut(seed: random.next())
    }
    broker = nil
    self.log = nil
    for index in gateways.indices {
      gateways[index].toBroker = []
      let arrived = Int.random(in: 0...gateways[index].toGateway.count, using: &random)
      gateways[index].toGateway = Array(gateways[index].toGateway.prefix(arrived))
    }
    // Timers may run out while no broker runs.
    clock.jump(random.chance(50) ? Int64.random(in: 0...45_000, using: &random) : 0)
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

  func replaceGateway(_ index: Int) {
    gateways[index] = newGateway()
    for phone in phones where phone.gateway == index {
      phone.reconnected(to: Int.random(in: 0..<gateways.count, using: &random), newConnection())
    }
  }

  // MARK: Effects

  /// Lets the log's writer do some of its work.
  func commit(_ count: Int) {
    guard let completions = log?.step(count) else { return }
    for completion in completions {
      if completion.error != nil { coverage.failed += 1 }
      guard ledger.completed(completion) else { continue }
      for complaint in oracle.committed(ledger, time: wall, state) { fail(complaint) }
    }
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
      case .tap, .answer, .search, .post, .forget, .readPicture, .notify, .push: break
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
    let wasOpen = gateways[index].link.isOpen
    input(gateways[index].link, &effects)
    for effect in effects {
      switch effect {
      case .send(let message): gateways[index].toBroker.append(message)
      case .greet: break  // Only where there are several brokers.
      case .answer(let source, let response): gateways[index].loops[source.loop].append(.answer(source, response))
      case .refusal(let source, _, let error):
        gateways[index].loops[source.loop].append(.answer(source, .failed(error)))
      case .publication(let channel, let publication, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) {
          gateways[index].loops[loop].append(.publication(channel, publication, isFiltered: false))
        }
      case .filteredPublication(let channel, let publication, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) {
          gateways[index].loops[loop].append(.publication(channel, publication, isFiltered: true))
        }
      case .lost(let channel, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) { gateways[index].loops[loop].append(.lost(channel)) }
      case .audienceChanged(let change, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) { gateways[index].loops[loop].append(.audience(change)) }
      case .joined(let channel, let member, let audience):
        note(member, isThere: true, on: channel, audience, index)
      case .left(let channel, let member, let audience):
        note(member, isThere: false, on: channel, audience, index)
      case .discard(let told): discard(told, at: index)
      case .holdClients, .sessionOrder, .revoked, .forget, .readMark, .forgetMissed, .survey, .measured: break
      case .deltaBase: break  // Nobody takes patches.
      }
    }
    if !wasOpen, gateways[index].link.isOpen { linkOpened(index) }
  }

  private func note(
    _ member: ClientInfo, isThere: Bool, on channel: ChannelName, _ audience: Audience, _ index: Int
  ) {
    guard notesPresence else { return }
    for loop in 0..<2 where audience.includes(loop: loop) {
      gateways[index].loops[loop].append(.presence(channel, member, isThere: isThere))
    }
  }

  @discardableResult
  func request(_ request: BrokerRequest, from phone: Phone) -> UInt64 {
    nextTag += 1
    let source = RequestSource(loop: phone.loop, connection: phone.connection, tag: nextTag)
    let whole = GatewayRequest(source: source, format: phone.format, request: request)
    perform(phone.gateway) { $0.submit(whole, at: self.now, into: &$1) }
    return nextTag
  }

  /// What a gateway asks for itself.
  ///
  /// - Returns: the tag of its answer.
  func request(_ request: BrokerRequest, ofGateway index: Int) -> UInt64 {
    nextTag += 1
    let source = RequestSource(loop: 0, connection: Self.folderConnection, tag: nextTag)
    let whole = GatewayRequest(source: source, format: .json, request: request)
    perform(index) { $0.submit(whole, at: self.now, into: &$1) }
    return nextTag
  }
}

/// A vault that wraps keys by inverting bits, so that a run replays.
struct SimulatedVault: KeyVault {
  private func turned(_ bytes: [UInt8], _ mask: UInt8) -> [UInt8] { bytes.map { $0 ^ mask } }

  func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey {
    SealedKey(hour: now / 3_600_000, box: Bytes64(turned(key, 0xA5)))
  }

  func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey {
    ReleasedKey(box: Bytes64(turned(turned(key.box.bytes, 0xA5), 0x3C)))
  }

  func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8] { turned(key.box.bytes, 0x3C) }
  func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8] { turned(key.box.bytes, 0xA5) }

  func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText {
    SealedText(key: try seal(Array(repeating: 7, count: 32), at: now), box: Bytes64(turned(text, 0x91)))
  }

  func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8] { turned(box.bytes, 0x91) }
}
