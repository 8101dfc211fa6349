import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

/// What a gateway reads off the link, short enough to be compared with a literal.
enum Heard: Equatable {
  case welcome, heartbeat, reset
  case reply(UInt64, BrokerResponse)
  case publication(ChannelName, UInt64, String)
  case join(String)
  case leave(String)
  case audience(String, LinkAudience.Admission)
  case discard([PictureFate])
  case order(UInt64, SessionOrder)
  case survey(UInt64, Survey)
  case trace(LinkTrace)
  case unreadable
}

extension Heard {
  /// The request that was answered with error 100; nil for everything else.
  var internalError: UInt64? {
    guard case .reply(let id, let response) = self, response.errorCode == 100 else { return nil }
    return id
  }
}

/// A broker whose inputs, time and effects a test holds in its hands.
final class BrokerScene {
  let core: BrokerCore
  let disk: ScriptedStore
  var time = BrokerTime(monotonic: 1000, wall: 1_700_000_000_000)
  var answers: [UInt64: BrokerResponse] = [:]
  var tapped: [UInt64] = []
  private var heard: [UInt64: [Heard]] = [:]
  private var sessions: [UInt64: UInt64] = [:]
  private var nextSequence: [UInt64: UInt64] = [:]
  private var nextQuestion: UInt64 = 1 << 32
  private var expected: [UInt64: UInt64] = [:]
  private(set) var searches: [MessageSearch] = []
  private(set) var posts: [WebhookPost] = []
  /// The users whom other parts of the server were told to forget.
  private(set) var pictureParts: [PicturePart] = []
  private(set) var forgotten: [[String]] = []
  /// What notifications were to be sent, each with its number.
  private(set) var notifications: [(request: PushRequest, number: UInt64)] = []
  /// What the app of notifications has sent.
  private(set) var sends: [PushSend] = []
  /// The number of the newest request, in a test that counts its requests by this.
  var lastID: UInt64 = 0

  /// - Parameters:
  ///   - store: takes the place of the scripted disk.
  ///   - change: what this test needs otherwise.
  init(
    disk: ScriptedStore = ScriptedStore(), memory: MemoryStore = MemoryStore(randomness: FixedEpochs()),
    store: (any LogStore)? = nil,
    _ change: (inout BrokerConfiguration) -> Void = { _ in }
  ) {
    self.disk = disk
    var options = ChannelOptions()
    options.historySize = 5
    options.historyTTLMilliseconds = 60_000
    options.presence = true
    options.joinLeave = true
    var table = NamespaceTable(withoutNamespace: options)
    options.durability = .durable
    table.namespaces["d"] = options
    table.namespaces["bare"] = ChannelOptions()
    var configuration = BrokerConfiguration(namespaces: table, instance: 7)
    change(&configuration)
    core = BrokerCore(configuration: configuration, memory: memory, disk: store ?? disk)
  }

  // MARK: In

  func hello(_ gateway: UInt64, session: UInt64 = 1) {
    sessions[gateway] = session
    nextSequence[gateway] = 0
    expected[gateway] = 0
    send(.hello(LinkHello(gateway: gateway)), from: gateway)
  }

  func send(_ body: LinkBody, from gateway: UInt64) {
    let sequence = nextSequence[gateway] ?? 0
    nextSequence[gateway] = sequence + 1
    receive(LinkMessage(session: sessions[gateway] ?? 0, sequence: sequence, body: body), from: gateway)
  }

  func receive(_ message: LinkMessage, from gateway: UInt64) {
    perform { core.receive(message, from: gateway, in: &$0) }
  }

  func request(
    _ id: UInt64, _ request: BrokerRequest, from gateway: UInt64 = 1, oldest: UInt64 = 1, isRetry: Bool = false,
    isResync: Bool = false, isService: Bool = false
  ) {
    let request = LinkRequest(
      id: id, oldestPending: oldest, isRetry: isRetry, isResync: isResync, isService: isService, request: request)
    send(.request(request), from: gateway)
  }

  func publish(_ id: UInt64, _ channel: ChannelName, _ text: String, key: String? = nil, isRetry: Bool = false) {
    let publish = BrokerRequest.PublishRequest(channel: channel, data: Array(text.utf8), idempotencyKey: key)
    request(id, .publish(publish), isRetry: isRetry)
  }

  func serve(_ number: UInt64, _ request: BrokerRequest) -> BrokerResponse? {
    perform { core.serve(request, for: ServiceTag(number: number), in: &$0) }
    return answers[number]
  }

  /// Asks as a service, under a number of its own each time.
  func ask(_ request: BrokerRequest) -> BrokerResponse? {
    nextQuestion += 1
    return serve(nextQuestion, request)
  }

  func finish(_ count: Int = 1, error: LogError? = nil) {
    let completions = disk.finish(count, error: error)
    perform { core.complete(completions, in: &$0) }
  }

