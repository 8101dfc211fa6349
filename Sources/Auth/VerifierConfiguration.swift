/// The keys and rules that tokens are checked with. A nil key means that tokens of its type are refused.
public struct VerifierConfiguration: Sendable, Equatable {
  /// Shared secret for HS256, and for HS384 and HS512 where it is long enough: at least 32, 48 and 64 bytes of UTF-8.
  public var hmacSecret: String?
  /// A PEM of 2048 bits or more, for RS256, RS384 and RS512.
  public var rsaPublicKey: String?
  /// A PEM whose curve decides between ES256, ES384 and ES512.
  public var ecdsaPublicKey: String?
  /// A PEM, or the 32 bytes of the key in base64url, for EdDSA.
  public var ed25519PublicKey: String?
  /// Key sets, looked up by the token's `kid`, after the keys above.
  public var keySets: [KeySetSource]
  /// What `aud` must name; nil: it is not checked.
  public var audience: String?
  /// What `iss` must be; nil: it is not checked.
  public var issuer: String?
  /// Whether a token without `exp` is refused.
  public var requiresExpiry: Bool
  /// Seconds for which a token, and a subscription that it grants, may hold at most; nil: no limit. With it, a token
  /// without `exp` is refused.
  public var maximumLifetime: Int64?

  /// Seconds by which the clock of whoever makes tokens may be ahead of ours, where lifetimes are compared.
  public static let clockLeeway: Int64 = 60

  public init(
    hmacSecret: String?, rsaPublicKey: String?, ecdsaPublicKey: String?, ed25519PublicKey: String?,
    keySets: [KeySetSource], audience: String?, issuer: String?, requiresExpiry: Bool, maximumLifetime: Int64?
  ) {
    self.hmacSecret = hmacSecret
    self.rsaPublicKey = rsaPublicKey
    self.ecdsaPublicKey = ecdsaPublicKey
    self.ed25519PublicKey = ed25519PublicKey
    self.keySets = keySets
    self.audience = audience
    self.issuer = issuer
    self.requiresExpiry = requiresExpiry
    self.maximumLifetime = maximumLifetime
  }
}

/// Why the verifier cannot start. The description is a sentence for the operator; it holds no part of a key.
public enum VerifierConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  case secretTooShort(bytes: Int)
  /// A PEM stands in the place of the shared secret: everybody may know a public key, so everybody could sign.
  case secretIsAKey
  case unusableKey(name: String)
  case unacceptableKeySetAddress

  /// Bytes of the shortest shared secret (RFC 7518, section 3.2, for HS256).
  public static let minimumSecretLength = 32

  public var description: String {
    switch self {
    case .secretTooShort(let bytes):
      "the HMAC secret has \(bytes) bytes; write at least \(Self.minimumSecretLength) random ones, for example from `openssl rand -hex 32`"
    case .secretIsAKey:
      "the HMAC secret is a PEM key; put a public key into its own setting (rsa_public_key, ecdsa_public_key or ed25519_public_key)"
    case .unusableKey(let name):
      "the \(name) cannot be read; write the public key as PEM (RSA: at least 2048 bits; ECDSA: P-256, P-384 or P-521)"
    case .unacceptableKeySetAddress:
      "the address of the key set must begin with https:// and hold no user name (http:// is accepted for this machine only)"
    }
  }
}
