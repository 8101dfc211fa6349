import ArgumentParser
import Bench

/// Makes a page or a table of results that were saved.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Make a report of results that run --json wrote.",
    discussion: "With --fail-on-goals the exit code is 1 where a goal was missed, and 2 where one is undecided.")

  @Argument(
    help: """
      Files of results, .json or .json.gz; several of one scenario with different numbers of subscribers are set in \
      relation.
      """)
  var files: [String]

  @Option(help: "Write a page that stands alone there. Left out: tables on standard output.")
  var html: String?

  @Flag(help: "Fail where a goal of one of the results' scenarios is missed; of those that these results can judge.")
  var failOnGoals = false

  func run() throws {
    var results: [RunResult] = []
    do throws(BenchError) {
      for file in files { results.append(try RunResult.read(from: file)) }
      if let html {
        try HTMLReport.write(results, to: html)
      } else {
        print(results.map { TextReport.render($0, beside: results) }.joined(separator: "\n"), terminator: "")
      }
    } catch {
      throw CommandFailure(error.description)
    }
    guard failOnGoals else { return }
    let gates = results.map { result in
      Gate(Gate.goals(of: result.scenario, beside: results.map(\.scenario.name)), of: result, beside: results)
    }
    guard gates.contains(where: { !$0.isEmpty }) else {
      throw CommandFailure("none of these results has a goal that they can judge; --fail-on-goals has nothing to hold.")
    }
    for outcome in [Gate.Outcome.missed, .undecided] {
      if let gate = gates.first(where: { $0.outcome == outcome }) { try GoalOptions.fail(with: gate) }
    }
  }
}
