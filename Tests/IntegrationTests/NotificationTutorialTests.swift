import Foundation
import TestSupport
import Testing

/// docs/tutorials/state-notifications.md, typed as it stands but for the ports and the time until a notification.
@Suite("The tutorial on notifications of State", .ownThread)
struct NotificationTutorialTests {
  private static let page = "state-notifications"
  private static let standIn = "python3 stand-in.py"
  private static let server = "fanfare serve --config state.json"

  @Test("Each file and command does what the page says, and each line that it shows is told, as often as it shows it")
  func typed() async throws {
    let tutorial = try Tutorial(Self.page)
    try await withTemporaryFolder { folder in
      try await Self.run(tutorial, in: folder)
    }
  }

  private static func run(_ tutorial: Tutorial, in folder: URL) async throws {
    let (begun, served) = (try tutorial.step(with: standIn), try tutorial.step(with: server))
    #expect(begun < served && served < tutorial.steps.count - 5)
    try await prepare(tutorial, begun, in: folder)
    let told = folder.appendingPathComponent("told.txt")
    let standIn = try start(standIn, in: folder, output: told)
    defer { standIn.signal(SIGKILL) }
    let ports = try await ports(of: standIn, told)
    try configure(tutorial, ports, in: folder)
    // The block makes a key first, and ends with the server's own command.
    guard case .commands(let commands) = tutorial.steps[served], commands.hasSuffix(server) else {
      throw Tutorial.Failure("the server does not start with the last command of its block")
    }
    try await expectSuccess(String(commands.dropLast(server.count)), in: folder)
    let process = try start(server + " --set server.port=0 --set admin.port=0", in: folder)
    let outcome: Command.Outcome
    do {
      let endpoints = try await endpoints(of: process, in: folder)
      outcome = try await bash(try rest(of: tutorial, behind: served, endpoints), in: folder)
    } catch {
      process.signal(SIGKILL)
      throw error
    }
    process.signal(SIGTERM)
    #expect(await eventually(within: .seconds(120)) { !process.isRunning } && process.status == 0)
    let lines = try String(contentsOf: told, encoding: .utf8)
    #expect(outcome.status == 0 && !outcome.output.contains("\"error\""), "\(outcome.output)\n\(lines)")
    // Bob was told of the first only: of the second he knew.
    #expect(lines.components(separatedBy: "bob-phone shows").count == 2, "\(lines)")
    #expect(lines.components(separatedBy: "ada-phone shows").count == 2, "\(lines)")
  }

  @Test("Of a page the files, commands and outputs are found, and what it has not is told")
  func checker() async throws {
    let text = """
      ```json
      {}
      ```
      ```sh
      echo one >> log; echo two >> log
      ```
      ```text
      one
      t…
      ```
      ```sh
      false
      ```
      ```text
      one
      ```
      """
    let tutorial = try Tutorial("a-page", text: text)
    #expect(tutorial.steps.count == 4 && tutorial.steps[1] == .output(["one", "t…"]))
    #expect(try tutorial.file("json") == "{}\n")
    #expect(try tutorial.step(with: "false") == 2)
    #expect(throws: Tutorial.Failure.self) { try tutorial.file("python") }
    #expect(throws: Tutorial.Failure.self) { try tutorial.step(with: "true") }
    #expect(throws: Tutorial.Failure.self) { try Tutorial("a-page", text: "no commands") }
    try await withTemporaryFolder { folder in
      #expect(try await Self.bash(tutorial.script(of: 0..<2, log: "log"), in: folder).status == 0)
      #expect(try await Self.bash(tutorial.script(of: 2..<3, log: "log"), in: folder).status == 1)
      // "one" has come once, and the page shows it twice by then.
      let again =
        tutorial.script(of: 1..<2, log: "log")
        + tutorial.script(of: 1..<2, log: "log")
        .replacingOccurrences(of: "'one' 1", with: "'one' 2").replacingOccurrences(of: "600", with: "2")
      let late = try await Self.bash(again, in: folder)
      #expect(late.status == 1 && late.output.contains("this never came: one"), "\(late.output)")
    }
  }

  // MARK: What the page has one do first

  private static func prepare(_ tutorial: Tutorial, _ steps: Int, in folder: URL) async throws {
    let program = folder.appendingPathComponent("bin")
    try FileManager.default.createDirectory(at: program, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: program.appendingPathComponent("fanfare"), withDestinationURL: try ServerProcess.executable())
    let script = try tutorial.file("python").replacing("= 8443, 8090,", with: "= 0, 0,", of: page)
    try write(script, "stand-in.py", in: folder)
    try await expectSuccess(tutorial.script(of: 0..<steps, log: "told.txt"), in: folder)
  }

