import Foundation
import Testing

@testable import Bench

@Suite("A knee that is a lower bound")
struct KneeTests {
  private static func step(_ rate: Double, p99: UInt64, isLimited: Bool? = false) -> Step {
    var step = Sample.step(rate, p99: p99)
    step.generatorWasLimit = isLimited
    return step
  }

  /// Holds at 1000 and 2000, fails at 4000.
  private static func steps(isLimited: Bool?) -> [Step] {
    [step(1000, p99: 2_000_000), step(2000, p99: 20_000_000), step(4000, p99: 90_000_000, isLimited: isLimited)]
  }

  /// Turns of one peer and of the floor, in which the generator was the limit or not.
  private static func result(_ fanfare: [Bool], floor: [Bool] = [], goals: [Goal]? = nil) -> RunResult {
    var scenario = Sample.scenario(.saturation)
    scenario.goals = goals
    let turns = [("fanfare", fanfare), ("floor", floor)].flatMap { peer, turns in
      turns.enumerated().map { index, isLimited in
        var turn = Sample.turn(peer, index + 1, cpu: 1)
        (turn.report, turn.steps) = (nil, steps(isLimited: isLimited))
        return turn
      }
    }
    return Sample.result(scenario, turns)
  }

  @Test("It is one where the generator was the limit above it, or where the ramp ended; a busy generator below is none")
  func openings() {
    func opening(_ steps: [Step]) -> Saturation.Opening? { Saturation.opening(steps, limitMilliseconds: 50) }
    #expect(opening(Self.steps(isLimited: false)) == nil)
    #expect(opening(Self.steps(isLimited: true)) == .generator(rate: 4000))
    // The first failure may be chance: the limited one ended the search.
    let second = Self.steps(isLimited: false) + [Self.step(8000, p99: 90_000_000, isLimited: true)]
    #expect(opening(second) == .generator(rate: 8000))
    #expect(opening(Array(Self.steps(isLimited: false).prefix(2))) == .ramp)
    var below = Self.steps(isLimited: false)
    (below[0].generatorWasLimit, below[1].generatorWasLimit) = (true, true)
    #expect(opening(below) == nil)
    #expect(opening([Self.step(1, p99: 90_000_000, isLimited: true)]) == nil)
  }

  @Test("A step is limited by a generator without processor time left, and by one that sent late")
  func limits() {
    var step = Sample.step(100, p99: 20_000_000)
    (step.generatorUse, step.server) = (0.5, Sample.use(1.0))
    #expect(TurnRules.generatorLimits(of: step, serverCores: 1) == [])
    step.report.lateness = Sample.histogram([3_000_000])
    let late = TurnRules.generatorLimits(of: step, serverCores: 1)
    #expect(late.count == 1 && late[0].contains("p99 of 3.00 ms"))
    step.generatorUse = 0.98
    #expect(TurnRules.generatorLimits(of: step, serverCores: 1).count == 2)
  }

  @Test("Table, page and JSON say at least, and why")
  func told() throws {
    let result = Self.result([true, true, true])
    let text = TextReport.render(result)
    #expect(text.contains("≥ 2.00 k (3/3)"))
    #expect(text.contains("knee, at least"))
    #expect(text.contains("generator-bound"))
    #expect(
      text.contains(
        "fanfare, turn 1: the knee is a lower bound: the generator was the limit in the step of 4.00 k/s"))
    let page = HTMLReport.render([result])
    #expect(page.contains("≥ 2.00 k (3/3)") && page.contains("the knee is a lower bound"))
    // The ring in the chart.
    #expect(page.contains(">≥ 200 k/s<"))
    let json = try #require(String(data: try JSONEncoder().encode(ResultFigures(result)), encoding: .utf8))
    #expect(json.contains(#""bound":"at least""#) && json.contains("the generator was the limit"))
    // What is no rate is of the step, and no bound.
    #expect(!text.contains("≥ 20.0 ms"))
    #expect(!TextReport.render(Self.result([false, false, false])).contains("≥"))
  }

  @Test("A median is a bound where a bounded turn is not above it")
  func medians() {
    func bound(_ readings: [(Double, Bound)]) -> Bound? {
      Summary.Figure(readings.map { Reading(value: $0.0, bound: $0.1) }, measured: readings.count)?.bound
    }
    #expect(bound([(1, .exact), (2, .exact), (3, .atLeast)]) == .exact)
    #expect(bound([(1, .exact), (2, .atLeast), (3, .exact)]) == .atLeast)
    #expect(bound([(1, .atLeast), (2, .exact), (3, .exact)]) == .atLeast)
    #expect(bound([(1, .exact), (2, .exact), (3, .atLeast), (4, .exact)]) == .atLeast)
    #expect(bound([(1, .atMost), (2, .exact), (3, .exact)]) == .exact)
    #expect(bound([(1, .exact), (2, .exact), (3, .atMost)]) == .atMost)
    #expect(bound([(1, .atLeast), (2, .exact), (3, .atMost)]) == nil)
  }

  @Test("A ratio to a lower bound is at most, from one at least, and of two none at all")
  func ratios() throws {
    func ratio(_ fanfare: Bool, _ floor: Bool) -> Summary.Figure? {
      let summary = Summary(Self.result([fanfare, fanfare, fanfare], floor: [floor, floor, floor]))
      return summary.rows.first { $0.metric.label == "knee: deliveries/s" }?.ratios["fanfare"]
    }
    #expect(ratio(false, false)?.bound == .exact)
    #expect(ratio(true, false)?.bound == .atLeast)
    #expect(ratio(false, true)?.bound == .atMost)
    #expect(ratio(true, true) == nil)
  }

  @Test("A bound decides a goal only where the true figure can but be further on the same side")
  func goals() {
    func outcome(_ goal: Goal, isLimited: Bool) -> Verdict.Outcome? {
      let turns = Array(repeating: isLimited, count: 5)
      let floor = Array(repeating: false, count: 5)
      return Verdict.all(Self.result(turns, floor: floor, goals: [goal])).first?.outcome
    }
    let figure = "knee: publications/s"
    for isLimited in [false, true] {
      #expect(outcome(Goal(peer: "fanfare", figure: figure, atLeast: 2000, unit: "/s"), isLimited: isLimited) == .met)
      #expect(outcome(Goal(peer: "fanfare", figure: figure, atMost: 1999, unit: "/s"), isLimited: isLimited) == .missed)
    }
    let more = Goal(peer: "fanfare", figure: figure, atLeast: 2001, unit: "/s")
    #expect(outcome(more, isLimited: false) == .missed && outcome(more, isLimited: true) == .undecided)
    let less = Goal(peer: "fanfare", figure: figure, atMost: 2000, unit: "/s")
    #expect(outcome(less, isLimited: false) == .met && outcome(less, isLimited: true) == .undecided)
    let relative = Goal(peer: "fanfare", figure: figure, atLeast: 1.1, of: "floor")
    #expect(outcome(relative, isLimited: true) == .undecided)
  }
}
