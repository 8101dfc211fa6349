import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: random walks")
struct SessionWalkTests {
  @Test("whatever happens in whatever order, commands are answered once and nothing is left behind", arguments: 0..<40)
  func walks(block: UInt64) {
    for index in 0..<100 {
      let seed = block * 100 + UInt64(index)
      var walk = SessionWalk(seed: seed)
      walk.run(steps: 120)
      if let broken = walk.broken {
        Issue.record("seed \(seed): \(broken)")
        return
      }
    }
  }

  @Test("the same holds where a backend decides, which answers late, badly or not as expected", arguments: 0..<20)
  func backendWalks(block: UInt64) {
    for index in 0..<100 {
      let seed = block * 100 + UInt64(index)
      var walk = SessionWalk(seed: seed, hasBackend: true)
      walk.run(steps: 120)
      if let broken = walk.broken {
        Issue.record("seed \(seed): \(broken)")
        return
      }
    }
  }

  @Test("those walks reach every kind of question")
  func backendCoverage() {
    var seen: Set<String> = []
    for seed in 0..<500 {
      var walk = SessionWalk(seed: UInt64(seed), hasBackend: true)
      walk.run(steps: 120)
      seen.formUnion(walk.seen)
    }
    // For keys of shared polls it is the gateway that asks.
    let kinds = ProxyKind.allCases.filter { $0 != .sharedPollRefresh }
    let expected = Set(kinds.map { "asks \($0.rawValue)" }).union([
      "live", "refused", "attach", "waiting", "error 100", "error 401", "close 4500", "close 3005", "unsubscribe 2501",
    ])
    #expect(expected.subtracting(seen) == [])
  }

  @Test("the walks reach every state and most of what can happen")
  func coverage() {
    var seen: Set<String> = []
    for seed in 0..<1_000 {
      var walk = SessionWalk(seed: UInt64(seed))
      walk.run(steps: 120)
      seen.formUnion(walk.seen)
    }
    let expected: Set<String> = [
      "connecting", "live", "refused", "closed", "attach", "attach held", "detach", "releaseHeld", "discardHeld",
      "late unsubscribe", "queued subscribe", "error 100", "error 102", "error 103", "error 105", "error 106",
      "error 107", "error 109", "error 112", "waiting", "paced", "close 3001", "close 3005", "close 3010", "close 3012",
      "close 3500", "close 3501", "close 3502", "unsubscribe 2500", "unsubscribe 2501", "push subscribe",
      "push refresh",
    ]
    #expect(expected.subtracting(seen) == [])
  }
}

/// One session under a seed, with a broker that answers in order, late and sometimes with a failure.
struct SessionWalk {
  private var random: SplitMix
  private var bench: SessionBench
  private var nextID: UInt32 = 1
  /// Commands that are not answered yet.
  private var unanswered: Set<UInt32> = []
  private var attached: Set<ChannelName> = []
  private var holds = false
  private var checks: [(tag: UInt64, channel: String?)] = []
  private let hasBackend: Bool
  /// What the backend is asked and has not answered.
  private var questions: [UInt64] = []
  /// Requests on their way to the broker.
  private var asked: [(tag: UInt64, request: BrokerRequest)] = []
  /// The broker's answers on their way back.
  private var answered: [(tag: UInt64, response: BrokerResponse)] = []
  /// What the broker believes: subscribers by channel, and the channels in which the client is present.
  private var subscribers: [ChannelName: Int] = [:]
  private var present: Set<ChannelName> = []
  private var transportIsOpen = true
  private var closeWasSent = false
  private(set) var seen: Set<String> = []
  private(set) var broken: String?

  private static let names = ["a", "b", "c", "$d", "x:e", "nope:f", "g#u", "g#v", "#u", "", "h"]

  /// - Parameter hasBackend: it decides wherever one can.
  init(seed: UInt64, hasBackend: Bool = false) {
    self.hasBackend = hasBackend
    random = SplitMix(state: seed)
    var random = random
    var options = ChannelOptions.open
    options.allowUserLimitedChannels = random.chance(2)
    options.forceRecovery = random.chance(3)
    options.joinLeave = random.chance(2)
    options.publishIntervalMilliseconds = random.chance(3) ? 2_000 : 0
    var proxies = ProxyRules()
    if hasBackend {
      (options.subscribeProxy, options.publishProxy, options.subRefreshProxy) = (true, true, true)
      for kind in ProxyKind.allCases { proxies.onFailure[kind] = random.chance(2) ? .token : .refuse }
      proxies.asksWithToken = random.chance(2)
      proxies.callsPerClient = random.chance(2) ? 2 : 16
    }
    bench = SessionBench(options, namespaces: ["x": .shut], proxies: proxies) {
      $0.maximumChannels = random.chance(3) ? 3 : 128
      $0.maximumPendingCommands = random.chance(4) ? 3 : 256
      $0.allowAnonymous = random.chance(4)
      $0.personalChannelNamespace = random.chance(3) ? "" : nil
    }
    self.random = random
  }