  /// The stand-in's ports, for phones and for the backend.
  private static func ports(of process: ChildProcess, _ told: URL) async throws -> (phones: String, backend: String) {
    var words: [String] = []
    _ = await eventually(within: .seconds(60)) {
      let text = (try? String(contentsOf: told, encoding: .utf8)) ?? ""
      words = text.hasSuffix("\n") ? text.split(whereSeparator: \.isWhitespace).map(String.init) : []
      return words.count == 3 || !process.isRunning
    }
    try #require(words.count == 3 && words[0] == "ready:", "the stand-in did not start: \(words)")
    return (words[1], words[2])
  }

  private static func configure(
    _ tutorial: Tutorial, _ ports: (phones: String, backend: String), in folder: URL
  ) throws {
    let account = folder.appendingPathComponent("account.json")
    let text = try String(contentsOf: account, encoding: .utf8)
    try write(try text.replacing("8443", with: ports.phones, of: "account.json"), "account.json", in: folder)
    // A busy machine takes more than two seconds from sending to acknowledging.
    let settings = try tutorial.file("json").replacing("8443", with: ports.phones, of: page)
      .replacing("8090", with: ports.backend, of: page).replacing("\"2s\"", with: "\"8s\"", of: page)
    try write(settings, "state.json", in: folder)
  }

  /// With the permissions that the server asks for where a file holds a key.
  private static func write(_ text: String, _ name: String, in folder: URL) throws {
    let file = folder.appendingPathComponent(name)
    try text.write(to: file, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }

  /// What is typed in the third terminal, with the ports of the server that runs.
  private static func rest(
    of tutorial: Tutorial, behind step: Int, _ endpoints: ServerProcess.Endpoints
  ) throws -> String {
    let port = try #require(URL(string: endpoints.websocket)?.port)
    let admin = try #require(URL(string: endpoints.admin)?.port)
    let metrics = "curl -s http://127.0.0.1:9000/metrics"
    return try tutorial.script(of: step + 1..<tutorial.steps.count, log: "told.txt")
      // They are counted once a second.
      .replacing("\n\(metrics)", with: "\nuntil \(metrics)", of: page)
      .replacing("reason=\"suppressed\"}'\n", with: "reason=\"suppressed\"}'; do sleep 0.1; done\n", of: page)
      .replacing("127.0.0.1:8000", with: "127.0.0.1:\(port)", of: page)
      .replacing("127.0.0.1:9000", with: "127.0.0.1:\(admin)", of: page)
  }

  // MARK: Terminals

  private static func environment(_ folder: URL) -> [String: String] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return ["PATH": "\(folder.appendingPathComponent("bin").path):\(path)", "no_proxy": "127.0.0.1,localhost"]
  }

  private static func bash(_ script: String, in folder: URL) async throws -> Command.Outcome {
    try await Command(named: "bash", ["-c", "cd '\(folder.path)'\n" + script], environment: environment(folder))
      .run(deadline: .seconds(300))
  }

  private static func expectSuccess(_ script: String, in folder: URL) async throws {
    let outcome = try await bash("set -eu -o pipefail\n" + script, in: folder)
    try #require(outcome.status == 0, "\(outcome.output)")
  }

  private static func start(_ command: String, in folder: URL, output: URL? = nil) throws -> ChildProcess {
    try ChildProcess(
      URL(fileURLWithPath: "/bin/sh"), ["-c", "cd '\(folder.path)' && exec \(command)"],
      environment: ChildProcess.fanfareEnvironment.merging(environment(folder)) { $1 }, output: output,
      errors: folder.appendingPathComponent("errors-\(UUID().uuidString).txt"))
  }

  private static func endpoints(
    of process: ChildProcess, in folder: URL
  ) async throws -> ServerProcess.Endpoints {
    let file = folder.appendingPathComponent("data/endpoints.json")
    let isThere = await eventually(within: .seconds(120)) {
      FileManager.default.fileExists(atPath: file.path) || !process.isRunning
    }
    try #require(isThere && process.isRunning, "the server did not start")
    return try JSONDecoder().decode(ServerProcess.Endpoints.self, from: Data(contentsOf: file))
  }
}
