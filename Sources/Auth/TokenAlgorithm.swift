import Cryptography

/// The signature algorithms that a token may use (RFC 7518, section 3.1, and RFC 8037). `none` is not one of them, in
/// any spelling.
enum TokenAlgorithm: String, Sendable, CaseIterable {
  case hs256 = "HS256"
  case hs384 = "HS384"
  case hs512 = "HS512"
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case edDSA = "EdDSA"

  /// True where the key that checks can also sign. Such a key never comes from a key set.
  var isSymmetric: Bool {
    switch self {
    case .hs256, .hs384, .hs512: true
    default: false
    }
  }

  /// The digest that is signed; EdDSA has one of its own.
  var digest: Digest {
    switch self {
    case .hs256, .rs256, .es256: .sha256
    case .hs384, .rs384, .es384: .sha384
    case .hs512, .rs512, .es512, .edDSA: .sha512
    }
  }

  /// The setting that gives the key, as the reason of a refusal names it.
  var keyName: String {
    switch self {
    case .hs256, .hs384, .hs512: "HMAC secret"
    case .rs256, .rs384, .rs512: "RSA public key"
    case .es256, .es384, .es512: "ECDSA public key"
    case .edDSA: "Ed25519 public key"
    }
  }
}
