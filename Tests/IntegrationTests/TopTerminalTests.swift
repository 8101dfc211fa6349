import Foundation
import Glibc
import TestSupport
import Testing

/// The live view on a terminal, which is a pseudo-terminal here.
@Suite("fanfare top on a terminal", .ownThread)
struct TopTerminalTests {
  private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

  @Test("The view is live, and the terminal is as before when q or a signal has ended it", arguments: ["q", "SIGTERM"])
  func restored(_ end: String) async throws {
    try await Deployment.with(.serve) { deployment in
      let terminal = try PseudoTerminal()
      let file = URL(fileURLWithPath: terminal.path)
      let data = deployment.directory.appendingPathComponent("broker").path
      let top = try ChildProcess(
        ServerProcess.executable(),
        ["top", "--interval", "1", "--set", "data.directory=\(data)", "--endpoint", deployment.commands],
        environment: ChildProcess.fanfareEnvironment, input: file, output: file,
        errors: deployment.directory.appendingPathComponent("top.err"))
      #expect(await eventually { terminal.look().contains("PER SECOND") })
      #expect(terminal.shown.hasPrefix("\u{1B}[?1049h") && !terminal.isAsBefore)
      if end == "q" { terminal.press("q") } else { kill(top.identifier, SIGTERM) }
      #expect(await eventually { !top.isRunning })
      #expect(terminal.isAsBefore)
      #expect(terminal.look().contains(Self.leave), "\(terminal.shown.suffix(200).debugDescription)")
      if end == "q" { #expect(top.status == 0) }
    }
  }
}
