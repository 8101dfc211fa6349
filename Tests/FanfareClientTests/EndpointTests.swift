import Testing

@testable import FanfareClient

@Suite("The client's address")
struct EndpointTests {
  @Test(
    "Parts of an address",
    arguments: [
      ("ws://127.0.0.1:8000/connection/websocket", "127.0.0.1", 8000, "/connection/websocket"),
      ("ws://example.org", "example.org", 80, "/"),
      ("WSS://example.org/a?b=c#d", "example.org", 443, "/a?b=c"),
      ("ws://[::1]:9/x", "::1", 9, "/x"),
      ("ws://example.org?x=1", "example.org", 80, "/?x=1"),
    ])
  func parts(url: String, host: String, port: Int, target: String) throws {
    let endpoint = try Endpoint(url)
    #expect(endpoint.host == host)
    #expect(endpoint.port == port)
    #expect(endpoint.target == target)
  }

  @Test("The Host header leaves out the scheme's own port and brackets IPv6")
  func authority() throws {
    #expect(try Endpoint("ws://example.org:80/").authority == "example.org")
    #expect(try Endpoint("wss://example.org:80/").authority == "example.org:80")
    #expect(try Endpoint("ws://[::1]:9/x").authority == "[::1]:9")
  }

  @Test(
    "What is not a WebSocket address is refused",
    arguments: [
      "", "http://a/", "ws:/a", "ws://", "ws://:80/", "ws://a:0/", "ws://a:65536/", "ws://a:-1/", "ws://u@a/",
      "ws://[::1", "ws://[::1]x/", "ws://a/ b", "ws://a/\r\nx: y", "ws://é/",
    ])
  func refused(url: String) {
    #expect(throws: RealtimeError.invalidURL(url)) { try Endpoint(url) }
  }

  @Test("A file of authorities that is not there is said before anything is sent")
  func authorities() {
    var options = RealtimeClient.Options()
    options.certificateAuthorities = "/nowhere/authorities.pem"
    let error = #expect(throws: RealtimeError.self) {
      try RealtimeClient(url: "wss://example.org/", options: options)
    }
    guard case .tls(let reason)? = error else {
      Issue.record("\(String(describing: error)) is not about TLS")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test("Something else on the same server is a path, and elsewhere a whole address")
  func http() throws {
    let endpoint = try Endpoint("wss://example.org:8443/connection/websocket?a=b")
    #expect(try endpoint.http("/state/pictures").url("http") == "https://example.org:8443/state/pictures")
    #expect(try endpoint.http("http://cdn.example.org/p").url("http") == "http://cdn.example.org/p")
    #expect(endpoint.url("ws") == "wss://example.org:8443/connection/websocket?a=b")
    #expect(throws: RealtimeError.invalidURL("ws://example.org/")) { try endpoint.http("ws://example.org/") }
  }
}
