import ArgumentParser
import Bench

/// Makes a page or a table of results that were saved.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Make a report of results that run --json wrote.")

  @Argument(
    help: "Files of results; several of one scenario with different numbers of subscribers are set in relation.")
  var files: [String]

  @Option(help: "Write a page that stands alone there. Left out: tables on standard output.")
  var html: String?

  func run() throws {
    do throws(BenchError) {
      var results: [RunResult] = []
      for file in files { results.append(try RunResult.read(from: file)) }
      if let html {
        try HTMLReport.write(results, to: html)
      } else {
        print(results.map { TextReport.render($0, beside: results) }.joined(separator: "\n"), terminator: "")
      }
    } catch {
      throw CommandFailure(error.description)
    }
  }
}
