import Auth
import NIOHTTP1
import Synchronization
import Testing
import Wire

@testable import Gateway

@Suite("The demo's clock")
struct DemoClockTests {
  /// A clock that goes forward by whatever is asked, up to an hour.
  private final class Clock: DemoClock {
    private let offset = Mutex<Int64>(0)

    var moment: DemoMoment { offset.withLock { DemoMoment(offset: $0, now: 1_700_000_000_000 + $0) } }

    func advance(by milliseconds: Int64) throws(DemoClockRefusal) -> DemoMoment {
      guard (1...3_600_000).contains(milliseconds) else { throw DemoClockRefusal("not that far") }
      offset.withLock { $0 += milliseconds }
      return moment
    }
  }

  private static let json = [("Content-Type", "application/json"), ("Content-Length", "16")]
  private static let bearer = ("Authorization", "Bearer abc")
  private let clock = Clock()
  private let tokens: DemoTokens

  init() throws { tokens = try DemoTokens(now: { 1_700_000_000 }) }

  private func service(
    movable: Bool = true, isRevoked: @escaping @Sendable (ConnectionClaims) -> Bool = { _ in false }
  ) -> DemoService {
    var configuration = DemoConfiguration(version: "Fanfare 1", apps: ["state"], tokens: tokens)
    if movable { configuration.clock = clock }
    return DemoService(configuration, isRevoked: isRevoked)
  }

  private func decide(
    _ service: DemoService, _ method: HTTPMethod, _ headers: [(String, String)] = [], path: String = "/demo/clock"
  ) -> DemoService.Decision {
    let head = HTTPRequestHead(
      version: .http1_1, method: method, uri: path, headers: HTTPHeaders([("Host", "here:8000")] + headers))
    return service.decide(head, path: path[...], host: "here:8000")
  }

  private func status(_ decision: DemoService.Decision) -> Int? {
    if case .reply(let reply) = decision { Int(reply.status.code) } else { nil }
  }

