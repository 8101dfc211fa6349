import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite("fanfare-bench on a command line", .ownThread)
struct CommandLineTests {
  private func bench(_ arguments: String...) async throws -> Command.Outcome {
    try await Command(URL(fileURLWithPath: try benchExecutable()), arguments).run(deadline: .seconds(60))
  }

  private func result(cpu: Double, turns: Int = 7, change: (inout RunResult) -> Void = { _ in }) -> RunResult {
    var result = Sample.result(
      Sample.scenario(), (1...turns).map { Sample.turn("fanfare", $0, cpu: cpu * (1 + 0.001 * Double($0))) })
    change(&result)
    return result
  }

  @Test("compare ends with 0 where nothing is worse, 1 where something is, 2 where the two cannot be compared")
  func compare() async throws {
    try await withTemporaryFolder { folder in
      func path(_ name: String) -> String { folder.appending(path: name).path }
      try result(cpu: 0.01).write(to: path("before.json"))
      try result(cpu: 0.02).write(to: path("after.json.gz"))
      try result(cpu: 0.01) { $0.machine.cores = 4 }.write(to: path("elsewhere.json"))
      let better = try await bench("compare", path("after.json.gz"), path("before.json"))
      #expect(better.status == 0 && better.output.contains("Nothing is worse. Better: "), "\(better.output)")
      let worse = try await bench("compare", path("before.json"), path("after.json.gz"), "--turns")
      #expect(worse.status == 1 && worse.output.contains("Worse: CPU per delivery of fanfare"), "\(worse.output)")
      let other = try await bench("compare", path("before.json"), path("elsewhere.json"))
      #expect(other.status == 2 && other.output.contains("cannot be compared: the machine was"), "\(other.output)")
      let despite = ["compare", path("before.json"), path("elsewhere.json"), "--despite", "machine"]
      #expect(try await bench(despite[0], despite[1], despite[2], despite[3], despite[4]).status == 0)
      #expect(try await bench("compare", path("before.json"), path("nothing.json")).status == 2)
    }
  }

  @Test("A packed result is read as it was written, and a broken one refused with a sentence")
  func packed() async throws {
    try await withTemporaryFolder { folder in
      let path = folder.appending(path: "result.json.gz").path
      try result(cpu: 0.01) { $0.commit = "abc-dirty" }.write(to: path)
      #expect(FileManager.default.contents(atPath: path)?.prefix(2) == Data([0x1F, 0x8B]))
      #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "result.json").path))
      let read = try RunResult.read(from: path)
      #expect(read.commit == "abc-dirty" && read.turns.count == 7 && read.scenario == Sample.scenario())
      try Data("no gzip".utf8).write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: BenchError.self) { try RunResult.read(from: path) }
      #expect(error?.description.contains("cannot be unpacked") == true)
    }
  }

  @Test("Scenarios are listed and shown without the repository, and a copy runs under the same rules")
  func scenarios() async throws {
    let list = try await bench("scenarios")
    #expect(list.status == 0 && list.output.contains("\nfanout  ") && !list.output.contains("cannot be read"))
    let fanout = try await bench("scenarios", "--show", "fanout")
    #expect(fanout.output == String(decoding: try ScenarioFile.text(of: "fanout"), as: UTF8.self))
    let unknown = try await bench("scenarios", "--show", "fanuot")
    #expect(unknown.status == 1 && unknown.output.contains("did you mean fanout?"))
  }

  @Test("What cannot be run, or judged, is refused before anything is started")
  func refused() async throws {
    let nothing = try await bench("run")
    #expect(nothing.status == 1 && nothing.output.contains("name a scenario"))
    let rules = try await bench("run", "--rate", "5", "--payload", "3")
    #expect(rules.status == 1 && rules.output.contains("the command line: \"groups.0.payload\""))
    let figure = try await bench("run", "fanout", "--require", "p98<=5ms")
    #expect(figure.status == 1 && figure.output.contains("no figure \"p98\""))
    let goals = try await bench("run", "slowreaders", "--fail-on-goals")
    #expect(goals.status == 1 && goals.output.contains("no goal that a run of it alone can decide"))
  }

  @Test("The floor is measured as the command line says, and the exit code says what became of the goals")
  func adHoc() async throws {
    try await withTemporaryFolder { folder in
      let path = folder.appending(path: "result.json").path
      let run = try await bench(
        "run", "--peers", "floor", "--channels", "2", "--subscribers", "3", "--publishers", "2", "--rate", "20",
        "--payload", "64", "--turns", "1", "--warmup", "0", "--duration", "0.5", "--no-pin", "--keep-going", "--json",
        path, "--require", "p99<=10s")
      #expect(run.output.contains("1 of 1 goals undecided: p99 of floor ≤ 10.0 s"), "\(run.output)")
      #expect(run.status == 2)
      let result = try RunResult.read(from: path)
      let group = result.scenario.groups[0]
      #expect(result.scenario.name == "ad-hoc" && result.scenario.goals?.count == 1)
      #expect((group.channels, group.subscribers, group.publishers, group.payload) == (2, 3, 2, 64))
      #expect(result.command.contains("--channels 2") && result.peers.map(\.name) == ["floor"])
      #expect(result.turns.first?.report?.delivered == 30)
      // Sources that were copied without their repository have no commit.
      #expect(result.commit.map { $0.prefix(40).count(where: \.isHexDigit) == 40 } ?? true)
    }
  }
}
