import Wire
import Cryptography
import Foundation
import HTTPClient
public import Logging

/// Checks JSON Web Tokens: header, signature, then claims, in that order. A token's claims are not looked at before its
/// signature holds, and nothing that the token says decides which key is used beyond a look-up of its `kid`.
///
/// Raw JSON in claims (`info`, `meta`, `data`) is given back byte by byte as it stands in the token; where it holds
/// line breaks, the whitespace between the JSON's own tokens is left out.
public struct JWTVerifier: TokenVerifier {
  private let keys: [VerificationKey]
  private let caches: [KeySetCache]
  private let audience: String?
  private let issuer: String?
  private let requiresExpiry: Bool
  private let maximumLifetime: Int64?
  private let now: @Sendable () -> Int64
  private let logger: Logger

  /// - Parameters:
  ///   - now: the wall clock in seconds since 1970, against which the times in tokens are held.
  ///   - age: seconds of a clock that never goes back, for the age of key sets; nil: `now`.
  public init(
    _ configuration: VerifierConfiguration,
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) },
    age: (@Sendable () -> Int64)? = nil, logger: Logger = Logger(label: "fanfare.auth")
  ) throws(VerifierConfigurationError) {
    self.keys = try Self.keys(configuration)
    var caches: [KeySetCache] = []
    let fetched = configuration.keySets.count { if case .url = $0.location { true } else { false } }
    // One reading of each source is under way at a time.
    let client = fetched > 0 ? KeySetReader.client(for: fetched) : nil
    for source in configuration.keySets {
      caches.append(KeySetCache(source, load: try Self.loader(source, client), now: age ?? now, logger: logger))
    }
    self.caches = caches
    self.audience = configuration.audience
    self.issuer = configuration.issuer
    requiresExpiry = configuration.requiresExpiry
    maximumLifetime = configuration.maximumLifetime
    self.now = now
    self.logger = logger
  }

  public func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
    try await logged("connection") { () async throws(TokenError) in
      try reader.connection(try await verifiedClaims(token))
    }
  }

  public func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    try await logged("subscription") { () async throws(TokenError) in
      try reader.subscription(try await verifiedClaims(token))
    }
  }

  public func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims {
    try await logged("place") { () async throws(TokenError) in
      try reader.place(try await verifiedClaims(token))
    }
  }

  private var reader: ClaimsReader {
    ClaimsReader(
      audience: audience, issuer: issuer, requiresExpiry: requiresExpiry, maximumLifetime: maximumLifetime, now: now())
  }

  /// Logs why a token was refused, without any part of the token, because clients are told no more than a code.
  private func logged<Claims>(
    _ kind: String, _ check: () async throws(TokenError) -> Claims
  ) async throws(TokenError) -> Claims {
    do throws(TokenError) {
      return try await check()
    } catch {
      if case .invalid(let reason) = error {
        logger.debug("a \(kind) token was refused", metadata: ["reason": "\(reason)"])
      }
      throw error
    }
  }

  private func verifiedClaims(_ token: String) async throws(TokenError) -> JSONObject {
    let token = try CompactToken(token)
    try await checkSignature(token)
    return try token.claims()
  }

  /// Checks the signature, first with the configured keys of the token's own type, which cost no reading of a key set.
  private func checkSignature(_ token: CompactToken) async throws(TokenError) {
    let configured = keys.filter { $0.answers(for: token.algorithm) }
    if configured.contains(where: token.isSigned) { return }
    guard !caches.isEmpty, !token.algorithm.isSymmetric else {
      throw .invalid(
        reason: configured.isEmpty
          ? "no \(token.algorithm.keyName) is configured for \(token.algorithm.rawValue)"
          : "the token's signature does not match")
    }
    guard let keyID = token.keyID else {
      throw .invalid(reason: "the token names no key (kid), and no configured key matches its signature")
    }
    var unavailable: TokenError?
    for cache in caches {
      do throws(TokenError) {
        let found = try await cache.keys(for: keyID).keys(keyID, for: token.algorithm)
        if found.contains(where: token.isSigned) { return }
      } catch {
        unavailable = error
      }
    }
    throw unavailable ?? .invalid(reason: "no key of the key set matches the token's kid, algorithm and signature")
  }

  private static func keys(
    _ configuration: VerifierConfiguration
  ) throws(VerifierConfigurationError) -> [VerificationKey] {
    var keys: [VerificationKey] = []
    if let text = configuration.hmacSecret { keys.append(VerificationKey(secret: try secret(text))) }
    if let pem = configuration.rsaPublicKey {
      keys.append(try key("RSA public key") { () throws(UnusableKey) in try .init(pem: pem) { $0 == .rsa } })
    }
    if let pem = configuration.ecdsaPublicKey {
      keys.append(
        try key("ECDSA public key") { () throws(UnusableKey) in
          try .init(pem: pem) { if case .ecdsa = $0 { true } else { false } }
        })
    }
    if let text = configuration.ed25519PublicKey {
      keys.append(try key("Ed25519 public key") { () throws(UnusableKey) in try .init(ed25519: text) })
    }
    return keys
  }

  /// The bytes of a secret. The minter calls it too, so that both refuse the same secrets.
  static func secret(_ text: String) throws(VerifierConfigurationError) -> [UInt8] {
    if text.contains("-----BEGIN") { throw .secretIsAKey }
    let bytes = Array(text.utf8)
    guard bytes.count >= VerifierConfigurationError.minimumSecretLength else {
      throw .secretTooShort(bytes: bytes.count)
    }
    return bytes
  }

  private static func key(
    _ name: String, _ make: () throws(UnusableKey) -> VerificationKey
  ) throws(VerifierConfigurationError) -> VerificationKey {
    do { return try make() } catch { throw .unusableKey(name: name) }
  }

  /// - Parameter client: nil where no source is a URL.
  private static func loader(
    _ source: KeySetSource, _ client: HTTPClient?
  ) throws(VerifierConfigurationError) -> @Sendable () async throws -> [UInt8] {
    switch source.location {
    case .file(let path): return { try KeySetReader.file(path) }
    case .url(let address):
      guard let client, let url = KeySetReader.acceptable(address) else { throw .unacceptableKeySetAddress }
      let timeout = source.timeout
      return { try await KeySetReader.url(url, by: client, timeout: timeout) }
    }
  }
}
