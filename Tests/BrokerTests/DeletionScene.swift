import Apps
import Foundation
import Log
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Broker

/// A broker with Clique and State over a real database, whose writer and readers take their steps when they are told to.
/// So a copy of the folder between two steps is what a process would leave that was killed there.
final class DeletionScene {
  /// What stands in every id and every text of those who are deleted, and nowhere else.
  static let marker = "zQ7x"

  private(set) var folder: TemporaryFolder
  private var core: BrokerCore
  private var store: SQLiteStore
  private var completions: Completions
  private(set) var answers: [UInt64: BrokerResponse] = [:]
  private(set) var time = BrokerTime(monotonic: 1000, wall: 1_700_000_000_000)
  private var lastTag: UInt64 = 0
  /// What the receiver of the webhook answers; nil: its requests hang (``hanging``).
  var receiver: WebhookAnswer.Result? = .status(500)
  private(set) var hanging: [WebhookPost] = []
  /// Bodies of all requests to the receiver.
  private(set) var posted: [String] = []
  private let configuration: BrokerConfiguration
  /// What gateways were answered, by the number of the request.
  private var replies: [UInt64: BrokerResponse] = [:]
  /// Orders that gateways were given and have not confirmed.
  private(set) var orders: [(gateway: UInt64, order: LinkOrder)] = []
  /// Deletions that gateways were told of afterwards.
  private(set) var told: [(gateway: UInt64, deletions: LinkDeletions)] = []
  /// Other parts of the server forget users at once; false: they take their time until this is true.
  var answersElsewhere = true {
    didSet { if answersElsewhere, asksElsewhere { forgotElsewhere() } }
  }
  private var asksElsewhere = false
  /// What the files of pictures hold, by id; parts of others are lost.
  var pictureFiles: [String: [UInt8]] = [:]
  /// Why no picture can be read now; nil: they can.
  var pictureFailure: PictureReadFailure?
  /// Parts of pictures that were read.
  private(set) var pictureParts: [PicturePart] = []
  private var requests: UInt64 = 0
  /// Messages that each gateway has sent.
  private var sent: [UInt64: UInt64] = [:]
  /// Stores of processes that were killed: closed when the scene goes, since closing writes.
  private var killed: [(SQLiteStore, TemporaryFolder)] = []

  private final class Completions: Sendable {
    private let waiting = Mutex<[LogCompletion]>([])
    func add(_ some: [LogCompletion]) { waiting.withLock { $0 += some } }
    func take() -> [LogCompletion] {
      waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
  }

  init(hasWebhook: Bool = false, gatewaysKeepPictures: Bool = false, accounts: AccountRules = .init()) throws {
    configuration = Self.configuration(hasWebhook: hasWebhook, gatewaysKeepPictures: gatewaysKeepPictures, accounts)
    folder = try TemporaryFolder()
    completions = Completions()
    (store, core) = try Self.open(folder, completions, configuration, at: time)
    step()
  }

  private static func configuration(
    hasWebhook: Bool, gatewaysKeepPictures: Bool, _ accounts: AccountRules
  ) -> BrokerConfiguration {
    var configuration = BrokerConfiguration(namespaces: namespaces, instance: 7)
    configuration.maximumRevocations = 100_000
    configuration.gatewayTimeout = 600_000
    configuration.gatewaysKeepPictures = gatewaysKeepPictures
    configuration.accounts = accounts
    if hasWebhook {
      var webhook = WebhookConfiguration(name: "hook", events: .publication)
      (webhook.giveUpAfter, webhook.minimumBackoff, webhook.maximumBackoff) = (1, 1, 1)
      configuration.webhooks = [webhook]
    }
    return configuration
  }