  mutating func run(steps: Int) {
    if random.chance(10) { sendCommand() } else { connect() }
    for _ in 0..<steps where broken == nil { step() }
    feed(.inputHeld(false))
    feed(.outputFull(false))
    runUntilQuiet()
    if broken == nil && transportIsOpen { checkQuiet() }
    feed(.transportClosed)
    transportIsOpen = false
    runUntilQuiet()
    guard broken == nil else { return }
    if !bench.isDrained { broken = "not drained at the end" }
    if let left = subscribers.first(where: { $0.value != 0 }) { broken = "the broker keeps \(left)" }
    if !present.isEmpty { broken = "the broker keeps presence in \(present)" }
    if holds { broken = "the hub keeps frames for a session that ended" }
    if !attached.isEmpty { broken = "the hub keeps \(attached)" }
  }

  /// Everything that is under way arrives.
  private mutating func runUntilQuiet() {
    while broken == nil && !(asked.isEmpty && answered.isEmpty && checks.isEmpty && questions.isEmpty) {
      answerAsBackend()
      serveBroker()
      deliverAnswer()
      finishCheck()
    }
  }

  /// With nothing under way, the broker, the hub and the session agree, and nobody waits.
  private mutating func checkQuiet() {
    if bench.session.phase == .connecting { broken = "the connect was never answered" }
    guard bench.session.phase == .live else { return }
    if !unanswered.isEmpty { broken = "commands \(unanswered) were never answered" }
    if Set(subscribers.filter { $0.value == 1 }.keys) != attached { broken = "\(subscribers) but \(attached)" }
    let members = bench.session.subscriptions.filter { $0.value.isLive && $0.value.traits.contains(.member) }
    if Set(members.keys) != present { broken = "present in \(present), not in \(members.keys)" }
    if holds { broken = "frames are held for good" }
  }

  // MARK: What happens

  private mutating func step() {
    if hasBackend && random.chance(4) { answerAsBackend() }
    switch random.below(100) {
    case 0..<40: sendCommand()
    case 40..<60: serveBroker()
    case 60..<78: deliverAnswer()
    case 78, 79: sendOrder()
    case 80..<90: finishCheck()
    case 90..<95: pass()
    case 95: feed(.channelLost(channel(random.pick(["a", "b", "#u", "s1"]))))
    case 96: if random.chance(4) { feed(.removeSubscription(channel(random.pick(["a", "b", "s1"])), .server)) }
    case 97:
      if random.chance(4) { feed(random.chance(2) ? .inputHeld(random.chance(2)) : .outputFull(random.chance(2))) }
    case 98:
      if random.chance(8) {
        feed(random.pick([.shutdown, .kick(.forceDisconnect), .malformed("no")]))
      }
    default:
      if random.chance(8) {
        transportIsOpen = false
        feed(.transportClosed)
      }
    }
  }

  private mutating func connect() {
    var ask = ClientCommand.Connect()
    ask.token = random.chance(6) ? "" : "t"
    if random.chance(2) { ask.subs["s1"] = subscription(to: "s1") }
    command(.connect(ask))
  }

  private mutating func sendCommand() {
    let name = random.pick(Self.names)
    var publish = ClientCommand.Publish()
    publish.channel = name
    publish.data = [0x31]
    var history = ClientCommand.History()
    history.channel = name
    switch random.below(24) {
    case 0..<10: command(.subscribe(subscription(to: name)))
    case 10..<15: command(.unsubscribe(channel: name))
    case 15, 16: command(.publish(publish))
    case 17: command(.history(history))
    case 18: command(.presence(channel: name))
    case 19: command(.ping)
    case 20: command(.subRefresh(channel: name, token: "t"))
    case 21: command(.refresh(token: "t"))
    case 22: command(.rpc(method: "m", data: []))
    default: if random.chance(12) { command(.connect(.init())) }
    }
  }

