internal import CCurl

/// Whether a call can be sent as it is, and to which host it goes.
///
/// The URL is read by libcurl, which will also send the call: two readers that disagree about where a host name ends
/// would let one host be checked and another be called.
struct CallTarget: Equatable, Sendable {
  /// Scheme, name and port: `https://example.org:443`.
  let host: String

  /// What HTTP itself sets. Given by the caller, they would make the reader on the other side see another request than
  /// was sent.
  private static let ownHeaders: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// - Throws: `badURL` with the reason.
  init(_ call: HTTPCall) throws(HTTPCallError) {
    guard !call.method.isEmpty, call.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw .badURL("its method is not a word in upper case")
    }
    for (name, value) in call.headers { try Self.check(name, value) }
    // Also what ends a string in C, after which the rest of the URL would be lost.
    guard call.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .badURL("its URL has spaces, control characters or letters beyond ASCII; write them with % signs")
    }
    host = try Self.host(of: call.url)
  }

  private static func check(_ name: String, _ value: String) throws(HTTPCallError) {
    // RFC 9110, section 5.6.2: what a token may be made of.
    let isToken = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    guard isToken, !name.isEmpty else { throw .badURL("a header's name is not valid") }
    if ownHeaders.contains(name.lowercased()) {
      throw .badURL("the header \(name) is set by the client itself; leave it out")
    }
    // A line break would begin another header, or another request.
    guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw .badURL("the header \(name) has control characters")
    }
  }

  private static func host(of url: String) throws(HTTPCallError) -> String {
    guard let parts = unsafe curl_url() else { throw .unreachable("there is no memory for the call") }
    defer { unsafe curl_url_cleanup(parts) }
    let code = unsafe curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER))
    if code == CURLUE_USER_NOT_ALLOWED {
      throw .badURL("its URL has a user in it; give it in the header Authorization")
    }
    guard code == CURLUE_OK else {
      throw .badURL("its URL is not valid (\(unsafe String(cString: curl_url_strerror(code))))")
    }
    func part(_ part: CURLUPart) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      guard unsafe curl_url_get(parts, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text = unsafe text
      else { return nil }
      defer { unsafe curl_free(text) }
      return unsafe String(cString: text)
    }
    guard let scheme = part(CURLUPART_SCHEME)?.lowercased(), scheme == "http" || scheme == "https" else {
      throw .badURL("its URL begins neither with http:// nor with https://")
    }
    guard let name = part(CURLUPART_HOST), !name.isEmpty, let port = part(CURLUPART_PORT) else {
      throw .badURL("its URL names no host")
    }
    return "\(scheme)://\(name.lowercased()):\(port)"
  }
}
