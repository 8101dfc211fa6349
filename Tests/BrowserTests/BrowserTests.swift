import Foundation
import TestSupport
import Testing

/// The demo and the console in the browser that most people have. What each scenario looks like is kept in
/// `.build/pictures`, for people to look at.
@Suite("In Chromium", .skipUnlessStrict(.chromium, isThere: ChromiumProgram.executable != nil), .ownThread)
struct BrowserTests {
  private static let python = PythonEnvironment(
    scripts: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("browser"),
    name: "browser-venv")

  /// Scenarios mostly wait for pages, so a few go on beside one another; a browser for each script at once would be too many.
  private static let lanes = [["clique", "busy"], ["state", "journal", "load"], ["sites", "favorites", "console"]]

  @Test("People use the pages in windows of their own", arguments: lanes)
  func scenarios(_ lane: [String]) async throws {
    let interpreter = try await Self.python.interpreter()
    let chromium = try #require(ChromiumProgram.executable, "there is no Chromium; install chromium")
    for script in lane { try await Self.run(script, interpreter, chromium) }
  }

  private static func run(_ script: String, _ interpreter: URL, _ chromium: URL) async throws {
    let file = python.scripts.appendingPathComponent("\(script).py")
    let wanted = try String(contentsOf: file, encoding: .utf8).matches(of: /\ndef scenario_/).count
    try await withTemporaryFolder { folder in
      let command = Command(
        interpreter, [file.path],
        environment: [
          "FANFARE": try ServerProcess.executable().path, "CHROMIUM": chromium.path, "FOLDER": folder.path,
          "CONFIGURATION": ServerProcess.repository.appendingPathComponent("config/fanfare.json").path,
          "PICTURES": ServerProcess.repository.appendingPathComponent(".build/pictures").path,
          "COMMITTED": ServerProcess.repository.appendingPathComponent("docs/pictures").path,
          "PYTHONDONTWRITEBYTECODE": "1",
        ])
      let outcome = try await command.run(deadline: .seconds(600))
      #expect(outcome.status == 0, "\(outcome.output)")
      // A scenario that is written and not run would pass otherwise.
      #expect(outcome.output.matches(of: /ok: scenario_/).count == wanted, "\(outcome.output)")
    }
  }
}
