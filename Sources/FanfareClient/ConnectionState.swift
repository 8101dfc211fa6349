public import Wire

/// What ``RealtimeClient`` is doing about its connection.
public enum ConnectionState: Sendable, Equatable {
  /// It is tried, for the first time or again.
  case connecting
  /// `client` is the connection's identifier, as presence shows it to others.
  case connected(client: String)
  /// With `willReconnect` the next state is ``connecting``, after a back-off. Without, nothing happens until
  /// ``RealtimeClient/connect()`` is called again.
  case disconnected(DisconnectCode, willReconnect: Bool)
}

/// Codes that this client gives itself. The server's begin at 1000 (WebSocket's) and 3000 (the protocol's).
public enum LocalCode {
  // Of connections.
  public static let disconnectCalled = DisconnectCode(code: 0, reason: "disconnect called")
  public static let unauthorized = DisconnectCode(code: 1, reason: "unauthorized")
  public static let badProtocol = DisconnectCode(code: 2, reason: "the server's answer was not understood")
  public static let messageTooLarge = DisconnectCode(code: 3, reason: "a message was larger than the limit")
  public static let connectionLost = DisconnectCode(code: 4, reason: "connection lost")
  public static let noPing = DisconnectCode(code: 5, reason: "no ping from the server")
  public static let timedOut = DisconnectCode(code: 6, reason: "the server did not answer in time")
  public static let tokenUnavailable = DisconnectCode(code: 7, reason: "the token provider failed")
  public static let refused = DisconnectCode(code: 8, reason: "the server refused the WebSocket")

  // Of subscriptions.
  public static let unsubscribeCalled = UnsubscribeCode(code: 0, reason: "unsubscribe called")
  public static let subscriptionUnauthorized = UnsubscribeCode(code: 1, reason: "unauthorized")
  public static let slowConsumer = UnsubscribeCode(
    code: 9, reason: "events were not read in time; subscribe again since the last position that was read")
  public static let mapTooLarge = UnsubscribeCode(
    code: 19, reason: "the map has more entries than maximumEntries allows")
}

extension DisconnectCode {
  func saying(_ reason: String) -> DisconnectCode { DisconnectCode(code: code, reason: reason) }
}
