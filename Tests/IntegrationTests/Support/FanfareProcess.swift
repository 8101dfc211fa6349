import Foundation
import TestSupport
import Testing

/// One `fanfare serve`, `broker` or `gateway`, reaped whatever happens.
final class FanfareProcess: Sendable {
  enum Role: String { case serve, broker, gateway }

  struct Endpoints: Decodable, Sendable, Equatable {
    var websocket: String?
    var commands: String?
    var tap: String?
    var backbone: String?
    var admin: String?
  }

  let endpoints: Endpoints
  let identifier: Int32
  private let process: ChildProcess
  private let errorFile: URL

  /// Starts it and waits until it listens.
  ///
  /// - Parameters:
  ///   - directory: its data folder; what an earlier process left there is found again.
  ///   - settings: as with `--set`, the later ones count.
  ///   - wrapper: a command that becomes the one behind it, in the same process.
  init(
    _ role: Role, in directory: URL, configuration: URL, settings: [String] = [], under wrapper: [String] = [],
    deadline: Duration = .seconds(120)
  ) async throws {
    try? FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let endpointsFile = directory.appendingPathComponent("endpoints.json")
    try? FileManager.default.removeItem(at: endpointsFile)
    errorFile = configuration.deletingLastPathComponent().appendingPathComponent("stderr-\(UUID().uuidString).txt")
    let all =
      ["server.host=127.0.0.1", "server.port=0", "admin.port=0", "data.directory=\(directory.path)"] + settings
    let command =
      wrapper + [try ServerProcess.executable().path, role.rawValue, "--config", configuration.path]
      + all.flatMap { ["--set", $0] }
    process = try ChildProcess(
      URL(fileURLWithPath: command[0]), Array(command.dropFirst()),
      environment: ChildProcess.fanfareEnvironment, errors: errorFile)
    identifier = process.identifier
    let (process, errorFile) = (process, errorFile)
    let listens = await eventually(within: deadline) {
      !process.isRunning || FileManager.default.fileExists(atPath: endpointsFile.path)
    }
    guard listens, process.isRunning, let data = try? Data(contentsOf: endpointsFile) else {
      process.signal(SIGKILL)
      let said = (try? String(contentsOf: errorFile, encoding: .utf8)) ?? ""
      throw Failure("fanfare \(role) did not start: \(said.suffix(4000))")
    }
    endpoints = try JSONDecoder().decode(Endpoints.self, from: data)
  }

  var isRunning: Bool { process.isRunning }

  var errorOutput: String { (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "" }

  /// Stops it where it is, until SIGCONT. A signal that was sent has not arrived: on a busy machine a thread goes on for a
  /// while, and does what was not to be done.
  func standStill() async {
    signal(SIGSTOP)
    #if os(Linux)
      let stands = await eventually {
        let threads = KernelThread.all(of: identifier)
        return !threads.isEmpty && threads.allSatisfy { $0.state == "T" }
      }
      #expect(stands, "process \(identifier) goes on in spite of SIGSTOP")
    #endif
  }

  func signal(_ signal: Int32) { process.signal(signal) }

  /// SIGKILL, and reaped.
  func kill() async {
    signal(SIGKILL)
    _ = await eventually(within: .seconds(60)) { !self.process.isRunning }
  }

  /// - Returns: the exit status; nil where it had to be killed at the deadline.
  @discardableResult
  func end(_ signal: Int32 = SIGTERM, within deadline: Duration = .seconds(60)) async -> Int32? {
    self.signal(signal)
    if await eventually(within: deadline, { !self.process.isRunning }) { return process.status }
    await kill()
    return nil
  }

  /// Resident memory in bytes.
  var residentBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/\(identifier)/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), pages > 0
    else {
      Issue.record("the memory of process \(identifier) cannot be read")
      return 0
    }
    return pages * 4096
  }
}

/// A sentence about what went wrong in a test's set-up.
struct Failure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}
