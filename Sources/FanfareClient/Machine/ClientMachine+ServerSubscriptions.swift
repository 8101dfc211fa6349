internal import Wire

/// Subscriptions that the server made for this connection.
extension ClientMachine {
  /// The subscriptions of a new connection. One that was there before and is not any more has ended.
  mutating func serverSubscribed(_ results: [String: ClientReply.SubscribeResult]) {
    var names: [(ChannelName, ClientReply.SubscribeResult)] = []
    for (string, result) in results {
      if let channel = try? ChannelName(string, limit: .max) { names.append((channel, result)) }
    }
    names.sort { $0.0 < $1.0 }
    let kept = Set(names.map(\.0))
    for channel in serverSubscriptions.keys.sorted() where !kept.contains(channel) {
      serverUnsubscribed(channel)
    }
    for (channel, result) in names {
      let position = StreamPosition(epoch: result.epoch, offset: result.offset)
      let isPositioned = result.recoverable || result.positioned
      serverSubscriptions[channel] = .some(result.recoverable ? position : nil)
      effects.append(
        .serverEvent(
          .subscribed(
            channel: channel.string, position: isPositioned ? position : nil, wasRecovering: result.wasRecovering,
            recovered: result.recovered)))
      if let gap = result.gap { effects.append(.serverEvent(.gap(channel: channel.string, gap))) }
      for publication in result.publications {
        effects.append(.serverEvent(.publication(channel: channel.string, publication)))
      }
    }
  }

  mutating func serverSubscribed(
    _ channel: ChannelName, recoverable: Bool, positioned: Bool, _ position: StreamPosition
  ) {
    serverSubscriptions[channel] = .some(recoverable ? position : nil)
    effects.append(
      .serverEvent(
        .subscribed(
          channel: channel.string, position: recoverable || positioned ? position : nil, wasRecovering: false,
          recovered: false)))
  }

  mutating func serverUnsubscribed(_ channel: ChannelName) {
    guard serverSubscriptions.removeValue(forKey: channel) != nil else { return }
    effects.append(.serverEvent(.unsubscribed(channel: channel.string)))
  }
}
