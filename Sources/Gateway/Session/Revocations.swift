import Auth
import Synchronization
import Wire

/// Which tokens are revoked, as the broker said it last: for all sign-ins of a gateway, on whatever thread.
///
/// The link writes the table before the event loops hear what was added, and each event loop looks here again when a
/// token check of its own comes back. So a token either finds the revocation here, or its connection is there already
/// when the event loop walks through its connections: there is no moment between the two.
final class Revocations: Sendable {
  /// By partition. A token counts no more where any of them says so: what was revoked stands in all of them, and a
  /// deletion bars its user in the partition in which it is under way.
  private let tables: Mutex<[RevocationTable]>

  init(partitions: Int = 1) { tables = Mutex(Array(repeating: RevocationTable(), count: partitions)) }

  func replace(with table: RevocationTable, of partition: Int = Partitioning.home) {
    tables.withLock { $0[partition] = table }
  }

  /// All that is in force now, in one table or several.
  var inForce: [RevocationTable] { tables.withLock { $0.filter { !$0.isEmpty } } }

  func isSuspended(_ user: String) -> Bool { tables.withLock { $0.contains { $0.suspension(of: user) != nil } } }

  func refuses(_ claims: ConnectionClaims) -> Bool { refuses(claims.token, of: claims.user) }

  func refuses(_ claims: SubscriptionClaims) -> Bool {
    refuses(claims.token, of: claims.user, channel: claims.channel)
  }

  func refuses(_ claims: PlaceClaims) -> Bool { refuses(claims.token, of: claims.user) }

  /// - Parameter token: nil: one that says nothing of itself. It can be refused for its user alone.
  private func refuses(_ token: TokenIdentity?, of user: String, channel: String? = nil) -> Bool {
    guard let token else { return isSuspended(user) }
    return tables.withLock { $0.contains { $0.refuses(token, of: user, channel: channel) } }
  }
}

/// Checks tokens, and refuses those that are revoked.
struct RevocationVerifier: TokenVerifier {
  let verifier: any TokenVerifier
  let revocations: Revocations
  let refusals: Refusals

  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
    let claims = try await verifier.verifyConnection(token)
    if revocations.refuses(claims) { throw refusal(claims.user) }
    return claims
  }

  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    let claims = try await verifier.verifySubscription(token)
    if revocations.refuses(claims) { throw refusal(claims.user) }
    return claims
  }

  func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims {
    let claims = try await verifier.verifyPlace(token)
    if revocations.refuses(claims) { throw refusal(claims.user) }
    return claims
  }

  private func refusal(_ user: String) -> TokenError {
    refusals.note(.revokedToken, from: user)
    return .revoked(of: user)
  }
}

extension TokenError {
  static func revoked(of user: String) -> TokenError {
    .invalid(reason: "the token is revoked, of user \(excerpt(of: user))")
  }
}
