import Foundation
import JWTKit

/// One key and the algorithms it may be used with.
///
/// The failure this prevents: a server that hands "the key" to whatever algorithm the token names lets an attacker
/// sign with HS256 and the bytes of the RSA public key. Here a key answers for its own type's algorithms only.
struct VerificationKey: Sendable {
  private var algorithms: [TokenAlgorithm: any JWTAlgorithm]

  func algorithm(_ name: TokenAlgorithm) -> (any JWTAlgorithm)? { algorithms[name] }

  /// True where the key can be used at all.
  var isUsable: Bool { !algorithms.isEmpty }

  /// A copy that answers for one algorithm only: a key set may say so of its key.
  func restricted(to name: TokenAlgorithm) -> VerificationKey {
    VerificationKey(algorithms: algorithms.filter { $0.key == name })
  }

  /// A shared secret answers for those algorithms whose digest is no longer than it is (RFC 7518, section 3.2): JWTKit
  /// traps on shorter ones.
  static func hmac(_ secret: [UInt8]) async throws -> VerificationKey {
    var algorithms: [TokenAlgorithm: any JWTAlgorithm] = [:]
    let digests: [(TokenAlgorithm, DigestAlgorithm, Int)] = [
      (.hs256, .sha256, 32), (.hs384, .sha384, 48), (.hs512, .sha512, 64),
    ]
    for (name, digest, length) in digests where secret.count >= length {
      algorithms[name] = try await JWTKeyCollection()
        .add(hmac: HMACKey(from: secret), digestAlgorithm: digest).getKey()
    }
    return VerificationKey(algorithms: algorithms)
  }

  static func rsa(_ key: Insecure.RSA.PublicKey) async throws -> VerificationKey {
    var algorithms: [TokenAlgorithm: any JWTAlgorithm] = [:]
    let digests: [(TokenAlgorithm, DigestAlgorithm)] = [(.rs256, .sha256), (.rs384, .sha384), (.rs512, .sha512)]
    for (name, digest) in digests {
      algorithms[name] = try await JWTKeyCollection().add(rsa: key, digestAlgorithm: digest).getKey()
    }
    return VerificationKey(algorithms: algorithms)
  }

  static func ecdsa(_ key: some ECDSAKey, as name: TokenAlgorithm) async throws -> VerificationKey {
    VerificationKey(algorithms: [name: try await JWTKeyCollection().add(ecdsa: key).getKey()])
  }

  static func ed25519(_ key: EdDSA.PublicKey) async throws -> VerificationKey {
    VerificationKey(algorithms: [.edDSA: try await JWTKeyCollection().add(eddsa: key).getKey()])
  }

  /// - Parameter pem: a public key on P-256, P-384 or P-521; the curve decides the one algorithm it answers for.
  static func ecdsa(pem: String) async throws -> VerificationKey {
    if let key = try? ES256PublicKey(pem: pem) { return try await ecdsa(key, as: .es256) }
    if let key = try? ES384PublicKey(pem: pem) { return try await ecdsa(key, as: .es384) }
    return try await ecdsa(ES512PublicKey(pem: pem), as: .es512)
  }

  /// - Parameter text: PEM, or the 32 bytes of the key in base64url.
  static func ed25519(text: String) async throws -> VerificationKey {
    if text.contains("-----BEGIN") { return try await ed25519(EdDSA.PublicKey(pem: text)) }
    return try await ed25519(EdDSA.PublicKey(x: text, curve: .ed25519))
  }
}
