import Foundation
import Settings

/// The folder that holds Package.swift.
let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

func repositoryFile(_ path: String) -> String { repository.appending(path: path).path(percentEncoded: false) }

func load(
  _ json: String, environment: [String: String] = [:], overrides: [String: String] = [:]
) throws(SettingsError) -> Settings {
  try Settings.load(json: Array(json.utf8), name: "f.json", environment: environment, overrides: overrides)
}

/// Each problem on its own line, or "accepted".
func problems(
  _ json: String, environment: [String: String] = [:], overrides: [String: String] = [:]
) -> [String] {
  do {
    _ = try load(json, environment: environment, overrides: overrides)
    return ["accepted"]
  } catch {
    return error.problems.map(\.description)
  }
}
