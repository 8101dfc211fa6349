import Auth
import Testing
import Wire

@Suite("Place tokens are their own kind")
struct PlaceTokenTests {
  let clock = TestClock()

  private func token(_ claims: String) async throws -> String { try TestSigner.hmac().token(claims) }

  private func claims(_ more: String = "", place: String = #""park""#, end: Int64 = 60) -> String {
    #"{"sub":"ann","place":\#(place),"exp":\#(clock.now + end)\#(more)}"#
  }

  @Test("what a place token says is given back, with what it can be revoked by")
  func valid() async throws {
    let verifier = try clock.verifier()
    let given = try await verifier.verifyPlace(token(claims(#","jti":"x","iat":\#(clock.now)"#, end: 900)))
    let identity = TokenIdentity(id: "x", issuedAt: clock.now)
    #expect(given == PlaceClaims(user: "ann", place: "park", expiresAt: clock.now + 900, token: identity))
    let clock = clock
    let minter = try TokenMinter(hmacSecret: testSecret, now: { clock.now })
    let odd = #"the "café" \ 7"#
    let minted = try await verifier.verifyPlace(minter.placeToken(user: "ann", place: odd, expiresIn: 300))
    #expect(minted.place.hasSameBytes(as: odd) && minted.expiresAt == clock.now + 300 && minted.token?.id != nil)
  }

  @Test("a token of another kind enters no place, and a place token opens neither connection nor channel")
  func kinds() async throws {
    let verifier = try clock.verifier()
    let minter = try TokenMinter(hmacSecret: testSecret, now: { [clock] in clock.now })
    for other in [
      try minter.connectionToken(user: "ann", expiresIn: 60),
      try minter.subscriptionToken(user: "ann", channel: "park", expiresIn: 60),
    ] {
      #expect(await refusal { try await verifier.verifyPlace(other) } == "the claim place is missing or not a string")
    }
    let place = minter.placeToken(user: "ann", place: "park", expiresIn: 60)
    #expect(
      await refusal { try await verifier.verifyConnection(place) } == "this is a place token, not a connection token")
    #expect(
      await refusal { try await verifier.verifySubscription(place) }
        == "this is a place token, not a subscription token")
    // A token that names a place and grants channels is neither.
    for (claim, value) in [("channel", #""park""#), ("channels", #"["park"]"#), ("subs", "{}"), ("channel", "null")] {
      let both = try await token(claims(#","\#(claim)":\#(value)"#))
      #expect(
        await refusal { try await verifier.verifyPlace(both) }
          == "a place token grants no channels, and this one has the claim \(claim)")
      #expect(await refusal { try await verifier.verifyConnection(both) } != "accepted")
      #expect(await refusal { try await verifier.verifySubscription(both) } != "accepted")
    }
    // A token with a claim `place` is no connection token, even where the claim's value is no place.
    for odd in ["null", "7", #"["park"]"#, "\"\""] {
      let odd = try await token(claims(place: odd))
      #expect(await refusal { try await verifier.verifyPlace(odd) } == "the claim place is missing or not a string")
      #expect(await refusal { try await verifier.verifyConnection(odd) } != "accepted")
    }
  }

  @Test("nobody's token, a token without end and one that holds for long are refused; an old one has expired")
  func times() async throws {
    let verifier = try clock.verifier()
    let now = clock.now
    let reasons: [(String, String)] = [
      (#"{"place":"park","exp":\#(now + 60)}"#, "a place token is for somebody, and this one has no sub"),
      (#"{"sub":"","place":"park","exp":\#(now + 60)}"#, "a place token is for somebody, and this one has no sub"),
      (#"{"sub":"ann","place":"park"}"#, "a place token needs an end (exp)"),
      (claims(end: 961), "exp of a place token is at most 900 seconds away"),
      (claims(#","iat":\#(now - 10)"#, end: 891), "exp of a place token is at most 900 seconds away"),
      (claims(end: 9_000_000_000_000), "exp of a place token is at most 900 seconds away"),
      (claims(#","nbf":\#(now + 5)"#), "the token is not valid yet (nbf)"),
      (claims(#","jti":7"#), "the claim jti is not a string"),
    ]
    for (claims, reason) in reasons {
      let token = try await token(claims)
      #expect(await refusal { try await verifier.verifyPlace(token) } == reason, "\(claims)")
    }
    let old = try await token(claims(end: 0))
    await #expect(throws: TokenError.expired) { try await verifier.verifyPlace(old) }
    // The issuer's clock is a minute ahead.
    _ = try await verifier.verifyPlace(token(claims(#","iat":\#(now + 60)"#, end: 960)))
  }

  @Test("signature, audience, issuer and the longest lifetime count as for every token")
  func asOthers() async throws {
    let verifier = try clock.verifier {
      ($0.audience, $0.issuer, $0.requiresExpiry, $0.maximumLifetime) = ("app", "backend", true, 100)
    }
    let whole = claims(#","aud":"app","iss":"backend""#)
    _ = try await verifier.verifyPlace(token(whole))
    let forged = try TestSigner.hmac(String(testSecret.reversed())).token(whole)
    #expect(await refusal { try await verifier.verifyPlace(forged) } == "the token's signature does not match")
    let reasons: [(String, String)] = [
      (claims(#","iss":"backend""#), "the claim aud does not name the configured audience"),
      (claims(#","aud":"app""#), "the claim iss is not the configured issuer"),
      (claims(#","aud":"app","iss":"backend""#, end: 161), "exp is further away than token.max_lifetime allows"),
    ]
    for (claims, reason) in reasons {
      let token = try await token(claims)
      #expect(await refusal { try await verifier.verifyPlace(token) } == reason, "\(claims)")
    }
  }
}
