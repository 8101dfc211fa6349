import Auth
import Testing
import Wire

@Suite("What a token is known by, and how long it may hold")
struct TokenLifetimeTests {
  let clock = TestClock()

  private func token(_ claims: String) async throws -> String { try TestSigner.hmac().token(claims) }

  @Test("jti and iat are given back, of both kinds of token; a jti that is no text is refused")
  func identity() async throws {
    let verifier = try clock.verifier()
    let whole = TokenIdentity(id: "a-1", issuedAt: 1_699_999_999)
    let times = #""jti":"a-1","iat":1699999999.5"#
    #expect(try await verifier.verifyConnection(token("{\(times)}")).token == whole)
    #expect(try await verifier.verifySubscription(token(#"{"channel":"c",\#(times)}"#)).token == whole)
    #expect(try await verifier.verifyConnection(token("{}")).token == TokenIdentity())
    for odd in ["7", "null", #"["a"]"#] {
      let odd = try await token(#"{"jti":\#(odd)}"#)
      #expect(await refusal { try await verifier.verifyConnection(odd) } == "the claim jti is not a string")
    }
  }

  @Test("minted tokens have an id of their own and a time")
  func minted() async throws {
    let (clock, verifier) = (clock, try clock.verifier())
    let minter = try TokenMinter(hmacSecret: testSecret, now: { clock.now })
    let first = try await verifier.verifyConnection(minter.connectionToken(user: "u", expiresIn: nil)).token
    let second = try await verifier.verifySubscription(
      minter.subscriptionToken(user: "u", channel: "c", expiresIn: nil)
    ).token
    #expect(first?.issuedAt == clock.now && second?.issuedAt == clock.now)
    #expect(first?.id != nil && second?.id != nil && first?.id != second?.id)
  }

  @Test("with require_exp a token without end is refused; expire_at is no end of a token")
  func requireExpiry() async throws {
    let verifier = try clock.verifier { $0.requiresExpiry = true }
    let reason = "the token has no end (exp), and token.require_exp is on"
    let endless = try await token("{}")
    #expect(await refusal { try await verifier.verifyConnection(endless) } == reason)
    let subscription = try await token(#"{"channel":"c","expire_at":\#(clock.now + 5)}"#)
    #expect(await refusal { try await verifier.verifySubscription(subscription) } == reason)
    #expect(try await verifier.verifyConnection(token(#"{"exp":\#(clock.now + 5)}"#)).expiresAt == clock.now + 5)
    let short = try await verifier.verifySubscription(token(#"{"channel":"c","exp":\#(clock.now + 5),"expire_at":0}"#))
    #expect(short.expiresAt == nil)
  }

  @Test("with a longest lifetime, what holds longer is refused, from iat or else from now; so is what holds for ever")
  func maximumLifetime() async throws {
    let verifier = try clock.verifier { $0.maximumLifetime = 100 }
    let now = clock.now
    let accepted = [
      #"{"exp":\#(now + 100)}"#, #"{"exp":\#(now + 90),"iat":\#(now - 10)}"#,
      // The issuer's clock is a minute ahead.
      #"{"exp":\#(now + 160),"iat":\#(now + 60)}"#,
    ]
    for claims in accepted { _ = try await verifier.verifyConnection(token(claims)) }
    let tooLong = [
      #"{"exp":\#(now + 161)}"#, #"{"exp":\#(now + 91),"iat":\#(now - 10)}"#,
      #"{"exp":\#(now + 170),"iat":\#(now + 100)}"#, #"{"exp":9000000000000000}"#,
    ]
    for claims in tooLong {
      let token = try await token(claims)
      let reason = await refusal { try await verifier.verifyConnection(token) }
      #expect(reason == "exp is further away than token.max_lifetime allows", "\(claims)")
    }
    let endless = try await token("{}")
    #expect(
      await refusal { try await verifier.verifyConnection(endless) } == "exp sets no end, and token.max_lifetime is set"
    )
  }

  @Test("a subscription ends by the longest lifetime, too, whatever expire_at says")
  func subscriptionLifetime() async throws {
    let verifier = try clock.verifier { $0.maximumLifetime = 100 }
    let now = clock.now
    func reason(_ until: Int64) async throws -> String {
      let token = try await token(#"{"channel":"c","exp":\#(now + 5),"expire_at":\#(until)}"#)
      return await refusal { try await verifier.verifySubscription(token) }
    }
    #expect(try await reason(now + 100) == "accepted")
    #expect(try await reason(now + 161) == "expire_at is further away than token.max_lifetime allows")
    #expect(try await reason(0) == "expire_at sets no end, and token.max_lifetime is set")
  }
}
