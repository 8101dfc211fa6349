public import Wire

/// What a connection token grants: the result of a successful check, never the token itself.
public struct ConnectionClaims: Sendable, Equatable {
  /// The token's `sub`; empty for an anonymous connection.
  public var user: String
  /// Seconds since 1970; nil: the connection never expires.
  public var expiresAt: Int64?
  /// The token's `info`, raw JSON; shown to others in presence, joins and publications.
  public var info: [UInt8]?
  /// The token's `meta`, raw JSON; never shown to clients.
  public var meta: [UInt8]?
  /// Server-side subscriptions from `channels` and `subs`, by channel name.
  public var subscriptions: [String: SubscriptionGrant]
  /// What the token can be revoked by; nil: there was no token.
  public var token: TokenIdentity?

  public init(
    user: String, expiresAt: Int64? = nil, info: [UInt8]? = nil, meta: [UInt8]? = nil,
    subscriptions: [String: SubscriptionGrant] = [:], token: TokenIdentity? = nil
  ) {
    self.token = token
    self.user = user
    self.expiresAt = expiresAt
    self.info = info
    self.meta = meta
    self.subscriptions = subscriptions
  }
}

/// What a token says of one subscription. Nil in an override leaves the namespace's option as it is.
public struct SubscriptionGrant: Sendable, Equatable {
  /// Raw JSON, the subscriber's `chan_info`.
  public var info: [UInt8]?
  /// Raw JSON given to the subscriber in the subscribe result.
  public var data: [UInt8]?
  public var presence: Bool?
  public var joinLeave: Bool?
  public var forcePushJoinLeave: Bool?
  public var forceRecovery: Bool?
  public var forcePositioning: Bool?

  public init() {}
}

/// What a subscription token grants.
public struct SubscriptionClaims: Sendable, Equatable {
  /// The token's `sub`: must be the connection's user.
  public var user: String
  /// The token's `channel`: must be the channel asked for.
  public var channel: String
  /// When the subscription expires (`expire_at`, else `exp`), in seconds since 1970; nil: never. `expire_at` of 0 says
  /// never, whatever `exp` says.
  public var expiresAt: Int64?
  public var grant: SubscriptionGrant
  /// What it can be revoked by.
  public var token: TokenIdentity?

  public init(
    user: String, channel: String, expiresAt: Int64? = nil, grant: SubscriptionGrant = .init(),
    token: TokenIdentity? = nil
  ) {
    self.token = token
    self.user = user
    self.channel = channel
    self.expiresAt = expiresAt
    self.grant = grant
  }
}

/// What a place token says: that somebody is in a place, for a short time. A backend that knows so signs it.
public struct PlaceClaims: Sendable, Equatable {
  /// The token's `sub`: must be the connection's user. Never empty.
  public var user: String
  /// The token's `place`: must be the place that is entered. Never empty.
  public var place: String
  /// The token's `exp`, in seconds since 1970: until when the place can be entered by it, any number of times.
  public var expiresAt: Int64
  /// What it can be revoked by.
  public var token: TokenIdentity?

  /// Seconds that a place token may hold at most: somebody who has left the place must not be able to come back from a
  /// desk.
  public static let longestLifetime: Int64 = 900

  public init(user: String, place: String, expiresAt: Int64, token: TokenIdentity? = nil) {
    self.user = user
    self.place = place
    self.expiresAt = expiresAt
    self.token = token
  }
}

/// Why a token was refused.
public enum TokenError: Error, Sendable, Equatable {
  /// The token is well signed and too old: error 109, upon which the SDK asks its application for a new one.
  case expired
  /// The token is wrong in any other way. The reason is for the server's log at debug level, and holds no part of the
  /// token.
  case invalid(reason: String)
  /// The keys could not be read now (a JWKS address that does not answer): error 100, temporary.
  case unavailable(reason: String)
}

/// Checks tokens. Event loops call it through a task, since a check may wait for a key set to be read.
public protocol TokenVerifier: Sendable {
  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims
  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims
  func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims
}

extension TokenVerifier {
  /// Refuses every place token: for verifiers that know nothing of places.
  public func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims {
    throw .invalid(reason: "place tokens are not checked here")
  }
}
