import Foundation

/// The files of the repository, as somebody who clones it finds them.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// What a build, a server or a tool leaves behind (see `.gitignore`).
  private static let leftBehind: Set<String> = [".git", ".DS_Store", "Package.resolved", "__pycache__", "data"]

  /// Paths relative to the root, sorted. Not asked of git, so that an unpacked archive is checked too.
  static let files: [String] = {
    var files: [String] = []
    collect("", into: &files)
    return files.sorted()
  }()

  static var swiftFiles: [String] { files.filter { $0.hasSuffix(".swift") } }

  /// What people read. `docs/CONFIGURATION.md` is among them, though it is generated.
  static var documents: [String] {
    files.filter { $0.hasSuffix(".md") && (!$0.contains("/") || $0.hasPrefix("docs/") || $0.hasPrefix("benchmarks/")) }
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
  }

  /// The names of the folders directly in a folder.
  static func folders(in folder: String) throws -> [String] {
    let url = root.appendingPathComponent(folder)
    return try FileManager.default.contentsOfDirectory(atPath: url.path).filter { name in
      var isFolder: ObjCBool = false
      let path = url.appendingPathComponent(name).path
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }.sorted()
  }

  private static func collect(_ folder: String, into files: inout [String]) {
    let url = folder.isEmpty ? root : root.appendingPathComponent(folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    for name in names
    where !leftBehind.contains(name) && !name.hasPrefix(".build") && !name.hasPrefix(".venv")
      && !name.hasPrefix("fanfare.sqlite")
    {
      let path = folder.isEmpty ? name : "\(folder)/\(name)"
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path, isDirectory: &isFolder)
      else { continue }
      if isFolder.boolValue { collect(path, into: &files) } else { files.append(path) }
    }
  }
}
