internal import Wire

/// Attempts, their end, and what keeps a connection alive.
extension ClientMachine {
  mutating func beginFromIdle() {
    failures = 0
    beginAttempt()
  }

  mutating func beginAttempt() {
    attempt &+= 1
    effects.append(.state(.connecting))
    if configuration.hasTokenProvider, token.isEmpty || needsFreshToken {
      phase = .waitingForToken
      effects.append(.fetchToken(.connect(attempt: attempt)))
    } else if needsFreshToken {
      end(LocalCode.unauthorized.saying("the token has expired and there is no token provider"))
    } else {
      openTransport()
    }
  }

  mutating func connectToken(_ outcome: TokenOutcome) {
    switch outcome {
    case .token(let fresh) where !fresh.isEmpty:
      token = fresh
      needsFreshToken = false
      openTransport()
    case .token, .refused: end(LocalCode.unauthorized)
    case .failed: lose(LocalCode.tokenUnavailable)
    }
  }

  private mutating func openTransport() {
    phase = .opening
    effects.append(.open(attempt: attempt))
    effects.append(.start(.connect, configuration.timeout))
  }

  mutating func authenticate() {
    guard phase == .opening else { return }
    phase = .authenticating
    var connect = ClientCommand.Connect()
    connect.token = token
    connect.data = configuration.data
    connect.name = configuration.name
    connect.version = configuration.version
    connect.reconnects = true
    for case (let channel, let position?) in serverSubscriptions {
      var recovery = ClientCommand.Subscribe()
      recovery.recover = true
      recovery.epoch = position.epoch
      recovery.offset = position.offset
      connect.subs[channel.string] = recovery
    }
    lastCommandID = 0
    send(.connect(connect), for: .connect, timed: false)  // `ClientTimer.connect` runs.
  }

  mutating func connected(_ result: ClientReply.ConnectResult) {
    phase = .connected
    failures = 0
    effects.append(.stop(.connect))
    pingInterval = result.ping
    answersPings = result.pong
    expectPing()
    scheduleRefresh(expires: result.expires, ttl: result.ttl)
    effects.append(.state(.connected(client: result.client)))
    serverSubscribed(result.subs)
    for id in subscriptions.keys.sorted() where subscriptions[id]?.phase == .idle { startSubscribing(id) }
    pumpAll()
  }

  mutating func connectFailed(_ error: ClientError) {
    let code = DisconnectCode(code: UInt16(clamping: error.code), reason: error.message)
    if error.code == ClientError.tokenExpired.code {
      needsFreshToken = true
      // Without a provider nothing changes by trying again.
      if configuration.hasTokenProvider { lose(code) } else { end(LocalCode.unauthorized.saying(error.message)) }
    } else if error.mayPass {
      lose(code)
    } else {
      end(code)
    }
  }

  mutating func receivedPing() {
    guard phase == .connected else { return }
    if answersPings { effects.append(.send(ClientCommand(id: 0, body: .pong))) }
    expectPing()
  }

  private mutating func expectPing() {
    guard pingInterval > 0 else { return }
    effects.append(.start(.ping, .seconds(Int64(pingInterval)) + configuration.maximumPingDelay))
  }

  // MARK: Refresh

  mutating func scheduleRefresh(expires: Bool, ttl: UInt32) {
    guard configuration.hasTokenProvider else { return }
    if expires { effects.append(.start(.refresh, .seconds(Int64(ttl)))) } else { effects.append(.stop(.refresh)) }
  }

  mutating func refreshToken(_ outcome: TokenOutcome) {
    switch outcome {
    case .token(let fresh) where !fresh.isEmpty:
      token = fresh
      send(.refresh(token: fresh), for: .refresh)
    case .token, .refused: end(LocalCode.unauthorized)
    case .failed: retryRefresh()
    }
  }

  mutating func retryRefresh() { effects.append(.start(.refresh, spread(5...10))) }

  mutating func refreshFailed(_ error: ClientError) {
    if error.mayPass || error.code == ClientError.tokenExpired.code {
      retryRefresh()
    } else {
      end(DisconnectCode(code: UInt16(clamping: error.code), reason: error.message))
    }
  }

  // MARK: A server that ends

