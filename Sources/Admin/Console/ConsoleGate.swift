import HTTPTypes

/// Tells requests of the console's own page from those that another page has a browser make: pure.
///
/// A browser sends cookies with requests that any page makes. What it does not let other pages do: send a header of their own
/// (``header``) to another origin without that origin's consent, which nobody here gives; choose `Origin` and
/// `Sec-Fetch-Site`. So both are looked at, and the cookie is `SameSite=Strict` besides.
///
///     request                        `Origin`, `Sec-Fetch-Site`     header     session
///     GET of a file                                                            (no data in it)
///     sign-in                        own, or not sent
///     everything else                own, or not sent               yes        yes
enum ConsoleGate {
  /// The header that only the console's own page sends.
  static let header = HTTPField.Name("x-fanfare-console")
  static let cookie = "fanfare_console"
  private static let site = HTTPField.Name("sec-fetch-site")
  /// Cookies of the name that are tried: other servers of the machine may have set some, which browsers send here too.
  private static let mostCookies = 4

  /// Why a request is not taken for one of the own page; nil: it is.
  ///
  /// - Parameter needsHeader: false for signing in, which gives whoever forges it nothing without the password.
  static func refusal(of request: AdminRequest, needsHeader: Bool) -> String? {
    if let site, request.fields[values: site].contains(where: { $0 != "same-origin" }) {
      return "this request comes from another site's page; open the console at /console/ on this server"
    }
    let origins = request.fields[values: .origin]
    if !origins.isEmpty {
      guard origins.count == 1, let host = request.authority, isOwn(origins[0], host: host) else {
        return "this request comes from a page of another origin; open the console at /console/ on this server, and "
          + "have a proxy pass on the Host that browsers ask for"
      }
    }
    if needsHeader, header.map({ request.fields[values: $0] }) != ["1"] {
      return "requests of the console carry the header x-fanfare-console: 1"
    }
    return nil
  }

  /// The tokens that a request shows.
  static func tokens(of request: AdminRequest) -> [String] {
    var tokens: [String] = []
    for line in request.fields[values: .cookie] {
      for pair in line.split(separator: ";") where tokens.count < mostCookies {
        let trimmed = pair.drop { $0 == " " }
        guard trimmed.hasPrefix(cookie + "=") else { continue }
        tokens.append(String(trimmed.dropFirst(cookie.count + 1)))
      }
    }
    return tokens
  }

  /// Whether a page's origin is the host that was asked for. Its scheme does not matter: behind a proxy that speaks TLS this
  /// process cannot know its own.
  static func isOwn(_ origin: String, host: String) -> Bool {
    let (origin, host) = (origin.lowercased(), host.lowercased())
    for (scheme, port) in [("http://", ":80"), ("https://", ":443")] where origin.hasPrefix(scheme) {
      func plain(_ text: some StringProtocol) -> String {
        text.hasSuffix(port) ? String(text.dropLast(port.count)) : String(text)
      }
      let authority = plain(origin.dropFirst(scheme.count))
      return !authority.isEmpty && authority == plain(host)
    }
    return false
  }

  /// What a browser is told to keep. `Secure` where its page came over TLS, through a proxy.
  static func setCookie(_ token: String, isSecure: Bool) -> String {
    "\(cookie)=\(token); Path=/console; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }

  static let clearCookie = "\(cookie)=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0"
}
