import Wire

@testable import FanfareClient

/// The machine's randomness at its lowest: every delay is its minimum.
func makeMachine(
  token: String = "t", hasTokenProvider: Bool = false, maximumReconnectAttempts: Int? = nil, maximumCalls: Int = 4
) -> ClientMachine {
  ClientMachine(
    .init(
      token: token, hasTokenProvider: hasTokenProvider, maximumReconnectAttempts: maximumReconnectAttempts,
      maximumCalls: maximumCalls, random: { 0 }))
}

/// A machine that has just connected, with a server that pings every 25 s.
func makeConnectedMachine(
  hasTokenProvider: Bool = false, maximumCalls: Int = 4, _ adjust: (inout ClientReply.ConnectResult) -> Void = { _ in }
) -> ClientMachine {
  var machine = makeMachine(hasTokenProvider: hasTokenProvider, maximumCalls: maximumCalls)
  _ = machine.handle(.connect)
  _ = machine.connects(adjust)
  return machine
}

extension ClientMachine {
  /// The transport opens and the server takes the token.
  mutating func connects(_ adjust: (inout ClientReply.ConnectResult) -> Void = { _ in }) -> [Effect] {
    _ = handle(.transport(attempt: attempt, .opened))
    var result = ClientReply.ConnectResult()
    result.client = "c1"
    result.ping = 25
    result.pong = true
    adjust(&result)
    return receives(.connect(id: 1, result))
  }

  mutating func receives(_ reply: ClientReply) -> [Effect] { handle(.transport(attempt: attempt, .received(reply))) }

  mutating func isClosed(_ code: UInt16?, _ reason: String = "") -> [Effect] {
    handle(.transport(attempt: attempt, .closed(code: code, reason: reason)))
  }

  /// Subscribes and has the server agree, at that position.
  mutating func subscribes(
    _ id: SubscriptionID, to channel: String, at position: StreamPosition? = nil, options: SubscriptionOptions = .init()
  ) throws -> [Effect] {
    let effects = handle(.subscribe(id, try ChannelName(channel), options))
    guard let command = effects.sent.first else { return effects }
    var result = ClientReply.SubscribeResult()
    if let position {
      result.recoverable = true
      result.epoch = position.epoch
      result.offset = position.offset
    }
    return receives(.subscribe(id: command.id, result))
  }
}

extension [Effect] {
  var sent: [ClientCommand] {
    compactMap { if case .send(let command) = $0 { command } else { nil } }
  }
  var states: [ConnectionState] {
    compactMap { if case .state(let state) = $0 { state } else { nil } }
  }
  var started: [ClientTimer: Duration] {
    reduce(into: [:]) { if case .start(let timer, let duration) = $1 { $0[timer] = duration } }
  }
  var tokenRequests: [TokenRequest] {
    compactMap { if case .fetchToken(let request) = $0 { request } else { nil } }
  }
  var serverEvents: [ServerEvent] {
    compactMap { if case .serverEvent(let event) = $0 { event } else { nil } }
  }
  func events(of id: SubscriptionID) -> [SubscriptionEvent] {
    compactMap { if case .event(id, let event) = $0 { event } else { nil } }
  }
  func result(of id: CallID) -> Result<ClientReply, RealtimeError>? {
    for case .complete(id, let result) in self { return result }
    return nil
  }
}

extension ClientCommand {
  var asSubscribe: Subscribe? { if case .subscribe(let subscribe) = body { subscribe } else { nil } }
  var asConnect: Connect? { if case .connect(let connect) = body { connect } else { nil } }
}
