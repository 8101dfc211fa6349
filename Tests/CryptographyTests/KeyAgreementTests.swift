import Cryptography
import Testing

@Suite("Keys that agree on a secret (ECDH), and keys from their parts")
struct KeyAgreementTests {
  /// RFC 5903, section 8.1.
  private static let initiator = bytes(hex: "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433")
  private static let responder = bytes(hex: "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53")
  private static let initiatorPoint = bytes(
    hex: """
      04dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c37725811805271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f\
      58389e0577b8990bb3
      """)
  private static let responderPoint = bytes(
    hex: """
      04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac23f046ada30f\
      8353e74f33039872ab
      """)
  private static let shared = bytes(hex: "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de")

  @Test("Both sides of RFC 5903's example have its points and its secret")
  func vector() throws {
    let initiator = try PrivateKey(.p256, scalar: Self.initiator)
    let responder = try PrivateKey(.p256, scalar: Self.responder)
    #expect(initiator.publicKey.point == Self.initiatorPoint)
    #expect(responder.publicKey.point == Self.responderPoint)
    let peer = try PublicKey(.p256, point: Self.responderPoint)
    #expect(try initiator.agree(with: peer).bytes == Self.shared)
    #expect(try responder.agree(with: initiator.publicKey).bytes == Self.shared)
  }

  @Test(
    "A drawn key on each curve comes back from its number, signs as itself and agrees as itself",
    arguments: Curve.allCases)
  func numbers(_ curve: Curve) throws {
    let drawn = try PrivateKey(on: curve)
    let again = try PrivateKey(curve, scalar: try drawn.scalar().bytes)
    #expect(again.publicKey.point == drawn.publicKey.point)
    #expect(drawn.publicKey.isSignature(try again.sign([1, 2, 3]), of: [1, 2, 3]))
    let other = try PrivateKey(on: curve)
    let secret = try drawn.agree(with: other.publicKey).bytes
    #expect(secret == (try other.agree(with: again.publicKey).bytes) && secret.count == curve.coordinateBytes)
  }

  @Test("Numbers that are none of the curve's keys are refused: zero, the order, above it, of another length")
  func badNumbers() throws {
    let order = bytes(hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    var last = order
    last[31] -= 1
    #expect(throws: Never.self) { try PrivateKey(.p256, scalar: last) }
    let bad: [[UInt8]] = [
      [UInt8](repeating: 0, count: 32), order, [UInt8](repeating: 0xFF, count: 32), [], [1], [0] + Self.initiator,
    ]
    for scalar in bad { #expect(throws: UnusableKey()) { try PrivateKey(.p256, scalar: scalar) } }
  }

  @Test("Points beside the curve, of another form or length are no keys")
  func badPoints() {
    var beside = Self.initiatorPoint
    beside[64] ^= 1
    let compressed = [2] + Self.initiatorPoint[1...32]
    for point in [beside, compressed, Array(Self.initiatorPoint.dropLast()), [], [4]] {
      #expect(throws: UnusableKey()) { try PublicKey(.p256, point: point) }
    }
  }

  @Test("Keys of different curves, and keys on none, agree on nothing")
  func mixedCurves() throws {
    let (one, other) = (try PrivateKey(on: .p256), try PrivateKey(on: .p384))
    #expect(throws: UnusableKey()) { try one.agree(with: other.publicKey) }
    let ed25519 = try PrivateKey()
    #expect(throws: UnusableKey()) { try ed25519.agree(with: ed25519.publicKey) }
    #expect(throws: UnusableKey()) { try ed25519.scalar() }
  }

  @Test("A private key is read from PEM, as the services for notifications hand them out")
  func pem() throws {
    // This key is nobody's: it was made with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`.
    let text = """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpldCPnygFQeEH25w
      mNFS7jgWTcZ8sTTA5MO59vkYnB+hRANCAARlSha3EC+UzZRDz2jNkuy6Nh9nX/aj
      K2RRJbpdEZEHCvwFoNungL+cal8ZxMxXPzt2R/GcD6pY7ko42RHcxT/y
      -----END PRIVATE KEY-----
      """
    let key = try PrivateKey(pem: text)
    #expect(key.publicKey.kind == .ecdsa(.p256))
    let point = """
      04654a16b7102f94cd9443cf68cd92ecba361f675ff6a32b645125ba5d1191070afc05a0dba780bf9c6a5f19c4cc573f3b76\
      47f19c0faa58ee4a38d911dcc53ff2
      """
    #expect(key.publicKey.point.hexadecimal == point)
    #expect(key.publicKey.isSignature(try key.sign([7]), of: [7]))
    for bad in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", key.publicKey.pem] {
      #expect(throws: UnusableKey()) { try PrivateKey(pem: bad) }
    }
  }
}
