import Wire

@testable import FanfareClient

/// The client in Swift, with a server that sends what it likes whenever it likes.
final class ClientRun {
  static func run(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let run = ClientRun(input)
    while !run.bytes.isAtEnd { try run.step() }
    try run.feed(.disconnect)
    try require(run.machine.phase == .idle, "a client that was told to disconnect is \(run.machine.phase)")
    return run.wasConnected
  }

  private var bytes: FuzzBytes
  private var machine: ClientMachine
  private var timers: [ClientTimer] = []
  private var tokens: [TokenRequest] = []
  /// Commands that the server has got and not answered.
  private var received: [ClientCommand] = []
  private var nextCall: CallID = 1
  private var nextSubscription: SubscriptionID = 1
  private var subscriptions: [SubscriptionID] = []
  /// Calls that are not completed yet.
  private var calls: Set<CallID> = []
  private var lastAttempt: UInt64 = 0
  private var wasConnected = false

  private static let channels = ["a", "b", "c"].compactMap { try? ChannelName($0) }

  private init(_ input: [UInt8]) {
    bytes = FuzzBytes(input)
    let choices = bytes.byte()
    var configuration = ClientMachine.Configuration()
    configuration.token = choices & 1 != 0 ? "t" : ""
    configuration.hasTokenProvider = choices & 2 != 0
    configuration.maximumReconnectAttempts = choices & 4 != 0 ? 2 : nil
    configuration.maximumCalls = 4
    configuration.maximumQueuedCalls = 4
    configuration.maximumQueuedBytes = 100
    configuration.random = { 0 }
    machine = ClientMachine(configuration)
  }

  // MARK: What happens

  private func step() throws(BrokenProperty) {
    switch bytes.below(16) {
    case 0: try feed(bytes.below(8) == 0 ? .disconnect : .connect)
    case 1, 2: try transport()
    case 3..<7: try answer()
    case 7, 8: try sayAnything()
    case 9: try elapse()
    case 10: try giveToken()
    case 11: try subscribe()
    case 12: try unsubscribe()
    default: try call()
    }
  }

  private func transport() throws(BrokenProperty) {
    let event: TransportEvent =
      switch bytes.below(8) {
      case 0: .failed("no")
      case 1: .refused(status: UInt(bytes.byte()) * 2)
      case 2: .malformed("no")
      case 3: .tooLarge
      case 4: .closed(code: bytes.flag() ? nil : UInt16(truncatingIfNeeded: bytes.number()), reason: "")
      default: .opened
      }
    try tell(event)
  }

  /// From the connection at hand mostly, and now and then from an older one.
  private func tell(_ event: TransportEvent) throws(BrokenProperty) {
    let attempt = bytes.below(16) == 0 ? machine.attempt &- 1 : machine.attempt
    try feed(.transport(attempt: attempt, event))
  }

  /// An answer that fits a command, with numbers that need not.
  private func answer() throws(BrokenProperty) {
    guard !received.isEmpty else { return }
    let command = received.remove(at: bytes.below(min(received.count, 256)))
    let id = command.id
    if bytes.below(8) == 0 {
      let error = ClientError(
        code: UInt32(truncatingIfNeeded: bytes.number()), message: "no", temporary: bytes.flag())
      return try tell(.received(.error(id: id, error)))
    }
    let reply: ClientReply =
      switch command.body {
      case .connect: .connect(id: id, connected())
      case .subscribe: .subscribe(id: id, subscribed())
      case .unsubscribe: .unsubscribe(id: id)
      case .publish: .publish(id: id)
      case .rpc: .rpc(id: id, data: bytes.piece())
      case .refresh: .refresh(id: id, .init())
      case .subRefresh: .subRefresh(id: id, expires: bytes.flag(), ttl: UInt32(bytes.byte()))
      default: .ping(id: id)
      }
    try tell(.received(reply))
  }

  private func connected() -> ClientReply.ConnectResult {
    var result = ClientReply.ConnectResult()
    result.client = "c1"
    result.ping = UInt32(truncatingIfNeeded: bytes.number())
    result.pong = bytes.flag()
    result.expires = bytes.flag()
    result.ttl = UInt32(truncatingIfNeeded: bytes.number())
    if bytes.flag() { result.subs["s"] = subscribed() }
    return result
  }

  private func subscribed() -> ClientReply.SubscribeResult {
    let choices = bytes.byte()
    var result = ClientReply.SubscribeResult()
    result.recoverable = choices & 1 != 0
    result.positioned = choices & 2 != 0
    result.recovered = choices & 4 != 0
    result.wasRecovering = choices & 8 != 0
    result.expires = choices & 16 != 0
    result.ttl = UInt32(choices)
    result.epoch = choices & 32 != 0 ? "e" : "f"
    result.offset = bytes.number()
    if choices & 64 != 0 { result.publications = [publication(), publication()] }
    return result
  }

