import Auth
import Foundation
import Logging
import Settings
import ZeroMQ

/// The keys that tokens are checked with.
enum TokenSetup {
  struct Secret {
    var value: String
    /// Whether the secret was made now, on the first start.
    var isNew: Bool
  }

  /// The shared secret, if one is configured or needed.
  static func secret(for settings: Settings, logger: Logger) throws -> Secret? {
    let token = settings.token
    do throws(SecretFile.Fault) {
      if !token.hmacSecret.isEmpty { return Secret(value: token.hmacSecret, isNew: false) }
      if !token.hmacSecretFile.isEmpty { return Secret(value: try SecretFile.load(token.hmacSecretFile), isNew: false) }
      guard token.needsMadeSecret else { return nil }
      let existed = FileManager.default.fileExists(atPath: "\(settings.data.directory)/\(SecretFile.name)")
      return Secret(value: try SecretFile.loadOrCreate(in: settings.data.directory), isNew: !existed)
    } catch {
      throw Complaint("\(error)")
    }
  }

  /// What checks the tokens.
  ///
  /// - Parameter now: seconds since 1970, by which tokens end.
  static func verifier(
    for settings: Settings, secret: String?, logger: Logger, now: @escaping @Sendable () -> Int64
  ) throws -> JWTVerifier {
    let token = settings.token
    var keySets: [KeySetSource] = []
    let (lifetime, age) = (
      token.jwksCacheTTL.wholeSeconds, token.jwksMaxAge > .zero ? token.jwksMaxAge.wholeSeconds : nil
    )
    if !token.jwksFile.isEmpty {
      keySets.append(KeySetSource(.file(token.jwksFile), timeToLive: lifetime, maximumAge: age))
    }
    if !token.jwksURL.isEmpty {
      keySets.append(KeySetSource(.url(token.jwksURL), timeToLive: lifetime, maximumAge: age))
    }
    let configuration = VerifierConfiguration(
      hmacSecret: secret,
      rsaPublicKey: try key(token.rsaPublicKey, file: token.rsaPublicKeyFile),
      ecdsaPublicKey: try key(token.ecdsaPublicKey, file: token.ecdsaPublicKeyFile),
      ed25519PublicKey: try key(token.ed25519PublicKey, file: token.ed25519PublicKeyFile),
      keySets: keySets, audience: token.audience.isEmpty ? nil : token.audience,
      issuer: token.issuer.isEmpty ? nil : token.issuer, requiresExpiry: token.requireExp,
      maximumLifetime: token.maxLifetime > .zero ? token.maxLifetime.wholeSeconds : nil)
    do { return try JWTVerifier(configuration, now: now, age: monotonicSeconds, logger: logger) } catch {
      throw Complaint("\(error)")
    }
  }

  /// The clock for the age of key sets. It is not the wall clock, which can be set back: that would make a withdrawn key
  /// young again.
  @Sendable private static func monotonicSeconds() -> Int64 { Int64(MonotonicClock.now() / 1_000_000_000) }

  private static func key(_ text: String, file: String) throws -> String? {
    if !text.isEmpty { return text }
    if file.isEmpty { return nil }
    guard let contents = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw Complaint("the key file \(file) cannot be read; check its path and permissions")
    }
    return contents
  }
}
