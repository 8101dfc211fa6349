import Foundation
import TestSupport
import Testing

@Suite("The picture of the results in README.md", .ownThread)
struct PlotTests {
  private static func plot(_ arguments: [String], in folder: URL) async throws -> Command.Outcome {
    let script = folder.appendingPathComponent("benchmarks/plot")
    return try await Command(
      named: "python3", [script.path] + arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"]
    ).run(deadline: .seconds(120))
  }

  @Test("It is what benchmarks/plot makes of the committed results; run that when they change")
  func same() async throws {
    let outcome = try await Self.plot(["--print"], in: ServerProcess.repository)
    let file = ServerProcess.repository.appendingPathComponent("docs/pictures/fanout.svg")
    let isSame = outcome.output == (try String(contentsOf: file, encoding: .utf8))
    #expect(outcome.status == 0 && isSame, "\(outcome.output.prefix(300))")
    #expect(outcome.output.contains("prefers-color-scheme: dark"))
  }

  @Test("Results with fewer than five valid turns, and results without the floor, are refused with a sentence")
  func refused() async throws {
    let repository = ServerProcess.repository
    try await withTemporaryFolder { folder in
      let results = folder.appendingPathComponent("benchmarks/results")
      try FileManager.default.createDirectory(at: results, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: repository.appendingPathComponent("benchmarks/plot"), to: folder.appendingPathComponent("benchmarks/plot"))
      for name in ["fanout-10k", "coalesce"] {
        let file = "benchmarks/results/\(name).json.gz"
        try FileManager.default.copyItem(
          at: repository.appendingPathComponent(file), to: folder.appendingPathComponent(file))
      }
      let missing = try await Self.plot(["--print"], in: folder)
      #expect(missing.status == 1 && missing.output.contains("fanout.json.gz"), "\(missing.output)")
      for (rows, said) in [
        (#"[{"figure":"CPU per delivery","peer":"fanfare"}]"#, "has no CPU per delivery of floor"),
        (
          #"[{"figure":"CPU per delivery","peer":"fanfare","validTurns":4,"bound":"exact","unit":"seconds"},"#
            + #"{"figure":"CPU per delivery","peer":"floor","validTurns":5,"bound":"exact","unit":"seconds"}]"#,
          "of fanfare has 4 valid turns"
        ),
      ] {
        let packed = results.appendingPathComponent("fanout.json")
        try "{\"figures\":\(rows)}".write(to: packed, atomically: true, encoding: .utf8)
        let gzip = try await Command(named: "gzip", ["-f", packed.path]).run(deadline: .seconds(60))
        #expect(gzip.status == 0, "\(gzip.output)")
        let refused = try await Self.plot(["--print"], in: folder)
        #expect(refused.status == 1 && refused.output.contains(said), "\(refused.output)")
      }
    }
  }

  @Test("Other words than --print are answered with what it does")
  func usage() async throws {
    let outcome = try await Self.plot(["--help"], in: ServerProcess.repository)
    #expect(outcome.status == 1 && outcome.output.contains("benchmarks/plot --print"))
  }
}
