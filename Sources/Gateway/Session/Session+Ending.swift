import Auth
import DequeModule
import Wire

/// How sessions and subscriptions end from the server's side.
extension Session {
  /// - Parameter code: nil where the transport is gone already.
  mutating func end(_ code: DisconnectCode?) {
    guard phase != .closed else { return }
    let wasLive = phase == .live || phase == .leaving
    phase = .closed
    let holdsFrames = attempt?.subs.isEmpty == false
    attempt = nil
    waiting = []
    publishPaced(endingWith: code)
    releaseEverything(code)
    if wasLive { reportDisconnected(code) }
    if holdsFrames { out.append(.discardHeld) }
    if let code { out.append(.close(code)) }
  }

  /// The server ends, and the client's slot comes in so many milliseconds. SDKs that do not know the push are told
  /// nothing: they are closed at their slot, which makes them come back.
  mutating func slotComes(after milliseconds: Int64) {
    guard phase == .live, leavesAtSlot, !isDraining else { return }
    send(.push(.reconnect(afterMilliseconds: UInt32(clamping: milliseconds))))
  }

  /// Leaves nothing behind: not in the hub, not at the broker. In the order of the names, so that a simulation can be
  /// replayed.
  ///
  /// - Parameter code: why the server ends the connection; nil: it does not.
  mutating func releaseEverything(_ code: DisconnectCode?) {
    for (channel, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) where subscription.isLive {
      if subscription.grant?.poll != nil {
        leavePoll(channel, subscription)
        continue
      }
      noteEnd(of: channel, code == nil ? .gone : .disconnected, code: UInt32(code?.code ?? 0))
      out.append(.detach(channel))
      unsubscribeAtBroker(channel, member(of: subscription))
    }
    subscriptions = [:]
    // Read before the closure, which may not look at the session while it changes a part of it.
    let (user, client, connectionInfo) = (user, identity.client, connectionInfo)
    let isLeaving = phase == .leaving
    pending.updateValues { operation in
      switch operation {
      case .subscribe(let order):
        .abandoned(
          order.channel,
          member: order.sendsMember
            ? ClientInfo(user: user, client: client, connectionInfo: connectionInfo, channelInfo: order.grant.info)
            : nil)
      case .abandoned: operation
      case .call(_, .farewell) where isLeaving: operation
      default: nil
      }
    }
  }

  /// Publications of the channel are missing, though they were acknowledged. A client that was promised all of them is
  /// made to subscribe anew: with a position to recover, without one to hear of it. A subscription still under way is
  /// not concerned: its answer brings a fresh position.
  mutating func channelLost(_ channel: ChannelName) {
    guard let subscription = subscriptions[channel], subscription.isLive, subscription.traits.contains(.toldOfLoss)
    else { return }
    if subscription.traits.contains(.serverSide) { return end(.insufficientState) }
    remove(channel, subscription, telling: .internalError, because: .lost)
    send(.push(.unsubscribe(channel: channel.string, .insufficient)))
  }

  /// Ends the connection if its newest token is revoked, else the subscriptions that it got by revoked tokens. A check
  /// that is still under way finds out by itself.
  ///
  /// A user who is suspended is sent away, with or without a token.
  mutating func tokensRevoked(_ tokens: RevocationTable) {
    if tokens.suspension(of: user) != nil || (token.map { tokens.refuses($0, of: user) } ?? false) {
      if phase == .connecting {
        out.append(.signInRefused(.invalidToken, "the token was revoked while the client signed in"))
      }
      return sendAway(.invalidToken)
    }
    for (channel, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
      guard let token = subscription.grant?.token, tokens.refuses(token, of: user, channel: channel.string) else {
        continue
      }
      removeSubscription(channel, .server)
    }
  }

  /// Whoever has asked for the deletion of their own data is sent away by it, in one partition before others have answered.
  mutating func sendAway(_ code: DisconnectCode) {
    if phase == .leaving { return }
    guard phase == .live, pending.contains(where: { if case .call(_, .farewell) = $0 { true } else { false } }) else {
      return end(code)
    }
    phase = .leaving
    waiting = []
    // The request that is waited for has an end of its own.
    (timers.ping, timers.pong, timers.expiry) = (.max, .max, .max)
    publishPaced(endingWith: code)
    releaseEverything(code)
  }

  /// Somebody takes the subscription away. A client that was only about to get it is refused; where the connect itself
  /// is under way, the client has to come back.
  ///
  /// - Parameter cause: for the file of intervals.
  mutating func removeSubscription(
    _ channel: ChannelName, _ code: UnsubscribeCode, because cause: CoverageEnd.Cause = .removed
  ) {
    guard let subscription = subscriptions[channel] else { return endPresenceMaps(of: channel) }
    if phase == .connecting { return end(.forceReconnect) }
    // With `insufficient` the client is to come back at once, and a server-side subscription comes back only with a
    // connection.
    let comesBack = code == .insufficient
    if comesBack, subscription.isServerSide { return end(.insufficientState) }
    let wasLive = subscription.isLive
    paced.forget(channel)
    remove(
      channel, subscription, telling: comesBack ? .internalError : .permissionDenied, because: cause, code: code.code)
    if wasLive { send(.push(.unsubscribe(channel: channel.string, code))) }
  }
}
