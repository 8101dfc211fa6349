import ArgumentParser
import Bench

/// One process of the load generator. Speaks lines of JSON with whoever started it.
struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Connects and measures as a plan on standard input says.", shouldDisplay: false)

  func run() throws {
    guard Worker.run(input: 0, output: 1) else { throw ExitCode.failure }
  }
}
