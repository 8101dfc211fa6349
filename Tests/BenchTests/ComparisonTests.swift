import Foundation
import Testing

@testable import Bench

@Suite("Two results of one scenario")
struct ComparisonTests {
  /// Rounds of fanfare and, where there is one, of the floor, with so many seconds of CPU for 1000 deliveries each.
  private func result(
    _ fanfare: [Double], floor: [Double] = [], invalid: Set<Int> = [], change: (inout RunResult) -> Void = { _ in }
  ) -> RunResult {
    let turns =
      fanfare.enumerated().map { index, cpu in
        Sample.turn("fanfare", index + 1, cpu: cpu, faults: invalid.contains(index + 1) ? ["it was late"] : [])
      } + floor.enumerated().map { Sample.turn("floor", $0 + 1, cpu: $1) }
    var result = Sample.result(Sample.scenario(), turns)
    change(&result)
    return result
  }

  private func row(_ comparison: Comparison, _ label: String = "CPU per delivery") throws -> Comparison.Row {
    try #require(comparison.rows.first { $0.label == label })
  }

  private static let steady = [1.0, 1.01, 1.02, 0.99, 0.98, 1.015, 0.985].map { $0 * 0.01 }

  @Test("What takes a tenth more is worse, a tenth less better, and the same the same")
  func verdicts() throws {
    let before = result(Self.steady)
    let more = try Comparison(before, result(Self.steady.map { $0 * 1.1 }))
    #expect(try row(more).outcome == .worse && more.outcome == .worse)
    #expect(try abs((row(more).interval?.ratio ?? 0) - 1.1) < 0.001)
    let less = try Comparison(before, result(Self.steady.map { $0 * 0.9 }))
    #expect(try row(less).outcome == .better && less.outcome == .better)
    let same = try Comparison(before, before)
    #expect(try row(same).outcome == .same && same.outcome == .same)
    #expect(try row(same, "p99").outcome == .same)
  }

  @Test("Where more is better, less is worse")
  func rates() {
    let interval = RatioInterval(from: Self.steady, to: Self.steady.map { $0 * 0.5 })
    #expect(Comparison.outcome(interval, 0.001, isBetterLarger: true, margin: 0.05) == .worse)
    #expect(Comparison.outcome(interval, 0.001, isBetterLarger: false, margin: 0.05) == .better)
    #expect(Comparison.outcome(interval, 0.02, isBetterLarger: true, margin: 0.05) == .undecided)
  }

  @Test("Fewer than five valid turns of either say nothing, whatever they show")
  func fewTurns() throws {
    let comparison = try Comparison(
      result(Array(Self.steady[..<5]), invalid: [2]), result(Self.steady.map { $0 * 9 }))
    let row = try row(comparison)
    #expect(row.outcome == .undecided && row.interval == nil && row.first.count == 4)
    #expect(ComparisonReport.conclusion(comparison).contains("fewer than 5 valid turns"))
  }

  @Test("A peer that has no valid turn any more ends the comparison with a sentence")
  func vanished() {
    let broken = result(Self.steady, invalid: Set(1...Self.steady.count))
    #expect { try Comparison(result(Self.steady), broken) } throws: { "\($0)".contains("none in the second") }
  }

  @Test("A machine that was slower as a whole is taken out by the floor, and said")
  func floor() throws {
    let base = Self.steady.map { $0 / 2 }
    let (before, after) = (
      result(Self.steady, floor: base), result(Self.steady.map { $0 * 1.3 }, floor: base.map { $0 * 1.3 })
    )
    let comparison = try Comparison(before, after)
    #expect(try row(comparison).isByFloor && comparison.outcome == .same)
    let text = ComparisonReport.render(comparison)
    #expect(text.contains("the floor's CPU per delivery was 1.300×") && !text.contains("without * holds"))
    #expect(try Comparison(before, after, isAbsolute: true).outcome == .worse)
    // The floor is nobody's product: that it became slower makes nothing worse.
    #expect(comparison.rows.allSatisfy { $0.peer == "fanfare" })
    #expect(try Comparison(before, after, peers: ["floor"]).outcome == .worse)
  }

