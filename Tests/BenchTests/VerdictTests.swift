import Foundation
import Testing

@testable import Bench

@Suite("Whether a goal is met")
struct VerdictTests {
  /// Rounds in which the one peer took so many times the CPU of the other.
  private func result(
    _ ratios: [Double], goals: [Goal], invalid: Set<Int> = [], named name: String = "sample"
  ) -> RunResult {
    var scenario = Sample.scenario()
    (scenario.goals, scenario.name) = (goals, name)
    let turns = ratios.enumerated().flatMap { index, ratio in
      let faults = invalid.contains(index + 1) ? ["it was late"] : []
      return [
        Sample.turn("fanfare", index + 1, cpu: 0.1 * ratio, faults: faults),
        Sample.turn("floor", index + 1, cpu: 0.1),
      ]
    }
    return Sample.result(scenario, turns)
  }

  private static let ratio = Goal(peer: "fanfare", figure: "CPU per delivery", atMost: 1.1, of: "floor")

  @Test("Four valid rounds leave it undecided, five decide it")
  func five() throws {
    let four = try #require(Verdict.all(result([1, 1, 1, 1], goals: [Self.ratio])).first)
    #expect(four.outcome == .undecided && four.reason.contains("4 rounds with a valid turn of both, and 5 are needed"))
    let met = try #require(Verdict.all(result([0.9, 1, 1.05, 3, 4], goals: [Self.ratio])).first)
    #expect(met.outcome == .met)
    #expect(
      met.sentence == """
        met: CPU per delivery of fanfare ≤ 1.10× floor's: 1.05× (0.90× to 4.00×), 5 rounds with a valid turn of both
        """)
    #expect(Verdict.all(result([0.9, 1, 1.2, 3, 4], goals: [Self.ratio])).first?.outcome == .missed)
  }

  @Test("A turn that cannot be trusted decides nothing, however good its figure")
  func invalid() {
    let verdict = Verdict.all(result([1, 1, 1, 1, 1], goals: [Self.ratio], invalid: [2])).first
    #expect(verdict?.outcome == .undecided)
    #expect(Verdict.all(result([1, 1, 1, 1, 1, 1], goals: [Self.ratio], invalid: [2])).first?.outcome == .met)
  }

  @Test("A peer that was not measured leaves it undecided")
  func absent() {
    var goal = Self.ratio
    goal.of = "nats"
    #expect(Verdict.all(result([1, 1, 1, 1, 1], goals: [goal])).first?.outcome == .undecided)
  }

  @Test("An amount is in its unit, a difference to another peer's too, and at_least looks the other way")
  func amounts() {
    func outcome(_ goal: Goal) -> Verdict.Outcome? {
      Verdict.all(result([1, 2, 2, 2, 3], goals: [goal])).first?.outcome
    }
    // 0.2 s over 1000 deliveries: 200 µs, which is 100 µs more than the floor's.
    let figure = "CPU per delivery"
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atMost: 201, unit: "us")) == .met)
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atMost: 199, unit: "us")) == .missed)
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atMost: 101, of: "floor", unit: "us")) == .met)
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atMost: 99, of: "floor", unit: "us")) == .missed)
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atLeast: 2, of: "floor")) == .met)
    #expect(outcome(Goal(peer: "fanfare", figure: figure, atLeast: 2.1, of: "floor")) == .missed)
  }

  @Test("A goal against another scenario is judged where both results are there, on five turns of each")
  func scenarios() throws {
    let goal = Goal(peer: "fanfare", figure: "CPU per delivery", atLeast: 0.7, scenario: "other")
    let own = result([0.8, 0.8, 0.8, 0.8, 0.8], goals: [goal])
    let alone = try #require(Verdict.all(own).first)
    #expect(alone.outcome == .undecided && alone.reason.contains("measure other too"))
    func beside(_ ratios: [Double]) -> Verdict.Outcome? {
      Verdict.all(own, beside: [own, result(ratios, goals: [], named: "other")]).first?.outcome
    }
    #expect(beside([1, 1, 1, 1, 1]) == .met)
    #expect(beside([1.2, 1.2, 1.2, 1.2, 1.2]) == .missed)
    #expect(beside([1, 1, 1, 1]) == .undecided)
  }

  @Test("The table and the page say it")
  func reports() {
    let result = result([1, 1, 1], goals: [Self.ratio])
    #expect(TextReport.render(result).contains("goals\n  undecided: CPU per delivery of fanfare ≤ 1.10× floor's: 3 "))
    let page = HTMLReport.render([result])
    #expect(page.contains("<h3>Goals</h3>") && page.contains("<td>undecided</td>"))
  }

  @Test(
    "A goal that cannot be judged is refused where it stands",
    arguments: [
      (#"{ "figure": "CPU per delivrey", "at_most": 1, "of": "floor" }"#, "did you mean \"CPU per delivery\"?"),
      (#"{ "figure": "p99", "at_most": 1 }"#, "neither a unit nor anything to be a part of"),
      (#"{ "figure": "p99", "of": "floor" }"#, "either \"at_most\" or \"at_least\""),
      (#"{ "figure": "p99", "at_most": 1, "at_least": 1, "of": "floor" }"#, "either \"at_most\" or \"at_least\""),
      (#"{ "figure": "p99", "at_most": 1, "of": "flor" }"#, "a goal names the peer \"flor\""),
      (#"{ "figure": "p99", "at_most": 1, "unit": "KiB" }"#, "it is measured in one of ms, s, us"),
      (#"{ "figure": "p99", "at_mots": 1, "unit": "ms" }"#, "did you mean \"at_most\"?"),
    ])
  func mistakes(goal: String, sentence: String) {
    let text = #"{ "about": "x.", "groups": [ { "rate": 1 } ], "goals": [ \#(goal) ] }"#
    let error = #expect(throws: BenchError.self) { try ScenarioFile.decode(Data(text.utf8), file: "test.json") }
    #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
  }
}
