import Foundation

/// Files of the repository, by their paths from its top.
enum Repository {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func path(_ path: String) -> String { root.appendingPathComponent(path).path }

  static func text(_ path: String) throws -> String { try String(contentsOfFile: Self.path(path), encoding: .utf8) }

  static func write(_ text: String, to path: String) throws {
    try text.write(toFile: Self.path(path), atomically: true, encoding: .utf8)
  }

  /// The Swift files in a folder and below it.
  static func swiftFiles(in folder: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: path(folder))?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(".swift") }.sorted().map { "\(folder)/\($0)" }
  }
}
