import Auth
import Cryptography
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

/// A clock that a test moves.
final class TestClock: Sendable {
  private let seconds: Mutex<Int64>

  init(_ start: Int64 = 1_700_000_000) { seconds = Mutex(start) }

  var now: Int64 { seconds.withLock { $0 } }
  func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}

let testSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/// Takes what would be logged and drops it.
let silentLogger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

func base64URL(_ bytes: some Sequence<UInt8>) -> String {
  Data(bytes).base64EncodedString()
    .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

/// Signs whatever a test wants to see refused, which no library for tokens would do.
struct TestSigner: Sendable {
  /// The algorithm as a token's header names it.
  let algorithm: String
  let sign: @Sendable ([UInt8]) throws -> [UInt8]

  func token(header: String? = nil, _ claims: String) throws -> String {
    let header = header ?? #"{"alg":"\#(algorithm)"}"#
    let signed = base64URL(header.utf8) + "." + base64URL(claims.utf8)
    return signed + "." + base64URL(try sign(Array(signed.utf8)))
  }

  static func hmac(_ secret: String = testSecret, _ digest: Digest = .sha256) -> TestSigner {
    let key = SecretKey(Array(secret.utf8))
    return TestSigner(algorithm: "HS\(digest.count * 8)") { digest.authenticate($0, with: key) }
  }

  static func rsa(_ key: PrivateKey, _ digest: Digest = .sha256) -> TestSigner {
    TestSigner(algorithm: "RS\(digest.count * 8)") { try key.sign($0, digest: digest) }
  }

  static func ecdsa(_ key: PrivateKey, _ curve: Curve = .p256) -> TestSigner {
    TestSigner(algorithm: "ES\(curve.digest.count * 8)") { try key.sign($0) }
  }

  static func eddsa(_ key: PrivateKey) -> TestSigner { TestSigner(algorithm: "EdDSA") { try key.sign($0) } }
}

/// The key pair that RFC 7515, appendix A.2, publishes as its example: a secret to nobody.
enum ExampleRSA {
  static let modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pC"
    + "gNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg6"
    + "65xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRW"
    + "yuXpoQ"
  static let exponent = "AQAB"
  static let privateExponent =
    "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pW"
    + "J1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2Qv"
    + "Xt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRu"
    + "OopznQ"

  static func privateKey() throws -> PrivateKey {
    try PrivateKey(
      rsaModulus: bytes(modulus), exponent: bytes(exponent), privateExponent: bytes(privateExponent))
  }

  private static func bytes(_ text: String) throws -> [UInt8] {
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return try Array(
      #require(Data(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding)))
  }
}

/// One Ed25519 key pair, and how a key set writes it.
struct SetKey: Sendable {
  let keyID: String
  let signer: TestSigner
  let json: String

  init(_ keyID: String) throws {
    let key = try PrivateKey()
    self.keyID = keyID
    self.signer = .eddsa(key)
    self.json =
      #"{"kty":"OKP","crv":"Ed25519","kid":"\#(keyID)","use":"sig","x":"\#(base64URL(key.publicKey.point))"}"#
  }

  func token(_ claims: String = #"{"sub":"42"}"#) throws -> String {
    try signer.token(header: #"{"alg":"EdDSA","kid":"\#(keyID)"}"#, claims)
  }

  static func document(_ keys: SetKey...) -> String { #"{"keys":[\#(keys.map(\.json).joined(separator: ","))]}"# }
}

/// The reason of a refusal, or what happened instead.
func refusal(_ body: () async throws -> some Any) async -> String {
  do {
    _ = try await body()
    return "accepted"
  } catch TokenError.invalid(let reason) {
    return reason
  } catch {
    return "\(error)"
  }
}

extension TestClock {
  /// A verifier that goes by this clock and knows the test's secret.
  func verifier(_ change: (inout VerifierConfiguration) -> Void = { _ in }) throws -> JWTVerifier {
    var configuration = VerifierConfiguration(hmacSecret: testSecret)
    change(&configuration)
    return try JWTVerifier(configuration, now: { self.now }, logger: silentLogger)
  }
}

// What these tests run with where they say nothing else. In the server it comes from the settings.

extension VerifierConfiguration {
  /// Each key that is not named is missing; nothing but keys is checked that is not named.
  init(
    hmacSecret: String? = nil, rsaPublicKey: String? = nil, ecdsaPublicKey: String? = nil,
    ed25519PublicKey: String? = nil, keySets: [KeySetSource] = [], audience: String? = nil, issuer: String? = nil
  ) {
    self.init(
      hmacSecret: hmacSecret, rsaPublicKey: rsaPublicKey, ecdsaPublicKey: ecdsaPublicKey,
      ed25519PublicKey: ed25519PublicKey, keySets: keySets, audience: audience, issuer: issuer, requiresExpiry: false,
      maximumLifetime: nil)
  }
}

extension KeySetSource {
  /// Read again after an hour.
  init(_ location: Location) { self.init(location, timeToLive: 3600, maximumAge: nil) }
}
