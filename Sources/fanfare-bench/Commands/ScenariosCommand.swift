import ArgumentParser
import Bench

/// Lists what can be measured.
struct ScenariosCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scenarios", abstract: "List the scenarios, each with a sentence.")

  func run() throws {
    do throws(BenchError) {
      let scenarios = try ScenarioFile.all()
      let width = scenarios.map(\.name.count).max() ?? 0
      for (name, scenario) in scenarios {
        let text =
          switch scenario {
          case .success(let scenario): scenario.about
          case .failure(let error): "cannot be read: \(error)"
          }
        print(name + String(repeating: " ", count: width - name.count) + "  " + text)
      }
    } catch {
      throw CommandFailure(error.description)
    }
  }
}
