import Auth
import TestSupport
import Wire

@testable import Gateway

/// One client's session, with a broker, a backend and token checks that answer in order, late and sometimes badly. Every
/// byte of the input chooses what happens next.
final class SessionRun {
  static func run(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let run = SessionRun(input)
    try run.feed(.opened)
    while !run.bytes.isAtEnd { try run.step() }
    try run.end()
    return run.wasSubscribed
  }

  private enum Check {
    case connection
    case subscription(String)
    case place
  }

  private var bytes: FuzzBytes
  private var session: Session
  private var now: Int64 = 1_000_000
  private var wall: Int64 = 1_700_000_000
  private var nextID: UInt32 = 1
  /// Commands that are not answered yet, and how many have the same id.
  private var unanswered: [UInt32: Int] = [:]
  private var attached: Set<ChannelName> = []
  private var holds = false
  private var isOver = false
  private var wasSubscribed = false
  private var checks: [(tag: UInt64, check: Check)] = []
  private var questions: [UInt64] = []
  private var asked: [(tag: UInt64, request: BrokerRequest)] = []
  private var answered: [(tag: UInt64, response: BrokerResponse)] = []
  /// What the broker believes.
  private var subscribers: [ChannelName: Int] = [:]

  private static let names = [
    "a", "b", "c", "$d", "x:e", "nope:f", "g#u", "g#v", "#u", "", "h", "m:p", "l:q", "clique:u", "state:u", "é",
  ]

  private init(_ input: [UInt8]) {
    bytes = FuzzBytes(input)
    let choices = bytes.byte()
    func chosen(_ bit: UInt8) -> Bool { choices & 1 << bit != 0 }
    var options = Self.options
    options.allowUserLimitedChannels = chosen(0)
    options.forceRecovery = chosen(1)
    options.joinLeave = chosen(2)
    options.publishIntervalMilliseconds = chosen(3) ? 2_000 : 0
    var proxies = ProxyRules()
    if chosen(4) {
      (options.subscribeProxy, options.publishProxy, options.subRefreshProxy) = (true, true, true)
      for kind in ProxyKind.allCases { proxies.onFailure[kind] = chosen(5) ? .token : .refuse }
      proxies.asksWithToken = chosen(6)
      proxies.callsPerClient = 2
    }
    var map = options
    map.kind = .map
    var delta = options
    delta.allowDelta = true
    var table = NamespaceTable(
      withoutNamespace: options, namespaces: ["x": ChannelOptions(), "m": map, "l": delta])
    for app in ["clique", "state"] { table.add([:], of: app) }
    var configuration = SessionConfiguration()
    configuration.maximumChannels = chosen(7) ? 3 : 128
    configuration.maximumPendingCommands = 8
    configuration.allowAnonymous = chosen(6)
    configuration.personalChannelNamespace = chosen(5) ? "" : nil
    session = Session(
      rules: SessionRules(configuration, namespaces: table, proxies: proxies),
      identity: SessionIdentity(client: "c1", session: "s1"), format: .json, firstPingDelayMilliseconds: 10_000)
  }

  private static var options: ChannelOptions {
    var options = ChannelOptions()
    options.allowSubscribeForClient = true
    options.allowPublishForClient = true
    options.allowHistoryForClient = true
    options.allowPresenceForClient = true
    options.presence = true
    options.historySize = 10
    options.historyTTLMilliseconds = 60_000
    return options
  }

  // MARK: What happens

  private func step() throws(BrokenProperty) {
    switch bytes.below(32) {
    case 0..<12: try sendCommand()
    case 12: try sendMessage()
    case 13..<17: serveBroker()
    case 17..<21: try deliverAnswer()
    case 21..<24: try finishCheck()
    case 24, 25: try answerAsBackend()
    case 26: try pass()
    case 27: try sendOrder()
    case 28: try feed(.channelLost(channel()))
    case 29: try feed(.removeSubscription(channel(), .server))
    case 30: try feed(bytes.flag() ? .inputHeld(bytes.flag()) : .outputFull(bytes.flag()))
    default: try disturb()
    }
  }