  @Test("A slowdown shows through a machine that moves from round to round, because the floor moves with it")
  func throughNoise() throws {
    let moves = [1.0, 1.4, 0.8, 1.2, 0.9, 1.3, 1.1]
    let own = zip(Self.steady, moves).map { $0 * $1 }
    let base = moves.map { $0 * 0.005 }
    let slower = own.map { $0 * 1.06 }
    #expect(try row(Comparison(result(own, floor: base), result(slower, floor: base))).outcome == .worse)
    #expect(try row(Comparison(result(own), result(slower))).outcome == .undecided)
  }

  @Test("Figures of the generator and of what was asked are no figures of the server")
  func judged() throws {
    let labels = try Comparison(result(Self.steady), result(Self.steady)).rows.map(\.label)
    #expect(labels.contains("memory per connection") && labels.contains("deliveries/s"))
    #expect(!labels.contains("offered deliveries/s") && !labels.contains("generator's CPU"))
  }

  @Test("Chosen figures alone are compared, and one that does not exist is told with one that does")
  func chosen() throws {
    let result = result(Self.steady)
    #expect(try Comparison(result, result, figures: ["p99", "p50"]).rows.map(\.label) == ["p50", "p99"])
    let error = #expect(throws: BenchError.self) { try Comparison(result, result, figures: ["p98"]) }
    #expect(error?.description.contains("did you mean \"p50\"") == true || error?.description.contains("p99") == true)
    #expect(throws: BenchError.self) { try Comparison(result, result, peers: ["nats"]) }
  }

  @Test("The table names medians, ratio, interval, turns and verdict; with turns, each of them")
  func table() throws {
    let after = result(Self.steady.map { $0 * 1.1 }) { $0.commit = "abc-dirty" }
    let comparison = try Comparison(result(Self.steady), after)
    let text = ComparisonReport.render(comparison, showsTurns: true)
    #expect(text.contains("CPU per delivery"))
    #expect(text.contains("10.0 µs") && text.contains("11.0 µs") && text.contains("1.100×") && text.contains("7, 7"))
    #expect(text.contains("second: sample, 2025-01-02T03:04:05Z, commit abc-dirty"))
    #expect(text.contains("more"))
    #expect(text.contains("first: 10.0 µs, 10.1 µs"))
    #expect(text.contains("A ratio of a time or a rate without * holds"))
    #expect(text.contains("Worse: CPU per delivery of fanfare (1.100×)"))
  }

  @Test("Runs of other scenarios, other settings or other machines are not compared, with the reason")
  func incomparable() {
    func reasons(_ change: (inout RunResult) -> Void) -> [Incomparability] {
      Incomparability.all(result(Self.steady), result(Self.steady, change: change))
    }
    #expect(reasons { _ in }.isEmpty)
    #expect(
      reasons { result in
        (result.scenario.name, result.scenario.turns, result.scenario.peers) = ("other", 9, ["fanfare"])
        (result.peers[0].version, result.machine.memoryBytes) = ("2", (8 << 30) - 4096)
      }.isEmpty)
    #expect(reasons { $0.scenario.groups[0].rate = 51 }.first?.kind == .scenario)
    #expect(reasons { $0.scenario.groups[0].rate = 51 }.first?.reason.contains("differ in groups") == true)
    #expect(reasons { $0.scenario.settings = [] }.map(\.kind) == [.settings])
    #expect(reasons { $0.peers[1].settings = "another way" }.map(\.kind) == [.settings])
    #expect(reasons { $0.machine.kernel = "Linux 7" }.map(\.kind) == [.machine])
    #expect(reasons { $0.machine.serverCores = [] }.map(\.kind) == [.machine])
  }
}
