import Foundation
import TestSupport
import Testing

/// docs/tutorials/load-test.md, typed as it stands but for its ports, and for less time and fewer clients.
@Suite("The tutorial on load tests", .ownThread)
struct LoadTestTutorialTests {
  private static let page = "load-test"
  private static let program = ".build/release/fanfare-bench"
  private static let address = "ws://127.0.0.1:8000/connection/websocket"
  private static let process = "\"$(pgrep -n -x fanfare)\""

  /// The bench's commands, each in one line.
  private static func commands() throws -> [String] {
    try Tutorial(page).steps.flatMap { step -> [String] in
      guard case .commands(let text) = step else { return [] }
      return text.replacingOccurrences(of: "\\\n", with: "").components(separatedBy: "\n")
        .filter { $0.hasPrefix(program) }
    }
  }

  @Test("Each command does what the page says, and the rows that it explains are printed")
  func typed() async throws {
    let settings = ServerProcess.repository.appendingPathComponent("config/fanfare.json")
    _ = try Tutorial(Self.page).step(with: "fanfare serve --config config/fanfare.json")
    try await withTemporaryFolder { folder in
      let server = try await ServerProcess(
        in: folder.appendingPathComponent("data"), configuration: String(contentsOf: settings, encoding: .utf8))
      do {
        for command in try Self.commands() { try await Self.run(command, server, in: folder) }
      } catch {
        await server.kill()
        throw error
      }
      #expect(await server.terminate() == 0, "\(server.errorOutput)")
      let page = try String(contentsOf: folder.appendingPathComponent("before.html"), encoding: .utf8)
      // On a machine that is full of other tests nothing may arrive in the second that is measured.
      #expect(page.contains("CPU per delivery") || page.contains("the server fell behind"))
    }
  }

  private static func run(_ command: String, _ server: ServerProcess, in folder: URL) async throws {
    let outcome = try await Command(
      named: "bash", ["-c", "cd '\(folder.path)' && \(try brief(command, server))"]
    ).run(deadline: .seconds(180))
    // Whether a turn counts is this machine's to say, which runs other tests beside. One turn decides and compares nothing.
    if command.contains(" compare ") {
      #expect([0, 2].contains(outcome.status), "\(command): \(outcome.output)")
      let reasons = [
        "too few turns to say", "no figure in common", "not in the first", "not in the second", "none in the",
      ]
      let isSaid = reasons.contains { outcome.output.contains($0) }
      #expect(isSaid, "\(command): \(outcome.output)")
    } else if command.contains("--require") {
      #expect(outcome.status == 2 && outcome.output.contains("undecided: p99 of url"), "\(command): \(outcome.output)")
    } else {
      #expect(outcome.status == 0, "\(command): \(outcome.output)")
    }
    if command.contains("run fanout"), command.contains("--pid") {
      for row in try explained() { #expect(outcome.output.contains("\n\(row) "), "\(row): \(outcome.output)") }
    }
  }

  /// The command, with the server that runs, and for so short a time that it measures nothing. Memory is told of some
  /// hundred connections and more.
  private static func brief(_ command: String, _ server: ServerProcess) throws -> String {
    var brief = command.replacingOccurrences(of: program, with: "'\(try benchExecutable())'")
      .replacingOccurrences(of: address, with: server.endpoints.websocket)
      .replacingOccurrences(of: process, with: "\(server.identifier)")
    #expect(!brief.contains("8000") && !brief.contains("pgrep"), "\(brief)")
    for (option, value) in [
      ("--duration", "1 --warmup 1"), ("--turns", "1"), ("--channels", "10"),
      ("--rate", command.contains(" saturation ") ? "100 --set ramp.seconds=1 --set ramp.maximum_steps=2" : "50"),
    ] {
      brief = brief.replacing(try Regex("\(option) [0-9]+"), with: "\(option) \(value)")
    }
    return brief
  }

  /// The rows of the first table, which says what they mean.
  private static func explained() throws -> [String] {
    let file = ServerProcess.repository.appendingPathComponent("docs/tutorials/\(page).md")
    let rows = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
      .filter { $0.hasPrefix("| `") }.map { $0.components(separatedBy: " | ")[0] }
    let names = rows.flatMap { row in
      row.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }
    try #require(names.count >= 8)
    return names
  }

  @Test("The page has a command of each kind that it speaks of")
  func kinds() throws {
    let commands = try Self.commands()
    for part in ["run fanout", "--measure connect", "run saturation", "--namespace chat", " compare ", "--require"] {
      #expect(commands.contains { $0.contains(part) }, "\(part)")
    }
  }
}
