internal import Wire

/// Client-side subscriptions.
extension ClientMachine {
  mutating func subscribe(_ id: SubscriptionID, _ channel: ChannelName, _ options: SubscriptionOptions) {
    precondition(subscriptionsByChannel[channel] == nil, "ask hasSubscription(to:) before subscribing")
    subscriptions[id] = SubscriptionRecord(channel: channel, options: options)
    subscriptionsByChannel[channel] = id
    if phase == .connected { startSubscribing(id) }
  }

  func hasSubscription(to channel: ChannelName) -> Bool { subscriptionsByChannel[channel] != nil }

  mutating func startSubscribing(_ id: SubscriptionID) {
    guard var record = subscriptions[id] else { return }
    record.session &+= 1
    if record.options.token.isEmpty, record.options.tokenProvider != nil {
      record.phase = .waitingForToken
      effects.append(.fetchToken(.subscribe(id, session: record.session)))
      subscriptions[id] = record
    } else {
      subscriptions[id] = record
      requestSubscription(id)
    }
  }

  mutating func subscriptionToken(_ id: SubscriptionID, _ outcome: TokenOutcome) {
    switch outcome {
    case .token(let token) where !token.isEmpty:
      subscriptions[id]?.options.token = token
      requestSubscription(id)
    case .token, .refused: remove(id, LocalCode.subscriptionUnauthorized)
    case .failed: retrySubscribing(id)
    }
  }

  private mutating func requestSubscription(_ id: SubscriptionID) {
    guard let record = subscriptions[id] else { return }
    subscriptions[id]?.phase = .requested
    if record.options.map != nil { subscriptions[id]?.reading = MapReading(since: record.position) }
    sendSubscribe(id)
  }

  private mutating func sendSubscribe(_ id: SubscriptionID) {
    guard let record = subscriptions[id] else { return }
    send(.subscribe(record.command), for: .subscribe(id, session: record.session))
  }

  mutating func subscribed(_ id: SubscriptionID, session: UInt64, _ result: ClientReply.SubscribeResult) {
    guard subscriptions[id]?.session == session, subscriptions[id]?.phase == .requested else { return }
    if subscriptions[id]?.reading != nil, !isMapRead(id, result) { return }
    let position: StreamPosition? =
      result.recoverable || result.positioned ? StreamPosition(epoch: result.epoch, offset: result.offset) : nil
    subscriptions[id]?.phase = .subscribed
    subscriptions[id]?.failures = 0
    // Without recovery, the position is not kept to recover from: the server would refuse or answer with nothing.
    subscriptions[id]?.position = result.recoverable ? position : nil
    scheduleSubscriptionRefresh(id, expires: result.expires, ttl: result.ttl)
    effects.append(
      .event(
        id, .subscribed(position: position, wasRecovering: result.wasRecovering, recovered: result.recovered)))
    if let gap = result.gap { effects.append(.event(id, .gap(gap))) }
    if let reading = subscriptions[id]?.reading {
      subscriptions[id]?.reading = nil
      let contents = MapContents(isWhole: !reading.recovers, state: reading.state, changes: reading.changes)
      effects.append(.contents(id, contents))
    } else {
      guard let channel = subscriptions[id]?.channel else { return }
      for publication in result.publications {
        effects.append(.event(id, .publication(publication)))
        witness(channel, publication)
      }
    }
    pumpAll()
  }

  /// Takes a part of a map in, and asks for the next. True where there is no next: the map is live.
  private mutating func isMapRead(_ id: SubscriptionID, _ result: ClientReply.SubscribeResult) -> Bool {
    guard let limit = subscriptions[id]?.options.map?.maximumEntries else { return true }
    let isLive = subscriptions[id]?.reading?.take(result) ?? true
    if let count = subscriptions[id]?.reading?.count, count > limit {
      unsubscribe(id, LocalCode.mapTooLarge)
      return false
    }
    if !isLive { sendSubscribe(id) }
    return isLive
  }

