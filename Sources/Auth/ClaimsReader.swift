import Wire

/// Reads the claims of a token whose signature is checked. Pure: time, audience and issuer are given.
struct ClaimsReader {
  /// Nil: not checked.
  let audience: String?
  let issuer: String?
  /// Seconds since 1970.
  let now: Int64

  func connection(_ claims: JSONObject) throws(TokenError) -> ConnectionClaims {
    // Whoever was given a token for one channel must not be able to connect with it.
    guard !claims.has("channel") else { throw .invalid(reason: "this is a subscription token, not a connection token") }
    let expiresAt = try checkedExpiry(claims)
    var result = ConnectionClaims(user: try user(claims), expiresAt: expiresAt)
    result.info = claims["info"]?.singleLine
    result.meta = claims["meta"]?.singleLine
    result.subscriptions = try subscriptions(claims)
    return result
  }

  func subscription(_ claims: JSONObject) throws(TokenError) -> SubscriptionClaims {
    guard let channel = claims["channel"]?.string, !channel.isEmpty else {
      throw .invalid(reason: "the claim channel is missing or not a string")
    }
    let expiry = try checkedExpiry(claims)
    var result = SubscriptionClaims(user: try user(claims), channel: channel, expiresAt: expiry)
    if let until = try seconds("expire_at", of: claims, rounded: .down) {
      if until != 0, until <= now { throw .expired }
      result.expiresAt = until == 0 ? nil : until
    }
    result.grant = try grant(claims)
    return result
  }

  /// Checks who the token is for and when it holds. Expiry comes last: what is wrong otherwise is never just "expired".
  private func checkedExpiry(_ claims: JSONObject) throws(TokenError) -> Int64? {
    try checkAudience(claims)
    if let issuer {
      guard let claim = claims["iss"]?.string, claim.hasSameBytes(as: issuer) else {
        throw .invalid(reason: "the claim iss is not the configured issuer")
      }
    }
    _ = try seconds("iat", of: claims, rounded: .down)
    if let notBefore = try seconds("nbf", of: claims, rounded: .up), now < notBefore {
      throw .invalid(reason: "the token is not valid yet (nbf)")
    }
    let expiry = try seconds("exp", of: claims, rounded: .down)
    if let expiry, expiry <= now { throw .expired }
    return expiry
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

  /// `channels` names channels; `subs` says more of each and wins where both name one.
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

  /// Refuses two spellings that `String` takes as one key: the one would get the other's grant.
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

  /// Reads `{"value": true}`.
  private func flag(_ name: String, of options: JSONObject) throws(TokenError) -> Bool? {
    guard let option = options[name] else { return nil }
    guard let value = option.object?["value"]?.bool else {
      throw .invalid(reason: "the override \(name) is not of the form {\"value\": true}")
    }
    return value
  }
}