  private static func open(
    _ folder: TemporaryFolder, _ completions: Completions, _ configuration: BrokerConfiguration, at time: BrokerTime
  ) throws -> (SQLiteStore, BrokerCore) {
    var options = SQLiteStore.Options(
      backlogLimit: 1 << 30, metaTTLMilliseconds: 86_400_000,
      diskLimits: DiskLimits(minimumFreeBytes: 0, maximumBytes: 0))
    options.isStepped = true
    options.quotaNamespaces = ["quota"]
    let store = try SQLiteStore(folder: folder.path, options: options) { completions.add($0) }
    let core = BrokerCore(configuration: configuration, memory: MemoryStore(), disk: store)
    var turn = Turn(at: time)
    core.openRevocations(in: &turn)
    core.openWebhooks(in: &turn)
    core.openDeletions(in: &turn)
    core.install(clique, in: &turn)
    core.install(state, in: &turn)
    return (store, core)
  }

  private static let clique = Clique(CliqueRules())
  private static let state = StateApp(rules: StateRules(), vault: PlainVault())

  private static var namespaces: NamespaceTable {
    var stream = ChannelOptions()
    (stream.historySize, stream.historyTTLMilliseconds) = (100_000, 86_400_000)
    var table = NamespaceTable(withoutNamespace: stream)
    stream.durability = .relaxed
    table.namespaces["relaxed"] = stream
    stream.durability = .durable
    table.namespaces["room"] = stream
    stream.kind = .map
    stream.mapMode = .persistent
    table.namespaces["map"] = stream
    table.add(clique.namespaces, of: "clique")
    table.add(StateApp.namespaces, of: "state")
    return table
  }

  // MARK: Doing

  /// Asks without waiting for the answer.
  @discardableResult
  func ask(_ request: BrokerRequest) -> UInt64 {
    lastTag += 1
    perform { core.serve(request, for: ServiceTag(number: lastTag), in: &$0) }
    return lastTag
  }

  /// What the broker answers, when all that it takes for that is done.
  func answer(to request: BrokerRequest) -> String {
    let tag = ask(request)
    for _ in 0..<10_000 where answers[tag] == nil { step() }
    if case .result(let json)? = answers[tag] { return String(decoding: json, as: UTF8.self) }
    return "\(String(describing: answers[tag]))"
  }

  /// What the broker answers a gateway that asks for one of its clients.
  func answer(toGateway request: BrokerRequest, from gateway: UInt64) -> String {
    requests += 1
    let id = requests
    send(.request(LinkRequest(id: id, oldestPending: id, request: request)), from: gateway)
    for _ in 0..<10_000 where replies[id] == nil { step() }
    if case .result(let json)? = replies[id] { return String(decoding: json, as: UTF8.self) }
    return "\(String(describing: replies[id]))"
  }

  func publish(_ text: String, by user: String, in channel: String, key: String? = nil) throws {
    ask(
      .publish(
        .init(
          channel: try ChannelName(channel), data: Array("{\"text\":\"\(text)\"}".utf8),
          info: ClientInfo(user: user, client: "c-\(user)", connectionInfo: Array("{\"name\":\"\(text)\"}".utf8)),
          tags: ["by": text], idempotencyKey: key)))
  }

  func set(_ key: String, _ text: String, by user: String, in channel: String) throws {
    ask(
      .publish(
        .init(
          channel: try ChannelName(channel), data: Array("\"\(text)\"".utf8),
          info: ClientInfo(user: user, client: "c-\(user)"), write: MapWrite(key: key))))
  }

  func call(_ user: String, _ method: String, _ json: String) throws {
    let command = try AppCommand(method, Array(json.utf8), by: user)
    ask(.call(.init(command, caller: ClientInfo(user: user, client: "c-\(user)"))))
  }

  /// Lets the store and the broker do what waits: some steps, and one millisecond.
  func step(_ milliseconds: Int64 = 1) {
    for _ in 0..<4 {
      store.step()
      store.stepReaders()
      perform { core.takeNews(in: &$0) }
      let done = completions.take()
      if !done.isEmpty { perform { core.complete(done, in: &$0) } }
    }
    time.monotonic += milliseconds
    time.wall += milliseconds
    perform { core.tick(in: &$0) }
  }

