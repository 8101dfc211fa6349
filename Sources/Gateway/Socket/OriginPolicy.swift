/// Which web pages may connect.
///
/// A browser sends a user's cookies and its own address with every WebSocket, wherever the page came from, and asks
/// nobody: the `Origin` header is all that tells our page from a stranger's. Clients that are no browsers send none.
struct OriginPolicy: Sendable {
  private enum Rule: Sendable, Equatable {
    case any
    case exactly(String)
    /// `scheme` with `://`, and what every allowed host ends in, its dot included: `.example.com:8443`.
    case subdomains(scheme: String, suffix: String)
  }

  private let rules: [Rule]

  init(allowedOrigins: [String]) {
    rules = allowedOrigins.map { entry in
      let entry = entry.lowercased()
      if entry == "*" { return .any }
      guard let mark = entry.firstRange(of: "://*.") else { return .exactly(Self.withoutDefaultPort(entry)) }
      let suffix =
        "."
        + Self.withoutDefaultPort(entry[..<mark.lowerBound] + "://" + entry[mark.upperBound...])
        .dropFirst(entry.distance(from: entry.startIndex, to: mark.lowerBound) + 3)
      return .subdomains(scheme: entry[..<mark.lowerBound] + "://", suffix: suffix)
    }
  }

  /// - Parameters:
  ///   - origins: every `Origin` header of the request.
  ///   - host: the `Host` header.
  func allows(origins: [String], host: String) -> Bool {
    guard let first = origins.first else { return true }
    if rules.contains(.any) { return true }
    guard origins.count == 1, let origin = Self.normalized(first) else { return false }
    if rules.isEmpty { return Self.isSameHost(origin, host: host) }
    return rules.contains { rule in
      switch rule {
      case .any: true
      case .exactly(let allowed): origin == allowed
      case .subdomains(let scheme, let suffix):
        origin.hasPrefix(scheme) && origin.hasSuffix(suffix)
          && origin.utf8.count > scheme.utf8.count + suffix.utf8.count
      }
    }
  }

  /// `scheme://host[:port]` in lower case without the scheme's own port, or nil where it is anything else: `null`, a
  /// path, a user name before an `@`, bytes that no host name holds.
  private static func normalized(_ origin: String) -> String? {
    let origin = origin.lowercased()
    // No scheme holds a colon.
    guard let colon = origin.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = origin[..<colon]
    let rest = origin[colon...].utf8
    guard rest.starts(with: "://".utf8) else { return nil }
    let authority = Substring(rest.dropFirst(3))
    guard !scheme.isEmpty, !authority.isEmpty, authority.utf8.allSatisfy(isAuthorityByte) else { return nil }
    guard authority.utf8.first != UInt8(ascii: ".") else { return nil }
    return withoutDefaultPort(origin)
  }

  /// The page's scheme does not matter here: behind a proxy that ends TLS, we cannot know our own.
  private static func isSameHost(_ origin: String, host: String) -> Bool {
    for (scheme, port) in [("http://", ":80"), ("https://", ":443")] where origin.hasPrefix(scheme) {
      let host = host.lowercased()
      return origin.dropFirst(scheme.count) == (host.hasSuffix(port) ? host.dropLast(port.count) : host[...])
    }
    return false
  }

  private static func withoutDefaultPort(_ origin: some StringProtocol) -> String {
    for (scheme, port) in [("http://", ":80"), ("https://", ":443"), ("ws://", ":80"), ("wss://", ":443")]
    where origin.hasPrefix(scheme) && origin.hasSuffix(port) {
      return String(origin.dropLast(port.count))
    }
    return String(origin)
  }

  private static func isAuthorityByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"): true
    case UInt8(ascii: "["), UInt8(ascii: "]"): true
    default: false
    }
  }
}
