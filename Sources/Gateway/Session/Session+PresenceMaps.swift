import Wire

/// Presence as a map, on the gateway's side.
extension Session {
  /// Ends the subscriptions to maps that show who is on a channel, where the client may see its presence no more,
  /// because it is no longer subscribed to the channel. A subscription that a token, the backend or the server made
  /// stays.
  ///
  /// Whoever is put out of a channel would otherwise go on hearing who comes and goes there.
  mutating func endPresenceMaps(of subject: ChannelName) {
    guard phase == .live else { return }
    for namespace in rules.namespaces.presenceMaps {
      guard case .success((let channel, let options)) = parse("\(namespace):\(subject)"),
        let subscription = subscriptions[channel], subscription.isHeldByAccess,
        !access(to: channel, options, nil).maySubscribeWithoutToken
      else { continue }
      removeSubscription(channel, .server)
    }
  }
}

extension SessionSubscription {
  /// Whether nothing but what the client may do keeps the subscription.
  fileprivate var isHeldByAccess: Bool {
    guard !isServerSide, grant?.token == nil else { return false }
    switch phase {
    case .live, .subscribing: return true
    case .checkingToken, .abandoned: return false
    }
  }
}
