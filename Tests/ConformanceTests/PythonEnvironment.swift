import Foundation
import TestSupport

/// A virtual environment in `.build` with the official SDK, made once for the versions that `requirements.txt` pins.
actor PythonEnvironment {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static let shared = PythonEnvironment()

  /// The folder of the scripts. They stand beside this file, since SwiftPM neither compiles nor copies them.
  static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("python")
  private static let folder = ServerProcess.repository.appendingPathComponent(".build/conformance-venv")

  private var making: Task<URL, any Error>?

  /// The environment's interpreter.
  func interpreter() async throws -> URL {
    if let making { return try await making.value }
    let task = Task { try await Self.make() }
    making = task
    return try await task.value
  }

  private static func make() async throws -> URL {
    let requirements = scripts.appendingPathComponent("requirements.txt")
    let wanted = try String(contentsOf: requirements, encoding: .utf8)
    let interpreter = folder.appendingPathComponent("bin/python")
    // Written last, so that an installation that was cut short is not taken for a whole one.
    let installed = folder.appendingPathComponent("installed.txt")
    if (try? String(contentsOf: installed, encoding: .utf8)) == wanted { return interpreter }

    try await run(Command(named: "python3", ["-m", "venv", "--clear", folder.path]), "make a virtual environment")
    let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "-r", requirements.path]
    try await run(Command(interpreter, pip), "install the official Python SDK")
    try wanted.write(to: installed, atomically: true, encoding: .utf8)
    return interpreter
  }

  private static func run(_ command: Command, _ purpose: String) async throws {
    let outcome = try await command.run(deadline: .seconds(300))
    guard outcome.status == 0 else {
      throw Failure(
        description: "cannot \(purpose); \"make test\" installs what it needs. Its output: \(outcome.output)")
    }
  }
}