  private func disturb() throws(BrokenProperty) {
    switch bytes.below(8) {
    case 0: try feed(.shutdown)
    case 1: try feed(.kick(.forceDisconnect))
    case 2: try feed(.malformed("no"))
    case 3: try feed(.draining)
    case 4: try feed(.slot(afterMilliseconds: Int64(bytes.byte())))
    case 5: try feed(.transportClosed)
    default: try feed(.command(ClientCommand(id: 0, body: .pong)))
    }
  }

  private func channel() -> ChannelName {
    let name = bytes.pick(["a", "b", "c", "#u", "s1", "h"])
    guard let channel = try? ChannelName(name) else { preconditionFailure("\(name) is a channel's name") }
    return channel
  }

  private func sendCommand() throws(BrokenProperty) {
    let name = bytes.pick(Self.names)
    let body: ClientCommand.Body
    switch bytes.below(16) {
    case 0..<5: body = .subscribe(subscription(to: name))
    case 5..<7: body = .unsubscribe(channel: name)
    case 7: body = .publish(publish(on: name))
    case 8: body = .history(history(of: name))
    case 9: body = .presence(channel: name)
    case 10: body = .presenceStats(channel: name)
    case 11: body = .subRefresh(channel: name, token: "t")
    case 12: body = .refresh(token: "t")
    case 13: body = .rpc(method: bytes.pick(Self.methods), data: json())
    case 14: body = bytes.flag() ? .ping : .send(data: [0x31])
    default: body = .connect(connect())
    }
    let id = nextID
    nextID += 1
    try command(ClientCommand(id: id, body: body))
  }

  private static let methods = [
    "m", "edit", "delete", "receipt", "unread", "map", "clique.send", "clique.enter", "state.begin", "push.register",
    "account.export", "account.delete", "",
  ]

  private func connect() -> ClientCommand.Connect {
    var ask = ClientCommand.Connect()
    ask.token = bytes.flag() ? "t" : ""
    if bytes.flag() { ask.subs["s1"] = subscription(to: "s1") }
    return ask
  }

  private func subscription(to name: String) -> ClientCommand.Subscribe {
    let choices = bytes.byte()
    var ask = ClientCommand.Subscribe()
    ask.channel = name
    ask.token = choices & 1 != 0 ? "t" : ""
    ask.recover = choices & 2 != 0
    ask.positioned = choices & 4 != 0
    ask.flag = choices & 8 != 0 ? ClientCommand.Subscribe.rejectUnrecovered : 0
    ask.takesPatches = choices & 16 != 0
    if choices & 32 != 0 { ask.filter = .exists(key: "k") }
    if choices & 64 != 0 { (ask.type, ask.phase) = (1, Int32(bytes.below(4))) }
    ask.offset = choices & 128 != 0 ? bytes.number() : 0
    return ask
  }

  private func publish(on name: String) -> ClientCommand.Publish {
    var publish = ClientCommand.Publish()
    publish.channel = name
    publish.data = json()
    if bytes.flag() { publish.idempotencyKey = "k" }
    return publish
  }

  /// A payload as the decoder lets it through.
  private func json() -> [UInt8] {
    let piece = bytes.piece()
    return JSONSyntax.isValid(piece) ? piece : [0x31]
  }

  private func history(of name: String) -> ClientCommand.History {
    var history = ClientCommand.History()
    history.channel = name
    history.limit = Int32(truncatingIfNeeded: bytes.number())
    if bytes.flag() { history.since = StreamPosition(epoch: "e", offset: bytes.number()) }
    history.reverse = bytes.flag()
    return history
  }

  /// Commands as they come in one message.
  private func sendMessage() throws(BrokenProperty) {
    let format: WireFormat = bytes.flag() ? .protobuf : .json
    guard let commands = try? ClientCodec.decode(bytes.piece(), format: format) else { return }
    for command in commands { try self.command(command) }
  }

  private func command(_ command: ClientCommand) throws(BrokenProperty) {
    unanswered[command.id, default: 0] += 1
    try feed(.command(command))
  }

