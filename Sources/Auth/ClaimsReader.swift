import Wire

/// Reads the claims of a token whose signature is checked. Pure: time, audience and issuer are given.
struct ClaimsReader {
  /// What `aud` must name; nil: it is not checked.
  let audience: String?
  let issuer: String?
  /// A token without `exp` is refused.
  var requiresExpiry = false
  /// Seconds for which a token, and what it grants, may hold at most; nil: for as long as the token says.
  var maximumLifetime: Int64?
  /// Seconds since 1970.
  let now: Int64

  func connection(_ claims: JSONObject) throws(TokenError) -> ConnectionClaims {
    // A client that was given a token for one channel must not be able to connect with it.
    guard !claims.has("channel") else { throw .invalid(reason: "this is a subscription token, not a connection token") }
    guard !claims.has("place") else { throw .invalid(reason: "this is a place token, not a connection token") }
    let (token, expiresAt) = try checkedTimes(claims)
    var result = ConnectionClaims(user: try user(claims), expiresAt: expiresAt, token: token)
    result.info = claims["info"]?.singleLine
    result.meta = claims["meta"]?.singleLine
    result.subscriptions = try subscriptions(claims)
    return result
  }

  func subscription(_ claims: JSONObject) throws(TokenError) -> SubscriptionClaims {
    guard !claims.has("place") else { throw .invalid(reason: "this is a place token, not a subscription token") }
    guard let channel = claims["channel"]?.string, !channel.isEmpty else {
      throw .invalid(reason: "the claim channel is missing or not a string")
    }
    let (token, expiry) = try checkedTimes(claims)
    var result = SubscriptionClaims(user: try user(claims), channel: channel, expiresAt: expiry, token: token)
    if let until = try seconds("expire_at", of: claims, rounded: .down) {
      if until != 0, until <= now { throw .expired }
      result.expiresAt = until == 0 ? nil : until
      // A subscription that outlives every token would outlive every revocation, too.
      try checkLifetime(until: result.expiresAt, of: token, saidBy: "expire_at")
    }
    result.grant = try grant(claims)
    return result
  }

  /// The claims of a place token. A client that was given a token to be somewhere must not be able to connect with it,
  /// nor enter a place with a token to connect.
  func place(_ claims: JSONObject) throws(TokenError) -> PlaceClaims {
    guard let place = claims["place"]?.string, !place.isEmpty else {
      throw .invalid(reason: "the claim place is missing or not a string")
    }
    for grant in ["channel", "channels", "subs"] where claims.has(grant) {
      throw .invalid(reason: "a place token grants no channels, and this one has the claim \(grant)")
    }
    let user = try user(claims)
    guard !user.isEmpty else { throw .invalid(reason: "a place token is for somebody, and this one has no sub") }
    guard claims.has("exp") else { throw .invalid(reason: "a place token needs an end (exp)") }
    let (token, expiry) = try checkedTimes(claims)
    guard let expiry, ends(by: expiry, of: token, noLongerThan: PlaceClaims.longestLifetime) else {
      throw .invalid(reason: "exp of a place token is at most \(PlaceClaims.longestLifetime) seconds away")
    }
    return PlaceClaims(user: user, place: place, expiresAt: expiry, token: token)
  }

  /// Checks whom the token is for and when it holds. Expiry comes last: a token that is wrong otherwise is never
  /// reported as merely expired.
  private func checkedTimes(_ claims: JSONObject) throws(TokenError) -> (TokenIdentity, expiry: Int64?) {
    try checkAudience(claims)
    if let issuer {
      guard let claim = claims["iss"]?.string, claim.hasSameBytes(as: issuer) else {
        throw .invalid(reason: "the claim iss is not the configured issuer")
      }
    }
    let token = TokenIdentity(id: try tokenID(claims), issuedAt: try seconds("iat", of: claims, rounded: .down))
    if let notBefore = try seconds("nbf", of: claims, rounded: .up), now < notBefore {
      throw .invalid(reason: "the token is not valid yet (nbf)")
    }
    let expiry = try seconds("exp", of: claims, rounded: .down)
    if requiresExpiry, expiry == nil {
      throw .invalid(reason: "the token has no end (exp), and token.require_exp is on")
    }
    if let expiry, expiry <= now { throw .expired }
    try checkLifetime(until: expiry, of: token, saidBy: "exp")
    return (token, expiry)
  }

  /// The token's `jti`; nil where it has none. One that is no string is refused, since nobody could revoke the token by
  /// it.
  private func tokenID(_ claims: JSONObject) throws(TokenError) -> String? {
    guard claims.has("jti") else { return nil }
    guard let id = claims["jti"]?.string else { throw .invalid(reason: "the claim jti is not a string") }
    return id.isEmpty ? nil : id
  }

