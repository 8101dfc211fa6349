import Foundation
import Synchronization
import TestSupport
import Testing

/// What the tests of whole servers rest on.
@Suite("A program beside the tests")
struct ChildProcessTests {
  private final class Told: Sendable {
    let crashes = Mutex<[String]>([])
  }

  /// Runs a shell script.
  ///
  /// - Returns: how it ended, and what was told of crashes.
  private func run(_ script: String) async throws -> (status: Int32?, crashes: [String]) {
    try await withTemporaryFolder { directory in
      let told = Told()
      let child = try ChildProcess(
        URL(fileURLWithPath: "/bin/sh"), ["-c", script], environment: [:],
        errors: directory.appendingPathComponent("errors")
      ) { crash in told.crashes.withLock { $0.append(crash) } }
      _ = await TestSupport.eventually { !child.isRunning }
      return (child.status, told.crashes.withLock { $0 })
    }
  }

  @Test("A crash is told of once, with what the program said")
  func crash() async throws {
    let (status, crashes) = try await run("echo lost >&2; kill -SEGV $$")
    #expect(status == -SIGSEGV)
    #expect(crashes.count == 1)
    #expect(crashes.first?.hasSuffix("crashed with signal 11: lost\n") == true)
  }

  @Test("An exit and an end from outside are no crashes", arguments: [("exit 3", 3), ("kill -KILL $$", -9)])
  func end(script: String, status: Int32) async throws {
    let ended = try await run(script)
    #expect(ended.status == status)
    #expect(ended.crashes == [])
  }
}
