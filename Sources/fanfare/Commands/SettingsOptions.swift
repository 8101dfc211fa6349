import ArgumentParser
import Foundation
import Logging
import Settings

/// Where the settings come from: a file, then the environment, then flags.
struct SettingsOptions: ParsableArguments {
  @Option(name: .shortAndLong, help: "Configuration file; the built-in default where it is left out.")
  var config: String?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "One setting, over file and environment; may be given more than once.", valueName: "key=value"))
  var overrides: [String] = []

  /// The settings from all three sources; what is wrong in any of them ends the process with all problems named.
  ///
  /// - Parameter added: settings over all others, by their keys.
  func load(adding added: [String: String] = [:]) throws -> Settings {
    var values: [String: String] = [:]
    for override in overrides {
      guard let equals = override.firstIndex(of: "="), equals != override.startIndex else {
        throw ValidationError("--set \(override): write key=value, for example --set server.port=8001")
      }
      values[String(override[..<equals])] = String(override[override.index(after: equals)...])
    }
    values.merge(added) { $1 }
    do {
      return try Settings.load(file: config, environment: ProcessInfo.processInfo.environment, overrides: values)
    } catch {
      throw Complaint("\(error)")
    }
  }
}

/// A sentence for the person at the terminal: printed as it is, exit code 1.
struct Complaint: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Duration {
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  var wholeSeconds: Int64 { components.seconds }
}
