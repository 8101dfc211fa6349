public import Wire

/// Why an operation of ``RealtimeClient``, ``Subscription``, ``Clique`` or ``State`` failed. The description is a
/// sentence for people.
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
  /// What waits for a connection reached ``RealtimeClient/Options/maximumQueuedCalls`` or
  /// ``RealtimeClient/Options/maximumQueuedBytes``. This operation was not taken; those before it still wait.
  case queueFull(calls: Int, bytes: Int)
  /// There was no connection for ``RealtimeClient/Options/maximumQueuedTime``. Nothing was sent.
  case keptTooLong
  /// It was sent, the answer was lost, and the server may have forgotten the key by now. Look whether it was done.
  case inDoubt
  /// The operation is larger than ``RealtimeClient/Options/maximumCommandBytes``. Nothing was sent.
  case commandTooLarge(bytes: Int, limit: Int)
  /// The task was cancelled. Whether the server did it is not known.
  case cancelled
  /// There is a subscription to the channel.
  case alreadySubscribed(channel: String)
  /// The subscription ended before it had begun, or while it was waited for.
  case unsubscribed(UnsubscribeCode)
  /// The name cannot be one of a channel.
  case invalidChannel(ChannelName.Invalid)
  /// The address is none of a WebSocket.
  case invalidURL(String)
  /// TLS cannot be begun, for example because the file of authorities cannot be read.
  case tls(String)
  /// The answer is of another kind than the request.
  case unexpectedReply
  /// What was answered or published is JSON of another form than the type.
  case undecodable(String)
  /// The value cannot be written as JSON.
  case unencodable(String)
  /// Whose channel? There is no token yet, and ``RealtimeClient/Options/user`` is not set.
  case unknownUser
  /// The server answered a request for a picture with that HTTP status. With `mayPass` the same may succeed later.
  case picture(status: Int, reason: String, mayPass: Bool)
  /// The picture has more bytes than ``RealtimeClient/Options/maximumPictureBytes``.
  case pictureTooLarge(limit: Int)

  /// A sentence that says what to do.
  public var description: String {
    switch self {
    case .server(let error): error.description
    case .timedOut: "the server did not answer in time; try again"
    case .connectionLost: "the connection was lost before the answer came; try again once it is back"
    case .disconnected(let code):
      "not connected: \(code.reason) (code \(code.code)); call connect() first"
    case .tooManyCalls(let limit): "\(limit) operations wait for the server already; wait for some of them"
    case .queueFull(let calls, let bytes):
      "\(calls) operations of \(bytes) bytes wait for a connection already; try again when it is back"
    case .keptTooLong: "there was no connection for too long, and nothing was sent; try again"
    case .inDoubt: "the answer was lost, and the server may have forgotten the key by now; look whether it was done"
    case .commandTooLarge(let bytes, let limit):
      "the operation has \(bytes) bytes, and the server takes \(limit); send less"
    case .cancelled: "the operation was cancelled"
    case .alreadySubscribed(let channel):
      "this client is subscribed to \"\(channel)\" already; use that subscription or unsubscribe it first"
    case .unsubscribed(let code): "the subscription has ended: \(code.reason) (code \(code.code)); subscribe again"
    case .invalidChannel(let reason): reason.description
    case .invalidURL(let url):
      "\"\(url)\" is not a WebSocket address; give one like ws://127.0.0.1:8000/connection/websocket"
    case .tls(let reason): "TLS: \(reason)"
    case .unexpectedReply: "the server's answer does not fit the request; is it of a version that this client knows?"
    case .undecodable(let reason): "what came does not fit the type: \(reason)"
    case .unencodable(let reason): "the value cannot be written as JSON: \(reason)"
    case .unknownUser: "whose? The client has no token yet; set the option user, or connect first"
    case .picture(let status, let reason, _):
      reason.isEmpty ? "the server answered with status \(status)" : reason
    case .pictureTooLarge(let limit): "the picture has more than \(limit) bytes (maximumPictureBytes)"
    }
  }

  /// Whether the same again, after a moment, may succeed, and does no harm: nothing was done yet.
  public var mayPass: Bool {
    switch self {
    case .server(let error): error.temporary
    case .queueFull, .tooManyCalls, .keptTooLong: true
    case .picture(_, _, let mayPass): mayPass
    default: false
    }
  }
}

/// Thrown by a token provider to say that there will be no token: the connection or the subscription ends as
/// unauthorized. After any other error the client asks again later.
public struct TokenRefused: Error, Sendable {
  /// No more is said of the reason: the server sees none of it.
  public init() {}
}
