import Foundation
import TestSupport

/// One run of the `fanfare` command line with its own standard streams, reaped whatever happens.
final class Tool: Sendable {
  private let process: ChildProcess
  private let folder: URL

  /// - Parameters:
  ///   - folder: where what it writes is kept.
  ///   - input: what it reads from standard input.
  init(_ arguments: [String], in folder: URL, input: String = "") throws {
    self.folder = folder.appendingPathComponent("tool-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    try input.write(to: self.folder.appendingPathComponent("in"), atomically: true, encoding: .utf8)
    process = try ChildProcess(
      ServerProcess.executable(), arguments,
      environment: ChildProcess.fanfareEnvironment,
      input: self.folder.appendingPathComponent("in"), output: self.folder.appendingPathComponent("out"),
      errors: self.folder.appendingPathComponent("err"))
  }

  var output: String { read("out") }
  var errors: String { read("err") }
  var lines: [String] { output.split(separator: "\n").map(String.init) }

  private func read(_ name: String) -> String {
    (try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)) ?? ""
  }

  /// The exit status; nil where it does not end in time.
  func end(within limit: Duration = .seconds(60)) async -> Int32? {
    _ = await eventually(within: limit) { !self.process.isRunning }
    return process.status
  }

  static func run(_ arguments: [String], in folder: URL, input: String = "") async throws -> (
    status: Int32?, tool: Tool
  ) {
    let tool = try Tool(arguments, in: folder, input: input)
    return (await tool.end(), tool)
  }
}
