import JWTKit
import Wire

/// The public keys of a JSON Web Key Set (RFC 7517) that a token may be checked with.
///
/// Keys are taken one by one: a set may hold keys of kinds that we do not use (encryption, other curves) next to ours.
/// A shared secret (`oct`) in a set is never used, and a private key is used for its public half only.
struct KeySet: Sendable {
  /// Keys looked at in one set.
  static let maximumKeys = 256

  enum Fault: Error {
    case notAKeySet
    case noUsableKey
  }

  private let keys: [(keyID: String, key: VerificationKey)]

  init(parsing document: [UInt8]) async throws {
    guard let entries = try RawJSON(parsing: document).object?["keys"]?.array else { throw Fault.notAKeySet }
    var keys: [(keyID: String, key: VerificationKey)] = []
    for entry in entries.prefix(Self.maximumKeys) {
      guard let entry = entry.object, let keyID = entry["kid"]?.string, let key = await Self.key(entry) else {
        continue
      }
      keys.append((keyID, key))
    }
    guard !keys.isEmpty else { throw Fault.noUsableKey }
    self.keys = keys
  }

  func contains(_ keyID: String) -> Bool { keys.contains { $0.keyID.hasSameBytes(as: keyID) } }

  /// Usually one; a set may use a `kid` again for another kind of key.
  func algorithms(_ keyID: String, _ name: TokenAlgorithm) -> [any JWTAlgorithm] {
    keys.filter { $0.keyID.hasSameBytes(as: keyID) }.compactMap { $0.key.algorithm(name) }
  }

  /// Nil where the key is not for signatures or not of a kind that is used.
  private static func key(_ entry: JSONObject) async -> VerificationKey? {
    if let use = entry["use"], use.string != "sig" { return nil }
    if let operations = entry["key_ops"]?.array, !operations.contains(where: { $0.string == "verify" }) { return nil }
    guard let key = try? await publicKey(entry), key.isUsable else { return nil }
    guard let stated = entry["alg"] else { return key }
    guard let name = stated.string.flatMap(TokenAlgorithm.init(rawValue:)) else { return nil }
    let restricted = key.restricted(to: name)
    return restricted.isUsable ? restricted : nil
  }

  private static func publicKey(_ entry: JSONObject) async throws -> VerificationKey? {
    switch entry["kty"]?.string {
    case "RSA":
      guard let modulus = entry["n"]?.string, let exponent = entry["e"]?.string else { return nil }
      return try await .rsa(Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent))
    case "EC":
      guard let x = entry["x"]?.string, let y = entry["y"]?.string else { return nil }
      switch entry["crv"]?.string {
      case "P-256": return try await .ecdsa(ES256PublicKey(parameters: (x, y)), as: .es256)
      case "P-384": return try await .ecdsa(ES384PublicKey(parameters: (x, y)), as: .es384)
      case "P-521": return try await .ecdsa(ES512PublicKey(parameters: (x, y)), as: .es512)
      default: return nil
      }
    case "OKP":
      guard entry["crv"]?.string == "Ed25519", let x = entry["x"]?.string else { return nil }
      return try await .ed25519(text: x)
    default: return nil
    }
  }
}
