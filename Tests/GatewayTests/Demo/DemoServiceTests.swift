import Auth
import NIOCore
import NIOHTTP1
import Testing
import Web
import Wire

@testable import Gateway

@Suite("The demo's answers")
struct DemoServiceTests {
  private static func service() throws -> DemoService {
    DemoService(.init(version: "Fanfare 1", apps: ["clique", "busy"], tokens: try DemoTokens(now: { 1_700_000_000 })))
  }

  private static func decide(
    _ method: HTTPMethod, _ path: String, _ headers: [(String, String)] = []
  ) throws -> DemoService.Decision {
    let head = HTTPRequestHead(
      version: .http1_1, method: method, uri: path, headers: HTTPHeaders([("Host", "here:8000")] + headers))
    return try service().decide(head, path: path[...], host: "here:8000")
  }

  private static func reply(
    _ method: HTTPMethod, _ path: String, _ headers: [(String, String)] = []
  ) throws -> HTTPReply {
    guard case .reply(let reply) = try decide(method, path, headers) else {
      Issue.record("\(method) \(path) is answered once its body is there")
      return .draining
    }
    return reply
  }

  private static func value(_ name: String, of reply: HTTPReply) -> String? {
    let found = reply.headers.filter { $0.name == name }.map(\.value)
    return found.count == 1 ? found[0] : nil
  }

  @Test("Each file comes with its type, its tag and the policy; the page under the folder, too")
  func files() throws {
    for file in WebFiles.demo {
      let reply = try Self.reply(.GET, file.path)
      #expect(reply.status == .ok && reply.contentType == file.contentType, "\(file.path)")
      #expect(Self.value("ETag", of: reply) == file.tag && Self.value("Cache-Control", of: reply) == "no-cache")
      #expect(reply.sharedBody.map { Array($0.readableBytesView) } == Array(file.text.utf8), "\(file.path)")
      #expect(try Self.reply(.GET, file.path, [("If-None-Match", file.tag)]).status == .notModified)
      #expect(try Self.reply(.GET, file.path, [("If-Match", "\"x\"")]).status == .preconditionFailed)
    }
    #expect(try Self.reply(.GET, "/demo/") == Self.reply(.GET, "/demo/index.html"))
    let redirect = try Self.reply(.GET, "/demo")
    #expect(redirect.status == .permanentRedirect && Self.value("Location", of: redirect) == "demo/")
  }

  @Test(
    "Every answer has the policy and the other headers, refusals too",
    arguments: [
      ("GET", "/demo", 308), ("GET", "/demo/", 200), ("HEAD", "/demo/", 200), ("GET", "/demo/config", 200),
      ("POST", "/demo/", 405), ("POST", "/demo", 405), ("PUT", "/demo/config", 405), ("GET", "/demo/sign-in", 405),
      ("GET", "/demo/nothing.js", 404), ("GET", "/demo/../fanfare.js", 404), ("GET", "/demo//", 404),
      ("GET", "/demo/index.html/", 404), ("GET", "/demo/Index.html", 404), ("POST", "/demo/sign-in", 415),
    ])
  func headers(method: String, path: String, status: Int) throws {
    let reply = try Self.reply(HTTPMethod(rawValue: method), path)
    #expect(Int(reply.status.code) == status)
    let policy = try #require(Self.value("Content-Security-Policy", of: reply))
    #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; ") && !policy.contains("unsafe"))
    #expect(policy.contains("frame-ancestors 'none'") && policy.contains("connect-src 'self' ws: wss:"))
    #expect(Self.value("X-Frame-Options", of: reply) == "DENY")
    #expect(Self.value("Referrer-Policy", of: reply) == "no-referrer")
    #expect(Self.value("Access-Control-Allow-Origin", of: reply) == nil)
  }

  @Test("The configuration says what this server can show")
  func config() throws {
    let reply = try Self.reply(.GET, "/demo/config")
    #expect(reply.body == #"{"server":"Fanfare 1","clock":false,"apps":["clique","busy"]}"#)
    #expect(reply.contentType == "application/json" && Self.value("Cache-Control", of: reply) == "no-store")
  }

  private static let json = [("Content-Type", "application/json"), ("Content-Length", "14")]