  private func sendOrder() throws(BrokenProperty) {
    if bytes.flag() { return try feed(.changeExpiry(bytes.pick([.never, .at(wall + 5), .now]))) }
    let since = bytes.flag() ? StreamPosition(epoch: "e", offset: 1) : nil
    try feed(.addSubscription(OrderedSubscription(channel: channel(), since: since)))
  }

  private func pass() throws(BrokenProperty) {
    let milliseconds = Int64(bytes.byte()) * 100
    now += milliseconds
    wall += milliseconds / 1_000
    try feed(.deadline)
    try require(session.nextDeadline ?? .max > now, "a deadline is still past")
  }

  // MARK: Who answers

  private func serveBroker() {
    guard !asked.isEmpty else { return }
    let (tag, request) = asked.removeFirst()
    let fails = bytes.below(8) == 0
    answered.append((tag, fails && !request.isUnsubscribe ? .failed(.internalError) : answer(to: request)))
    if !fails, case .subscribe(let subscribe) = request, subscribe.map == nil {
      subscribers[subscribe.channel, default: 0] += 1
    }
    if case .unsubscribe(let unsubscribe) = request { subscribers[unsubscribe.channel, default: 0] -= 1 }
  }

  private func answer(to request: BrokerRequest) -> BrokerResponse {
    let position = StreamPosition(epoch: "e", offset: 3)
    switch request {
    case .subscribe(let subscribe):
      if subscribe.map != nil { return .failed(.notAvailable) }
      return .subscribed(.init(position: position, recovered: bytes.flag()))
    case .unsubscribe: return .done
    case .publish: return .published(position)
    case .history: return .history(.init(position: position, publications: []))
    case .presence: return .presence([])
    case .presenceStats: return .presenceStats(clients: 1, users: 1)
    case .call: return bytes.flag() ? .result(Array("{}".utf8)) : .tooLarge
    case .unread(_, let channels): return .unread(channels.map { _ in 7 })
    case .readMap: return .mapPage(MapPage(phase: .state, position: position))
    default: return .done
    }
  }

  private func deliverAnswer() throws(BrokenProperty) {
    guard !answered.isEmpty else { return }
    let (tag, response) = answered.removeFirst()
    try feed(.brokerAnswered(tag: tag, response))
  }

  private func finishCheck() throws(BrokenProperty) {
    guard !checks.isEmpty else { return }
    let (tag, check) = checks.remove(at: bytes.below(min(checks.count, 256)))
    let choice = bytes.byte()
    let expiry = choice & 16 != 0 ? wall + Int64(choice >> 5) : nil
    let error: TokenError? =
      switch choice & 15 {
      case 13: .expired
      case 14: .invalid(reason: "")
      case 15: .unavailable(reason: "")
      default: nil
      }
    switch check {
    case .connection:
      var claims = ConnectionClaims(user: "u", expiresAt: expiry)
      if choice & 1 != 0 { claims.subscriptions["s1"] = SubscriptionGrant() }
      if choice & 2 != 0 { claims.subscriptions["#u"] = SubscriptionGrant() }
      try feed(.connectionTokenChecked(tag: tag, error.map { .failure($0) } ?? .success(claims)))
    case .subscription(let name):
      let claims = SubscriptionClaims(user: session.user, channel: name, expiresAt: expiry)
      try feed(.subscriptionTokenChecked(tag: tag, error.map { .failure($0) } ?? .success(claims)))
    case .place:
      let claims = PlaceClaims(user: session.user, place: "cafe", expiresAt: wall + 60)
      try feed(.placeTokenChecked(tag: tag, error.map { .failure($0) } ?? .success(claims)))
    }
  }