  /// A service's order.
  private mutating func sendOrder() {
    guard !random.chance(10) else {
      return feed(.changeExpiry(random.pick([.never, .at(bench.wall + Int64(random.below(20))), .now])))
    }
    let name = channel(random.pick(["a", "b", "h", "s1", "nope:f"]))
    let since = random.chance(2) ? StreamPosition(epoch: "e", offset: 1) : nil
    feed(.addSubscription(OrderedSubscription(channel: name, since: since)))
  }

  private mutating func subscription(to name: String) -> ClientCommand.Subscribe {
    var ask = ClientCommand.Subscribe()
    ask.channel = name
    ask.token = random.chance(3) ? "t" : ""
    ask.recover = random.chance(3)
    ask.positioned = random.chance(3)
    ask.flag = random.chance(4) ? ClientCommand.Subscribe.rejectUnrecovered : 0
    return ask
  }

  private mutating func command(_ body: ClientCommand.Body) {
    let id = nextID
    nextID += 1
    if bench.session.phase != .closed && bench.session.phase != .refused { unanswered.insert(id) }
    feed(.command(ClientCommand(id: id, body: body)))
  }

  private mutating func pass() {
    let milliseconds = Int64(random.below(random.chance(3) ? 12_000 : 3_000))
    bench.now += milliseconds
    bench.wall += milliseconds / 1000
    feed(.deadline)
    if let due = bench.session.nextDeadline, due <= bench.now { broken = "the deadline \(due) is still past" }
    if bench.session.unansweredPings > 0 && !random.chance(5) {
      feed(.command(ClientCommand(id: 0, body: .pong)))
    }
  }

  private mutating func serveBroker() {
    guard !asked.isEmpty else { return }
    let (tag, request) = asked.removeFirst()
    switch request {
    case .subscribe(let subscribe):
      if random.chance(8) {
        answered.append((tag, .failed(.internalError)))
      } else {
        subscribers[subscribe.channel, default: 0] += 1
        if subscribe.member != nil { present.insert(subscribe.channel) }
        answered.append((tag, .at(3, recovered: random.chance(2))))
      }
    case .unsubscribe(let unsubscribe):
      subscribers[unsubscribe.channel, default: 0] -= 1
      if subscribers[unsubscribe.channel, default: 0] < 0 {
        broken = "\(unsubscribe.channel): one unsubscribe too many"
      }
      if unsubscribe.member != nil && present.remove(unsubscribe.channel) == nil {
        broken = "\(unsubscribe.channel): a member left who was not there"
      }
      answered.append((tag, .done))
    case .publish: answered.append((tag, .published(.init(epoch: "e", offset: 1))))
    case .history: answered.append((tag, .history(.init(position: .init(epoch: "e", offset: 1)))))
    case .presence: answered.append((tag, .presence([])))
    default: answered.append((tag, .failed(.notAvailable)))
    }
  }

  private mutating func deliverAnswer() {
    guard !answered.isEmpty else { return }
    let (tag, response) = answered.removeFirst()
    feed(.brokerAnswered(tag: tag, response))
  }

  private mutating func finishCheck() {
    guard !checks.isEmpty else { return }
    let (tag, name) = checks.remove(at: random.below(checks.count))
    let expiry = random.chance(2) ? bench.wall + Int64(random.below(20)) : nil
    let error: TokenError? =
      switch random.below(16) {
      case 0: .expired
      case 1: random.chance(3) ? .invalid(reason: "") : nil
      case 2: .unavailable(reason: "")
      default: nil
      }
    if let name {
      let claims = SubscriptionClaims(user: bench.session.user, channel: name, expiresAt: expiry)
      feed(.subscriptionTokenChecked(tag: tag, error.map { .failure($0) } ?? .success(claims)))
    } else {
      var claims = ConnectionClaims(user: "u", expiresAt: expiry)
      for name in ["s1", "s2"] where random.chance(2) { claims.subscriptions[name] = SubscriptionGrant() }
      feed(.connectionTokenChecked(tag: tag, error.map { .failure($0) } ?? .success(claims)))
    }
  }

  private mutating func answerAsBackend() {
    guard !questions.isEmpty else { return }
    let tag = questions.remove(at: random.below(questions.count))
    var result = ProxyResult()
    result.user = "u"
    result.expiresAt = random.chance(2) ? bench.wall + Int64(random.below(20)) : nil
    result.isExpired = random.chance(20)
    result.data = random.chance(3) ? [0x32] : random.chance(10) ? [0xFF] : nil
    for name in ["s1", "s2"] where random.chance(2) { result.subscriptions[name] = SubscriptionGrant() }
    let answer: ProxyAnswer =
      switch random.below(16) {
      case 0: .error(ClientError(code: 401, message: "no"))
      case 1: random.chance(4) ? .disconnect(DisconnectCode(code: 4500, reason: "")) : .result(result)
      case 2, 3, 4: .failed(random.pick(ProxyFault.allCases))
      default: .result(result)
      }
    feed(.backendAnswered(tag: tag, answer))
  }

