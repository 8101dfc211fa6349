import Foundation

extension ScenarioFile {
  /// All scenarios in the folder, by name; those that cannot be read come as errors.
  public static func all() throws(BenchError) -> [(name: String, scenario: Result<Scenario, BenchError>)] {
    let folder = try folder()
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.filter { $0.hasSuffix(".json") }.sorted().map { file in
      let result: Result<Scenario, BenchError> = Result { () throws(BenchError) in
        try load("\(folder)/\(file)")
      }
      return (String(file.dropLast(5)), result)
    }
  }

  /// `benchmarks/scenarios` in a folder above the current one, or above the bench's executable.
  public static func folder() throws(BenchError) -> String {
    for start in [FileManager.default.currentDirectoryPath, try ProcessTable.ownExecutable()] {
      var folder = URL(fileURLWithPath: start)
      for _ in 0..<12 {
        let scenarios = folder.appendingPathComponent("benchmarks/scenarios").path
        var isFolder: ObjCBool = false
        if unsafe FileManager.default.fileExists(atPath: scenarios, isDirectory: &isFolder), isFolder.boolValue {
          return scenarios
        }
        folder.deleteLastPathComponent()
      }
    }
    throw BenchError(
      "the folder benchmarks/scenarios is not above the current folder; run the bench in the repository, or give a scenario's file."
    )
  }

  /// A file's path as it is; else the scenario of that name.
  static func locate(_ nameOrPath: String) throws(BenchError) -> String {
    let files = FileManager.default
    if nameOrPath.contains("/") || nameOrPath.hasSuffix(".json") {
      guard files.fileExists(atPath: nameOrPath) else { throw BenchError("there is no file \(nameOrPath).") }
      return nameOrPath
    }
    let folder = try folder()
    let path = "\(folder)/\(nameOrPath).json"
    guard files.fileExists(atPath: path) else {
      let names = ((try? files.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
      let hint = Spelling.nearest(to: nameOrPath, among: names).map { "did you mean \($0)?" }
      throw BenchError(
        "there is no scenario \"\(nameOrPath)\"; \(hint ?? "the scenarios are \(names.joined(separator: ", ")), or give a file.")"
      )
    }
    return path
  }
}