  /// The store answers the next of what it was asked and did not answer at once.
  func answer(_ count: Int = .max, error: LogError? = nil) {
    disk.answer(count, error: error)
    perform { core.takeNews(in: &$0) }
  }

  func install(_ app: any App) { perform { core.install(app, in: &$0) } }

  func pass(_ milliseconds: Int64, ingressPaused: Bool = false) {
    time.monotonic += milliseconds
    time.wall += milliseconds
    perform { core.tick(ingressPaused: ingressPaused, in: &$0) }
  }

  /// Lets more time pass than a gateway may be silent for, with the first one's heartbeats.
  func passHeard(_ milliseconds: Int64) {
    var left = milliseconds
    while left > 0 {
      send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
      pass(min(left, 1000))
      left -= 1000
    }
  }

  // MARK: Out

  /// What the gateway heard since it was asked last.
  func hears(_ gateway: UInt64 = 1) -> [Heard] { heard.removeValue(forKey: gateway) ?? [] }

  func perform(_ input: (inout Turn) -> Void) {
    var turn = Turn(at: time)
    input(&turn)
    for effect in turn.effects {
      switch effect {
      case .send(let gateway, let message): note(message, gateway)
      case .broadcast(let targets, let body):
        for target in targets { note(LinkMessage(target, body), target.gateway) }
      case .tap(_, _, let publication): tapped.append(publication.offset)
      case .answer(let tag, let response):
        #expect(answers[tag.number] == nil, "a service is answered once")
        answers[tag.number] = response
      case .search(let search, _): searches.append(search)
      case .post(let post): posts.append(post)
      case .forget(let users): forgotten.append(users)
      case .readPicture(let part, _): pictureParts.append(part)
      case .notify(let request, let number): notifications.append((request, number))
      case .push(let send): sends.append(send)
      }
    }
  }

  private func note(_ message: LinkMessage, _ gateway: UInt64) {
    heard[gateway, default: []].append(Self.read(message.body))
    guard message.body != .reset else { return }
    #expect(message.sequence == expected[gateway] ?? 0, "numbers have no hole")
    expected[gateway] = message.sequence + 1
  }

  private static func read(_ body: LinkBody) -> Heard {
    switch body {
    case .welcome: .welcome
    case .brokerHeartbeat: .heartbeat
    case .reset: .reset
    case .reply(let reply): .reply(reply.id, reply.response)
    case .publication(let live):
      .publication(live.channel, live.publication.offset, String(decoding: live.publication.data, as: UTF8.self))
    case .join(let event): .join(event.member.client)
    case .leave(let event): .leave(event.member.client)
    case .audience(let change): .audience(change.user, change.admission)
    case .order(let order): .order(order.id, order.order)
    case .survey(let survey): .survey(survey.id, survey.survey)
    case .discard(let discard): .discard(discard.pictures)
    case .trace(let trace): .trace(trace)
    case .hello, .request, .gatewayHeartbeat, .resynced, .goodbye, .obeyed, .findings, .forgotten, .deletions,
      .unreadable:
      .unreadable
    }
  }
}

/// Epochs that are the same in every run.
struct FixedEpochs: RandomNumberGenerator {
  private var state: UInt64 = 0

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return state ^ (state >> 31)
  }
}

extension ChannelName: ExpressibleByStringLiteral {
  /// Makes a name of a literal in a test, which is a valid one.
  public init(stringLiteral value: String) {
    guard let name = try? ChannelName(value) else { preconditionFailure("\(value) is no channel name") }
    self = name
  }
}

extension BrokerRequest {
  static func subscribe(
    _ channel: ChannelName, member: String? = nil, since: StreamPosition? = nil, limit: UInt32 = 300
  ) -> BrokerRequest {
    let info = member.map { ClientInfo(user: "u", client: $0) }
    return .subscribe(.init(channel: channel, since: since, recoveryLimit: limit, member: info))
  }

  static func unsubscribe(_ channel: ChannelName, member: String?, keeps: Bool) -> BrokerRequest {
    let info = member.map { ClientInfo(user: "u", client: $0) }
    return .unsubscribe(.init(channel: channel, member: info, keepsInterest: keeps))
  }
}

extension BrokerResponse {
  /// The answer to a publish, with the epoch of the scripted disk.
  static func published(_ offset: UInt64) -> BrokerResponse { .published(.init(epoch: "disk", offset: offset)) }
  static func subscribed(_ offset: UInt64, recovered: Bool = false, gap: RecoveryGap? = nil) -> BrokerResponse {
    .subscribed(.init(position: .init(epoch: "disk", offset: offset), recovered: recovered, gap: gap))
  }

  var errorCode: UInt32? { if case .failed(let error) = self { error.code } else { nil } }
}
