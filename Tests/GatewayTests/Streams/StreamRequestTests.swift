import NIOHTTP1
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("What a client without a WebSocket asks for")
struct StreamRequestTests {
  private static func head(
    _ method: HTTPMethod, _ uri: String, _ headers: [(String, String)] = [], version: HTTPVersion = .http1_1
  ) -> HTTPRequestHead {
    HTTPRequestHead(version: version, method: method, uri: uri, headers: HTTPHeaders([("Host", "good.com")] + headers))
  }

  private static func decide(
    _ head: HTTPRequestHead, allowed: [String] = [], isDraining: Bool = false, mostBytes: Int? = 1_000
  ) -> RequestDecision {
    RequestDecision(
      head, bytesAfterHead: 0, path: "/connection/websocket", origins: OriginPolicy(allowedOrigins: allowed),
      isDraining: isDraining, streamedMessageBytes: mostBytes)
  }

  private static func action(_ decision: RequestDecision) -> StreamRequest.Action? {
    if case .stream(let request) = decision { request.action } else { nil }
  }

  private static func status(_ decision: RequestDecision) -> UInt? {
    if case .reply(let reply) = decision { reply.status.code } else { nil }
  }

  private static func header(_ name: String, _ decision: RequestDecision) -> String? {
    guard case .reply(let reply) = decision else { return nil }
    return reply.headers.first { $0.name == name }?.value
  }

