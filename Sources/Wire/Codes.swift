/// An error that a command is answered with. The connection stays usable.
///
/// Source of the numbers: protocol facts, "Codes". `temporary` tells an SDK that the same command may succeed later.
public struct ClientError: Error, Sendable, Equatable, CustomStringConvertible {
  public var code: UInt32
  public var message: String
  public var temporary: Bool
  /// The app's limit that was reached, for the broker to count; it goes over no wire. Nil: no limit was reached, or one
  /// of the server itself.
  public private(set) var limit: AppLimit?

  public init(code: UInt32, message: String, temporary: Bool = false) {
    self.code = code
    self.message = message
    self.temporary = temporary
  }

  public var description: String { "\(message) (error \(code))" }

  /// The same code with a sentence that says what to do.
  public func saying(_ message: String) -> ClientError {
    var error = self
    error.message = message
    return error
  }

  /// The same error, counted under a limit.
  public func counted(as limit: AppLimit) -> ClientError {
    var error = self
    error.limit = limit
    return error
  }

  /// Compares errors as a client sees them: the limit makes no difference.
  public static func == (a: ClientError, b: ClientError) -> Bool {
    a.code == b.code && a.temporary == b.temporary && a.message == b.message
  }

  public static let internalError = ClientError(code: 100, message: "internal server error", temporary: true)
  public static let unauthorized = ClientError(code: 101, message: "unauthorized")
  public static let unknownChannel = ClientError(code: 102, message: "unknown channel")
  public static let permissionDenied = ClientError(code: 103, message: "permission denied")
  public static let methodNotFound = ClientError(code: 104, message: "method not found")
  public static let alreadySubscribed = ClientError(code: 105, message: "already subscribed")
  public static let limitExceeded = ClientError(code: 106, message: "limit exceeded")
  public static let badRequest = ClientError(code: 107, message: "bad request")
  public static let notAvailable = ClientError(code: 108, message: "not available")
  public static let tokenExpired = ClientError(code: 109, message: "token expired")
  public static let expired = ClientError(code: 110, message: "expired")
  public static let tooManyRequests = ClientError(code: 111, message: "too many requests", temporary: true)
  public static let unrecoverablePosition = ClientError(code: 112, message: "unrecoverable position")

  // Codes of Fanfare alone (docs/PROTOCOL.md): above the numbers that the protocol reserves for itself.
  /// The same idempotency key came with another body.
  public static let idempotencyConflict = ClientError(
    code: 400, message: "this idempotency_key was used with other data; use a new key for a new publication")
}

/// Why a connection ends: the WebSocket close code, and what the client does then.
public struct DisconnectCode: Sendable, Hashable {
  public var code: UInt16
  public var reason: String

  public init(code: UInt16, reason: String) {
    self.code = code
    self.reason = reason
  }

  /// Whether the client reconnects: it does below 3500, from 4000 to 4499 and from 5000; other codes are final
  /// (protocol facts, "Codes").
  public var clientReconnects: Bool { code < 3500 || (4000...4499).contains(code) || code >= 5000 }

  public static let normal = DisconnectCode(code: 3000, reason: "connection closed")
  public static let shutdown = DisconnectCode(code: 3001, reason: "shutdown")
  public static let serverError = DisconnectCode(code: 3004, reason: "internal server error")
  public static let expired = DisconnectCode(code: 3005, reason: "connection expired")
  public static let slow = DisconnectCode(code: 3008, reason: "slow")
  public static let insufficientState = DisconnectCode(code: 3010, reason: "insufficient state")
  public static let forceReconnect = DisconnectCode(code: 3011, reason: "force reconnect")
  public static let noPong = DisconnectCode(code: 3012, reason: "no pong")
  public static let tooManyRequests = DisconnectCode(code: 3013, reason: "too many requests")
  public static let stateInvalidated = DisconnectCode(code: 3014, reason: "state invalidated")
  public static let invalidToken = DisconnectCode(code: 3500, reason: "invalid token")
  public static let badRequest = DisconnectCode(code: 3501, reason: "bad request")
  public static let stale = DisconnectCode(code: 3502, reason: "stale")
  public static let forceDisconnect = DisconnectCode(code: 3503, reason: "force disconnect")
  public static let connectionLimit = DisconnectCode(code: 3504, reason: "connection limit")
  public static let channelLimit = DisconnectCode(code: 3505, reason: "channel limit")
  public static let permissionDenied = DisconnectCode(code: 3507, reason: "permission denied")
  public static let notAvailable = DisconnectCode(code: 3508, reason: "not available")
  public static let tooManyErrors = DisconnectCode(code: 3509, reason: "too many errors")
}

/// Why a client-side subscription ends while the connection lives on. From 2500 the client resubscribes.
public struct UnsubscribeCode: Sendable, Hashable {
  public var code: UInt32
  public var reason: String

  public init(code: UInt32, reason: String) {
    self.code = code
    self.reason = reason
  }

  public static let server = UnsubscribeCode(code: 2000, reason: "server unsubscribe")
  public static let insufficient = UnsubscribeCode(code: 2500, reason: "insufficient state")
  public static let expired = UnsubscribeCode(code: 2501, reason: "subscription expired")
  public static let invalidated = UnsubscribeCode(code: 2502, reason: "state invalidated")
}