  /// The server ends, and tells when to connect anew. Until then it serves as ever; soon after it closes with 3001.
  mutating func slotIs(after milliseconds: UInt32) {
    slot = .awaited
    effects.append(.start(.slot, .milliseconds(Int64(milliseconds))))
  }

  mutating func slotHasCome() {
    guard phase == .connected, slot == .awaited else { return }
    slot = .come
    leaveIfSlotHasCome()
  }

  /// Connects anew at once: the server has spread its clients over time, so that a delay of this client's own would add
  /// nothing. What was asked is answered first; where that takes too long, the server closes.
  mutating func leaveIfSlotHasCome() {
    if phase == .connected, slot == .come, pending.isEmpty { lose(.shutdown, after: .zero) }
  }

  // MARK: The end of a connection

  mutating func closed(code: UInt16?, reason: String) {
    guard let code else { return lose(LocalCode.connectionLost) }
    let disconnect = DisconnectCode(code: code, reason: reason)
    if code == DisconnectCode.stateInvalidated.code {
      if configuration.hasTokenProvider { token = "" }
      for id in subscriptions.keys { subscriptions[id]?.invalidate() }
      for case (let channel, .some) in serverSubscriptions {
        serverSubscriptions[channel] = StreamPosition(epoch: SubscriptionRecord.invalidatedEpoch, offset: 0)
      }
    }
    // 1009 comes from the server's WebSocket layer: the same message would be too large again.
    if code == 1009 {
      end(LocalCode.messageTooLarge)
    } else if disconnect.clientReconnects {
      lose(disconnect)
    } else {
      end(disconnect)
    }
  }

  /// The server answered the WebSocket request with an HTTP status. 408, 425, 429 and 5xx may pass, for example when a
  /// proxy's server restarts, so the client tries again; any other 4xx would be the same next time.
  mutating func refused(status: UInt) {
    let code = LocalCode.refused.saying("the server answered the WebSocket request with HTTP status \(status)")
    if (400..<500).contains(status), ![408, 425, 429].contains(status) { end(code) } else { lose(code) }
  }

  /// Ends the attempt or the connection; another attempt follows unless there were too many.
  ///
  /// - Parameter delay: when; nil: as the back-off says.
  mutating func lose(_ code: DisconnectCode, after delay: Duration? = nil) {
    if let limit = configuration.maximumReconnectAttempts, failures >= limit { return end(code) }
    tearDown()
    phase = .backingOff
    effects.append(.state(.disconnected(code, willReconnect: true)))
    let delay = delay ?? configuration.backoff.delay(failures: failures, random: configuration.random())
    failures += 1
    effects.append(.start(.reconnect, delay))
    interruptCalls()
    for id in subscriptions.keys.sorted() {
      let wasSubscribed = subscriptions[id]?.phase == .subscribed
      subscriptions[id]?.interrupt()
      if wasSubscribed {
        let reason = UnsubscribeCode(code: UInt32(code.code), reason: code.reason)
        effects.append(.event(id, .subscribing(reason)))
      }
    }
  }

  /// Ends the connection for good, and with it all that depends on it.
  mutating func end(_ code: DisconnectCode) {
    tearDown()
    phase = .idle
    serverSubscriptions = [:]
    effects.append(.stop(.reconnect))
    effects.append(.state(.disconnected(code, willReconnect: false)))
    endCalls(code)
    for id in subscriptions.keys.sorted() {
      effects.append(.event(id, .unsubscribed(UnsubscribeCode(code: UInt32(code.code), reason: code.reason))))
    }
    subscriptions = [:]
    subscriptionsByChannel = [:]
  }

  private mutating func tearDown() {
    if [.opening, .authenticating, .connected].contains(phase) { effects.append(.close) }
    slot = .none
    for timer in [ClientTimer.connect, .slot, .ping, .refresh] { effects.append(.stop(timer)) }
    for id in subscriptions.keys.sorted() {
      effects.append(.stop(.resubscribe(id)))
      effects.append(.stop(.subscriptionRefresh(id)))
    }
    for (id, waiting) in pending.sorted(by: { $0.key < $1.key }) {
      if case .call = waiting { continue }
      effects.append(.stop(.command(id)))
    }
    pending = [:]
  }
}

extension ClientError {
  /// Below 100 are codes of clients themselves, such as a timeout.
  var mayPass: Bool { temporary || code < 100 }
}
