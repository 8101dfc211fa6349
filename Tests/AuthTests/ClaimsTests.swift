import Auth
import Testing

@Suite("Claims of a token")
struct ClaimsTests {
  let clock = TestClock()

  private func connection(_ claims: String) async throws -> ConnectionClaims {
    let clock = clock
    let verifier = try JWTVerifier(VerifierConfiguration(hmacSecret: testSecret), now: { clock.now })
    return try await verifier.verifyConnection(try TestSigner.hmac().token(claims))
  }

  private func subscription(_ claims: String) async throws -> SubscriptionClaims {
    let clock = clock
    let verifier = try JWTVerifier(VerifierConfiguration(hmacSecret: testSecret), now: { clock.now })
    return try await verifier.verifySubscription(try TestSigner.hmac().token(claims))
  }

  @Test("A connection token's user, expiry, info and meta are given back")
  func wholeConnection() async throws {
    let claims = try await connection(
      #"{"sub":"42","exp":1800000000,"iat":1699999999,"nbf":1,"info": {"name" : "Ada\u0021", "n":1.50} ,"meta":[1]}"#)
    #expect(claims.user == "42")
    #expect(claims.expiresAt == 1_800_000_000)
    #expect(claims.info == Array(#"{"name" : "Ada\u0021", "n":1.50}"#.utf8))
    #expect(claims.meta == Array("[1]".utf8))
    #expect(claims.subscriptions.isEmpty)
  }

  @Test("Raw JSON never holds a line break, which would end a JSON client's command")
  func lineBreaks() async throws {
    let claims = try await connection("{\"info\":{\r\n \"a b\" : \"c\\\" d\\\\\",\n\t\"e\": [ 1 ]\n}}")
    #expect(claims.info == Array(#"{"a b":"c\" d\\","e":[1]}"#.utf8))
  }

  @Test("A token without sub is an anonymous connection; a sub that is no string is refused")
  func anonymous() async throws {
    #expect(try await connection("{}").user == "")
    #expect(try await connection(#"{"sub":null}"#).user == "")
    #expect(await refusal { try await connection(#"{"sub":42}"#) } == "the claim sub is not a string")
  }

  @Test("A token without exp never expires")
  func noExpiry() async throws { #expect(try await connection(#"{"sub":"1"}"#).expiresAt == nil) }

  @Test("A token holds until the second before exp, and not at exp")
  func expiryEdge() async throws {
    let claims = #"{"exp":\#(clock.now + 10)}"#
    clock.advance(9)
    #expect(try await connection(claims).expiresAt == clock.now + 1)
    clock.advance(1)
    await #expect(throws: TokenError.expired) { try await connection(claims) }
  }

  @Test("A fractional exp is rounded down")
  func fractionalExpiry() async throws {
    #expect(try await connection(#"{"exp":1700000010.9}"#).expiresAt == 1_700_000_010)
    #expect(try await connection(#"{"exp":1.70000001e9}"#).expiresAt == 1_700_000_010)
    await #expect(throws: TokenError.expired) { try await connection(#"{"exp":1700000000.9}"#) }
  }

  @Test(
    "A time that is no number of seconds is refused",
    arguments: [#""1800000000""#, "null", "true", "[1800000000]", "1e400", "1e300", "99999999999999999999"])
  func oddExpiry(_ value: String) async throws {
    for name in ["exp", "nbf", "iat"] {
      let reason = await refusal { try await connection(#"{"\#(name)":\#(value)}"#) }
      #expect(reason == "the claim \(name) is not a number of seconds")
    }
  }

  @Test("A negative or zero exp is expired")
  func ancientExpiry() async throws {
    for value in ["0", "-1", "-9223372036854775808", "-0.5"] {
      await #expect(throws: TokenError.expired) { try await connection(#"{"exp":\#(value)}"#) }
    }
  }

  @Test("A token is refused before nbf and accepted from then on")
  func notBefore() async throws {
    let claims = #"{"nbf":\#(clock.now).5}"#
    #expect(await refusal { try await connection(claims) } == "the token is not valid yet (nbf)")
    clock.advance(1)
    #expect(try await connection(claims).user == "")
  }

  @Test("channels and subs become server-side subscriptions, and subs says more")
  func subscriptions() async throws {
    let claims = try await connection(
      #"""
      {"channels":["news","dm"],"subs":{"dm":{"info":{"r":1},"data":"d","override":{
      "presence":{"value":true},"join_leave":{"value":false},"force_push_join_leave":{"value":true},
      "force_recovery":{"value":true},"force_positioning":{"value":false}}},"extra":{}}}
      """#)
    #expect(claims.subscriptions.keys.sorted() == ["dm", "extra", "news"])
    #expect(claims.subscriptions["news"] == SubscriptionGrant())
    var grant = SubscriptionGrant()
    grant.info = Array(#"{"r":1}"#.utf8)
    grant.data = Array(#""d""#.utf8)
    grant.presence = true
    grant.joinLeave = false
    grant.forcePushJoinLeave = true
    grant.forceRecovery = true
    grant.forcePositioning = false
    #expect(claims.subscriptions["dm"] == grant)
  }

  @Test(
    "A subscription claim of the wrong shape is refused",
    arguments: [
      #"{"channels":"news"}"#, #"{"channels":[1]}"#, #"{"channels":[""]}"#, #"{"subs":[]}"#, #"{"subs":{"a":1}}"#,
      #"{"subs":{"a":{"override":{"presence":true}}}}"#, #"{"subs":{"a":{"override":{"presence":{"value":1}}}}}"#,
      #"{"channels":["\ud800"]}"#,
    ])
  func oddSubscriptions(_ claims: String) async throws {
    #expect(await refusal { try await connection(claims) } != "accepted")
  }

  @Test("A subscription token's channel, grant and expiry are given back")
  func wholeSubscription() async throws {
    let claims = try await subscription(
      #"{"sub":"42","channel":"$room","exp":1800000000,"info":{"a":1},"override":{"presence":{"value":false}}}"#)
    #expect(claims.user == "42")
    #expect(claims.channel == "$room")
    #expect(claims.expiresAt == 1_800_000_000)
    #expect(claims.grant.info == Array(#"{"a":1}"#.utf8))
    #expect(claims.grant.presence == false)
  }

  @Test("expire_at decides over exp when the subscription ends, and 0 says never")
  func expireAt() async throws {
    let later = #"{"channel":"a","exp":1700000100,"expire_at":1700009999}"#
    #expect(try await subscription(later).expiresAt == 1_700_009_999)
    #expect(try await subscription(#"{"channel":"a","exp":1700000100,"expire_at":0}"#).expiresAt == nil)
    await #expect(throws: TokenError.expired) { try await subscription(#"{"channel":"a","expire_at":1}"#) }
    await #expect(throws: TokenError.expired) { try await subscription(#"{"channel":"a","exp":1,"expire_at":0}"#) }
  }
}
