import Auth
import Foundation
import Cryptography
import TestSupport
import Testing

@Suite("Forged tokens are refused")
struct TokenAttackTests {
  let clock = TestClock()

  private func verifier(_ configuration: VerifierConfiguration? = nil) async throws -> JWTVerifier {
    let clock = clock
    return try JWTVerifier(
      configuration ?? VerifierConfiguration(hmacSecret: testSecret), now: { clock.now }, logger: silentLogger)
  }

  private func refusalOfConnection(
    header: String? = nil, claims: String = #"{"sub":"42"}"#, configuration: VerifierConfiguration? = nil
  ) async throws -> String {
    let verifier = try await verifier(configuration)
    let token = try TestSigner.hmac().token(header: header, claims)
    return await refusal { try await verifier.verifyConnection(token) }
  }

  @Test("alg none is refused in any case", arguments: ["none", "None", "NONE", "nOnE"])
  func algNone(_ name: String) async throws {
    let verifier = try await verifier()
    for signature in ["", ".", ".AA"] {
      let token = base64URL(#"{"alg":"\#(name)"}"#.utf8) + "." + base64URL(#"{"sub":"1"}"#.utf8) + signature
      let reason = await refusal { try await verifier.verifyConnection(token) }
      #expect(reason == "the token is unsigned (alg none)" || reason == "the token has 2 parts instead of 3")
    }
    #expect(try await refusalOfConnection(header: #"{"alg":"\#(name)"}"#) == "the token is unsigned (alg none)")
  }

  @Test("An empty signature is refused")
  func emptySignature() async throws {
    let verifier = try await verifier()
    let token = base64URL(#"{"alg":"HS256"}"#.utf8) + "." + base64URL(#"{"sub":"1"}"#.utf8) + "."
    #expect(await refusal { try await verifier.verifyConnection(token) } == "the token has no signature")
  }

  @Test("Key confusion: a public key used as the secret of HS256 opens nothing")
  func keyConfusion() async throws {
    let pem = try ExampleRSA.privateKey().publicKey.pem
    let verifier = try await verifier(VerifierConfiguration(rsaPublicKey: pem))
    for secret in [pem, pem + "\n", pem.replacing("\n", with: "")] {
      let token = try TestSigner.hmac(secret).token(#"{"sub":"1"}"#)
      let reason = await refusal { try await verifier.verifyConnection(token) }
      #expect(reason == "no HMAC secret is configured for HS256")
    }
  }

  @Test("A public key configured as the secret is refused at the start")
  func publicKeyAsSecret() async throws {
    let pem = try ExampleRSA.privateKey().publicKey.pem
    #expect(throws: VerifierConfigurationError.secretIsAKey) {
      try JWTVerifier(VerifierConfiguration(hmacSecret: pem), logger: silentLogger)
    }
  }

  @Test(
    "A header that brings its own key or unknown rules is refused", arguments: ["crit", "jku", "jwk", "x5u", "x5c"])
  func embeddedKey(_ name: String) async throws {
    for value in [#""https://evil.example/keys""#, #"["exp"]"#, #"{"kty":"oct","k":"AA"}"#, "null"] {
      let reason = try await refusalOfConnection(header: #"{"alg":"HS256","\#(name)":\#(value)}"#)
      #expect(reason == "the token's header holds \(name), which is never accepted")
    }
  }

  @Test("A kid that is a path, an address or too long finds no key", arguments: ["../../etc/passwd", "/dev/null"])
  func keyIDAsPath(_ keyID: String) async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let key = try SetKey("a")
      let path = folder + "/keys.json"
      try SetKey.document(key).write(toFile: path, atomically: true, encoding: .utf8)
      let verifier = try await verifier(VerifierConfiguration(keySets: [KeySetSource(.file(path))]))
      for name in [keyID, path, "https://evil.example/keys.json"] {
        let token = try key.signer.token(header: #"{"alg":"EdDSA","kid":"\#(name)"}"#, #"{"sub":"1"}"#)
        let reason = await refusal { try await verifier.verifyConnection(token) }
        #expect(reason == "no key of the key set matches the token's kid, algorithm and signature")
      }
      let long = String(repeating: "a", count: CompactTokenLimits.keyID + 1)
      let token = try key.signer.token(header: #"{"alg":"EdDSA","kid":"\#(long)"}"#, #"{"sub":"1"}"#)
      #expect(await refusal { try await verifier.verifyConnection(token) }.hasPrefix("the token's kid is not"))
    }
  }

  @Test("A token of a megabyte is refused before it is parsed")
  func hugeToken() async throws {
    let verifier = try await verifier()
    let token = try TestSigner.hmac().token(#"{"sub":"\#(String(repeating: "a", count: 1 << 20))"}"#)
    #expect(await refusal { try await verifier.verifyConnection(token) } == "the token is longer than 16384 bytes")
    let dots = String(repeating: ".", count: 16384)
    #expect(await refusal { try await verifier.verifyConnection(dots) } == "the token has 16385 parts instead of 3")
  }

  @Test("Nesting beyond the cap is refused in header and payload")
  func deepNesting() async throws {
    let deep = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
    let payload = try await refusalOfConnection(claims: #"{"info":\#(deep)}"#)
    #expect(payload == "the token's payload is not JSON, is nested deeper than 32 levels or has a key twice")
    let header = try await refusalOfConnection(header: #"{"alg":"HS256","x":\#(deep)}"#)
    #expect(header == "the token's header is not JSON, is nested deeper than 32 levels or has a key twice")
  }

  @Test("A claim that stands twice is refused, also when one is spelled with an escape")
  func duplicateClaim() async throws {
    for claims in [
      #"{"sub":"a","sub":"b"}"#, #"{"sub":"a","\u0073ub":"b"}"#, #"{"info":{"x":1,"x":2}}"#, #"{"\ud800":1}"#,
    ] {
      let refusal = try await refusalOfConnection(claims: claims)
      #expect(refusal == "the token's payload is not JSON, is nested deeper than 32 levels or has a key twice")
    }
  }

  @Test("A wrong, missing or look-alike audience is refused where one is configured")
  func wrongAudience() async throws {
    let configuration = VerifierConfiguration(hmacSecret: testSecret, audience: "fanfaré")
    let reason = "the claim aud does not name the configured audience"
    for claim in ["", #""aud":"other","#, #""aud":["x","y"],"#, #""aud":7,"#, "\"aud\":\"fanfare\u{301}\","] {
      let refused = try await refusalOfConnection(claims: #"{\#(claim)"sub":"1"}"#, configuration: configuration)
      #expect(refused == reason)
    }
    for claim in [#""fanfaré""#, #"["x","fanfaré"]"#] {
      let accepted = try await refusalOfConnection(claims: #"{"aud":\#(claim)}"#, configuration: configuration)
      #expect(accepted == "accepted")
    }
  }

  @Test("A wrong or missing issuer is refused where one is configured")
  func wrongIssuer() async throws {
    let configuration = VerifierConfiguration(hmacSecret: testSecret, issuer: "https://id.example")
    for claims in [#"{"sub":"1"}"#, #"{"iss":"https://id.example.evil.com"}"#, #"{"iss":["https://id.example"]}"#] {
      let reason = try await refusalOfConnection(claims: claims, configuration: configuration)
      #expect(reason == "the claim iss is not the configured issuer")
    }
    let accepted = try await refusalOfConnection(
      claims: #"{"iss":"https://id.example"}"#, configuration: configuration)
    #expect(accepted == "accepted")
  }

  @Test("A token signed with another secret, or changed after signing, is refused")
  func tampering() async throws {
    let verifier = try await verifier()
    let foreign = try TestSigner.hmac(String(testSecret.reversed())).token(#"{"sub":"1"}"#)
    #expect(await refusal { try await verifier.verifyConnection(foreign) } == "the token's signature does not match")
    var parts = try TestSigner.hmac().token(#"{"sub":"1"}"#).split(separator: ".").map(String.init)
    parts[1] = base64URL(#"{"sub":"2"}"#.utf8)
    let changed = parts.joined(separator: ".")
    #expect(await refusal { try await verifier.verifyConnection(changed) } == "the token's signature does not match")
  }

  @Test("A signature that is cut at any byte is refused")
  func cutSignature() async throws {
    let verifier = try await verifier()
    let token = try TestSigner.hmac().token(#"{"sub":"1"}"#)
    for length in 0..<token.utf8.count {
      let cut = String(decoding: token.utf8.prefix(length), as: UTF8.self)
      #expect(await refusal { try await verifier.verifyConnection(cut) } != "accepted")
    }
  }

  @Test("A second spelling of the base64 is refused: padding, the other alphabet, bits left over")
  func malleableEncoding() async throws {
    let verifier = try await verifier()
    let token = try TestSigner.hmac().token(#"{"sub":"1"}"#)
    let last = try #require(token.last)
    let next = try #require("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".after(last))
    for spelling in [token + "=", token + "\n", token.dropLast() + String(next), " " + token] {
      #expect(await refusal { try await verifier.verifyConnection(String(spelling)) } != "accepted")
    }
  }

  @Test("An old token is expired only when it is well signed")
  func expiredAndForged() async throws {
    let verifier = try await verifier()
    let claims = #"{"sub":"1","exp":\#(clock.now)}"#
    let signed = try TestSigner.hmac().token(claims)
    await #expect(throws: TokenError.expired) { try await verifier.verifyConnection(signed) }
    let forged = try TestSigner.hmac(String(testSecret.reversed())).token(claims)
    #expect(await refusal { try await verifier.verifyConnection(forged) } == "the token's signature does not match")
  }

  @Test("A subscription token does not connect, and a connection token does not subscribe")
  func crossUse() async throws {
    let verifier = try await verifier()
    let subscription = try TestSigner.hmac().token(#"{"sub":"1","channel":"$room"}"#)
    let connection = try TestSigner.hmac().token(#"{"sub":"1"}"#)
    #expect(
      await refusal { try await verifier.verifyConnection(subscription) }
        == "this is a subscription token, not a connection token")
    #expect(
      await refusal { try await verifier.verifySubscription(connection) }
        == "the claim channel is missing or not a string")
  }

  @Test("One channel in two Unicode spellings is refused")
  func canonicalEquivalence() async throws {
    let claims = "{\"channels\":[\"caf\u{E9}\"],\"subs\":{\"cafe\u{301}\":{}}}"
    let reason = try await refusalOfConnection(claims: claims)
    #expect(reason == "the token names one channel in two Unicode spellings")
  }

  @Test("Bytes that are not a token are refused", arguments: ["", ".", "..", "a.b.c", "e30.e30.AA", "💥.💥.💥"])
  func garbage(_ text: String) async throws {
    let verifier = try await verifier()
    #expect(await refusal { try await verifier.verifyConnection(text) } != "accepted")
  }

  @Test("Any changed byte of a token makes it invalid")
  func flippedByte() async throws {
    let verifier = try await verifier()
    let token = Array(try TestSigner.hmac().token(#"{"sub":"1","exp":1800000000}"#).utf8)
    for index in token.indices {
      var changed = token
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let text = String(decoding: changed, as: UTF8.self)
      #expect(await refusal { try await verifier.verifyConnection(text) } != "accepted")
    }
  }
}

private enum CompactTokenLimits { static let keyID = 256 }

extension String {
  fileprivate func after(_ character: Character) -> Character? {
    firstIndex(of: character).map { index in
      let next = self.index(after: index)
      return next == endIndex ? self[startIndex] : self[next]
    }
  }
}
