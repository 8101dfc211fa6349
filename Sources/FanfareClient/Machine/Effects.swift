internal import Wire

typealias SubscriptionID = UInt64
typealias CallID = UInt64

/// What the world tells ``ClientMachine``.
enum Input {
  case connect
  case disconnect
  /// What the transport of that attempt tells; an event from an older attempt changes nothing.
  case transport(attempt: UInt64, TransportEvent)
  case elapsed(ClientTimer)
  case token(TokenRequest, TokenOutcome)
  case subscribe(SubscriptionID, ChannelName, SubscriptionOptions)
  case unsubscribe(SubscriptionID)
  /// The subscription's reader is too far behind.
  case overflowed(SubscriptionID)
  case call(CallID, ClientCommand.Body, CallOptions = .init())
  case cancel(CallID)
}

enum TransportEvent: Equatable {
  case opened
  case received(ClientReply)
  /// The connection could not be opened, or broke, for a reason that may pass.
  case failed(String)
  /// The server answered the upgrade with something else.
  case refused(status: UInt)
  /// The server sent something that is not the protocol.
  case malformed(String)
  case tooLarge
  /// The code is nil where no Close frame came.
  case closed(code: UInt16?, reason: String)
}

enum ClientTimer: Hashable {
  /// Limits opening the transport and authenticating together.
  case connect
  case reconnect
  /// The server ends, and this client's time to connect anew comes.
  case slot
  case ping
  case refresh
  /// Limits the wait for the answer to a command that the machine sent for itself.
  case command(UInt32)
  case call(CallID)
  /// Limits how long a call is kept.
  case keep(CallID)
  /// Limits the wait for the answer to one try of a call that is kept.
  case answer(CallID)
  /// Waits to try a call again.
  case pause(CallID)
  /// The server may forget the key of a call.
  case old(CallID)
  case resubscribe(SubscriptionID)
  case subscriptionRefresh(SubscriptionID)
}

/// What a token is for. The attempt and the session tell a late answer of the provider from the one that is waited for.
enum TokenRequest: Hashable {
  case connect(attempt: UInt64)
  case refresh(attempt: UInt64)
  case subscribe(SubscriptionID, session: UInt64)
  case subscriptionRefresh(SubscriptionID, session: UInt64)
}

enum TokenOutcome: Equatable {
  case token(String)
  case refused
  case failed
}

/// What ``ClientMachine`` wants done, in order.
enum Effect: Equatable {
  case open(attempt: UInt64)
  case close
  case send(ClientCommand)
  /// Replaces a timer of the same name.
  case start(ClientTimer, Duration)
  case stop(ClientTimer)
  case fetchToken(TokenRequest)
  case state(ConnectionState)
  /// `unsubscribed` is the subscription's last event.
  case event(SubscriptionID, SubscriptionEvent)
  /// What a map holds, after its `subscribed` event.
  case contents(SubscriptionID, MapContents)
  case serverEvent(ServerEvent)
  case complete(CallID, Result<ClientReply, RealtimeError>)
  /// The call was done: what it says stands in its channel.
  case witnessed(CallID, offset: UInt64)
}