  mutating func subscribeFailed(_ id: SubscriptionID, session: UInt64, _ error: ClientError) {
    guard let record = subscriptions[id], record.session == session, record.phase == .requested else { return }
    if error.code == ClientError.unrecoverablePosition.code, let reading = record.reading {
      // From a position that is too old, the state is read at once. A state that changes faster than it is read is
      // tried again after a while.
      subscriptions[id]?.position = nil
      if reading.recovers { requestSubscription(id) } else { retrySubscribing(id) }
    } else if error.code == ClientError.tokenExpired.code, record.options.tokenProvider != nil {
      subscriptions[id]?.options.token = ""
      retrySubscribing(id)
    } else if error.mayPass {
      retrySubscribing(id)
    } else {
      remove(id, UnsubscribeCode(code: error.code, reason: error.message))
    }
  }

  private mutating func retrySubscribing(_ id: SubscriptionID) {
    guard var record = subscriptions[id] else { return }
    record.phase = .backingOff
    record.reading = nil
    let delay = configuration.backoff.delay(failures: record.failures, random: configuration.random())
    record.failures += 1
    subscriptions[id] = record
    effects.append(.start(.resubscribe(id), delay))
  }

  /// The server ended a subscription. From 2500 it may be had again.
  mutating func unsubscribedByServer(_ id: SubscriptionID, _ code: UnsubscribeCode) {
    guard let record = subscriptions[id] else { return }
    guard code.code >= UnsubscribeCode.insufficient.code else { return remove(id, code) }
    // Before the answer to our subscribe, the server's unsubscribe changes nothing: that answer decides.
    guard record.phase == .subscribed else { return }
    if code.code == UnsubscribeCode.invalidated.code { subscriptions[id]?.invalidate() }
    if code.code == UnsubscribeCode.expired.code, record.options.tokenProvider != nil {
      subscriptions[id]?.options.token = ""
    }
    subscriptions[id]?.interrupt()
    effects.append(.stop(.subscriptionRefresh(id)))
    effects.append(.event(id, .subscribing(code)))
    startSubscribing(id)
  }

  mutating func unsubscribe(_ id: SubscriptionID, _ code: UnsubscribeCode) {
    guard let record = subscriptions[id] else { return }
    remove(id, code)
    if phase == .connected, record.phase == .requested || record.phase == .subscribed {
      send(.unsubscribe(channel: record.channel.string), for: .unsubscribe)
    }
  }

  private mutating func remove(_ id: SubscriptionID, _ code: UnsubscribeCode) {
    guard let record = subscriptions.removeValue(forKey: id) else { return }
    subscriptionsByChannel[record.channel] = nil
    effects.append(.stop(.resubscribe(id)))
    effects.append(.stop(.subscriptionRefresh(id)))
    effects.append(.event(id, .unsubscribed(code)))
    // Calls that waited for it do so no more.
    pumpAll()
  }

  // MARK: Refresh

  mutating func scheduleSubscriptionRefresh(_ id: SubscriptionID, expires: Bool, ttl: UInt32) {
    guard expires, subscriptions[id]?.options.tokenProvider != nil else { return }
    effects.append(.start(.subscriptionRefresh(id), .seconds(Int64(ttl))))
  }

  mutating func subscriptionRefreshToken(_ id: SubscriptionID, _ outcome: TokenOutcome) {
    guard let record = subscriptions[id] else { return }
    switch outcome {
    case .token(let token) where !token.isEmpty:
      subscriptions[id]?.options.token = token
      send(
        .subRefresh(channel: record.channel.string, token: token),
        for: .subscriptionRefresh(id, session: record.session))
    case .token, .refused: unsubscribe(id, LocalCode.subscriptionUnauthorized)
    case .failed: retrySubscriptionRefresh(id)
    }
  }

  mutating func retrySubscriptionRefresh(_ id: SubscriptionID) {
    effects.append(.start(.subscriptionRefresh(id), spread(10...20)))
  }

  mutating func subscriptionRefreshFailed(_ id: SubscriptionID, session: UInt64, _ error: ClientError) {
    guard subscriptions[id]?.session == session else { return }
    if error.mayPass || error.code == ClientError.tokenExpired.code {
      retrySubscriptionRefresh(id)
    } else {
      unsubscribe(id, UnsubscribeCode(code: error.code, reason: error.message))
    }
  }
}
