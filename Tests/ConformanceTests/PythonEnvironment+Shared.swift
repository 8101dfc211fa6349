import Foundation
import TestSupport

extension PythonEnvironment {
  /// That of the official SDK, and of what else speaks to the server from outside.
  static let shared = PythonEnvironment(
    scripts: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("python"),
    name: "conformance-venv")
}
