import ArgumentParser
import Bench
import Foundation

/// Lists what can be measured.
struct ScenariosCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scenarios", abstract: "List the scenarios, each with a sentence, or show one.",
    discussion: """
      Scenarios are built in; the files stand in benchmarks/scenarios. A copy is a scenario of its own:

      fanfare-bench scenarios --show fanout > mine.json
      fanfare-bench run mine.json
      """)

  @Option(help: ArgumentHelp("Print this scenario's file.", valueName: "name"))
  var show: String?

  @OptionGroup var folder: ScenarioFolderOption

  func run() throws {
    do throws(BenchError) {
      if let show {
        FileHandle.standardOutput.write(try ScenarioFile.text(of: show, in: folder.scenarios))
      } else {
        try list()
      }
    } catch {
      throw CommandFailure(error.description)
    }
  }

  private func list() throws(BenchError) {
    let scenarios = try ScenarioFile.all(in: folder.scenarios)
    let width = scenarios.map(\.name.count).max() ?? 0
    for (name, scenario) in scenarios {
      let text =
        switch scenario {
        case .success(let scenario): scenario.about
        case .failure(let error): "cannot be read: \(error)"
        }
      print(name + String(repeating: " ", count: width - name.count) + "  " + text)
    }
  }
}
