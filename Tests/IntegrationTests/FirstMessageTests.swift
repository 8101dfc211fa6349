import Foundation
import TestSupport
import Testing

/// What README.md has one type first.
@Suite("The first message of README.md", .ownThread)
struct FirstMessageTests {
  private static let program = ".build/release/fanfare"

  /// The words behind the program's name, in the line that begins with that command.
  private static func arguments(of command: String) throws -> String {
    let start = "    \(program) \(command) "
    let lines = try ShownCommand.text("README.md").components(separatedBy: "\n").filter { $0.hasPrefix(start) }
    try #require(lines.count == 1, "README.md has \(lines.count) lines with \(command)")
    return "\(command) \(lines[0].dropFirst(start.count))"
  }

  @Test("What is published in one terminal is printed in the other, with its position")
  func arrives() async throws {
    let (subscribe, publish) = (try Self.arguments(of: "subscribe"), try Self.arguments(of: "publish"))
    let configuration = try ShownCommand.text("config/fanfare.json")
    let program = try ServerProcess.executable().path
    try await withTemporaryFolder { folder in
      let server = try await ServerProcess(in: folder.appendingPathComponent("data"), configuration: configuration)
      let port = try #require(URL(string: server.endpoints.websocket)?.port)
      let (printed, said) = (folder.appendingPathComponent("printed"), folder.appendingPathComponent("said"))
      let line = "cd '\(folder.path)' && exec '\(program)' \(subscribe) --set server.port=\(port)"
      let subscriber = try ChildProcess(
        URL(fileURLWithPath: "/bin/sh"), ["-c", line], environment: ChildProcess.fanfareEnvironment, output: printed,
        errors: said)
      defer { subscriber.signal(SIGKILL) }
      func text(_ file: URL) -> String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }
      try #require(await eventually { text(said).contains("news: subscribed") }, "\(text(said))")
      let outcome = try await Command(named: "sh", ["-c", "cd '\(folder.path)' && exec '\(program)' \(publish)"])
        .run(deadline: .seconds(120))
      #expect(outcome.status == 0, "\(outcome.output)")
      let isPrinted = await eventually {
        text(printed).contains(#""data":{"hello":"world"},"offset":1"#)
      }
      #expect(isPrinted, "\(text(printed)) \(text(said))")
      #expect(await server.terminate() == 0)
    }
  }
}
