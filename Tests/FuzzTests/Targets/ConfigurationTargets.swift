@testable import Settings

/// The file of settings, which an operator writes.
enum ConfigurationTargets {
  static func file(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    // What is no JSON is found before any setting is looked at, and most inputs are none.
    let isDocument = (try? PositionedJSONParser.parse(input)) != nil
    if !isDocument {
      let layer = SettingsFile.layer(input, file: "f")
      try require(layer.isUnreadable && layer.problems.count == 1, "an unreadable file has \(layer.problems)")
      return false
    }
    do throws(SettingsError) {
      _ = try Settings.load(json: input, name: "f")
    } catch {
      try require(!error.problems.isEmpty, "a file is refused without a reason")
      for problem in error.problems { try require(!problem.message.isEmpty, "a problem without a sentence") }
    }
    return true
  }
}
