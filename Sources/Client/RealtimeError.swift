public import Wire

/// Why an operation of ``RealtimeClient`` or ``Subscription`` failed. The description is a sentence for people.
public enum RealtimeError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The server answered with an error. The connection stays usable.
  case server(ClientError)
  /// No answer within ``RealtimeClient/Options/timeout``. Whether the server did it is not known.
  case timedOut
  /// The connection was lost after the request had been sent. Whether the server did it is not known.
  case connectionLost
  /// The connection has ended for good or was never begun.
  case disconnected(DisconnectCode)
  /// More than ``RealtimeClient/Options/maximumCalls`` operations wait for an answer.
  case tooManyCalls(limit: Int)
  /// The task was cancelled. Whether the server did it is not known.
  case cancelled
  case alreadySubscribed(channel: String)
  case invalidChannel(ChannelName.Invalid)
  case invalidURL(String)
  /// The URL begins with `wss:`, and ``RealtimeClient/Options/tls`` is not set.
  case noTLS
  /// The answer is of another kind than the request.
  case unexpectedReply

  public var description: String {
    switch self {
    case .server(let error): error.description
    case .timedOut: "the server did not answer in time; try again"
    case .connectionLost: "the connection was lost before the answer came; try again once it is back"
    case .disconnected(let code):
      "not connected: \(code.reason) (code \(code.code)); call connect() first"
    case .tooManyCalls(let limit): "\(limit) operations wait for the server already; wait for some of them"
    case .cancelled: "the operation was cancelled"
    case .alreadySubscribed(let channel):
      "this client is subscribed to \"\(channel)\" already; use that subscription or unsubscribe it first"
    case .invalidChannel(let reason): reason.description
    case .invalidURL(let url):
      "\"\(url)\" is not a WebSocket address; give one like ws://127.0.0.1:8000/connection/websocket"
    case .noTLS: "a wss: address needs the option tls"
    case .unexpectedReply: "the server's answer does not fit the request; is it of a version that this client knows?"
    }
  }
}

/// Thrown by a token provider to say that there will be no token: the connection or the subscription ends as
/// unauthorized. After any other error the client asks again later.
public struct TokenRefused: Error, Sendable {
  public init() {}
}