  /// Keeps the marks of apps' lists, as a broker does whose lists were behind.
  ///
  /// - Returns: since when, in monotonic milliseconds.
  func keepMarks() -> Int64 {
    for host in core.hosts.all { host.marks.keepAll(at: time.monotonic) }
    return time.monotonic
  }

  /// Ends the process as `kill -9` does, and begins another on what it has left.
  ///
  /// - Parameter steps: that the new one takes at once; with none it has not read yet what it keeps.
  func kill(steps: Int = 20) throws {
    (sent, orders) = ([:], [])
    let left = try TemporaryFolder()
    for name in ["fanfare.sqlite", "fanfare.sqlite-wal", "fanfare.mark"] {
      let from = folder.path + "/" + name
      if FileManager.default.fileExists(atPath: from) {
        try FileManager.default.copyItem(atPath: from, toPath: left.path + "/" + name)
      }
    }
    killed.append((store, folder))
    folder = left
    completions = Completions()
    (store, core) = try Self.open(left, completions, configuration, at: time)
    for _ in 0..<steps { step() }
  }

  /// A gateway has taken in a picture of somebody.
  func upload(_ id: String, of user: String, _ bytes: [UInt8], by gateway: UInt64) {
    pictureFiles[id] = bytes
    let picture = StateCommand.Picture(
      id: id, type: "image/png", bytes: Int64(bytes.count), key: Array(repeating: 7, count: 32), upload: nil)
    let call = BrokerRequest.CallRequest(
      .state(.addPicture(picture)), caller: ClientInfo(user: user, client: ""), isGateways: true)
    requests += 1
    send(.request(LinkRequest(id: requests, oldestPending: requests, request: .call(call))), from: gateway)
    step()
  }

  /// A gateway opens a link.
  func gatewayComes(_ gateway: UInt64) { send(.hello(LinkHello(gateway: gateway)), from: gateway) }

  /// A gateway says how far it has carried deletions out.
  func gateway(_ gateway: UInt64, hasForgottenThrough mark: DeletionMark?) {
    send(.forgotten(LinkForgotten(through: mark)), from: gateway)
  }

  /// Forgets what gateways were told of deletions.
  func takeTold() -> [(gateway: UInt64, deletions: LinkDeletions)] {
    defer { told = [] }
    return told
  }

  /// Time passes in which nothing happens.
  func pass(milliseconds: Int64) {
    time.monotonic += milliseconds
    time.wall += milliseconds
  }

  /// A gateway ends its link.
  func gatewayGoes(_ gateway: UInt64) {
    send(.goodbye, from: gateway)
    sent[gateway] = nil
    orders.removeAll { $0.gateway == gateway }
  }

  /// Gateways confirm what they were ordered, where it is meant.
  func obey(where isMeant: (SessionOrder) -> Bool) {
    let meant = orders.filter { isMeant($0.order.order) }
    orders.removeAll { isMeant($0.order.order) }
    for (gateway, order) in meant where order.id != 0 { send(.obeyed(LinkObeyed(id: order.id)), from: gateway) }
  }

  /// Gateways forget a user.
  func forget(_ user: String) { obey { $0 == .forget([user]) } }

  /// Lets a deletion go on as far as it gets while gateways confirm what they were ordered, where it is meant.
  func goOn(obeying isMeant: (SessionOrder) -> Bool) {
    for _ in 0..<200 {
      step(5)
      obey(where: isMeant)
    }
  }

  /// Lets a deletion go on for some steps, while gateways confirm everything.
  func goOn(steps: Int) {
    for _ in 0..<steps {
      step(5)
      obey { _ in true }
    }
  }

  /// Lets a deletion go on while gateways confirm everything but to forget the user.
  func goOn(withoutForgetting user: String) { goOn { $0 != .forget([user]) } }

  private func send(_ body: LinkBody, from gateway: UInt64) {
    let message = LinkMessage(session: 1, sequence: sent[gateway, default: 0], body: body)
    sent[gateway, default: 0] += 1
    perform { core.receive(message, from: gateway, in: &$0) }
  }

