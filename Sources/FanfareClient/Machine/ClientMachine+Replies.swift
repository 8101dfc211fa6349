internal import Wire

/// What the server says.
extension ClientMachine {
  mutating func receive(_ reply: ClientReply) {
    switch reply {
    case .serverPing: receivedPing()
    case .push(let push): if phase == .connected { receive(push) } else { receiveEarly(push) }
    default:
      guard let id = reply.id, let waiting = pending.removeValue(forKey: id) else { return }
      effects.append(.stop(.command(id)))
      answer(waiting, with: reply)
      leaveIfSlotHasCome()
    }
  }

  private mutating func answer(_ waiting: Pending, with reply: ClientReply) {
    switch (waiting, reply) {
    case (.call(let id), _): callAnswered(id, with: reply)
    case (.connect, .connect(_, let result)): connected(result)
    case (.connect, .error(_, let error)): connectFailed(error)
    case (.refresh, .refresh(_, let result)): scheduleRefresh(expires: result.expires, ttl: result.ttl)
    case (.refresh, .error(_, let error)): refreshFailed(error)
    case (.subscribe(let id, let session), .subscribe(_, let result)): subscribed(id, session: session, result)
    case (.subscribe(let id, let session), .error(_, let error)): subscribeFailed(id, session: session, error)
    case (.unsubscribe, .unsubscribe): break
    // Whether the server still has the subscription is not known: the client connects anew, and begins with none.
    case (.unsubscribe, .error(_, let error)): lose(LocalCode.connectionLost.saying(error.message))
    case (.subscriptionRefresh(let id, let session), .subRefresh(_, let expires, let ttl, _)):
      if subscriptions[id]?.session == session { scheduleSubscriptionRefresh(id, expires: expires, ttl: ttl) }
    case (.subscriptionRefresh(let id, let session), .error(_, let error)):
      subscriptionRefreshFailed(id, session: session, error)
    default: end(LocalCode.badProtocol)
    }
  }

  mutating func commandTimedOut(_ id: UInt32) {
    switch pending.removeValue(forKey: id) {
    case .subscribe, .unsubscribe: lose(LocalCode.timedOut)
    case .refresh: retryRefresh()
    case .subscriptionRefresh(let id, let session):
      if subscriptions[id]?.session == session { retrySubscriptionRefresh(id) }
    case .connect, .call, nil: break  // Connecting and calls have timers of their own.
    }
  }

  // MARK: Pushes

  private mutating func receive(_ push: ClientPush) {
    switch push {
    case .publication(let channel, let publication, _): published(on: channel, publication)
    case .join(let channel, let info): deliver(on: channel, .join(info), .join(channel: channel, info))
    case .leave(let channel, let info): deliver(on: channel, .leave(info), .leave(channel: channel, info))
    case .unsubscribe(let string, let code):
      guard let channel = try? ChannelName(string, limit: .max) else { return }
      if let id = subscriptionsByChannel[channel] {
        unsubscribedByServer(id, code)
      } else {
        serverUnsubscribed(channel)
      }
    case .message(let data): effects.append(.serverEvent(.message(data)))
    case .subscribe(let string, let recoverable, let positioned, let position, _):
      guard let channel = try? ChannelName(string, limit: .max) else { return }
      serverSubscribed(channel, recoverable: recoverable, positioned: positioned, position)
    case .disconnect(let code): closed(code: code.code, reason: code.reason)
    case .refresh(let expires, let ttl): scheduleRefresh(expires: expires, ttl: ttl)
    case .reconnect(let milliseconds): slotIs(after: milliseconds)
    }
  }

  /// Before the connect reply only a disconnect means something.
  private mutating func receiveEarly(_ push: ClientPush) {
    if case .disconnect(let code) = push { closed(code: code.code, reason: code.reason) }
  }

  private mutating func published(on string: String, _ publication: Publication) {
    guard let channel = try? ChannelName(string, limit: .max) else { return }
    if let id = subscriptionsByChannel[channel] {
      // A publication before the answer to our subscribe belongs to an earlier subscription to the channel.
      guard subscriptions[id]?.phase == .subscribed else { return }
      if let position = subscriptions[id]?.position, publication.offset > 0 {
        // It was handed on with what was recovered.
        if publication.offset <= position.offset { return }
        subscriptions[id]?.position?.offset = publication.offset
      }
      effects.append(.event(id, .publication(publication)))
      witness(channel, publication)
    } else if let position = serverSubscriptions[channel] {
      if var position, publication.offset > 0 {
        position.offset = publication.offset
        serverSubscriptions[channel] = position
      }
      effects.append(.serverEvent(.publication(channel: string, publication)))
    }
  }

  private mutating func deliver(on string: String, _ event: SubscriptionEvent, _ serverEvent: ServerEvent) {
    guard let channel = try? ChannelName(string, limit: .max) else { return }
    if let id = subscriptionsByChannel[channel] {
      if subscriptions[id]?.phase == .subscribed { effects.append(.event(id, event)) }
    } else if serverSubscriptions[channel] != nil {
      effects.append(.serverEvent(serverEvent))
    }
  }
}

extension ClientReply {
  /// The command that is answered; nil for what comes unasked.
  var id: UInt32? {
    switch self {
    case .connect(let id, _), .subscribe(let id, _), .unsubscribe(let id), .publish(let id), .presence(let id, _, _),
      .presenceStats(let id, _, _), .history(let id, _), .ping(let id), .rpc(let id, _), .refresh(let id, _),
      .subRefresh(let id, _, _, _), .error(let id, _):
      id
    case .serverPing, .push: nil
    }
  }
}
