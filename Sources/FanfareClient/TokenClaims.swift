internal import Wire

/// What a client reads of its own token.
enum TokenClaims {
  /// The user that a token names, unchecked: to name one's own channels. Nil where it names none.
  static func user(of token: String) -> String? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    struct Claims: Decodable { var sub: String? }
    guard let bytes = Base64.url.bytes(String(parts[1])), let claims = try? JSON.decode(Claims.self, bytes) else {
      return nil
    }
    return claims.sub.flatMap { $0.isEmpty ? nil : $0 }
  }
}