  private func note(_ body: LinkBody, to gateway: UInt64) {
    if case .order(let order) = body { orders.append((gateway, order)) }
    if case .reply(let reply) = body { replies[reply.id] = reply.response }
    if case .deletions(let deletions) = body { told.append((gateway, deletions)) }
  }

  /// The receiver answers the requests that hang.
  func answerHanging(_ result: WebhookAnswer.Result) {
    let posts = hanging
    hanging = []
    for post in posts { answer(post, result) }
  }

  private func answer(_ post: WebhookPost, _ result: WebhookAnswer.Result) {
    perform { core.answered(WebhookAnswer(webhook: post.webhook, number: post.number, result: result), in: &$0) }
  }

  private func perform(_ body: (inout Turn) -> Void) {
    var turn = Turn(at: time)
    body(&turn)
    var wants = 0
    var reads: [(PicturePart, UInt64)] = []
    var posts: [WebhookPost] = []
    for effect in turn.effects {
      if case .answer(let tag, let response) = effect { answers[tag.number] = response }
      if case .forget = effect { wants += 1 }
      if case .readPicture(let part, let look) = effect { reads.append((part, look)) }
      if case .post(let post) = effect { posts.append(post) }
      if case .send(let gateway, let message) = effect { note(message.body, to: gateway) }
      if case .broadcast(let targets, let body) = effect { for target in targets { note(body, to: target.gateway) } }
    }
    for post in posts {
      posted.append(String(decoding: post.body, as: UTF8.self))
      if let receiver { answer(post, receiver) } else { hanging.append(post) }
    }
    for (part, look) in reads {
      pictureParts.append(part)
      let file = pictureFiles[part.id].map { PictureReadResult.success(Array($0[part.range])) }
      let result = pictureFailure.map { .failure($0) } ?? file ?? .failure(.lost("gone"))
      perform { core.pictureRead(result, for: look, in: &$0) }
    }
    if wants > 0 { asksElsewhere = true }
    if asksElsewhere, answersElsewhere { forgotElsewhere() }
  }

  private func forgotElsewhere() {
    asksElsewhere = false
    perform { core.forgotElsewhere(isDone: true, in: &$0) }
  }

  // MARK: Looking

  /// What the audit has not been told yet.
  var accountNotes: [BrokerCore.AccountNote] { core.takeAccountNotes() }

  func status(of user: String) -> String { answer(to: .user(.deletionStatus(user: user))) }

  var isDeleting: Bool {
    guard let deletions = core.deletions else { return false }
    if case .resting = deletions.phase { return !deletions.waiting.isEmpty || deletions.writing > 0 }
    return true
  }

  /// Revocations that the broker knows.
  var revocations: Int { core.revocations?.table.count ?? 0 }

  var phase: String { core.deletions.map { "\($0.phase)" } ?? "" }

  /// The files that hold a text, raw, with what stands around its first place.
  func files(holding text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().compactMap { name in
      let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
      guard let place = bytes.range(of: Data(text.utf8)) else { return nil }
      let around = bytes[max(0, place.lowerBound - 60)..<min(bytes.count, place.upperBound + 60)]
      return name + ": " + String(decoding: around, as: UTF8.self).debugDescription
    }
  }
}

/// Wraps nothing: what the app keeps of keys is told apart from keys all the same.
struct PlainVault: KeyVault {
  func seal(_ key: [UInt8], at now: Int64) -> SealedKey { SealedKey(hour: 1, box: Bytes64(key)) }
  func release(_ key: SealedKey) -> ReleasedKey { ReleasedKey(box: key.box) }
  func open(_ key: ReleasedKey) -> [UInt8] { key.box.bytes }
  func open(_ key: SealedKey) -> [UInt8] { key.box.bytes }
  func encrypt(_ text: [UInt8], at now: Int64) -> SealedText {
    SealedText(key: seal([], at: now), box: Bytes64(text))
  }
  func decrypt(_ box: Bytes64, with key: ReleasedKey) -> [UInt8] { box.bytes }
}
