import ArgumentParser
import Bench
import Foundation

/// Says whether a second result is better or worse than a first.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Compare two results of one scenario, figure by figure.",
    discussion: """
      Of a hundred comparisons of two runs of one build, one at most names a difference; benchmarks/README.md says \
      how. Measure both with the floor among the peers, with seven turns or more, and soon after one another.

      The exit code is 0 where nothing is known to be worse, 1 where something is, and 2 where the two cannot be \
      compared.

      fanfare-bench compare before.json after.json
      fanfare-bench compare before.json.gz after.json.gz --figures 'CPU per delivery,p99' --turns
      """)

  @Argument(help: "Result that run --json wrote, as it was before; .json or .json.gz.")
  var first: String

  @Argument(help: "Result as it is now.")
  var second: String

  @Option(help: "Peers to compare, separated by commas; left out: all that both have, but for the floor.")
  var peers: String?

  @Option(help: "Rows to compare, separated by commas, such as 'CPU per delivery,p99'; fewer show smaller differences.")
  var figures: String?

  @Option(help: "Percent within which the whole interval must lie to be called the same.")
  var margin = 5.0

  @Flag(help: "Compare figures as they are, though the floor was measured beside in both.")
  var absolute = false

  @Flag(help: "Show each turn's figure.")
  var turns = false

  @Option(
    help: """
      Compare despite other settings, another machine, or times despite kernel stamps in one result alone: settings, \
      machine, stamps; may be given more than once.
      """)
  var despite: [Despite] = []

  enum Despite: String, ExpressibleByArgument {
    case settings, machine, stamps
  }

  func validate() throws {
    guard margin > 0, margin < 100 else { throw ValidationError("--margin is a percentage above 0 and below 100.") }
  }

  func run() throws {
    let comparison: Comparison
    do throws(BenchError) {
      comparison = try compared()
    } catch {
      FileHandle.standardError.write(Data("Error: \(error.description)\n".utf8))
      throw ExitCode(2)
    }
    print(ComparisonReport.render(comparison, showsTurns: turns), terminator: "")
    if comparison.outcome == .worse { throw ExitCode(1) }
  }

  private func compared() throws(BenchError) -> Comparison {
    let (before, after) = (try RunResult.read(from: first), try RunResult.read(from: second))
    let allowed = despite.compactMap { Incomparability.Kind(rawValue: $0.rawValue) }
    let differences = Incomparability.all(before, after).filter { !allowed.contains($0.kind) }
    if let difference = differences.first {
      let hint =
        difference.kind == .scenario
        ? "" : " With --despite \(difference.kind.rawValue) they are compared all the same."
      throw BenchError("the two cannot be compared: \(difference.reason).\(hint)")
    }
    return try Comparison(
      before, after, peers: peers.map(Self.list), figures: figures.map(Self.list), isAbsolute: absolute,
      ignoresStamps: despite.contains(.stamps), margin: margin / 100)
  }

  private static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