  @Test("Who asks is told the time, and whoever is signed in may move it")
  func asks() async throws {
    let service = service()
    guard case .reply(let before) = decide(service, .GET) else {
      Issue.record("the time needs no body")
      return
    }
    #expect(before.status == .ok && before.body == #"{"offset":0,"now":1700000000000}"#)
    #expect(before.headers.contains { $0 == ("Cache-Control", "no-store") })
    #expect(decide(service, .POST, Self.json + [Self.bearer]) == .form(.clock(token: "abc")))
    let token = try tokens.token(user: "ada", name: "Ada")
    let reply = await service.moveClock(Array(#"{"advance":60000}"#.utf8), token: token, from: nil, at: 0)
    #expect(reply.status == .ok && reply.body == #"{"offset":60000,"now":1700000060000}"#)
    guard case .reply(let config) = decide(service, .GET, path: "/demo/config") else {
      Issue.record("the configuration needs no body")
      return
    }
    #expect(config.body == #"{"server":"Fanfare 1","clock":true,"offset":60000,"apps":["state"]}"#)
  }

  @Test("Where the clock cannot be moved there is none, whoever asks and however")
  func fixed() async throws {
    let service = service(movable: false)
    for method in [HTTPMethod.GET, .HEAD, .POST, .PUT, .DELETE] {
      #expect(status(decide(service, method, Self.json + [Self.bearer])) == 404)
    }
    let token = try tokens.token(user: "ada", name: "Ada")
    let reply = await service.moveClock(Array(#"{"advance":1}"#.utf8), token: token, from: nil, at: 0)
    #expect(reply.status == .notFound && clock.moment.offset == 0)
  }

  @Test("A move comes from the demo's own page or from no page, as JSON of known length, with a token")
  func refusedHeads() {
    let service = service()
    let origins = ["http://there:8000", "null", "http://here", "http://here:8000.evil.example"].map { ("Origin", $0) }
    for stranger in origins + [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")] {
      #expect(status(decide(service, .POST, Self.json + [Self.bearer, stranger])) == 403, "\(stranger)")
    }
    let own = [("Origin", "http://here:8000"), ("Sec-Fetch-Site", "same-origin")]
    #expect(decide(service, .POST, Self.json + own + [Self.bearer]) == .form(.clock(token: "abc")))
    #expect(status(decide(service, .POST, [("Content-Length", "16"), Self.bearer])) == 415)
    #expect(status(decide(service, .POST, [Self.json[0], Self.bearer])) == 411)
    #expect(status(decide(service, .POST, [Self.json[0], ("Content-Length", "1025"), Self.bearer])) == 413)
    for wrong in [[], [("Authorization", "Basic abc")], [Self.bearer, Self.bearer]] {
      #expect(status(decide(service, .POST, Self.json + wrong)) == 401)
    }
    #expect(status(decide(service, .PUT, Self.json + [Self.bearer])) == 405)
    #expect(clock.moment.offset == 0)
  }

  @Test("No token but one of this demo's moves the clock, and none that was revoked or has ended")
  func tokens() async throws {
    let body = Array(#"{"advance":1}"#.utf8)
    let own = try tokens.token(user: "ada", name: "Ada")
    let elsewhere = try DemoTokens(now: { 1_700_000_000 }).token(user: "ada", name: "Ada")
    let old = try TokenMinter(hmacSecret: String(repeating: "k", count: 32), now: { 1_700_000_000 })
      .connectionToken(user: "ada", expiresIn: 60)
    for token in [elsewhere, old, "", "abc", own + "x"] {
      #expect(await service().moveClock(body, token: token, from: nil, at: 0).status == .unauthorized)
    }
    let revoking = service(isRevoked: { $0.user == "ada" })
    #expect(await revoking.moveClock(body, token: own, from: nil, at: 0).status == .unauthorized)
    #expect(clock.moment.offset == 0)
    #expect(await service().moveClock(body, token: own, from: nil, at: 0).status == .ok)
    // Another end of the same tokens' time.
    let time = Mutex<Int64>(1_700_000_000)
    let ending = try DemoTokens(now: { time.withLock(\.self) })
    let token = try ending.token(user: "ada", name: "Ada")
    #expect(await ending.holder(of: token)?.user == "ada")
    time.withLock { $0 += DemoTokens.lifetime + 60 }
    #expect(await ending.holder(of: token) == nil)
  }

  @Test(
    "What says nothing of a time is refused with a sentence, and so is what the clock refuses",
    arguments: [
      ("", 400), ("{", 400), ("[1]", 400), ("{}", 400), (#"{"advance":"1h"}"#, 400), (#"{"advance":1.5}"#, 400),
      (#"{"advance":true}"#, 400), (#"{"advance":99999999999999999999}"#, 400), (#"{"advance":0}"#, 422),
      (#"{"advance":-1}"#, 422), (#"{"advance":3600001}"#, 422),
    ])
  func refusedBodies(body: String, status: Int) async throws {
    let token = try tokens.token(user: "ada", name: "Ada")
    let reply = await service().moveClock(Array(body.utf8), token: token, from: nil, at: 0)
    #expect(Int(reply.status.code) == status)
    let message = try JSONValue(parsing: Array(reply.body.utf8)).object?["message"]?.string
    #expect((message ?? "").count > 10 && clock.moment.offset == 0)
  }

  @Test(
    "An address moves the clock as often as the rate says, counted apart from sign-ins, and before any token is looked at"
  )
  func rate() async {
    let service = service()
    let (one, other) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
    for _ in 0..<DemoService.rate.burst {
      #expect(await service.moveClock([], token: "", from: one, at: 0).status == .unauthorized)
    }
    #expect(await service.moveClock([], token: "", from: one, at: 0).status == .tooManyRequests)
    #expect(await service.moveClock([], token: "", from: other, at: 0).status == .unauthorized)
    #expect(service.signIn(Array(#"{"name":"Ada"}"#.utf8), from: one, at: 0).status == .ok)
  }
}
