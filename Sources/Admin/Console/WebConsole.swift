public import Auth
import Broker
public import Cryptography
import HTTPTypes
import Metrics
import NIOPosix
import Synchronization
public import Wire

/// Time for the console: a seam, so that tests wait for nothing.
public struct ConsoleClock: Sendable {
  /// Milliseconds that never go back.
  public var now: @Sendable () -> Int64
  /// Waits for so many milliseconds, or until the task is cancelled.
  public var pause: @Sendable (Int64) async -> Void

  public init(now: @escaping @Sendable () -> Int64, pause: @escaping @Sendable (Int64) async -> Void) {
    self.now = now
    self.pause = pause
  }
}

/// What the web console is told at its start.
public struct WebConsoleConfiguration: Sendable {
  public var version: String
  /// What the page calls this process.
  public var node: String
  /// The apps that are switched on.
  public var apps: [String]
  /// What whoever is signed in may do at the server API.
  public var grant: APIGrant
  /// Milliseconds after which an unused session ends, and any.
  public var idleMilliseconds: Int64
  public var lifetimeMilliseconds: Int64
  /// The settings as the page shows them: JSON.
  public var settings: [UInt8]

  public init(
    version: String, node: String, apps: [String], grant: APIGrant, idleMilliseconds: Int64,
    lifetimeMilliseconds: Int64, settings: [UInt8]
  ) {
    self.version = version
    self.node = node
    self.apps = apps
    self.grant = grant
    self.idleMilliseconds = idleMilliseconds
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.settings = settings
  }
}

/// The web console on the port for backends and operators (docs/OPERATIONS.md):
///
///     path                        method       session   answer
///     /console                    GET                    308 to /console/
///     /console/, /console/NAME    GET, HEAD              a file
///     /console/sign-in            POST                   204 with a cookie; 403, 413, 429
///     /console/sign-out           POST         yes       204
///     /console/session            GET          yes       who may do what, and for how long
///     /console/api/METHOD         POST         yes       what /api/METHOD answers, as the key `console`
///     /console/live               GET          yes       a stream: a frame a second
///     /console/tail               GET          yes       a stream: a sample of a channel's publications
///     /console/settings           GET          yes       all settings, secrets masked
///
/// Without a session: 401. From another page (``ConsoleGate``): 403. Of streams there are ``mostStreams``: 503 beyond. All but
/// streams count as use of the session.
public final class WebConsole: Sendable {
  /// The password as of now; nil: there is none. The number is another one for another password.
  public typealias Password = @Sendable () -> (hash: PasswordHash?, generation: UInt64)

  static let mostStreams = 64
  /// Passwords that are checked at a time, each in 32 MiB.
  private static let mostChecks = 2
  /// Bytes of the body of a sign-in.
  static let mostSignInBytes = 1024

  private struct State {
    var sessions: ConsoleSessions
    var signIns = ConsoleSignIns()
    /// The password under which the sessions began.
    var generation: UInt64?
    var streams = 0
    var checks = 0
    var isStopped = false
  }

  let configuration: WebConsoleConfiguration
  let api: ServerAPI?
  let clock: ConsoleClock
  let audit: Audit
  let key: APIKey
  private let password: Password
  private let files = ConsoleFiles()
  private let board: LiveBoard
  private let state: Mutex<State>
  private let signedIn = Counter(label: "fanfare_console_sign_ins_total", dimensions: [("result", "signed_in")])
  private let refused = Counter(label: "fanfare_console_sign_ins_total", dimensions: [("result", "refused")])

