public import Auth
import NIOCore
import NIOHTTP1
import Synchronization
import Web
import Wire
import ZeroMQ

/// What the demo is told at its start.
public struct DemoConfiguration: Sendable {
  public var version: String
  /// The parts that this server can show, in the order of the page's tabs: those that are switched on, and those whose
  /// channels are configured.
  public var apps: [String]
  public var tokens: DemoTokens
  /// Nil: it cannot be moved.
  public var clock: (any DemoClock)?

  public init(version: String, apps: [String], tokens: DemoTokens) {
    self.version = version
    self.apps = apps
    self.tokens = tokens
  }
}

/// The demo's answers on the public port (docs/DEMO.md):
///
///     path              GET, HEAD                           POST                        others
///     /demo             308 to /demo/                       405                         405
///     /demo/            index.html                          405                         405
///     /demo/config      what this server can show           405                         405
///     /demo/sign-in     405                                 a token (1)                 405
///     /demo/clock       the time (2)                        moves it (1), (2), (3)      405
///     /demo/NAME        the file; 404 where there is none   405, or 404                 405, or 404
///
/// (1) From its own page or from no page at all, JSON, at most ``mostBodyBytes``, and as often as ``rate`` says.
/// (2) 404 where the clock cannot be moved.
/// (3) With a token of the demo's; 401 without.
///
/// Everything but the counts of requests and the time is made once and shared by all answers.
final class DemoService: Sendable {
  private struct Served {
    let file: WebFile
    let body: ByteBuffer
  }

  /// Bytes of the body of a sign-in. A name has at most 120, each of which JSON can write in six.
  static let mostBodyBytes = 1024
  /// Sign-ins of one address, and as many moves of the clock: a room full of people behind one router at once, then one a
  /// second. Tokens that are made anew count, too, which is one in a quarter of an hour for each window. Those whose address
  /// nobody tells count as one.
  static let rate = RateLimit(perSecond: 1, burst: 60)
  /// Addresses that are remembered.
  private static let mostAddresses = 10_000

  let configuration: DemoConfiguration
  let isRevoked: @Sendable (ConnectionClaims) -> Bool
  /// The configuration's JSON before what it says of the clock, and behind it.
  private let config: (head: String, tail: String)
  private let files: [String: Served]
  private let signIns = Mutex(TokenBuckets<IPAddress?>(DemoService.rate, capacity: DemoService.mostAddresses))
  let moves = Mutex(TokenBuckets<IPAddress?>(DemoService.rate, capacity: DemoService.mostAddresses))
  private let ownPages = OriginPolicy(allowedOrigins: [])

  /// - Parameter isRevoked: whether a token that holds was taken back.
  init(_ configuration: DemoConfiguration, isRevoked: @escaping @Sendable (ConnectionClaims) -> Bool = { _ in false }) {
    self.configuration = configuration
    self.isRevoked = isRevoked
    let apps = configuration.apps.map(JSONText.quoted).joined(separator: ",")
    config = ("{\"server\":\(JSONText.quoted(configuration.version)),", "\"apps\":[\(apps)]}")
    files = Dictionary(
      uniqueKeysWithValues: WebFiles.demo.map { ($0.path, Served(file: $0, body: ByteBuffer(string: $0.text))) })
  }

  enum Decision: Equatable {
    case reply(HTTPReply)
    /// The body is still to come.
    case form(Form)
  }

  /// What a request with a body asks for.
  enum Form: Equatable {
    case signIn
    case clock(token: String)
  }

  static func isDemo(_ path: Substring) -> Bool { path == "/demo" || path.hasPrefix("/demo/") }

  // MARK: Pages

  /// - Parameters:
  ///   - path: one of ``isDemo(_:)``.
  ///   - host: the request's only `Host`.
  func decide(_ head: HTTPRequestHead, path: Substring, host: String) -> Decision {
    let reads = head.method == .GET || head.method == .HEAD
    switch path {
    case "/demo/sign-in":
      guard head.method == .POST else { return .reply(Self.notAllowed("POST")) }
      if let refusal = refusal(of: head, host: host, sends: "a name") { return .reply(refusal) }
      return .form(.signIn)
    case "/demo/clock":
      return decideClock(head, host: host, reads: reads)
    case "/demo":
      guard reads else { return .reply(Self.notAllowed("GET")) }
      // With the slash, so that what the page names beside itself is found. Relative, because a proxy may serve all of
      // this below a path of its own.
      var reply = HTTPReply(status: .permanentRedirect, body: "the demo is at /demo/\n")
      reply.headers = [("Location", "demo/"), ("Cache-Control", "no-store")]
      return .reply(Self.safe(reply))
    case "/demo/config":
      return .reply(reads ? configReply() : Self.notAllowed("GET"))
    default:
      guard let served = files[path == "/demo/" ? "/demo/index.html" : String(path)] else {
        return .reply(Self.safe(HTTPReply(status: .notFound, body: "the demo has no such file; it begins at /demo/\n")))
      }
      return .reply(reads ? Self.file(served.file, served.body, head.headers) : Self.notAllowed("GET"))
    }
  }

  private func configReply() -> HTTPReply {
    let clock = configuration.clock.map { "true,\"offset\":\($0.moment.offset)" } ?? "false"
    return Self.json(.ok, "\(config.head)\"clock\":\(clock),\(config.tail)")
  }