  private func publication() -> Publication {
    let change = bytes.flag() ? KeyChange(key: "k", removed: bytes.flag()) : nil
    return Publication(offset: bytes.number(), data: bytes.piece(), change: change)
  }

  /// Whatever a message of the server may hold.
  private func sayAnything() throws(BrokenProperty) {
    let channel = bytes.pick(Self.channels).string
    let push: ClientPush
    switch bytes.below(8) {
    case 0, 1, 2: push = .publication(channel: channel, publication())
    case 3: push = .unsubscribe(channel: channel, UnsubscribeCode(code: UInt32(bytes.byte()) * 20, reason: ""))
    case 4:
      let position = StreamPosition(epoch: "e", offset: bytes.number())
      push = .subscribe(
        channel: channel, recoverable: bytes.flag(), positioned: bytes.flag(), position, data: bytes.piece())
    case 5: push = .refresh(expires: bytes.flag(), ttl: UInt32(truncatingIfNeeded: bytes.number()))
    case 6: push = .reconnect(afterMilliseconds: UInt32(truncatingIfNeeded: bytes.number()))
    default:
      guard let replies = try? ReplyDecoder.decode(bytes.piece()) else { return }
      for reply in replies { try tell(.received(reply)) }
      return
    }
    try tell(.received(.push(push)))
  }

  private func elapse() throws(BrokenProperty) {
    guard !timers.isEmpty else { return }
    try feed(.elapsed(timers.remove(at: bytes.below(min(timers.count, 256)))))
  }

  private func giveToken() throws(BrokenProperty) {
    guard !tokens.isEmpty else { return }
    try feed(.token(tokens.removeFirst(), bytes.pick([.token("t"), .token(""), .refused, .failed])))
  }

  private func subscribe() throws(BrokenProperty) {
    let channel = bytes.pick(Self.channels)
    // The rule of whoever has the machine: one subscription to a channel.
    guard machine.subscriptionsByChannel[channel] == nil else { return }
    let choices = bytes.byte()
    let options = SubscriptionOptions(
      since: choices & 1 != 0 ? StreamPosition(epoch: "e", offset: 3) : nil, recoverable: choices & 2 != 0,
      positioned: choices & 4 != 0, joinLeave: choices & 8 != 0)
    subscriptions.append(nextSubscription)
    nextSubscription += 1
    try feed(.subscribe(nextSubscription - 1, channel, options))
  }

  private func unsubscribe() throws(BrokenProperty) {
    guard !subscriptions.isEmpty else { return }
    let id = subscriptions.remove(at: bytes.below(min(subscriptions.count, 256)))
    try feed(bytes.flag() ? .unsubscribe(id) : .overflowed(id))
  }

  private func call() throws(BrokenProperty) {
    if bytes.below(8) == 0, let id = calls.min() { return try feed(.cancel(id)) }
    let id = nextCall
    nextCall += 1
    var publish = ClientCommand.Publish()
    publish.channel = "a"
    publish.data = [0x31]
    let body: ClientCommand.Body = bytes.flag() ? .publish(publish) : .rpc(method: "m", data: [0x31])
    let choices = bytes.byte()
    var options = CallOptions()
    if choices & 1 != 0 {
      let repetitions: [CallOptions.Repetition] = [.never, .always, .whileKnown(.seconds(300))]
      options.keep = CallOptions.Keep(
        lane: choices & 2 != 0 ? "l" : "m", repetition: repetitions[Int(choices >> 4) % 3], key: "k", bytes: 10)
    }
    if choices & 4 != 0 { options.after = Self.channels.first }
    calls.insert(id)
    try feed(.call(id, body, options))
  }

  // MARK: What must hold

  private func feed(_ input: Input) throws(BrokenProperty) {
    for effect in machine.handle(input) { try check(effect) }
    wasConnected = wasConnected || machine.phase == .connected
  }

  private func check(_ effect: Effect) throws(BrokenProperty) {
    switch effect {
    case .open(let attempt):
      try require(attempt > lastAttempt, "attempt \(attempt) comes after \(lastAttempt)")
      (lastAttempt, received) = (attempt, [])
    case .send(let command):
      received.append(command)
      let again = try? ClientCodec.decode(CommandEncoder.encode(command), format: .protobuf)
      try require(again?.count == 1, "\(command) is no command to the server")
    case .start(let timer, _):
      timers.removeAll { $0 == timer }
      timers.append(timer)
    case .stop(let timer): timers.removeAll { $0 == timer }
    case .fetchToken(let request): tokens.append(request)
    case .complete(let id, _): try require(calls.remove(id) != nil, "call \(id) is completed once more")
    case .close, .state, .event, .contents, .serverEvent, .witnessed: break
    }
  }
}