  /// - Parameters:
  ///   - api: nil where no broker is in this process.
  ///   - metrics: the page that `/metrics` is, in text.
  ///   - others: the pages of other processes, and why some could not be read, as sentences. Bounded in time by whoever
  ///     gives it.
  public init(
    _ configuration: WebConsoleConfiguration, password: @escaping Password, api: ServerAPI?,
    metrics: @escaping @Sendable () -> [UInt8],
    others: @escaping @Sendable () async -> (pages: [String], troubles: [String]) = { ([], []) },
    clock: ConsoleClock, audit: Audit = .none
  ) {
    self.configuration = configuration
    self.password = password
    self.api = api
    self.clock = clock
    self.audit = audit
    let key = APIKey.console(configuration.grant)
    self.key = key
    state = Mutex(
      State(
        sessions: ConsoleSessions(
          idle: configuration.idleMilliseconds, lifetime: configuration.lifetimeMilliseconds)))
    let frames = LiveFrames(
      clock: clock, metrics: metrics,
      others: {
        let (pages, troubles) = await others()
        return LiveFrames.Others(pages: pages, troubles: troubles)
      },
      top: {
        guard let api, configuration.grant.refusal(of: APIMethod.top.rawValue, channel: nil) == nil else { return nil }
        let answer = await api.answer(APIMethod.top.rawValue, Array("{}".utf8), by: key)
        return (try? JSONValue(parsing: answer.body))?.object?["result"]
      })
    let computed = Counter(label: "fanfare_console_frames_total")
    board = LiveBoard(clock: clock) {
      computed.increment()
      return await frames.next()
    }
  }

  static func owns(_ path: String) -> Bool { path == "/console" || path.hasPrefix("/console/") }

