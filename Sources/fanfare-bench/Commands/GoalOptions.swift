import ArgumentParser
import Bench
import Foundation

/// Goals that decide the exit code.
struct GoalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Fail unless a figure reaches this, such as 'p99<=5ms' or 'CPU per delivery <= 1.1x floor'; on five valid turns "
        + "at least.", valueName: "goal"))
  var require: [String] = []

  @Flag(help: "Fail where one of the scenario's goals is missed, too.")
  var failOnGoals = false

  /// Requirements are goals of the scenario as it is run, so that reports show them.
  func add(to scenario: inout Scenario, peers: [String]) throws(BenchError) {
    var added: [Goal] = []
    for text in require { added.append(try Goal(required: text, of: scenario, peers: peers)) }
    if !added.isEmpty { scenario.goals = (scenario.goals ?? []) + added }
  }

  /// The goals that decide the exit code, of a scenario to which the requirements were added.
  ///
  /// - Throws: a sentence, where goals were to decide and there is none that could.
  func judged(_ scenario: Scenario) throws(BenchError) -> [Goal] {
    guard failOnGoals else { return (scenario.goals ?? []).suffix(require.count) }
    let goals = Gate.goals(of: scenario)
    guard !goals.isEmpty else {
      throw BenchError(
        "\(scenario.name) has no goal that a run of it alone can decide; leave out --fail-on-goals, or give --require.")
    }
    return goals
  }

  func end(with gate: Gate) throws {
    guard !require.isEmpty || failOnGoals else { return }
    try Self.fail(with: gate)
  }

  /// Says what became of the goals, and ends the program where that was not what was wanted.
  static func fail(with gate: Gate) throws {
    FileHandle.standardError.write(Data("\(gate.outcome == .passed ? "" : "Error: ")\(gate.sentence)\n".utf8))
    switch gate.outcome {
    case .passed: return
    case .missed: throw ExitCode(1)
    case .undecided: throw ExitCode(2)
    }
  }
}
