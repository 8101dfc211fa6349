/// One HTTP request that the server makes of somebody else.
public struct HTTPCall: Sendable {
  /// In upper case: `POST`.
  public var method: String
  /// With `http` or `https`, and without a user and password: these would stand in every log.
  public var url: String
  /// Names may come more than once. What HTTP itself sets (`Host`, `Content-Length`, `Connection` and the like) may not
  /// be among them.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// For the whole call, from ``HTTPClient/send(_:then:)`` to the last byte of the reply, the wait for a free
  /// connection included.
  public var timeoutMilliseconds: Int

  public init(
    method: String = "POST", url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    timeoutMilliseconds: Int
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeoutMilliseconds = timeoutMilliseconds
  }
}

/// A whole reply, whatever its status. A redirect is a reply like any other: nobody follows it.
public struct HTTPReply: Sendable {
  public var status: Int
  public var body: [UInt8]
  /// What the reply's `Retry-After` asks for, in seconds, be it written so or as a date; nil: nothing.
  public var retryAfterSeconds: Int64?
  /// The reply's `Content-Range`, as it was sent; nil: it has none, or several.
  public var contentRange: String?

  public init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

/// That there is no reply, and what that says of the one who was called.
public struct HTTPCallFailure: Error, Sendable, Equatable {
  public var error: HTTPCallError
  /// Whether some of the request may have gone out, so that whoever was called may have done what it was asked for.
  /// False: nothing was sent.
  public var mayHaveGoneOut: Bool

  public init(_ error: HTTPCallError, mayHaveGoneOut: Bool) {
    self.error = error
    self.mayHaveGoneOut = mayHaveGoneOut
  }

  /// Of a call of which nothing was sent.
  static func unsent(_ error: HTTPCallError) -> HTTPCallFailure { HTTPCallFailure(error, mayHaveGoneOut: false) }
}

/// Why there is no reply.
public enum HTTPCallError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The call cannot be sent as it is, and trying again does not help: its URL, method or a header is not valid. With
  /// the reason.
  case badURL(String)
  /// The URL leads to an address that may not be called. With the address and what it is.
  case refusedAddress(String)
  /// No connection, or it ended before the reply was whole. With the reason. Whoever was called may have done what it
  /// was asked for.
  case unreachable(String)
  /// The time of the call was over. Whoever was called may have done what it was asked for.
  case timedOut
  /// The reply has more bytes than it may have.
  case tooLarge(limit: Int)
  /// As many calls as may wait wait already.
  case tooMany
  /// The client was closed before there was a reply.
  case closed

  public var description: String {
    switch self {
    case .badURL(let reason): "the call cannot be sent: \(reason)"
    case .refusedAddress(let address):
      "the address \(address) may not be called; allow private addresses where it is meant"
    case .unreachable(let reason): "there was no reply: \(reason)"
    case .timedOut: "there was no reply in time"
    case .tooLarge(let limit): "the reply has more than the \(limit) bytes that it may have"
    case .tooMany: "too many calls wait already"
    case .closed: "the server is ending"
    }
  }
}