  /// Ends all streams and sessions, and takes in nobody any more.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.sessions.endAll()
    }
    board.close()
  }

  // MARK: Replies

  func reply(to request: AdminRequest, body: () async throws -> [UInt8]) async rethrows -> AdminReply {
    switch try await route(request, body) {
    case .answer(let answer): return .answer(ConsoleFiles.safe(answer))
    case .stream(let head, let events): return .stream(ConsoleFiles.safe(head), events)
    }
  }

  private func route(_ request: AdminRequest, _ body: () async throws -> [UInt8]) async rethrows -> AdminReply {
    let part = request.path.dropFirst("/console/".count)
    switch part {
    case "sign-in": return .answer(try await signIn(request, body))
    case "sign-out", "session", "live", "tail", "settings": break
    case let method where method.hasPrefix("api/"): break
    default: return .answer(file(request))
    }
    let allowed = part == "sign-out" || part.hasPrefix("api/") ? "POST" : "GET"
    guard request.method == allowed else { return .answer(Self.notAllowed(allowed)) }
    if let refusal = ConsoleGate.refusal(of: request, needsHeader: true) {
      return .answer(forged(request, refusal))
    }
    let isStream = part == "live" || part == "tail"
    guard let (session, left) = session(of: request, counts: !isStream) else {
      return .answer(.message(401, "the session has ended, or there was none: sign in"))
    }
    switch part {
    case "sign-out": return .answer(signOut(session))
    case "session": return .answer(AdminAnswer(AdminAnswer.json, about(left)))
    case "settings":
      audit.note(.consoleRead, ["what": "settings", "from": request.peer ?? ""])
      return .answer(AdminAnswer(AdminAnswer.json, configuration.settings))
    case "live": return live(session)
    case "tail": return tail(request, session)
    default:
      guard let api else { return .answer(.message(404, Self.noBroker)) }
      let method = String(part.dropFirst("api/".count))
      return .answer(await api.answer(method, try await body(), by: key))
    }
  }

  private static let noBroker =
    "there is no broker in this process: open the console of the broker's process for this"

  private static func notAllowed(_ method: String) -> AdminAnswer {
    var answer = AdminAnswer.message(405, "only \(method) is answered here")
    answer.fields[.allow] = method
    return answer
  }

  private func file(_ request: AdminRequest) -> AdminAnswer {
    guard request.method == "GET" || request.method == "HEAD" else { return Self.notAllowed("GET, HEAD") }
    if request.path == "/console" {
      // With the slash, so that what the page names beside itself is found. Relative, for proxies with a path of their own.
      var answer = AdminAnswer.sentence(308, "the console is at /console/")
      answer.fields[.location] = "console/"
      return answer
    }
    return files.answer(request) ?? .sentence(404, "the console has no such file; it begins at /console/")
  }

  private func forged(_ request: AdminRequest, _ sentence: String) -> AdminAnswer {
    audit.note(.consoleRefused, ["cause": "page", "path": request.path, "from": request.peer ?? ""])
    return .message(403, sentence)
  }

  // MARK: Sessions

  /// - Parameter counts: whether this is a use of the session.
  /// - Returns: the session that a request shows, and the milliseconds that are left to it.
  private func session(of request: AdminRequest, counts: Bool) -> (ConsoleSessions.ID, Int64)? {
    let now = clock.now()
    let generation = password().generation
    return state.withLock { state in
      Self.keep(&state, under: generation)
      for token in ConsoleGate.tokens(of: request) {
        let id = ConsoleSessions.ID(token: token)
        if let left = counts ? state.sessions.use(id, at: now) : state.sessions.left(to: id, at: now) {
          return (id, left)
        }
      }
      return nil
    }
  }

  /// Ends all sessions that began under another password.
  private static func keep(_ state: inout State, under generation: UInt64) {
    if state.generation != generation { state.sessions.endAll() }
    state.generation = generation
  }

  private func isOpen(_ session: ConsoleSessions.ID) -> Bool {
    let now = clock.now()
    let generation = password().generation
    return state.withLock { state in
      Self.keep(&state, under: generation)
      return !state.isStopped && state.sessions.left(to: session, at: now) != nil
    }
  }

  private func signOut(_ session: ConsoleSessions.ID) -> AdminAnswer {
    state.withLock { $0.sessions.end(session) }
    var answer = AdminAnswer(status: 204, AdminAnswer.json, [])
    answer.fields[.setCookie] = ConsoleGate.clearCookie
    return answer
  }

  private func about(_ left: Int64) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("expires_in", left / 1000)
      writer.write("version", configuration.version)
      writer.write("node", configuration.node)
      writer.list("can") { writer in
        for name in api == nil ? ["live"] : ["api", "live", "tail"] { writer.write(element: name) }
      }
      writer.list("apps") { writer in for app in configuration.apps { writer.write(element: app) } }
      writer.list("methods") { writer in
        for method in api == nil ? [] : configuration.grant.allowedMethods { writer.write(element: method) }
      }
    }
    return writer.bytes
  }

  // MARK: Signing in

  private func signIn(_ request: AdminRequest, _ body: () async throws -> [UInt8]) async rethrows -> AdminAnswer {
    guard request.method == "POST" else { return Self.notAllowed("POST") }
    if let refusal = ConsoleGate.refusal(of: request, needsHeader: false) { return forged(request, refusal) }
    // Without a length a stranger could send as much as a backend may.
    guard let length = request.fields[.contentLength].flatMap({ Int($0) }),
      (0...Self.mostSignInBytes).contains(length)
    else { return .message(413, "send the password and nothing more, with a Content-Length") }
    guard let given = (try? JSONValue(parsing: try await body()))?.object?["password"]?.string else {
      return .message(400, "send a password, such as {\"password\":\"…\"}")
    }
    let current = password()
    guard let hash = current.hash else {
      return .message(403, "no password was made yet; run on the server's machine: fanfare console password")
    }
    let now = clock.now()
    let mayTry = state.withLock { state in
      guard !state.isStopped, state.checks < Self.mostChecks,
        state.signIns.take(from: request.peer.flatMap { IPAddress($0) }, at: now)
      else { return false }
      state.checks += 1
      return true
    }
    guard mayTry else {
      var answer = AdminAnswer.message(429, "too many attempts to sign in; wait ten seconds and try again")
      if let name = HTTPField.Name("retry-after") { answer.fields[name] = "\(ConsoleSignIns.retryAfter)" }
      return answer
    }
    let isRight = await check(given, hash)
    state.withLock { $0.checks -= 1 }
    guard isRight else {
      refused.increment()
      audit.note(.consoleRefused, ["cause": "password", "from": request.peer ?? ""])
      return .message(403, "this is not the password; a new one is made with: fanfare console password")
    }
    return welcome(request, under: current.generation)
  }

  private func welcome(_ request: AdminRequest, under generation: UInt64) -> AdminAnswer {
    let (token, now) = (ConsoleSessions.makeToken(), clock.now())
    state.withLock { state in
      Self.keep(&state, under: generation)
      state.sessions.begin(token, at: now)
    }
    signedIn.increment()
    audit.note(.consoleSignedIn, ["from": request.peer ?? ""])
    var answer = AdminAnswer(status: 204, AdminAnswer.json, [])
    let isSecure = request.fields[.origin]?.lowercased().hasPrefix("https://") ?? false
    answer.fields[.setCookie] = ConsoleGate.setCookie(token, isSecure: isSecure)
    return answer
  }

  /// Whether a password is right. It takes a tenth of a second, so not on a thread that others wait for.
  private func check(_ given: String, _ hash: PasswordHash) async -> Bool {
    (try? await NIOThreadPool.singleton.runIfActive { hash.isOf(given) }) ?? false
  }

  // MARK: Streams

  /// Counts a stream; false: there are as many as may be.
  private func takeStream() -> Bool {
    state.withLock { state in
      guard !state.isStopped, state.streams < Self.mostStreams else { return false }
      state.streams += 1
      return true
    }
  }

  private func streamEnded() { state.withLock { $0.streams -= 1 } }

  private static let noTaps =
    "channels are shared among the brokers of several partitions, and none of them is in this process: follow this one "
    + "with 'fanfare subscribe', or look at its history"
  private static let tooManyStreams = AdminAnswer.message(
    503, "\(WebConsole.mostStreams) live views are open, as many as may be; close some of them")

  private func live(_ session: ConsoleSessions.ID) -> AdminReply {
    guard takeStream() else { return .answer(Self.tooManyStreams) }
    let events = board.watch(mayGoOn: { [weak self] in self?.isOpen(session) ?? false }) { [weak self] in
      self?.streamEnded()
    }
    return .stream(AdminAnswer(ConsoleEvents.contentType, []), events)
  }

  private func tail(_ request: AdminRequest, _ session: ConsoleSessions.ID) -> AdminReply {
    guard let api else { return .answer(.message(404, Self.noBroker)) }
    guard api.desk.hasTaps else { return .answer(.message(404, Self.noTaps)) }
    let query = ConsoleQuery(request.query)
    let channel: ChannelName
    let filter: TagFilter?
    do {
      channel = try ChannelName(query["channel"] ?? "")
      filter = try query["filter"].map { try TagFilter(json: Array($0.utf8)) }
    } catch let error as ClientError {
      return .answer(.message(400, error.message))
    } catch {
      return .answer(.message(400, "\(error)"))
    }
    // Whoever may read what was published may read what is.
    if let missing = key.grant.refusal(of: APIMethod.history.rawValue, channel: channel) {
      return .answer(.message(403, "the console may not read this channel; console.allow would need \(missing)"))
    }
    guard takeStream() else { return .answer(Self.tooManyStreams) }
    audit.note(.consoleRead, ["what": "tail", "channel": channel.string, "from": request.peer ?? ""])
    let tail = ConsoleTail(
      channel, filter: filter, at: api.desk, clock: clock, mayGoOn: { [weak self] in self?.isOpen(session) ?? false }
    ) { [weak self] in
      self?.streamEnded()
    }
    return .stream(AdminAnswer(ConsoleEvents.contentType, []), AsyncStream(unfolding: { await tail.next() }))
  }
}
