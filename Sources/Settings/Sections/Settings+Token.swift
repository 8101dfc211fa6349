extension Settings {
  /// Keys that tokens are checked with.
  public struct Token: Sendable, Equatable {
    @Setting public var hmacSecret: String
    @Setting public var hmacSecretFile: String
    @Setting public var rsaPublicKey: String
    @Setting public var rsaPublicKeyFile: String
    @Setting public var ecdsaPublicKey: String
    @Setting public var ecdsaPublicKeyFile: String
    @Setting public var ed25519PublicKey: String
    @Setting public var ed25519PublicKeyFile: String
    @Setting public var jwksFile: String
    @Setting public var jwksURL: String
    @Setting public var jwksCacheTTL: Duration
    /// Time for which a key set is used that cannot be read again; zero: twice ``jwksCacheTTL``.
    @Setting public var jwksMaxAge: Duration
    @Setting public var requireExp: Bool
    /// Longest time for which a token may hold; zero: no limit.
    @Setting public var maxLifetime: Duration
    @Setting public var maxRevocations: Int
    @Setting public var audience: String
    @Setting public var issuer: String

    init(_ declare: inout SettingDeclarations) {
      _hmacSecret = declare.text(
        "hmac_secret", "",
        "Shared secret for HS256, HS384 and HS512, at least 32 bytes; with no key at all, one is made in the data folder on the first start.",
        isSecret: true, rule: SettingFaults.ofSecret)
      _hmacSecretFile = declare.text("hmac_secret_file", "", "File with the shared secret; only its owner may read it.")
      _rsaPublicKey = declare.text(
        "rsa_public_key", "", "RSA public key as PEM, for RS256, RS384 and RS512.", rule: SettingFaults.ofPublicKey)
      _rsaPublicKeyFile = declare.text("rsa_public_key_file", "", "File with the RSA public key.")
      _ecdsaPublicKey = declare.text(
        "ecdsa_public_key", "", "ECDSA public key as PEM, for ES256, ES384 or ES512.", rule: SettingFaults.ofPublicKey)
      _ecdsaPublicKeyFile = declare.text("ecdsa_public_key_file", "", "File with the ECDSA public key.")
      _ed25519PublicKey = declare.text(
        "ed25519_public_key", "", "Ed25519 public key as PEM or base64url, for EdDSA.", rule: SettingFaults.ofPublicKey)
      _ed25519PublicKeyFile = declare.text("ed25519_public_key_file", "", "File with the Ed25519 public key.")
      _jwksFile = declare.text("jwks_file", "", "File with a JSON Web Key Set.")
      _jwksURL = declare.text(
        "jwks_url", "", "Address of a JSON Web Key Set, beginning with https://.", rule: SettingFaults.ofKeySetAddress)
      _jwksCacheTTL = declare.duration(
        "jwks_cache_ttl", .hours(1), in: .seconds(10) ... .hours(168),
        "Time after which a key set is read again; an unknown key id reads it sooner.")
      _jwksMaxAge = declare.duration(
        "jwks_max_age", .zero, in: .zero ... .hours(720),
        "Time for which a key set is used that cannot be read again, so how long a withdrawn key counts while its source is down; 0 means twice token.jwks_cache_ttl."
      )
      _requireExp = declare.flag("require_exp", false, "Refuse tokens without an end (exp).")
      _maxLifetime = declare.duration(
        "max_lifetime", .zero, in: .zero ... .hours(24 * 366),
        "Longest time for which a token may hold, from iat or else from now, and a subscription that it grants; with it exp is required; 0 means no limit."
      )
      _maxRevocations = declare.integer(
        "max_revocations", 100_000, in: 1...1_000_000,
        "Revoked tokens and users that are in force at a time; for the broker.")
      _audience = declare.text("audience", "", "What a token's aud must name; empty: not checked.")
      _issuer = declare.text("issuer", "", "What a token's iss must be; empty: not checked.")
    }

    /// True where no key is configured: a secret is then made in the data folder.
    public var needsMadeSecret: Bool {
      [
        hmacSecret, hmacSecretFile, rsaPublicKey, rsaPublicKeyFile, ecdsaPublicKey, ecdsaPublicKeyFile,
        ed25519PublicKey, ed25519PublicKeyFile, jwksFile, jwksURL,
      ].allSatisfy(\.isEmpty)
    }
  }
}
