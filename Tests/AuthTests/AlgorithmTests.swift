import Auth
import Cryptography
import Testing

@Suite("Algorithms and their keys")
struct AlgorithmTests {
  private func user(_ configuration: VerifierConfiguration, _ signer: TestSigner) async throws -> String {
    let verifier = try JWTVerifier(configuration, logger: silentLogger)
    return try await verifier.verifyConnection(try signer.token(#"{"sub":"42"}"#)).user
  }

  @Test("HS256, HS384 and HS512 are accepted with the secret")
  func hmac() async throws {
    for digest in [Digest.sha256, .sha384, .sha512] {
      let signer = TestSigner.hmac(testSecret, digest)
      #expect(try await user(VerifierConfiguration(hmacSecret: testSecret), signer) == "42")
    }
  }

  @Test("A secret shorter than a digest is not used with it")
  func shortSecret() async throws {
    let secret = String(testSecret.prefix(32))
    let configuration = VerifierConfiguration(hmacSecret: secret)
    #expect(try await user(configuration, .hmac(secret)) == "42")
    let verifier = try JWTVerifier(configuration, logger: silentLogger)
    let token = try TestSigner.hmac(testSecret, .sha512).token("{}")
    #expect(
      await refusal { try await verifier.verifyConnection(token) } == "no HMAC secret is configured for HS512")
    #expect(throws: VerifierConfigurationError.secretTooShort(bytes: 31)) {
      try JWTVerifier(VerifierConfiguration(hmacSecret: String(testSecret.prefix(31))))
    }
  }

  @Test("RS256, RS384 and RS512 are accepted with the RSA public key")
  func rsa() async throws {
    let key = try ExampleRSA.privateKey()
    let configuration = VerifierConfiguration(rsaPublicKey: key.publicKey.pem)
    for digest in [Digest.sha256, .sha384, .sha512] {
      #expect(try await user(configuration, .rsa(key, digest)) == "42")
    }
  }

  @Test("ES256, ES384 and ES512 are accepted with a public key on their own curve")
  func ecdsa() async throws {
    let p256 = try PrivateKey(on: .p256)
    let p384 = try PrivateKey(on: .p384)
    let p521 = try PrivateKey(on: .p521)
    let pems = [p256.publicKey.pem, p384.publicKey.pem, p521.publicKey.pem]
    let signers = [TestSigner.ecdsa(p256), .ecdsa(p384, .p384), .ecdsa(p521, .p521)]
    for (pemIndex, pem) in pems.enumerated() {
      for (signerIndex, signer) in signers.enumerated() {
        let verifier = try JWTVerifier(VerifierConfiguration(ecdsaPublicKey: pem), logger: silentLogger)
        let token = try signer.token("{}")
        let accepted = await refusal { try await verifier.verifyConnection(token) } == "accepted"
        #expect(accepted == (pemIndex == signerIndex))
      }
    }
  }

  @Test("EdDSA is accepted with the Ed25519 public key, as PEM or as base64url")
  func eddsa() async throws {
    let key = try PrivateKey()
    for text in [key.publicKey.pem, base64URL(key.publicKey.point)] {
      #expect(try await user(VerifierConfiguration(ed25519PublicKey: text), .eddsa(key)) == "42")
    }
  }

  @Test("Each algorithm is refused where only the keys of other types are configured")
  func onlyOwnType() async throws {
    let rsa = try ExampleRSA.privateKey()
    let ecdsa = try PrivateKey(on: .p256)
    let eddsa = try PrivateKey()
    let signers = [TestSigner.hmac(), .rsa(rsa), .ecdsa(ecdsa), .eddsa(eddsa)]
    let all = VerifierConfiguration(
      hmacSecret: testSecret, rsaPublicKey: rsa.publicKey.pem,
      ecdsaPublicKey: ecdsa.publicKey.pem, ed25519PublicKey: eddsa.publicKey.pem)
    for (index, signer) in signers.enumerated() {
      var others = all
      switch index {
      case 0: others.hmacSecret = nil
      case 1: others.rsaPublicKey = nil
      case 2: others.ecdsaPublicKey = nil
      default: others.ed25519PublicKey = nil
      }
      let token = try signer.token("{}")
      let verifier = try JWTVerifier(all, logger: silentLogger)
      #expect(await refusal { try await verifier.verifyConnection(token) } == "accepted")
      let without = try JWTVerifier(others, logger: silentLogger)
      #expect(await refusal { try await without.verifyConnection(token) }.contains("is configured for"))
    }
  }

  @Test("Another key of the same type is refused")
  func otherKey() async throws {
    let configuration = VerifierConfiguration(ed25519PublicKey: try PrivateKey().publicKey.pem)
    let verifier = try JWTVerifier(configuration, logger: silentLogger)
    let token = try TestSigner.eddsa(PrivateKey()).token("{}")
    #expect(await refusal { try await verifier.verifyConnection(token) } == "the token's signature does not match")
  }

  @Test("A key that cannot be read is named when the verifier starts")
  func unusableKeys() async throws {
    let pem = try PrivateKey(on: .p256).publicKey.pem
    let configurations: [(VerifierConfiguration, String)] = [
      (VerifierConfiguration(rsaPublicKey: pem), "RSA public key"),
      (VerifierConfiguration(ecdsaPublicKey: "nonsense"), "ECDSA public key"),
      (VerifierConfiguration(ed25519PublicKey: "AAAA"), "Ed25519 public key"),
    ]
    for (configuration, name) in configurations {
      #expect(throws: VerifierConfigurationError.unusableKey(name: name)) {
        try JWTVerifier(configuration)
      }
    }
  }

  @Test("What the minter makes, the verifier accepts")
  func minter() async throws {
    let clock = TestClock()
    let minter = try TokenMinter(hmacSecret: testSecret, audience: "a", issuer: "i", now: { clock.now })
    let verifier = try JWTVerifier(
      VerifierConfiguration(hmacSecret: testSecret, audience: "a", issuer: "i"), now: { clock.now })
    let user = "q\"\\\u{1}é"
    let connection = try await verifier.verifyConnection(
      minter.connectionToken(
        user: user, expiresIn: 60, channels: ["a\"b", "c"], info: Array(#" {"n":1} "#.utf8), meta: Array("[]".utf8)))
    #expect(connection.user == user)
    #expect(connection.expiresAt == clock.now + 60)
    #expect(connection.info == Array(#"{"n":1}"#.utf8))
    #expect(connection.meta == Array("[]".utf8))
    #expect(connection.subscriptions.keys.sorted() == ["a\"b", "c"])
    let subscription = try await verifier.verifySubscription(
      minter.subscriptionToken(user: user, channel: "$c", expiresIn: nil, data: Array("7".utf8)))
    #expect(subscription.channel == "$c")
    #expect(subscription.expiresAt == nil)
    #expect(subscription.grant.data == Array("7".utf8))
    #expect(throws: TokenMinter.NotJSON(claim: "info")) {
      try minter.connectionToken(user: "1", expiresIn: nil, info: Array("{,".utf8))
    }
  }
}