  // MARK: What must hold

  private mutating func feed(_ input: SessionInput) {
    let wasClosed = bench.session.phase == .closed
    var name: String?
    if case .command(let command) = input {
      switch command.body {
      case .subscribe(let ask): name = ask.channel
      case .subRefresh(let channel, _): name = channel
      default: break
      }
    }
    let actions = bench.feed(input)
    seen.insert("\(bench.session.phase)")
    for action in actions {
      if wasClosed || closeWasSent {
        guard case .request(_, .unsubscribe) = action else {
          broken = "after the close: \(action)"
          return
        }
        seen.insert("late unsubscribe")
      }
      check(action, named: name)
    }
    if bench.hasWaiting {
      seen.insert("waiting")
      if bench.session.phase == .closed || bench.wantsInput { broken = "commands wait, and more is read" }
    }
    if bench.session.paced.nextDue != .max { seen.insert("paced") }
    if bench.session.subscriptions.values.contains(where: {
      if case .abandoned(.some) = $0.phase { true } else { false }
    }) {
      seen.insert("queued subscribe")
    }
  }

  private mutating func check(_ action: SessionAction, named name: String?) {
    switch action {
    case .send(let reply): check(reply)
    case .close(let code):
      closeWasSent = true
      seen.insert("close \(code.code)")
    case .request(let tag, let request): asked.append((tag, request))
    case .subscribe(let tag, let request, _): asked.append((tag, .subscribe(request)))
    case .checkConnectionToken(let tag, _): checks.append((tag, nil))
    case .checkSubscriptionToken(let tag, _):
      let held = bench.session.pending[tag]
      switch held {
      case .subscriptionToken(let command, _): checks.append((tag, command.ask.channel))
      case .subRefresh(_, let channel): checks.append((tag, channel.string))
      default: checks.append((tag, name ?? "a"))
      }
    case .checkPlaceToken(let tag, _): checks.append((tag, nil))
    case .askBackend(let tag, let question):
      if !hasBackend { broken = "the backend was asked though there is none" }
      seen.insert("asks \(question.kind.rawValue)")
      questions.append(tag)
    case .attach(let channel, let flags, _):
      seen.insert(flags.contains(.held) ? "attach held" : "attach")
      if flags.contains(.held) { holds = true }
      if !attached.insert(channel).inserted { broken = "\(channel) is attached twice" }
    case .detach(let channel):
      seen.insert("detach")
      if attached.remove(channel) == nil { broken = "\(channel) is detached but was not attached" }
    case .releaseHeld, .discardHeld:
      seen.insert("\(action)")
      if !holds { broken = "nothing is held" }
      holds = false
    case .openPoll, .track, .untrack, .leavePoll: broken = "no channel here is a shared poll: \(action)"
    case .note, .signInRefused, .introduced, .covers, .uncovers, .coverageRefused: break
    }
  }

  private mutating func check(_ reply: ClientReply) {
    switch reply {
    case .serverPing: return
    case .push(.unsubscribe(_, let code)): seen.insert("unsubscribe \(code.code)")
    case .push(.subscribe(let name, _, _, _, _)):
      seen.insert("push subscribe")
      if attached.contains(channel(name)) { broken = "the push for \(name) comes behind its publications" }
    case .push(.refresh): seen.insert("push refresh")
    case .push: broken = "an unexpected push: \(reply)"
    case .error(_, let error): seen.insert("error \(error.code)")
    case .connect where !attached.isEmpty && !holds: broken = "frames went out before the connect result"
    default: break
    }
    guard let id = reply.id else { return }
    if unanswered.remove(id) == nil { broken = "command \(id) is answered twice: \(reply)" }
  }
}

extension ClientReply {
  fileprivate var id: UInt32? {
    switch self {
    case .connect(let id, _), .subscribe(let id, _), .unsubscribe(let id), .publish(let id), .presence(let id, _, _),
      .presenceStats(let id, _, _), .history(let id, _), .ping(let id), .rpc(let id, _), .refresh(let id, _),
      .subRefresh(let id, _, _, _), .error(let id, _):
      id
    case .serverPing, .push: nil
    }
  }
}

/// Steele, Lea and Flood's generator: small, and the same on every machine.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
  mutating func chance(_ oneIn: Int) -> Bool { below(oneIn) == 0 }
  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
}
