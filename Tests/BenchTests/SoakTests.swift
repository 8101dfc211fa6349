import Foundation
import TestSupport
import Testing

@Suite("The soak (benchmarks/soak)", .ownThread)
struct SoakTests {
  private static func python(_ arguments: [String]) async throws -> Command.Outcome {
    try await Command(named: "python3", arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"])
      .run(deadline: .seconds(240))
  }

  private static let program = ServerProcess.repository.appendingPathComponent("benchmarks/soak")

  @Test("It calls a series with a leak growing and a noisy flat one flat, and tells loss, doubles and disorder apart")
  func checks() async throws {
    let outcome = try await Self.python([Self.program.appendingPathComponent("checks.py").path])
    #expect(outcome.status == 0, "\(outcome.output.suffix(3000))")
    // They were run at all.
    let ran = try #require(outcome.output.firstMatch(of: #/Ran (\d+) tests/#))
    let count = try #require(Int(ran.1))
    #expect(count >= 20)
  }

  @Test("The table of a file that was written so far can be asked for, and a run that was cut off is not called flat")
  func report() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("soak.jsonl")
      let head = """
        {"kind":"start","at":0,"command":"c","machine":"m","commit":"c","begun":"b","duration":60,"warmup":1,"sample":1}
        {"kind":"sam
        """
      try head.write(to: file, atomically: true, encoding: .utf8)
      let outcome = try await Self.python([Self.program.path, "--report", file.path])
      #expect(outcome.status == 2 && outcome.output.contains("has not come to its end"), "\(outcome.output)")
    }
  }

  @Test("A duration without a unit is refused with a sentence")
  func usage() async throws {
    let outcome = try await Self.python([Self.program.path, "--duration", "3600"])
    #expect(outcome.status == 2 && outcome.output.contains("is no duration such as 90s, 1h or 7d"), "\(outcome.output)")
  }
}
