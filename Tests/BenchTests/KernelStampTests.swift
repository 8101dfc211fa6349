import Testing

@testable import Bench

@Suite("Results with the kernel's stamps and without")
struct KernelStampTests {
  private static func result(isStamped: Bool, _ measure: Scenario.Measure = .delivery) -> RunResult {
    let turns = (1...6).map { number in
      var turn = Sample.turn("fanfare", number, cpu: 0.01 + 0.00001 * Double(number))
      if measure == .saturation {
        turn.report = nil
        turn.steps = [Sample.step(1000, p99: 2_000_000), Sample.step(2000, p99: 90_000_000)]
      }
      guard isStamped else { return turn }
      turn.report?.groups[0].kernel = Sample.histogram([90_000])
      for index in turn.steps.indices { turn.steps[index].report.groups[0].kernel = Sample.histogram([90_000]) }
      return turn
    }
    return Sample.result(Sample.scenario(measure), turns)
  }

  private static let (with, without) = (result(isStamped: true), result(isStamped: false))
  private static let obstacle = "kernel stamps in one alone"

  @Test("Times are not compared where one of the two alone has stamps, whichever it is; CPU, memory and rates are")
  func times() throws {
    for (first, second) in [(Self.with, Self.without), (Self.without, Self.with)] {
      let comparison = try Comparison(first, second)
      let times = comparison.rows.filter { $0.quantity.unit == "nanoseconds" }
      #expect(times.map(\.label).contains("p99") && times.count > 4)
      for row in times {
        #expect(row.outcome == .undecided && row.interval == nil && row.reason == Self.obstacle, "\(row.label)")
      }
      for label in ["CPU per delivery", "deliveries/s", "memory per connection"] {
        let row = try #require(comparison.rows.first { $0.label == label })
        #expect(row.outcome == .same && row.reason == nil, "\(label)")
      }
      let text = ComparisonReport.render(comparison)
      #expect(text.contains("Times are not compared: arrivals were stamped by the kernel in the "))
    }
  }

  @Test("Two results that both have stamps, or both none, are compared whole")
  func alike() throws {
    for result in [Self.with, Self.without] {
      let comparison = try Comparison(result, result)
      #expect(comparison.stamps == nil && comparison.rows.allSatisfy { $0.reason == nil && $0.outcome == .same })
    }
    #expect(try Comparison(Self.with, Self.with).rows.contains { $0.label == "p99 at the kernel" })
  }

  @Test("Where times alone were asked for, nothing is left to compare, and the sentence says what to do")
  func nothingLeft() {
    let error = #expect(throws: BenchError.self) {
      try Comparison(Self.with, Self.without, figures: ["p50", "p99"])
    }
    #expect(error?.description.contains("measure both with --kernel-stamps, or both without.") == true)
  }

  @Test("Whoever says so has times compared all the same")
  func despite() throws {
    let comparison = try Comparison(Self.with, Self.without, figures: ["p99"], ignoresStamps: true)
    #expect(comparison.rows.map(\.outcome) == [.same] && comparison.stamps == nil)
  }

  @Test("The stamps of a ramp are found in its steps, and a run without deliveries has none to find")
  func whereTheyStand() {
    #expect(Self.result(isStamped: true, .saturation).hasKernelStamps == true)
    #expect(Self.result(isStamped: false, .saturation).hasKernelStamps == false)
    var idle = Self.without
    for index in idle.turns.indices { idle.turns[index].report = nil }
    #expect(idle.hasKernelStamps == nil && Incomparability.stamps(idle, Self.with) == nil)
  }
}
