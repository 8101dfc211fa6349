import Testing

@testable import Gateway

@Suite("Origins")
struct ListenerOriginTests {
  private func allows(_ allowed: [String], _ origin: String, host: String = "good.com") -> Bool {
    OriginPolicy(allowedOrigins: allowed).allows(origins: [origin], host: host)
  }

  @Test("a client without an Origin header is no browser and may connect")
  func absent() {
    #expect(OriginPolicy(allowedOrigins: []).allows(origins: [], host: "good.com"))
    #expect(OriginPolicy(allowedOrigins: ["https://a.com"]).allows(origins: [], host: "good.com"))
  }

  @Test(
    "without a list, a page of the same host may connect",
    arguments: [
      ("https://good.com", "good.com"), ("http://good.com", "good.com"), ("https://GOOD.com", "Good.COM"),
      ("https://good.com", "good.com:443"), ("https://good.com:443", "good.com"), ("http://good.com:80", "good.com"),
      ("http://localhost:3000", "localhost:3000"), ("http://[::1]:8000", "[::1]:8000"),
    ])
  func sameHost(origin: String, host: String) { #expect(allows([], origin, host: host)) }

  @Test(
    "without a list, every other origin is refused",
    arguments: [
      "null", "", "https://good.com.evil.com", "https://evilgood.com", "https://good.com@evil.com", "https://evil.com",
      "https://good.com:8443", "https://good.com/", "ftp://good.com", "file://", "good.com", "https://",
      "https://good.com#evil.com", "https://good.com evil.com", "http://good.com:443", "https://.good.com",
      "capacitor://good.com", "a:https://good.com", "://good.com", "https:/good.com", "https:good.com", "https",
    ])
  func otherHost(origin: String) { #expect(!allows([], origin)) }

  @Test("a list allows what it names, with its scheme and port, and nothing else")
  func list() {
    let allowed = ["https://app.example.com", "https://*.example.org", "capacitor://localhost"]
    #expect(allows(allowed, "https://app.example.com"))
    #expect(allows(allowed, "https://app.example.com:443"))
    #expect(allows(allowed, "https://APP.example.com"))
    #expect(allows(allowed, "https://a.example.org"))
    #expect(allows(allowed, "https://a.b.example.org"))
    #expect(allows(allowed, "capacitor://localhost"))
    for origin in [
      "http://app.example.com", "https://app.example.com:8443", "https://app.example.com.evil.com",
      "https://example.org",
      "https://.example.org", "http://a.example.org", "https://evilexample.org", "https://evil.com/.example.org",
      "https://a.example.org:444", "https://evil.com?.example.org", "null", "https://good.com",
    ] { #expect(!allows(allowed, origin), "\(origin)") }
  }

  @Test("a star allows any origin, and two Origin headers are never one page")
  func star() {
    #expect(allows(["*"], "null"))
    #expect(
      !OriginPolicy(allowedOrigins: []).allows(origins: ["https://good.com", "https://good.com"], host: "good.com"))
  }
}
