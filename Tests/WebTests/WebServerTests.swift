import Foundation
import Synchronization
import TestSupport
import Testing

/// The client as a server serves it, in node, against that server with the configuration that it comes with.
@Suite("The client for browsers against a server", .ownThread)
struct WebServerTests {
  private static let secret = "web-tests-secret-of-more-than-thirty-two-bytes"

  /// Times so long that a busy machine does not pass them.
  private static let settings = [
    "token.hmac_secret=\(secret)", "server.header_timeout=1m", "client.connect_timeout=1m",
    "client.request_timeout=50s", "client.token_expiry_grace=1m",
  ]

  @Test(
    "A scenario of two people's devices", .skipUnlessStrict(.node, isThere: NodeProgram.executable != nil),
    arguments: ["served", "basics", "recovery", "maps", "tokens", "clique", "people", "state"])
  func scenario(name: String) async throws { try await run(name) }

  @Test(
    "The chat of docs/tutorials/chat-in-fifty-lines.md: two people, over kill -9, and somebody who comes later",
    .skipUnlessStrict(.node, isThere: NodeProgram.executable != nil))
  func chat() async throws { try await run("chat") }

  @Test(
    "Beside the official centrifuge-js: each sees all of the other, in the same order, over kill -9 too",
    .skipUnlessStrict(
      .centrifugeJS, isThere: ProcessInfo.processInfo.environment["FANFARE_CENTRIFUGE_JS"] != nil))
  func official() async throws { try await run("official") }

  @Test(
    "The official centrifuge-js without a WebSocket: over server-sent events and HTTP streaming, over kill -9 too",
    .skipUnlessStrict(
      .centrifugeJS, isThere: ProcessInfo.processInfo.environment["FANFARE_CENTRIFUGE_JS"] != nil))
  func streams() async throws { try await run("streams") }

  @Test(
    "The official centrifuge-js on a shared poll: versions rise, over kill -9 too, and what is gone or untracked ends",
    .skipUnlessStrict(
      .centrifugeJS, isThere: ProcessInfo.processInfo.environment["FANFARE_CENTRIFUGE_JS"] != nil))
  func polls() async throws {
    // Each question finds a newer version; of the other key the backend knows nothing any more.
    let backend = try HookReceiver { place in
      let items = #"[{"key":"count","data":{"n":\#(place + 1)},"version":\#(place + 1)},{"key":"gone","removed":true}]"#
      let body = #"{"result":{"items":\#(items)}}"#
      return .raw("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    }
    defer { backend.stop() }
    let channel = "channel.without_namespace"
    let off =
      ["presence", "join_leave", "force_recovery"]
      + ["publish", "history", "presence"].map { "allow_\($0)_for_subscriber" }
    try await run(
      "polls",
      settings: [
        "proxies.shared_poll_refresh.endpoint=\(backend.url)", "shared_poll.hmac_secret=\(Self.secret)",
        "\(channel).kind=shared_poll", "\(channel).poll_mode=versioned", "\(channel).poll_interval=100ms",
        "\(channel).history_size=0", "\(channel).history_ttl=0s",
      ] + off.map { "\(channel).\($0)=false" })
  }

  @Test(
    "The JavaScript of docs/SDKS.md, with the official centrifuge-js",
    .skipUnlessStrict(
      .centrifugeJS, isThere: ProcessInfo.processInfo.environment["FANFARE_CENTRIFUGE_JS"] != nil))
  func sdks() async throws { try await run("sdks") }

  private func run(_ name: String, settings: [String] = []) async throws {
    let node = try #require(NodeProgram.executable)
    try await withTemporaryFolder { folder in
      let control = folder.appendingPathComponent("control")
      try FileManager.default.createDirectory(at: control, withIntermediateDirectories: true)
      let restarts = try await Restarts(
        data: folder.appendingPathComponent("data"), control: control, settings: settings)
      let script = JavaScript.folder.appendingPathComponent("server.mjs")
      let command = Command(
        node, [script.path, name],
        environment: [
          "SERVER_URL": restarts.server.endpoints.websocket, "TOKEN_SECRET": Self.secret, "CONTROL": control.path,
          "POLL_SECRET": Self.secret,
        ])
      let outcome: Command.Outcome
      do {
        outcome = try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await restarts.serve() }
          defer { group.cancelAll() }
          return try await command.run(deadline: .seconds(360))
        }
      } catch {
        await restarts.server.kill()
        throw error
      }
      let log = restarts.server.errorOutput
      await restarts.server.kill()
      #expect(outcome.status == 0, "\(outcome.output.suffix(8000))\nThe server's log ends with:\n\(log)")
      // A script that ended early without a word would pass otherwise.
      #expect(outcome.output.contains("ok: \(name)"))
    }
  }

  /// A server that is killed and started again on the same port and data when a scenario asks for it, by files: the script
  /// makes `kill-1`, is told `killed-1`, makes `start-1` when it is ready, and is told `started-1`.
  private final class Restarts: Sendable {
    private let data: URL
    private let control: URL
    private let more: [String]
    private let current: Mutex<ServerProcess>

    var server: ServerProcess { current.withLock { $0 } }

    /// - Parameter settings: beside those of all scenarios.
    init(data: URL, control: URL, settings more: [String]) async throws {
      self.data = data
      self.control = control
      self.more = more
      current = Mutex(try await Self.start(in: data, port: 0, more))
    }

    private static func start(in data: URL, port: Int, _ more: [String]) async throws -> ServerProcess {
      let configuration = ServerProcess.repository.appendingPathComponent("config/fanfare.json")
      return try await ServerProcess(
        in: data, configuration: String(contentsOf: configuration, encoding: .utf8),
        arguments: (settings + more + ["server.port=\(port)"]).flatMap { ["--set", $0] })
    }

    /// Until the task is cancelled.
    func serve() async throws {
      let port = URL(string: server.endpoints.websocket)?.port ?? 0
      var number = 1
      while !Task.isCancelled {
        if await !has("kill-\(number)") { break }
        await server.kill()
        try say("killed-\(number)")
        if await !has("start-\(number)") { break }
        let next = try await Self.start(in: data, port: port, more)
        current.withLock { $0 = next }
        try say("started-\(number)")
        number += 1
      }
    }

    /// Waits for a file of the script's; false where the task was cancelled first.
    private func has(_ name: String) async -> Bool {
      let path = control.appendingPathComponent(name).path
      return await eventually(within: .seconds(400)) {
        Task.isCancelled || FileManager.default.fileExists(atPath: path)
      } && !Task.isCancelled
    }

    private func say(_ name: String) throws { try Data().write(to: control.appendingPathComponent(name)) }
  }
}
