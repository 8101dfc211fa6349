import Foundation
import TestSupport
import Testing

@Suite("The tests of the client for browsers, which are in JavaScript", .ownThread)
struct JavaScriptTests {
  @Test(
    "They pass in node's own test runner", .skipUnlessStrict(.node, isThere: NodeProgram.executable != nil),
    arguments: ["machine", "client", "console", "methods", "pictures", "types"])
  func passes(name: String) async throws {
    let node = try #require(NodeProgram.executable)
    let file = JavaScript.folder.appendingPathComponent("\(name).test.mjs")
    let command = Command(node, ["--test", file.path])
    let outcome = try await command.run(deadline: .seconds(300))
    #expect(outcome.status == 0, "\(outcome.output.suffix(8000))")
    // A runner that found no tests would pass otherwise.
    #expect(outcome.output.contains("fail 0") && !outcome.output.contains("pass 0"))
  }

  @Test("Every file of tests is run")
  func files() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: JavaScript.folder.path)
    let tests = names.filter { $0.hasSuffix(".test.mjs") }.sorted()
    #expect(tests == ["client", "console", "machine", "methods", "pictures", "types"].map { "\($0).test.mjs" })
  }

  @Test(
    "The types let people write what they should, and not what they should not",
    .skipUnlessStrict(.typescript, isThere: NodeProgram.executable != nil && NodeProgram.typeScript != nil))
  func types() async throws {
    let node = try #require(NodeProgram.executable)
    let compiler = try #require(NodeProgram.typeScript)
    let options = [
      "--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node", "--lib",
      "es2022,dom,dom.iterable",
    ]
    let file = JavaScript.folder.appendingPathComponent("use.ts")
    let command = Command(node, [compiler.path] + options + [file.path])
    let outcome = try await command.run(deadline: .seconds(300))
    #expect(outcome.status == 0, "\(outcome.output.suffix(8000))")
  }
}

enum JavaScript {
  /// Beside this file: SwiftPM neither compiles nor copies them.
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("javascript")
}
