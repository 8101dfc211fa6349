import Auth
import Testing

@Suite("Tokens of the demo")
struct DemoTokensTests {
  let clock = TestClock()

  private func tokens() throws -> DemoTokens { try DemoTokens(now: { [clock] in clock.now }) }

  @Test("One signs its user in for a quarter of an hour, with the name for others to see")
  func signsIn() async throws {
    let tokens = try tokens()
    let verifier = tokens.verifier(beside: try clock.verifier())
    let token = try tokens.token(user: "ada", name: #"Ada "the first""#)
    let claims = try await verifier.verifyConnection(token)
    #expect(claims.user == "ada" && claims.expiresAt == clock.now + 900)
    #expect(claims.info.map { String(decoding: $0, as: UTF8.self) } == #"{"name":"Ada \"the first\""}"#)
    clock.advance(901)
    await #expect(throws: TokenError.expired) { try await verifier.verifyConnection(token) }
  }

  @Test("No other server takes it, nor this one after another start, nor one without the demo")
  func elsewhere() async throws {
    let token = try tokens().token(user: "ada", name: "Ada")
    let (configured, another) = (try clock.verifier(), try tokens())
    await #expect(throws: TokenError.self) { try await configured.verifyConnection(token) }
    let beside = another.verifier(beside: configured)
    await #expect(throws: TokenError.self) { try await beside.verifyConnection(token) }
  }

  @Test("Configured tokens go on being taken beside it, of every kind, and the demo's open nothing but connections")
  func beside() async throws {
    let tokens = try tokens()
    let verifier = tokens.verifier(beside: try clock.verifier())
    let minter = try TokenMinter(hmacSecret: testSecret, now: { [clock] in clock.now })
    let connection = try minter.connectionToken(user: "bob", expiresIn: 60)
    #expect(try await verifier.verifyConnection(connection).user == "bob")
    let subscription = try minter.subscriptionToken(user: "bob", channel: "$news", expiresIn: 60)
    #expect(try await verifier.verifySubscription(subscription).channel == "$news")
    let place = minter.placeToken(user: "bob", place: "park", expiresIn: 60)
    #expect(try await verifier.verifyPlace(place).place == "park")
    let demo = try tokens.token(user: "ada", name: "Ada")
    await #expect(throws: TokenError.self) { try await verifier.verifySubscription(demo) }
    await #expect(throws: TokenError.self) { try await verifier.verifyPlace(demo) }
  }
}