  @Test("a stream of events has its connect command in the query, in the encoding of forms")
  func events() {
    let uri = "/connection/sse?a=b&cf_connect=%7B%22id%22%3A1,+%22connect%22:%7b%7d%7D"
    #expect(
      Self.action(Self.decide(Self.head(.GET, uri))) == .events(connect: Array(#"{"id":1, "connect":{}}"#.utf8)))
  }

  @Test("the content type says whether a body is Protobuf, and anything else is JSON")
  func formats() {
    for (type, format) in [
      (nil, .json), ("application/json", .json), ("application/octet-stream", .protobuf),
      ("Application/Octet-Stream; a=b", .protobuf), ("text/plain", .json), ("", .json),
    ] as [(String?, WireFormat)] {
      let headers = type.map { [("Content-Type", $0)] } ?? []
      #expect(Self.action(Self.decide(Self.head(.POST, "/connection/http_stream", headers))) == .lines(format))
      #expect(Self.action(Self.decide(Self.head(.POST, "/emulation", headers))) == .commands(format))
    }
  }

  @Test(
    "a preflight is answered on each path", arguments: ["/connection/sse", "/connection/http_stream", "/emulation"])
  func preflights(path: String) {
    let methods = path == "/connection/sse" ? "GET, OPTIONS" : "POST, OPTIONS"
    #expect(Self.action(Self.decide(Self.head(.OPTIONS, path))) == .preflight(allowed: methods))
    #expect(HTTPReply.streamPreflight(allowed: methods).status.code == 204)
  }

  private static let connect = "/connection/sse?cf_connect=%7B%7D"

  @Test(
    "what is not quite right is refused with the status that says why",
    arguments: [
      (head(.GET, "/connection/sse"), 400), (head(.GET, "/connection/sse?cf_connect="), 400),
      (head(.GET, "/connection/sse?cf_connect=%7"), 400), (head(.GET, "/connection/sse?cf_connect=%zz"), 400),
      (head(.GET, connect + "&cf_connect=%7B%7D"), 400), (head(.GET, connect, [("Content-Length", "1")]), 400),
      (head(.GET, connect, [("Transfer-Encoding", "chunked")]), 400),
      (head(.GET, "/connection/sse?cf_connect=" + String(repeating: "x", count: 1_001)), 413),
      (head(.POST, connect), 405), (head(.HEAD, connect), 405), (head(.GET, "/connection/http_stream"), 405),
      (head(.GET, "/emulation"), 405), (head(.PUT, "/emulation"), 405),
      (head(.GET, connect, version: .http1_0), 505), (head(.POST, "/connection/http_stream", version: .http1_0), 505),
      (head(.POST, "/connection/http_stream", [("Content-Length", "1001")]), 413),
      (head(.POST, "/emulation", [("Content-Length", "3025")]), 413),
      (head(.POST, "/emulation", [("Content-Length", "99999999999999999999999")]), 413),
      (head(.POST, "/emulation", [("Content-Type", "application/octet-stream"), ("Content-Length", "2025")]), 413),
      (head(.POST, "/emulation", [("Content-Encoding", "gzip")]), 415),
      (head(.POST, "/emulation", [("Content-Length", "1"), ("Content-Length", "1")]), 400),
      (head(.POST, "/emulation", [("Content-Length", "1"), ("Transfer-Encoding", "chunked")]), 400),
      (head(.POST, "/emulation", [("Host", "b")]), 400),
      (head(.POST, "/emulation", [("Origin", "https://evil.com")]), 403),
      (head(.OPTIONS, "/emulation", [("Origin", "https://evil.com")]), 403),
      (head(.GET, connect, [("Origin", "null")]), 403),
    ] as [(HTTPRequestHead, UInt)])
  func refusals(head: HTTPRequestHead, expected: UInt) {
    #expect(Self.status(Self.decide(head)) == expected)
  }

  @Test("a server that is shutting down sends clients elsewhere, and says so to the page that asks")
  func draining() {
    let head = Self.head(.GET, Self.connect, [("Origin", "https://good.com")])
    let decision = Self.decide(head, isDraining: true)
    #expect(Self.status(decision) == 503)
    #expect(Self.header("Access-Control-Allow-Origin", decision) == "https://good.com")
  }

  @Test("a refusal is shown to a page that may ask, and to no other")
  func shown() {
    let allowed = ["https://app.example.com"]
    let may = Self.decide(Self.head(.GET, "/emulation", [("Origin", allowed[0])]), allowed: allowed)
    #expect(Self.header("Access-Control-Allow-Origin", may) == allowed[0])
    #expect(Self.header("Vary", may) == "Origin")
    let mayNot = Self.decide(Self.head(.GET, "/emulation", [("Origin", "https://evil.com")]), allowed: allowed)
    #expect(Self.header("Access-Control-Allow-Origin", mayNot) == nil)
    // Nobody is named who did not ask.
    #expect(Self.header("Access-Control-Allow-Origin", Self.decide(Self.head(.GET, "/emulation"))) == nil)
  }

  @Test("where they are switched off, there is nothing at these paths")
  func off() {
    for path in [Self.connect, "/connection/http_stream", "/emulation"] {
      #expect(Self.status(Self.decide(Self.head(.POST, path), mostBytes: nil)) == 404)
    }
  }

  @Test("a body may be as long as a message, and commands as long as a message takes to be written as a string")
  func limits() {
    func request(_ path: String, _ headers: [(String, String)]) -> StreamRequest? {
      if case .stream(let request) = Self.decide(Self.head(.POST, path, headers)) { request } else { nil }
    }
    #expect(request("/connection/http_stream", [("Content-Length", "1000")])?.bodyBytes == 1_000)
    #expect(request("/emulation", [("Content-Length", "3024")])?.bodyBytes == 3_024)
    let chunked = request("/emulation", [("Transfer-Encoding", "chunked")])
    #expect(chunked?.bodyBytes == nil && chunked?.maximumBodyBytes == 3_024 && chunked?.keepsAlive == false)
    #expect(request("/emulation", [("Content-Length", "1")])?.keepsAlive == true)
    #expect(request("/emulation", [("Content-Length", "1"), ("Connection", "close")])?.keepsAlive == false)
    #expect(request("/emulation", [("Expect", "100-continue")])?.expectsContinue == true)
  }

  @Test(
    "a query's encoding is taken apart byte by byte",
    arguments: [("", ""), ("a+b", "a b"), ("%2B%2b", "++"), ("%00", "\0"), ("%", nil), ("%1", nil), ("%G0", nil)])
  func forms(text: String, expected: String?) {
    #expect(FormEncoding.decoded(text.utf8) == expected.map { Array($0.utf8) })
  }
}
