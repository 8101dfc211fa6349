import Wire
import Cryptography
import Foundation

/// Makes tokens signed with HS256: for `fanfare token`, for tests and for trying things out. An application makes its
/// tokens itself, in its own backend.
public struct TokenMinter: Sendable {
  /// `info`, `meta` or `data` was given something that is not JSON.
  public struct NotJSON: Error, Equatable, CustomStringConvertible {
    public let claim: String

    public init(claim: String) { self.claim = claim }

    public var description: String { "\(claim) is not JSON; write for example {\"name\":\"Ada\"}" }
  }

  private let secret: SecretKey
  private let audience: String?
  private let issuer: String?
  private let now: @Sendable () -> Int64
  private let newID: @Sendable () -> String

  /// - Parameters:
  ///   - hmacSecret: the verifier's secret, at least 32 bytes.
  ///   - audience: written as `aud`; must be what the verifier asks for.
  ///   - issuer: written as `iss`.
  ///   - now: the wall clock, in seconds since 1970.
  ///   - newID: makes a `jti` that no other token has.
  public init(
    hmacSecret: String, audience: String? = nil, issuer: String? = nil,
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) },
    newID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
  ) throws(VerifierConfigurationError) {
    secret = SecretKey(try JWTVerifier.secret(hmacSecret))
    self.audience = audience
    self.issuer = issuer
    self.now = now
    self.newID = newID
  }

  /// - Parameters:
  ///   - expiresIn: seconds; nil: the connection never expires.
  ///   - channels: server-side subscriptions.
  ///   - info: raw JSON, shown to others.
  ///   - meta: raw JSON, shown to nobody.
  public func connectionToken(
    user: String, expiresIn: Int64?, channels: [String] = [], info: [UInt8]? = nil, meta: [UInt8]? = nil
  ) throws -> String {
    var claims = standardClaims(user: user, expiresIn: expiresIn)
    if !channels.isEmpty {
      claims.append(("channels", "[" + channels.map(JSONText.quoted).joined(separator: ",") + "]"))
    }
    try append("info", info, to: &claims)
    try append("meta", meta, to: &claims)
    return sign(claims)
  }

  /// - Parameters:
  ///   - expiresIn: seconds; nil: the subscription never expires.
  ///   - info: raw JSON, the subscriber's `chan_info`.
  ///   - data: raw JSON, given to the subscriber.
  public func subscriptionToken(
    user: String, channel: String, expiresIn: Int64?, info: [UInt8]? = nil, data: [UInt8]? = nil
  ) throws -> String {
    var claims = standardClaims(user: user, expiresIn: expiresIn)
    claims.append(("channel", JSONText.quoted(channel)))
    try append("info", info, to: &claims)
    try append("data", data, to: &claims)
    return sign(claims)
  }

  /// - Parameters:
  ///   - expiresIn: seconds, at most ``PlaceClaims/longestLifetime``.
  public func placeToken(user: String, place: String, expiresIn: Int64) -> String {
    sign(standardClaims(user: user, expiresIn: expiresIn) + [("place", JSONText.quoted(place))])
  }

  private func standardClaims(user: String, expiresIn: Int64?) -> [(String, String)] {
    let time = now()
    var claims = [("sub", JSONText.quoted(user)), ("jti", JSONText.quoted(newID())), ("iat", String(time))]
    if let expiresIn {
      let (expiry, overflow) = time.addingReportingOverflow(expiresIn)
      claims.append(("exp", String(overflow ? Int64.max : expiry)))
    }
    if let audience { claims.append(("aud", JSONText.quoted(audience))) }
    if let issuer { claims.append(("iss", JSONText.quoted(issuer))) }
    return claims
  }

  private func append(_ name: String, _ json: [UInt8]?, to claims: inout [(String, String)]) throws {
    guard let json else { return }
    guard let value = try? JSONValue(parsing: json, equalKeys: .refused) else { throw NotJSON(claim: name) }
    claims.append((name, value.text))
  }

  private func sign(_ claims: [(String, String)]) -> String {
    let payload = "{" + claims.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    let header = #"{"alg":"HS256","typ":"JWT"}"#
    let signed = Base64.url.text(header.utf8) + "." + Base64.url.text(payload.utf8)
    return signed + "." + Base64.url.text(Digest.sha256.authenticate(Array(signed.utf8), with: secret))
  }
}
