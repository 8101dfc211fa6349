/// Where to connect to: a `ws:` or `wss:` URL, taken apart.
struct Endpoint: Equatable, Sendable {
  var isSecure: Bool
  /// Without the brackets of an IPv6 address.
  var host: String
  var port: Int
  /// Path and query, beginning with `/`.
  var target: String

  /// The value of the Host header.
  var authority: String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  init(_ url: String) throws(RealtimeError) {
    let visible = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard visible, let scheme = url.firstRange(of: "://") else { throw .invalidURL(url) }
    switch url[..<scheme.lowerBound].lowercased() {
    case "ws": isSecure = false
    case "wss": isSecure = true
    default: throw .invalidURL(url)
    }
    let rest = url[scheme.upperBound...].prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest[authority.endIndex...]
    target = path.hasPrefix("/") ? String(path) : "/" + path
    guard !authority.contains("@") else { throw .invalidURL(url) }

    let digits: Substring?
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      host = String(authority[authority.index(after: authority.startIndex)..<end])
      let after = authority[authority.index(after: end)...]
      guard after.isEmpty || after.hasPrefix(":") else { throw .invalidURL(url) }
      digits = after.isEmpty ? nil : after.dropFirst()
    } else if let colon = authority.firstIndex(of: ":") {
      host = String(authority[..<colon])
      digits = authority[authority.index(after: colon)...]
    } else {
      host = String(authority)
      digits = nil
    }
    if let digits {
      guard let number = UInt16(digits), number > 0 else { throw .invalidURL(url) }
      port = Int(number)
    } else {
      port = isSecure ? 443 : 80
    }
    guard !host.isEmpty else { throw .invalidURL(url) }
  }
}