  @Test("A sign-in is taken from the demo's own page, and from no page at all")
  func ownPage() throws {
    for more in [
      [], [("Origin", "http://here:8000")], [("Origin", "https://here:8000")],
      [("Origin", "http://here:8000"), ("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")],
    ] {
      #expect(try Self.decide(.POST, "/demo/sign-in", Self.json + more) == .form(.signIn))
    }
    for origin in ["http://there:8000", "http://here", "null", "http://here:8000.evil.example"] {
      let reply = try Self.reply(.POST, "/demo/sign-in", Self.json + [("Origin", origin)])
      #expect(reply.status == .forbidden && reply.body.hasPrefix(#"{"message":""#), "\(origin)")
    }
    // Two origins, of which one is our own; and what a browser says of the page where the origin alone would pass.
    for more in [
      [("Origin", "http://here:8000"), ("Origin", "http://there:8000")], [("Sec-Fetch-Site", "cross-site")],
      [("Origin", "http://here:8000"), ("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "anything")],
    ] {
      #expect(try Self.reply(.POST, "/demo/sign-in", Self.json + more).status == .forbidden, "\(more)")
    }
  }

  @Test("A body that is no JSON, too long or of unknown length is refused before it comes")
  func framing() throws {
    let type = Self.json[0]
    for (headers, status): ([(String, String)], HTTPResponseStatus) in [
      ([("Content-Type", "text/plain"), ("Content-Length", "14")], .unsupportedMediaType), ([type], .lengthRequired),
      ([type, ("Transfer-Encoding", "chunked")], .lengthRequired),
      ([type, ("Content-Length", "1025")], .payloadTooLarge),
      ([type, ("Content-Length", "99999999999999999999")], .payloadTooLarge),
      // What a form of another page can send without asking, beside what it cannot.
      ([("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "14")], .unsupportedMediaType),
      ([("Content-Type", "text/plain;application/json"), ("Content-Length", "14")], .unsupportedMediaType),
      ([("Content-Type", "text/plain"), type, ("Content-Length", "14")], .unsupportedMediaType),
      ([("Content-Type", "application/jsonp"), ("Content-Length", "14")], .unsupportedMediaType),
    ] {
      #expect(try Self.reply(.POST, "/demo/sign-in", headers).status == status, "\(headers)")
    }
  }

  @Test("A name is answered with its user, the name and a token for it")
  func signIn() async throws {
    let tokens = try DemoTokens(now: { 1_700_000_000 })
    let service = DemoService(.init(version: "", apps: [], tokens: tokens))
    let reply = service.signIn(Array(#"{"name":" Ada  Lovelace"}"#.utf8), from: IPAddress("192.0.2.1"), at: 0)
    #expect(reply.status == .ok && Self.value("Cache-Control", of: reply) == "no-store")
    let answer = try #require(try JSONValue(parsing: Array(reply.body.utf8)).object)
    #expect(answer["user"]?.string == "ada-lovelace" && answer["name"]?.string == "Ada Lovelace")
    #expect(answer["expires_in"]?.text == "900")
    let verifier = tokens.verifier(beside: try JWTVerifier(Self.otherKeys))
    let claims = try await verifier.verifyConnection(try #require(answer["token"]?.string))
    #expect(claims.user == "ada-lovelace" && claims.expiresAt == 1_700_000_900)
  }

  private static let otherKeys = VerifierConfiguration(
    hmacSecret: String(repeating: "x", count: 32), rsaPublicKey: nil, ecdsaPublicKey: nil, ed25519PublicKey: nil,
    keySets: [], audience: nil, issuer: nil, requiresExpiry: false, maximumLifetime: nil)

  @Test(
    "What is no name is refused with a sentence",
    arguments: [
      ("", 400), ("{", 400), ("[]", 400), ("{}", 400), (#"{"name":5}"#, 400), (#"{"user":"ada"}"#, 400),
      (#"{"name":""}"#, 422), (#"{"name":"a#b"}"#, 422), (#"{"name":"\#(String(repeating: "a", count: 41))"}"#, 422),
    ])
  func refusedNames(body: String, status: Int) throws {
    let reply = try Self.service().signIn(Array(body.utf8), from: nil, at: 0)
    #expect(Int(reply.status.code) == status)
    let message = try JSONValue(parsing: Array(reply.body.utf8)).object?["message"]?.string
    #expect((message ?? "").count > 10)
  }

  @Test("An address signs in as often as the rate says, and others go on")
  func rate() throws {
    let service = try Self.service()
    let (one, other) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
    func status(_ address: IPAddress?, at time: Int64) -> Int {
      Int(service.signIn(Array(#"{"name":"Ada"}"#.utf8), from: address, at: time).status.code)
    }
    for _ in 0..<DemoService.rate.burst { #expect(status(one, at: 0) == 200) }
    #expect(status(one, at: 0) == 429 && status(other, at: 0) == 200)
    #expect(status(one, at: 1000) == 200 && status(one, at: 1000) == 429)
    // A longer time brings no more than the burst, and a clock that says less than before none.
    for _ in 0..<DemoService.rate.burst { #expect(status(one, at: 3_600_000) == 200) }
    #expect(status(one, at: 3_600_000) == 429 && status(one, at: 0) == 429)
    // Those whose address nobody tells are no way around the rate: they share one.
    for _ in 0..<DemoService.rate.burst { #expect(status(nil, at: 0) == 200) }
    #expect(status(nil, at: 0) == 429)
    // The addresses of one IPv6 network are one household's.
    for number in 0..<DemoService.rate.burst { #expect(status(IPAddress("2001:db8::\(number)"), at: 0) == 200) }
    #expect(status(IPAddress("2001:db8::ffff"), at: 0) == 429)
  }

  @Test("Only the demo's paths are the demo's")
  func paths() {
    for path in ["/demo", "/demo/", "/demo/x"] { #expect(DemoService.isDemo(path[...])) }
    for path in ["/", "/demos", "/Demo", "/demo.js", "/fanfare.js", ""] { #expect(!DemoService.isDemo(path[...])) }
  }
}
