public import Foundation

extension ScenarioFile {
  /// All scenarios by name; those that cannot be read come as errors.
  ///
  /// - Parameter folder: of scenario files; nil: those that are built in.
  public static func all(
    in folder: String? = nil
  ) throws(BenchError) -> [(name: String, scenario: Result<Scenario, BenchError>)] {
    try names(in: folder).map { name in
      let result: Result<Scenario, BenchError> = Result { () throws(BenchError) in
        try decode(try data(ofNamed: name, in: folder), file: "\(name).json")
      }
      return (name, result)
    }
  }

  /// The file's text, as it was written.
  ///
  /// - Parameters:
  ///   - nameOrPath: a scenario's name, or the path of a file: what has a `/` in it or ends with `.json`.
  ///   - folder: in which names are looked for; nil: what is built in.
  public static func text(of nameOrPath: String, in folder: String? = nil) throws(BenchError) -> Data {
    guard nameOrPath.contains("/") || nameOrPath.hasSuffix(".json") else {
      return try data(ofNamed: nameOrPath, in: folder)
    }
    guard FileManager.default.fileExists(atPath: nameOrPath) else {
      throw BenchError("there is no file \(nameOrPath).")
    }
    return try read(nameOrPath)
  }

  private static func names(in folder: String?) throws(BenchError) -> [String] {
    guard let folder else { return EmbeddedScenarios.texts.keys.sorted() }
    guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw BenchError("\(folder) is no folder that can be read; give --scenarios one of scenario files.")
    }
    return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
  }

  private static func data(ofNamed name: String, in folder: String?) throws(BenchError) -> Data {
    let known = try names(in: folder)
    guard known.contains(name) else {
      let hint = Spelling.nearest(to: name, among: known).map { "did you mean \($0)?" }
      throw BenchError(
        "there is no scenario \"\(name)\"; \(hint ?? "the scenarios are \(known.joined(separator: ", ")), or give a file.")"
      )
    }
    if let folder { return try read("\(folder)/\(name).json") }
    return Data((EmbeddedScenarios.texts[name] ?? "").utf8)
  }

  private static func read(_ path: String) throws(BenchError) -> Data {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchError("\(path) cannot be read; is it a file, and may you read it?")
    }
    return data
  }
}
