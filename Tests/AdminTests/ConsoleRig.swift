import Auth
import Broker
import Cryptography
import HTTPTypes
import Logging
import Synchronization
import TestSupport
import Wire

@testable import Admin

/// A web console without sockets, with a clock that a test sets.
final class ConsoleRig: Sendable {
  static let right = "the password of this test"
  static let hash: PasswordHash = PasswordHash(of: ConsoleRig.right)
  static let other: PasswordHash = PasswordHash(of: "another password, made later")

  /// A clock whose pauses end as soon as somebody says so.
  final class Clock: Sendable {
    private struct State {
      var now: Int64 = 1_000_000
      var pauses = 0
      var waiting: [CheckedContinuation<Void, Never>] = []
      var isOver = false
    }

    private let state = Mutex(State())

    var now: Int64 { state.withLock { $0.now } }
    /// Pauses that were begun.
    var pauses: Int { state.withLock { $0.pauses } }

    /// Lets time go by, and ends all pauses.
    func pass(_ milliseconds: Int64) {
      let waiting = state.withLock { state in
        state.now += milliseconds
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }

    /// Ends all pauses, those to come too.
    func end() {
      state.withLock { $0.isOver = true }
      pass(0)
    }

    func pause() async {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          state.pauses += 1
          if !state.isOver { state.waiting.append(continuation) }
          return state.isOver
        }
        if isOver { continuation.resume() }
      }
    }

    var console: ConsoleClock { ConsoleClock(now: { self.now }, pause: { _ in await self.pause() }) }
  }

  let clock = Clock()
  let desk: ServiceDesk
  let console: WebConsole
  let password: Mutex<(hash: PasswordHash?, generation: UInt64)> = Mutex((ConsoleRig.hash, 1))
  let lines = Mutex<[Audit.Line]>([])

  init(allow: [String] = ["read", "write"], hasBroker: Bool = true) throws {
    let options = ChannelOptions()
    let desk = ServiceDesk(namespaces: NamespaceTable(withoutNamespace: options, namespaces: [:]), bytes: 1 << 20)
    self.desk = desk
    let api = ServerAPI(desk: desk, maximumCommands: 10, logger: Logger(label: "test")) { _ in nil }
    let configuration = WebConsoleConfiguration(
      version: "Fanfare test", node: "serve on here", apps: ["clique"],
      grant: try APIGrant(allow: allow, channels: ["*"]), idleMilliseconds: 1_800_000,
      lifetimeMilliseconds: 43_200_000, settings: Array(#"{"settings":[]}"#.utf8))
    let box = Box()
    console = WebConsole(
      configuration, password: { box.rig?.password.withLock { $0 } ?? (nil, 0) }, api: hasBroker ? api : nil,
      metrics: { Array("fanfare_gateway_connections_signed_in 3\n".utf8) }, clock: clock.console,
      audit: Audit(now: { 0 }) { line in box.rig?.lines.withLock { $0.append(line) } })
    box.set(self)
  }

  /// Lets the console's closures find the rig that is made after them.
  private final class Box: Sendable {
    private let weak = Mutex(Weak())

    private struct Weak { weak var rig: ConsoleRig? }

    var rig: ConsoleRig? { weak.withLock { $0.rig } }
    func set(_ rig: ConsoleRig) { weak.withLock { $0.rig = rig } }
  }

  /// Ends what runs, as the server's end does.
  func end() {
    console.stop()
    clock.end()
  }

  // MARK: Requests

  /// Headers as the console's own page has them sent.
  static let own = ["x-fanfare-console": "1", "origin": "http://127.0.0.1:9000", "sec-fetch-site": "same-origin"]

  static func request(
    _ method: String, _ path: String, _ headers: [String: String], peer: String = "192.0.2.1"
  ) -> AdminRequest {
    let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
    var request = AdminRequest(method: method, path: parts[0], peer: peer, authority: "127.0.0.1:9000")
    request.query = parts.count == 2 ? parts[1] : nil
    for (name, value) in headers {
      if let name = HTTPField.Name(name) { request.fields.append(HTTPField(name: name, value: value)) }
    }
    return request
  }

  func reply(_ method: String, _ path: String, _ headers: [String: String], body: String = "") async -> AdminReply {
    await console.reply(to: Self.request(method, path, headers)) { Array(body.utf8) }
  }

  /// An answer that is whole.
  func ask(
    _ method: String, _ path: String, _ headers: [String: String] = ConsoleRig.own, body: String = ""
  ) async throws -> AdminAnswer {
    guard case .answer(let answer) = await reply(method, path, headers, body: body) else {
      throw Unexpected(description: "\(path) answered with a stream")
    }
    return answer
  }

  /// A stream that is read event by event; letting go of it is leaving.
  func stream(_ path: String, _ headers: [String: String]) async throws -> Events {
    switch await reply("GET", path, headers) {
    case .stream(let head, let events) where head.status == 200: return Events(events)
    case .stream(let head, _): throw Unexpected(description: "\(path) began with \(head.status)")
    case .answer(let answer): throw Unexpected(description: "\(path) answered \(answer.status)")
    }
  }

  func signIn(
    _ password: String = ConsoleRig.right, from peer: String = "192.0.2.1",
    _ headers: [String: String] = ConsoleRig.own
  ) async throws -> AdminAnswer {
    let body = "{\"password\":\(JSONText.quoted(password))}"
    var headers = headers
    headers["content-length"] = "\(body.utf8.count)"
    let request = Self.request("POST", "/console/sign-in", headers, peer: peer)
    guard case .answer(let answer) = await console.reply(to: request, body: { Array(body.utf8) }) else {
      throw Unexpected(description: "sign-in answered with a stream")
    }
    return answer
  }

  /// The headers of a page on which somebody has signed in.
  func signedIn() async throws -> [String: String] {
    let answer = try await signIn()
    guard answer.status == 204, let cookie = answer.fields[.setCookie] else {
      throw Unexpected(description: "sign-in answered \(answer.status)")
    }
    return Self.own.merging(["cookie": String(cookie.prefix { $0 != ";" })]) { $1 }
  }
}

/// The events of a stream as text.
final class Events {
  private var iterator: AsyncStream<[UInt8]>.Iterator

  init(_ stream: AsyncStream<[UInt8]>) { iterator = stream.makeAsyncIterator() }

  /// Nil where the stream has ended.
  func next() async -> String? { await iterator.next().map { String(decoding: $0, as: UTF8.self) } }
}

struct Unexpected: Error, CustomStringConvertible {
  var description: String
}

extension AdminAnswer {
  var text: String { String(decoding: body, as: UTF8.self) }
}
