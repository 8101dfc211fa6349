internal import Wire

/// Every decision of ``RealtimeClient``: input → new state and effects. It does no I/O, knows no clock, and gets its
/// randomness from outside.
///
/// Source of the rules: docs/PROTOCOL.md, and what the SDKs of the Centrifuge client protocol do.
struct ClientMachine {
  struct Configuration {
    var name = "fanfare-swift"
    var version = ""
    var data: [UInt8] = []
    var token = ""
    var hasTokenProvider = false
    var timeout = Duration.seconds(5)
    /// How much later than the server's ping interval a ping may come.
    var maximumPingDelay = Duration.seconds(10)
    var backoff = Backoff()
    /// Failures in a row after which the client gives up; nil: never.
    var maximumReconnectAttempts: Int?
    var maximumCalls = 1024
    var maximumQueuedCalls = 1000
    var maximumQueuedBytes = 4 << 20
    var maximumQueuedTime = Duration.seconds(24 * 3600)
    /// In 0..<1.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
  }

  enum Phase: Equatable {
    /// Can transition to: `waitingForToken`, `opening`.
    case idle
    /// Can transition to: `opening`, `backingOff`, `idle`.
    case waitingForToken
    /// Can transition to: `authenticating`, `backingOff`, `idle`.
    case opening
    /// The connect command was sent. Can transition to: `connected`, `backingOff`, `idle`.
    case authenticating
    /// Can transition to: `backingOff`, `idle`.
    case connected
    /// Can transition to: `waitingForToken`, `opening`, `idle`.
    case backingOff
  }

  /// Who waits for the answer to a command.
  enum Pending: Equatable {
    case connect
    case refresh
    case subscribe(SubscriptionID, session: UInt64)
    case unsubscribe
    case subscriptionRefresh(SubscriptionID, session: UInt64)
    case call(CallID)
  }

  /// When to leave a server that ends.
  enum Slot: Equatable {
    /// Nothing was said of it. Can transition to: `awaited`.
    case none
    /// A timer runs. Can transition to: `come`, `none` (connection lost).
    case awaited
    /// Answers that are still to come are waited for, then the client connects anew. Can transition to: `none`.
    case come
  }

  let configuration: Configuration
  var phase = Phase.idle
  var slot = Slot.none
  var attempt: UInt64 = 0
  var failures = 0
  var token: String
  /// The server said "token expired": the next attempt needs another one.
  var needsFreshToken = false
  /// Seconds between the server's pings, with whether it wants them answered. 0: none are sent.
  var pingInterval: UInt32 = 0
  var answersPings = false

  var lastCommandID: UInt32 = 0
  var pending: [UInt32: Pending] = [:]
  var calls: [CallID: CallRecord] = [:]
  /// Calls that are kept, by lane, in their order: the first may be under way.
  var lanes: [String: [CallID]] = [:]
  var queuedCalls = 0
  var queuedBytes = 0
  var subscriptions: [SubscriptionID: SubscriptionRecord] = [:]
  var subscriptionsByChannel: [ChannelName: SubscriptionID] = [:]
  /// Server-side subscriptions, with the position to recover from where they have one.
  var serverSubscriptions: [ChannelName: StreamPosition?] = [:]
  /// Effects of the input at hand.
  var effects: [Effect] = []

  init(_ configuration: Configuration) {
    self.configuration = configuration
    token = configuration.token
  }

  mutating func handle(_ input: Input) -> [Effect] {
    effects = []
    switch input {
    case .connect: if phase == .idle { beginFromIdle() }
    case .disconnect: if phase != .idle { end(LocalCode.disconnectCalled) }
    case .transport(let attempt, let event):
      if attempt == self.attempt, phase != .idle, phase != .backingOff { handle(event) }
    case .elapsed(let timer): handleElapsed(timer)
    case .token(let request, let outcome): handleToken(request, outcome)
    case .subscribe(let id, let channel, let options): subscribe(id, channel, options)
    case .unsubscribe(let id): unsubscribe(id, LocalCode.unsubscribeCalled)
    case .overflowed(let id): unsubscribe(id, LocalCode.slowConsumer)
    case .call(let id, let body, let options): call(id, body, options)
    case .cancel(let id): complete(id, .failure(.cancelled))
    }
    return effects
  }

  private mutating func handle(_ event: TransportEvent) {
    switch event {
    case .opened: authenticate()
    case .received(let reply): receive(reply)
    case .failed(let reason): lose(LocalCode.connectionLost.saying(reason))
    case .refused(let status): refused(status: status)
    case .malformed(let reason): end(LocalCode.badProtocol.saying(reason))
    case .tooLarge: end(LocalCode.messageTooLarge)
    case .closed(let code, let reason): closed(code: code, reason: reason)
    }
  }

  private mutating func handleElapsed(_ timer: ClientTimer) {
    switch timer {
    case .connect: lose(LocalCode.timedOut)
    case .reconnect: if phase == .backingOff { beginAttempt() }
    case .slot: slotHasCome()
    case .ping: lose(LocalCode.noPing)
    case .refresh: if phase == .connected { effects.append(.fetchToken(.refresh(attempt: attempt))) }
    case .command(let id): commandTimedOut(id)
    case .call(let id), .keep(let id), .answer(let id), .pause(let id), .old(let id): callElapsed(timer, of: id)
    case .resubscribe(let id):
      if phase == .connected, subscriptions[id]?.phase == .backingOff { startSubscribing(id) }
    case .subscriptionRefresh(let id):
      if let record = subscriptions[id], record.phase == .subscribed {
        effects.append(.fetchToken(.subscriptionRefresh(id, session: record.session)))
      }
    }
  }

  private mutating func handleToken(_ request: TokenRequest, _ outcome: TokenOutcome) {
    switch request {
    case .connect(let attempt):
      if attempt == self.attempt, phase == .waitingForToken { connectToken(outcome) }
    case .refresh(let attempt):
      if attempt == self.attempt, phase == .connected { refreshToken(outcome) }
    case .subscribe(let id, let session):
      if subscriptions[id]?.session == session, subscriptions[id]?.phase == .waitingForToken {
        subscriptionToken(id, outcome)
      }
    case .subscriptionRefresh(let id, let session):
      if subscriptions[id]?.session == session, subscriptions[id]?.phase == .subscribed {
        subscriptionRefreshToken(id, outcome)
      }
    }
  }

  /// Sends a command. With `timed`, a timer runs for its answer; connecting and calls have timers of their own.
  mutating func send(_ body: ClientCommand.Body, for waiting: Pending, timed: Bool = true) {
    lastCommandID = lastCommandID == .max ? 1 : lastCommandID + 1
    pending[lastCommandID] = waiting
    if case .call(let id) = waiting { calls[id]?.commandIDs.append(lastCommandID) }
    effects.append(.send(ClientCommand(id: lastCommandID, body: body)))
    if timed { effects.append(.start(.command(lastCommandID), configuration.timeout)) }
  }

  /// A random time within a range of seconds, so that clients whose provider failed together do not ask again together.
  func spread(_ range: ClosedRange<Double>) -> Duration {
    .seconds(range.lowerBound + (range.upperBound - range.lowerBound) * configuration.random())
  }
}
