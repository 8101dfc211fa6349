import Cryptography
import Logging
import Wire

/// Tokens for the demo, signed with a key that is drawn when the server starts and that nobody is told.
///
/// They end with the process at the latest, no other server takes them, and a server without the demo makes no such key,
/// so that a token of the demo opens nothing where the demo is off.
public struct DemoTokens: Sendable {
  /// Seconds for which a token holds.
  public static let lifetime: Int64 = 900

  private static let issuer = "fanfare-demo"

  private let minter: TokenMinter
  private let own: JWTVerifier

  /// - Parameter now: seconds since 1970.
  public init(now: @escaping @Sendable () -> Int64) throws(VerifierConfigurationError) {
    let secret = Randomness.bytes(32).hexadecimal
    minter = try TokenMinter(hmacSecret: secret, issuer: Self.issuer, now: now)
    let configuration = VerifierConfiguration(
      hmacSecret: secret, rsaPublicKey: nil, ecdsaPublicKey: nil, ed25519PublicKey: nil, keySets: [], audience: nil,
      issuer: Self.issuer, requiresExpiry: true, maximumLifetime: Self.lifetime)
    // Every token that is not the demo's is refused here first, which is worth no line of the log.
    own = try JWTVerifier(
      configuration, now: now, logger: Logger(label: "fanfare.demo") { _ in SwiftLogNoOpLogHandler() })
  }

  /// A token that signs somebody in.
  ///
  /// - Parameter name: shown to others as the `name` of the client's info.
  public func token(user: String, name: String) throws -> String {
    try minter.connectionToken(
      user: user, expiresIn: Self.lifetime, info: Array("{\"name\":\(JSONText.quoted(name))}".utf8))
  }

  /// What a token says that signs somebody in on the demo; nil where it is none of the demo's, or has ended.
  public func holder(of token: String) async -> ConnectionClaims? { try? await own.verifyConnection(token) }

  /// Takes the demo's tokens for connections, and for everything else what the configured verifier takes.
  public func verifier(beside configured: any TokenVerifier) -> any TokenVerifier {
    Both(own: own, configured: configured)
  }

  private struct Both: TokenVerifier {
    let own: JWTVerifier
    let configured: any TokenVerifier

    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
      do throws(TokenError) {
        return try await own.verifyConnection(token)
      } catch .expired {
        throw .expired
      } catch {
        return try await configured.verifyConnection(token)
      }
    }

    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
      try await configured.verifySubscription(token)
    }

    func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims {
      try await configured.verifyPlace(token)
    }
  }
}
