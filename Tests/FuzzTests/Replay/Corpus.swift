import Foundation

/// Inputs that are committed: a folder for each target, and among `crashes` a folder for each target too.
enum Corpus {
  struct File {
    var name: String
    var bytes: [UInt8]
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Corpus")
  private static let crashes = "crashes"

  /// The files of a target, the crashes behind the others, in the order of their names.
  static func files(of target: FuzzTarget) throws -> [File] {
    try [target.rawValue, "\(crashes)/\(target.rawValue)"].flatMap { folder in
      try names(in: folder).map { name in
        let place = root.appendingPathComponent(folder).appendingPathComponent(name)
        return File(name: "\(folder)/\(name)", bytes: Array(try Data(contentsOf: place)))
      }
    }
  }

  /// The input that once ended a process, or broke what must hold.
  static func crash(_ target: FuzzTarget, _ name: String) throws -> [UInt8] {
    let place = root.appendingPathComponent(crashes).appendingPathComponent(target.rawValue)
    return Array(try Data(contentsOf: place.appendingPathComponent(name)))
  }

  /// The crashes of all targets, each as `target/name`.
  static func crashNames() throws -> [String] {
    try names(in: crashes).flatMap { folder in try names(in: "\(crashes)/\(folder)").map { "\(folder)/\($0)" } }
  }

  /// Folders of targets, those of crashes among them.
  static func folders() throws -> Set<String> {
    Set(try names(in: "").filter { $0 != crashes && $0 != "README.md" } + names(in: crashes))
  }

  /// Nothing where there is no such folder: a target has one from its first finding on.
  private static func names(in folder: String) throws -> [String] {
    let place = root.appendingPathComponent(folder).path
    guard FileManager.default.fileExists(atPath: place) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: place).filter { !$0.hasPrefix(".") }.sorted()
  }
}
