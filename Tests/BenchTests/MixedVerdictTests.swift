import Testing

@testable import Bench

@Suite("A verdict over lower bounds and exact knees")
struct MixedVerdictTests {
  private static let figure = "knee: publications/s"

  /// A ramp whose knee is at this rate: a lower bound where the generator was the limit above it.
  private static func turn(_ peer: String, _ number: Int, knee: Double, isBound: Bool) -> Turn {
    var turn = Sample.turn(peer, number, cpu: 1)
    turn.report = nil
    turn.steps = [Sample.step(knee, p99: 2_000_000), Sample.step(2 * knee, p99: 90_000_000)]
    turn.steps[1].generatorWasLimit = isBound
    return turn
  }

  /// Turns of fanfare, and of the floor, with the knee of each and whether it is a lower bound.
  private static func result(
    _ fanfare: [(knee: Double, isBound: Bool)], floor: [(knee: Double, isBound: Bool)] = [], goals: [Goal] = [],
    named name: String = "sample"
  ) -> RunResult {
    var scenario = Sample.scenario(.saturation)
    (scenario.goals, scenario.name) = (goals, name)
    let own = fanfare.enumerated().map { turn("fanfare", $0 + 1, knee: $1.knee, isBound: $1.isBound) }
    let base = floor.enumerated().map { turn("floor", $0 + 1, knee: $1.knee, isBound: $1.isBound) }
    return Sample.result(scenario, own + base)
  }

  private static func verdict(_ result: RunResult, beside others: [RunResult] = []) throws -> Verdict {
    try #require(Verdict.all(result, beside: others).first)
  }

  private static let atLeast = Goal(peer: "fanfare", figure: figure, atLeast: 1500, unit: "/s")
  private static let exact = (1000.0, false)
  private static let bound = (2000.0, true)

  @Test("Bounds above the median do not move it, and the reason says that it stands")
  func above() throws {
    let verdict = try Self.verdict(
      Self.result([Self.exact, Self.exact, Self.exact, Self.bound, Self.bound], goals: [Self.atLeast]))
    #expect(verdict.outcome == .missed)
    #expect(
      verdict.reason == """
        1.00 k (1.00 k to 2.00 k), 5 valid turns; 2 are lower bounds, because not the server was the limit of a ramp, \
        and the others are exact: the median stands whatever the true figures are
        """)
  }

  @Test("A bound at the median makes it one, and the reason says of how many turns")
  func atMedian() throws {
    let verdict = try Self.verdict(
      Self.result([Self.exact, Self.exact, (1400, true), Self.bound, Self.bound], goals: [Self.atLeast]))
    #expect(verdict.outcome == .undecided)
    #expect(
      verdict.reason == """
        ≥ 1.40 k (1.00 k to 2.00 k), 5 valid turns; 3 are lower bounds, because not the server was the limit of a \
        ramp, and the others are exact: the true median is at least this
        """)
  }

  @Test("Where all are bounds, and where none is, nothing is said of a mixture")
  func pure() throws {
    let bounds = try Self.verdict(Self.result(Array(repeating: Self.bound, count: 5), goals: [Self.atLeast]))
    #expect(bounds.outcome == .met)
    #expect(bounds.reason.hasSuffix("; a bound, because not the server was the limit of a ramp"))
    let exact = try Self.verdict(Self.result(Array(repeating: Self.exact, count: 5), goals: [Self.atLeast]))
    #expect(exact.outcome == .missed && exact.reason.hasSuffix("5 valid turns"))
  }

  @Test("Ratios of which some are lower and some upper bounds have no median, and the reason says why")
  func contrary() throws {
    let goal = Goal(peer: "fanfare", figure: Self.figure, atLeast: 1, of: "floor")
    let own = [(1000.0, true), (1000, true), (1000, true), (1000, false), (1000, false)]
    let floor = [(2000.0, false), (1900, false), (1800, false), (1000, true), (900, true)]
    let verdict = try Self.verdict(Self.result(own, floor: floor, goals: [goal]))
    #expect(verdict.outcome == .undecided)
    #expect(
      verdict.reason == """
        5 rounds with a valid turn of both, of which 3 are lower bounds and 2 are upper bounds: nothing can be said of \
        their median
        """)
  }

  @Test("Against another scenario, the reason says in which of the two the bounds are")
  func otherScenario() throws {
    let goal = Goal(peer: "fanfare", figure: Self.figure, atLeast: 0.5, scenario: "other")
    let own = Self.result(Array(repeating: Self.exact, count: 5), goals: [goal])
    let other = Self.result([Self.exact, Self.exact, Self.exact, Self.exact, Self.bound], named: "other")
    let verdict = try Self.verdict(own, beside: [other])
    #expect(verdict.outcome == .met)
    #expect(
      verdict.reason.hasSuffix(
        "; in other 1 is a lower bound, because not the server was the limit of a ramp, and the others are exact: the "
          + "median stands whatever the true figures are"))
  }
}
