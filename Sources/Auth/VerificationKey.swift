import Wire
import Cryptography

/// One key and the algorithms it may be used with.
///
/// The failure this prevents: a server that hands "the key" to whatever algorithm the token names lets an attacker
/// sign with HS256 and the bytes of the RSA public key. Here a key answers for its own type's algorithms only.
struct VerificationKey: Sendable {
  private enum Material {
    case secret(SecretKey)
    case key(PublicKey)
  }

  private let material: Material
  private var algorithms: Set<TokenAlgorithm>

  func answers(for algorithm: TokenAlgorithm) -> Bool { algorithms.contains(algorithm) }

  /// True where the key can be used at all.
  var isUsable: Bool { !algorithms.isEmpty }

  /// A copy of the key for one algorithm only, for a key set that names the algorithm of its key.
  func restricted(to algorithm: TokenAlgorithm) -> VerificationKey {
    var copy = self
    copy.algorithms = algorithms.intersection([algorithm])
    return copy
  }

  func isSignature(_ signature: [UInt8], of message: [UInt8], _ algorithm: TokenAlgorithm) -> Bool {
    guard answers(for: algorithm) else { return false }
    switch material {
    case .secret(let secret): return algorithm.digest.isAuthentic(message, signature, with: secret)
    case .key(let key): return key.isSignature(signature, of: message, digest: algorithm.digest)
    }
  }

  /// A shared secret answers for those algorithms whose digest is no longer than it is (RFC 7518, section 3.2).
  init(secret: [UInt8]) {
    material = .secret(SecretKey(secret))
    algorithms = Set([.hs256, .hs384, .hs512].filter { secret.count >= $0.digest.count })
  }

  init(_ key: PublicKey) {
    material = .key(key)
    switch key.kind {
    case .rsa: algorithms = [.rs256, .rs384, .rs512]
    case .ecdsa(.p256): algorithms = [.es256]
    case .ecdsa(.p384): algorithms = [.es384]
    case .ecdsa(.p521): algorithms = [.es512]
    case .ed25519: algorithms = [.edDSA]
    }
  }

  /// - Parameter text: PEM, or the 32 bytes of the key in base64url.
  init(ed25519 text: String) throws(UnusableKey) {
    if text.contains("-----BEGIN") {
      try self.init(pem: text) { $0 == .ed25519 }
    } else {
      guard let bytes = Base64.url.bytes(text) else { throw UnusableKey() }
      self.init(try PublicKey(ed25519: bytes))
    }
  }

  /// - Parameter isWanted: whether it is a key of the kind that the setting is for.
  init(pem: String, _ isWanted: (KeyKind) -> Bool) throws(UnusableKey) {
    let key = try PublicKey(pem: pem)
    guard isWanted(key.kind) else { throw UnusableKey() }
    self.init(key)
  }
}
