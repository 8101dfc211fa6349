import Foundation
import TestSupport

/// One run of the `fanfare` command line with its own standard streams, reaped whatever happens.
final class Tool: Sendable {
  private let process: Process
  private let folder: URL

  /// - Parameters:
  ///   - folder: where it runs, and where what it writes is kept.
  ///   - input: what it reads from standard input.
  init(_ arguments: [String], in folder: URL, input: String = "") throws {
    self.folder = folder.appendingPathComponent("tool-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    try input.write(to: self.folder.appendingPathComponent("in"), atomically: true, encoding: .utf8)
    process = Process()
    process.executableURL = try ServerProcess.executable()
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FANFARE_") }
    process.standardInput = try FileHandle(forReadingFrom: self.folder.appendingPathComponent("in"))
    for (name, assign) in [("out", true), ("err", false)] {
      let file = self.folder.appendingPathComponent(name)
      _ = FileManager.default.createFile(atPath: file.path, contents: nil)
      let handle = try FileHandle(forWritingTo: file)
      if assign { process.standardOutput = handle } else { process.standardError = handle }
    }
    try process.run()
  }

  deinit {
    guard process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  var output: String { read("out") }
  var errors: String { read("err") }
  var lines: [String] { output.split(separator: "\n").map(String.init) }

  private func read(_ name: String) -> String {
    (try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) ?? ""
  }

  /// The exit status; nil where it does not end in time.
  func end(within limit: Duration = .seconds(20)) async -> Int32? {
    guard await eventually(within: limit, { !self.process.isRunning }) else { return nil }
    process.waitUntilExit()
    return process.terminationStatus
  }

  static func run(_ arguments: [String], in folder: URL, input: String = "") async throws -> (
    status: Int32?, tool: Tool
  ) {
    let tool = try Tool(arguments, in: folder, input: input)
    return (await tool.end(), tool)
  }
}
