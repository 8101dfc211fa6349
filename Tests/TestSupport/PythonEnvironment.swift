public import Foundation

/// A virtual environment in `.build`, made once for the versions that a `requirements.txt` pins.
public actor PythonEnvironment {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The folder of the scripts, with their `requirements.txt`. SwiftPM neither compiles nor copies them.
  public nonisolated let scripts: URL
  private let folder: URL
  private var making: Task<URL, any Error>?

  /// - Parameters:
  ///   - scripts: their folder.
  ///   - name: the environment's folder in `.build`.
  public init(scripts: URL, name: String) {
    self.scripts = scripts
    folder = ServerProcess.repository.appendingPathComponent(".build/\(name)")
  }

  /// The environment's interpreter.
  public func interpreter() async throws -> URL {
    if let making { return try await making.value }
    let task = Task { [scripts, folder] in try await Self.make(scripts, folder) }
    making = task
    return try await task.value
  }

  private static func make(_ scripts: URL, _ folder: URL) async throws -> URL {
    let requirements = scripts.appendingPathComponent("requirements.txt")
    let wanted = try String(contentsOf: requirements, encoding: .utf8)
    let interpreter = folder.appendingPathComponent("bin/python")
    // Written last, so that an installation that was cut short is not taken for a whole one.
    let installed = folder.appendingPathComponent("installed.txt")
    if (try? String(contentsOf: installed, encoding: .utf8)) == wanted { return interpreter }

    try await run(Command(named: "python3", ["-m", "venv", "--clear", folder.path]), "make a virtual environment")
    let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "-r", requirements.path]
    try await run(Command(interpreter, pip), "install what \(requirements.path) names")
    try wanted.write(to: installed, atomically: true, encoding: .utf8)
    return interpreter
  }

  private static func run(_ command: Command, _ purpose: String) async throws {
    let outcome = try await command.run(deadline: .seconds(900))
    guard outcome.status == 0 else {
      throw Failure(
        description: "cannot \(purpose); \"make test\" installs what it needs. Its output: \(outcome.output)")
    }
  }
}