  private func answerAsBackend() throws(BrokenProperty) {
    guard !questions.isEmpty else { return }
    let tag = questions.removeFirst()
    let choice = bytes.byte()
    var result = ProxyResult()
    result.user = "u"
    result.expiresAt = choice & 1 != 0 ? wall + Int64(choice >> 4) : nil
    result.isExpired = choice & 2 != 0
    result.data = choice & 4 != 0 ? [0x32] : nil
    if choice & 8 != 0 { result.subscriptions["s1"] = SubscriptionGrant() }
    let answer: ProxyAnswer =
      switch bytes.below(8) {
      case 0: .error(ClientError(code: 401, message: "no"))
      case 1: .disconnect(DisconnectCode(code: 4500, reason: ""))
      case 2: .failed(bytes.pick(ProxyFault.allCases))
      default: .result(result)
      }
    try feed(.backendAnswered(tag: tag, answer))
  }

  /// Everything that is under way arrives, and nothing of the session is left anywhere.
  private func end() throws(BrokenProperty) {
    try feed(.transportClosed)
    while !(asked.isEmpty && answered.isEmpty && checks.isEmpty && questions.isEmpty) {
      try answerAsBackend()
      serveBroker()
      try deliverAnswer()
      try finishCheck()
    }
    try require(session.isDrained, "a session is not drained at its end")
    try require(attached.isEmpty, "the hub keeps \(attached)")
    try require(!holds, "the hub keeps frames for a session that ended")
    let left = subscribers.filter { $0.value != 0 }
    try require(left.isEmpty, "the broker keeps \(left)")
  }

  // MARK: What must hold

  private func feed(_ input: SessionInput) throws(BrokenProperty) {
    var name = "a"
    if case .command(let command) = input {
      switch command.body {
      case .subscribe(let ask): name = ask.channel
      case .subRefresh(let channel, _): name = channel
      default: break
      }
    }
    var actions: [SessionAction] = []
    session.handle(input, at: SessionTime(monotonic: now, wall: wall), into: &actions)
    for action in actions {
      if isOver {
        guard case .request(_, .unsubscribe) = action else {
          throw BrokenProperty(description: "after the close: \(action)")
        }
      }
      try check(action, named: name)
    }
  }

  private func check(_ action: SessionAction, named name: String) throws(BrokenProperty) {
    switch action {
    case .send(let reply): try check(reply)
    case .close: isOver = true
    case .request(let tag, let request): try ask(tag, request)
    case .subscribe(let tag, let request, _): try ask(tag, .subscribe(request))
    case .checkConnectionToken(let tag, _): checks.append((tag, .connection))
    case .checkSubscriptionToken(let tag, _): checks.append((tag, .subscription(checkedChannel(tag) ?? name)))
    case .checkPlaceToken(let tag, _): checks.append((tag, .place))
    case .askBackend(let tag, _): questions.append(tag)
    case .attach(let channel, let flags, _):
      wasSubscribed = true
      if flags.contains(.held) { holds = true }
      try require(attached.insert(channel).inserted, "\(channel) is attached twice")
    case .detach(let channel):
      try require(attached.remove(channel) != nil, "\(channel) is detached and was not attached")
    case .releaseHeld, .discardHeld:
      try require(holds, "nothing is held")
      holds = false
    case .openPoll, .track, .untrack, .leavePoll:
      throw BrokenProperty(description: "no namespace has shared polls here: \(action)")
    case .note, .signInRefused, .introduced, .covers, .uncovers, .coverageRefused: break
    }
  }

  private func checkedChannel(_ tag: UInt64) -> String? {
    switch session.pending[tag] {
    case .subscriptionToken(let command, _): command.ask.channel
    case .subRefresh(_, let channel): channel.string
    default: nil
    }
  }

  private func ask(_ tag: UInt64, _ request: BrokerRequest) throws(BrokenProperty) {
    try LinkTargets.checkRequest(request)
    asked.append((tag, request))
  }

  private func check(_ reply: ClientReply) throws(BrokenProperty) {
    guard let id = reply.id else { return }
    let left = unanswered[id] ?? 0
    try require(left > 0, "command \(id) is answered once more: \(reply)")
    unanswered[id] = left - 1
  }
}

extension BrokerRequest {
  fileprivate var isUnsubscribe: Bool { if case .unsubscribe = self { true } else { false } }
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
