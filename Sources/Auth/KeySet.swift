import Cryptography
import Wire

/// The public keys of a JSON Web Key Set (RFC 7517) that a token may be checked with.
///
/// Keys are read one by one: a set may hold keys of kinds that are not used here (encryption, other curves) next to
/// those that are. A shared secret (`oct`) in a set is never used, and a private key is used for its public half only.
struct KeySet: Sendable {
  /// Keys of one set that are looked at.
  static let maximumKeys = 256

  enum Fault: Error {
    case notAKeySet
    case noUsableKey
  }

  private let keys: [(keyID: String, key: VerificationKey)]

  init(parsing document: [UInt8]) throws {
    guard let entries = try JSONValue(parsing: document, equalKeys: .refused).object?["keys"]?.array else {
      throw Fault.notAKeySet
    }
    var keys: [(keyID: String, key: VerificationKey)] = []
    for entry in entries.prefix(Self.maximumKeys) {
      guard let entry = entry.object, let keyID = entry["kid"]?.string, let key = Self.key(entry) else {
        continue
      }
      keys.append((keyID, key))
    }
    guard !keys.isEmpty else { throw Fault.noUsableKey }
    self.keys = keys
  }

  func contains(_ keyID: String) -> Bool { keys.contains { $0.keyID.hasSameBytes(as: keyID) } }

  /// The keys with a `kid`: usually one, but a set may use a `kid` again for another kind of key.
  func keys(_ keyID: String, for algorithm: TokenAlgorithm) -> [VerificationKey] {
    keys.filter { $0.keyID.hasSameBytes(as: keyID) && $0.key.answers(for: algorithm) }.map(\.key)
  }

  /// The key of an entry; nil where it is not for signatures, or not of a kind that is used.
  private static func key(_ entry: JSONObject) -> VerificationKey? {
    if let use = entry["use"], use.string != "sig" { return nil }
    if let operations = entry["key_ops"]?.array, !operations.contains(where: { $0.string == "verify" }) { return nil }
    guard let key = try? publicKey(entry).map({ VerificationKey($0) }) else { return nil }
    guard let stated = entry["alg"] else { return key }
    guard let name = stated.string.flatMap(TokenAlgorithm.init(rawValue:)) else { return nil }
    let restricted = key.restricted(to: name)
    return restricted.isUsable ? restricted : nil
  }

  private static func publicKey(_ entry: JSONObject) throws(UnusableKey) -> PublicKey? {
    func number(_ name: String) throws(UnusableKey) -> [UInt8] {
      guard let text = entry[name]?.string, let bytes = Base64.url.bytes(text) else { throw UnusableKey() }
      return bytes
    }
    let curve = entry["crv"]?.string
    switch entry["kty"]?.string {
    case "RSA": return try PublicKey(rsaModulus: number("n"), exponent: number("e"))
    case "EC":
      guard let curve = curve.flatMap(Curve.init(rawValue:)) else { return nil }
      return try PublicKey(curve, x: number("x"), y: number("y"))
    case "OKP": return curve == "Ed25519" ? try PublicKey(ed25519: number("x")) : nil
    default: return nil
    }
  }
}