  private func decideClock(_ head: HTTPRequestHead, host: String, reads: Bool) -> Decision {
    guard let time = clockReply() else { return .reply(Self.noClock) }
    if reads { return .reply(time) }
    guard head.method == .POST else { return .reply(Self.notAllowed("GET", "POST")) }
    if let refusal = refusal(of: head, host: host, sends: "a move") { return .reply(refusal) }
    let given = head.headers["authorization"]
    guard given.count == 1, let field = given.first, field.prefix(7).lowercased() == "bearer " else {
      return .reply(Self.unauthorized("sign in on the demo's page, and send Authorization: Bearer with its token"))
    }
    return .form(.clock(token: String(field.dropFirst(7))))
  }

  private static func file(_ file: WebFile, _ body: ByteBuffer, _ headers: HTTPHeaders) -> HTTPReply {
    // Conditions are those of any representation; of ranges there are none, as for HEAD.
    let condition = PictureSelection(headers, isHead: true)
    var reply = HTTPReply(status: .ok, contentType: file.contentType, body: "")
    reply.sharedBody = body
    reply.headers = [("ETag", file.tag), ("Cache-Control", "no-cache")]
    switch condition.answer(total: body.readableBytes, tag: file.tag) {
    case .notModified: reply.status = .notModified
    case .changed:
      reply = HTTPReply(status: .preconditionFailed, body: "this is not the file of that tag any more\n")
    case .whole, .part, .outside: break
    }
    return safe(reply)
  }

  // MARK: Signing in

  /// Why a request with a body is not even read.
  ///
  /// - Parameter what: what it is to send, for the sentence.
  private func refusal(of head: HTTPRequestHead, host: String, sends what: String) -> HTTPReply? {
    // Browsers that say where a request comes from are believed besides: pages of other ports of this host are strangers.
    let site = head.headers["sec-fetch-site"]
    guard ownPages.allows(origins: head.headers["origin"], host: host),
      site.allSatisfy({ $0 == "same-origin" || $0 == "none" })
    else { return Self.refused(.forbidden, "only the demo's own page may do that; open /demo/ on this server") }
    // A page of another origin may send other types without asking first.
    let types = head.headers["content-type"].map { $0.lowercased() }
    guard types.count == 1, types[0] == "application/json" || types[0].hasPrefix("application/json;") else {
      return Self.refused(.unsupportedMediaType, "send \(what) as JSON, with Content-Type: application/json")
    }
    guard !head.headers.contains(name: "transfer-encoding"), let given = head.headers["content-length"].first else {
      return Self.refused(.lengthRequired, "send \(what) with a Content-Length")
    }
    guard let length = Int(given), (0...Self.mostBodyBytes).contains(length) else {
      return Self.refused(.payloadTooLarge, "send \(what) and nothing more: at most \(Self.mostBodyBytes) bytes")
    }
    return nil
  }

  /// The answer to a whole request.
  ///
  /// - Parameters:
  ///   - address: whose sign-in it counts as.
  ///   - now: milliseconds of a clock that never goes back.
  func signIn(_ body: [UInt8], from address: IPAddress?, at now: Int64) -> HTTPReply {
    guard signIns.withLock({ $0.take(for: address?.limited, at: now) }) else { return Self.tooOften }
    guard let text = (try? JSONValue(parsing: body))?.object?["name"]?.string else {
      return Self.refused(.badRequest, "send a name, such as {\"name\":\"Ada\"}")
    }
    do {
      let name = try DemoName(text)
      let token = try configuration.tokens.token(user: name.user, name: name.name)
      let fields = [
        "\"user\":\(JSONText.quoted(name.user))", "\"name\":\(JSONText.quoted(name.name))",
        "\"token\":\(JSONText.quoted(token))", "\"expires_in\":\(DemoTokens.lifetime)",
      ]
      return Self.json(.ok, "{\(fields.joined(separator: ","))}")
    } catch let refusal as DemoName.Refusal {
      return Self.refused(.unprocessableEntity, "\(refusal)")
    } catch {
      return Self.refused(.internalServerError, "no token could be made; try again")
    }
  }

  // MARK: Answers

  private static func notAllowed(_ methods: String...) -> HTTPReply {
    var reply = refused(.methodNotAllowed, "only \(methods.joined(separator: " and ")) is answered here")
    reply.headers.append(("Allow", methods.map { $0 == "GET" ? "GET, HEAD" : $0 }.joined(separator: ", ")))
    return reply
  }

  static let tooOften = {
    var reply = refused(.tooManyRequests, "your address has asked for this very often just now; try again shortly")
    reply.headers.append(("Retry-After", "5"))
    return reply
  }()

  static func refused(_ status: HTTPResponseStatus, _ sentence: String) -> HTTPReply {
    json(status, "{\"message\":\(JSONText.quoted(sentence))}")
  }

  static func json(_ status: HTTPResponseStatus, _ body: String) -> HTTPReply {
    var reply = HTTPReply(status: status, contentType: "application/json", body: body)
    reply.headers = [("Cache-Control", "no-store")]
    return safe(reply)
  }

  /// What every answer of the demo tells browsers: scripts and styles come from this server's files alone, nothing is
  /// loaded from elsewhere, and no other page shows or opens this one as its own.
  private static func safe(_ reply: HTTPReply) -> HTTPReply {
    var reply = reply
    reply.headers += [
      ("Content-Security-Policy", contentSecurityPolicy), ("Referrer-Policy", "no-referrer"),
      ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
      // State records with the camera, without sound.
      ("Permissions-Policy", "camera=(self), microphone=(), geolocation=()"),
    ]
    return reply
  }

  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    + "connect-src 'self' ws: wss:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