  /// Refuses an end beyond the longest lifetime, which is counted from `iat`, or from now where there is none. An `iat`
  /// in the future, of an issuer whose clock is ahead, is believed for no more than the leeway.
  private func checkLifetime(until end: Int64?, of token: TokenIdentity, saidBy claim: String) throws(TokenError) {
    guard let maximumLifetime else { return }
    guard let end else {
      throw .invalid(reason: "\(claim) sets no end, and token.max_lifetime is set")
    }
    guard ends(by: end, of: token, noLongerThan: maximumLifetime) else {
      throw .invalid(reason: "\(claim) is further away than token.max_lifetime allows")
    }
  }

  private func ends(by end: Int64, of token: TokenIdentity, noLongerThan lifetime: Int64) -> Bool {
    let longest = saturating(now, plus: saturating(lifetime, plus: VerifierConfiguration.clockLeeway))
    return end <= longest && end <= saturating(token.issuedAt ?? longest, plus: lifetime)
  }

  private func saturating(_ a: Int64, plus b: Int64) -> Int64 {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? (b > 0 ? .max : .min) : sum
  }

  private func checkAudience(_ claims: JSONObject) throws(TokenError) {
    guard let audience else { return }
    let claim = claims["aud"]
    let names = claim?.string.map { [$0] } ?? claim?.array?.compactMap(\.string) ?? []
    guard names.contains(where: { $0.hasSameBytes(as: audience) }) else {
      throw .invalid(reason: "the claim aud does not name the configured audience")
    }
  }

  private func seconds(
    _ name: String, of claims: JSONObject, rounded rule: FloatingPointRoundingRule
  ) throws(TokenError) -> Int64? {
    guard claims.has(name) else { return nil }
    guard let seconds = claims[name]?.seconds(rounded: rule) else {
      throw .invalid(reason: "the claim \(name) is not a number of seconds")
    }
    return seconds
  }

  private func user(_ claims: JSONObject) throws(TokenError) -> String {
    guard let claim = claims["sub"] else { return "" }
    guard let user = claim.string else { throw .invalid(reason: "the claim sub is not a string") }
    return user
  }

  /// The subscriptions that the claims grant: `channels` names channels; `subs` says more of each, and wins where both
  /// name one.
  private func subscriptions(_ claims: JSONObject) throws(TokenError) -> [String: SubscriptionGrant] {
    var grants: [String: SubscriptionGrant] = [:]
    if let channels = claims["channels"] {
      guard let elements = channels.array else { throw .invalid(reason: "the claim channels is not an array") }
      for element in elements {
        guard let name = element.string else { throw .invalid(reason: "the claim channels holds no string") }
        try insert(SubscriptionGrant(), for: name, into: &grants)
      }
    }
    if let subs = claims["subs"] {
      guard let object = subs.object else { throw .invalid(reason: "the claim subs is not an object") }
      for member in object.members {
        guard let options = member.value.object else {
          throw .invalid(reason: "the claim subs holds something that is not an object")
        }
        try insert(try grant(options), for: member.key, into: &grants)
      }
    }
    return grants
  }

  /// Adds a grant, and refuses two spellings that `String` takes as one key: one channel would get the other's grant.
  private func insert(
    _ grant: SubscriptionGrant, for name: String, into grants: inout [String: SubscriptionGrant]
  ) throws(TokenError) {
    guard !name.isEmpty else { throw .invalid(reason: "the token names an empty channel") }
    if let index = grants.index(forKey: name), !grants[index].key.hasSameBytes(as: name) {
      throw .invalid(reason: "the token names one channel in two Unicode spellings")
    }
    grants[name] = grant
  }

  private func grant(_ claims: JSONObject) throws(TokenError) -> SubscriptionGrant {
    var grant = SubscriptionGrant()
    grant.info = claims["info"]?.singleLine
    grant.data = claims["data"]?.singleLine
    guard let override = claims["override"] else { return grant }
    guard let options = override.object else { throw .invalid(reason: "the claim override is not an object") }
    grant.presence = try flag("presence", of: options)
    grant.joinLeave = try flag("join_leave", of: options)
    grant.forcePushJoinLeave = try flag("force_push_join_leave", of: options)
    grant.forceRecovery = try flag("force_recovery", of: options)
    grant.forcePositioning = try flag("force_positioning", of: options)
    return grant
  }

  /// Reads an override, `{"value": true}`.
  private func flag(_ name: String, of options: JSONObject) throws(TokenError) -> Bool? {
    guard let option = options[name] else { return nil }
    guard let value = option.object?["value"]?.bool else {
      throw .invalid(reason: "the override \(name) is not of the form {\"value\": true}")
    }
    return value
  }
}
