import Testing

@testable import HTTPClient

@Suite("Whether a call can be sent as it is")
struct CallTargetTests {
  private func call(
    _ url: String, method: String = "POST", headers: [(name: String, value: String)] = []
  ) -> HTTPCall {
    HTTPCall(method: method, url: url, headers: headers, timeoutMilliseconds: 1000)
  }

  private func reason(_ call: HTTPCall) -> String? {
    do throws(HTTPCallError) {
      _ = try CallTarget(call)
      return nil
    } catch {
      guard case .badURL(let reason) = error else { return "another error: \(error)" }
      return reason
    }
  }

  @Test("The host of a call is scheme, name and port, however they are written")
  func host() throws {
    #expect(try CallTarget(call("https://Example.ORG/hooks?a=b")).host == "https://example.org:443")
    #expect(try CallTarget(call("http://example.org:8080")).host == "http://example.org:8080")
    #expect(try CallTarget(call("http://[::1]:9/")).host == "http://[::1]:9")
    #expect(try CallTarget(call("HTTP://example.org")).host == "http://example.org:80")
  }

  @Test(
    "A URL that cannot be called is refused with the reason",
    arguments: [
      ("", "not valid"), ("example.org/hooks", "not valid"), ("ftp://example.org/", "neither with http"),
      ("file:///etc/passwd", "neither with http"), ("gopher://127.0.0.1:6379/_x", "neither with http"),
      ("http://", "not valid"), ("http://user:secret@example.org/", "Authorization"), ("http://exa mple.org", "spaces"),
      ("http://example.org/\r\nX: y", "spaces"), ("http://example.org/\0", "spaces"),
      ("http://bücher.example/", "ASCII"),
      ("http://example.org:99999/", "not valid"),
    ])
  func refused(url: String, words: String) {
    #expect(reason(call(url))?.contains(words) == true, "\(url): \(reason(call(url)) ?? "taken")")
  }

  @Test("No secret of a URL stands in the reason")
  func secret() {
    #expect(reason(call("http://user:secret@example.org/"))?.contains("secret") == false)
  }

  @Test(
    "A header that would make another request of it is refused",
    arguments: [
      ("X-Name", "a\r\nX-Other: b"), ("X-Name", "a\nb"), ("X-Name", "a\0b"), ("X Name", "a"), ("", "a"),
      ("X-Name:", "a"), ("Content-Length", "3"), ("transfer-encoding", "chunked"), ("Host", "other.example"),
      ("Connection", "upgrade"), ("Expect", "100-continue"),
    ])
  func header(name: String, value: String) {
    #expect(reason(call("http://example.org/", headers: [(name, value)])) != nil)
  }

  @Test("Headers that are a backend's own are taken")
  func goodHeaders() {
    let headers = [
      ("Authorization", "Bearer a.b.c"), ("X-Empty", ""), ("Content-Type", "application/json"), ("X-Tab", "a\tb"),
      ("Cookie", "a=b; c=d"), ("X-Name", "Zoë"),
    ].map { (name: $0.0, value: $0.1) }
    #expect(reason(call("http://example.org/", headers: headers)) == nil)
  }

  @Test("A method is a word in upper case", arguments: ["", "post", "GET /x HTTP/1.1\r\n", "GE T"])
  func method(method: String) {
    #expect(reason(call("http://example.org/", method: method)) != nil)
  }
}
