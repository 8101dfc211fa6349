/// Where to connect to: a `ws:` or `wss:` URL, or one of HTTP, taken apart.
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

  /// - Throws: ``RealtimeError/invalidURL(_:)`` where it is no address of a WebSocket.
  init(_ url: String) throws(RealtimeError) { try self.init(url, plain: "ws", secure: "wss") }

  /// A path on the same server, or a whole `http:` or `https:` address.
  func http(_ place: String) throws(RealtimeError) -> Endpoint {
    guard place.hasPrefix("/") else { return try Endpoint(place, plain: "http", secure: "https") }
    var endpoint = self
    endpoint.target = place
    return endpoint
  }

  /// The address of something there, for whoever takes addresses in one piece.
  func url(_ scheme: String) -> String { "\(scheme)\(isSecure ? "s" : "")://\(authority)\(target)" }

  private init(_ url: String, plain: String, secure: String) throws(RealtimeError) {
    let visible = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard visible, let scheme = url.firstRange(of: "://") else { throw .invalidURL(url) }
    switch url[..<scheme.lowerBound].lowercased() {
    case plain: isSecure = false
    case secure: isSecure = true
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
