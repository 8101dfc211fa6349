import Wire

/// What a session tells the broker for webhooks: that a client is there, is subscribed, and is gone.
///
/// Only what some webhook wants is told (``SessionConfiguration/reports``). A client that is told of as gone was told
/// of as there before: both are bound to the phase `live`.
extension Session {
  mutating func reportConnected() {
    if configuration.reports.connect { report(ClientEvent(.connected, user: user, client: identity.client)) }
    // Server-side subscriptions have begun with the connection.
    for channel in subscriptions.keys.sorted() where subscriptions[channel]?.isLive == true {
      reportSubscribed(to: channel)
    }
  }

  mutating func reportSubscribed(to channel: ChannelName) {
    guard configuration.reports.subscribe?.isEmpty != true, case .success((_, let options)) = parse(channel.string),
      configuration.reports.wantsSubscriptions(to: channel, options)
    else { return }
    report(ClientEvent(.subscribed, user: user, client: identity.client, channel: channel))
  }

  /// - Parameter code: nil where the client has left by itself, or was lost.
  mutating func reportDisconnected(_ code: DisconnectCode?) {
    guard configuration.reports.disconnect else { return }
    report(
      ClientEvent(
        .disconnected, user: user, client: identity.client, code: code?.code ?? 0, reason: code?.reason ?? ""))
  }

  /// The answer says nothing, so nothing waits for it; the link repeats the request until the broker has done it.
  private mutating func report(_ event: ClientEvent) {
    lastTag &+= 1
    out.append(.request(tag: lastTag, .report(event)))
  }
}
