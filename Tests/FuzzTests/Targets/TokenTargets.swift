import Wire

@testable import Auth

/// Tokens, and the sets of keys that they are checked with.
enum TokenTargets {
  private static let now: Int64 = 1_700_000_000
  private static let lifetime: Int64 = 86_400
  /// Nobody signs with it: not even a seed has a signature of it.
  private static let secret = VerificationKey(secret: Array(repeating: 0xA5, count: 64))

  // MARK: Tokens

  /// The first byte chooses whether the rest is a token as it comes, or the claims of one.
  static func token(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    var bytes = FuzzBytes(input)
    let isWhole = bytes.flag()
    let rest = bytes.rest()
    let text = isWhole ? String(decoding: rest, as: UTF8.self) : compact(rest)
    guard let token = try? CompactToken(text) else { return false }
    for algorithm in [TokenAlgorithm.hs256, .hs384, .hs512] where algorithm == token.algorithm {
      try require(!token.isSigned(with: secret), "a signature was found without the secret: \(text)")
    }
    guard let claims = try? token.claims() else { return false }
    var isRead = false
    for reader in readers {
      if let read = try? reader.connection(claims) {
        isRead = true
        try check(read.expiresAt, reader)
        for part in [read.info, read.meta] + read.subscriptions.values.flatMap({ [$0.info, $0.data] }) {
          try checkLine(part)
        }
      }
      if let read = try? reader.subscription(claims) {
        isRead = true
        try require(!read.channel.isEmpty, "a subscription to no channel")
        try check(read.expiresAt, reader)
        for part in [read.grant.info, read.grant.data] { try checkLine(part) }
      }
      if let read = try? reader.place(claims) {
        isRead = true
        try require(!read.user.isEmpty && !read.place.isEmpty, "a place of nobody, or nowhere")
        let most = PlaceClaims.longestLifetime + VerifierConfiguration.clockLeeway
        try require(read.expiresAt > now && read.expiresAt <= now + most, "a place until \(read.expiresAt)")
      }
    }
    return isRead
  }

  private static let readers = [
    ClaimsReader(audience: nil, issuer: nil, now: now),
    ClaimsReader(audience: "a", issuer: "i", requiresExpiry: true, maximumLifetime: lifetime, now: now),
  ]

  private static func compact(_ claims: [UInt8]) -> String {
    [Array(#"{"alg":"HS256","kid":"1"}"#.utf8), claims, [0x73, 0x69, 0x67]].map { Base64.url.text($0) }
      .joined(separator: ".")
  }

  private static func check(_ end: Int64?, _ reader: ClaimsReader) throws(BrokenProperty) {
    try require(end ?? .max > now, "claims that ended at \(String(describing: end))")
    guard reader.maximumLifetime != nil else { return }
    guard let end else { throw BrokenProperty(description: "claims without an end where lifetimes are limited") }
    try require(end <= now + lifetime + VerifierConfiguration.clockLeeway, "claims until \(end)")
  }

  private static func checkLine(_ json: [UInt8]?) throws(BrokenProperty) {
    guard let json else { return }
    try require(JSONSyntax.isValid(json), "a claim is not JSON: \(String(decoding: json, as: UTF8.self))")
    try require(!json.contains(0x0A) && !json.contains(0x0D), "a claim has a line break")
  }

  // MARK: Keys

  static func keySet(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    _ = try? APIKeys(parsing: input)
    guard let set = try? KeySet(parsing: input) else { return false }
    for algorithm in TokenAlgorithm.allCases {
      for key in set.keys("1", for: algorithm) {
        try require(!algorithm.isSymmetric, "a shared secret came from a key set")
        try require(set.contains("1"), "a set denies the key that it gives out")
        try require(key.answers(for: algorithm), "a key is given out for what it does not check")
        try require(!key.isSignature([1, 2, 3], of: [4], algorithm), "three bytes are a signature")
      }
    }
    return true
  }
}
