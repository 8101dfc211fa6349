public import Foundation

/// A `fanfare serve` of its own: the binary that was built beside the tests, on free ports, with its own directory.
///
/// Use ``withServer(_:arguments:_:)`` where the server starts and ends once; it cleans up.
public final class ServerProcess: Sendable {
  /// Where the server listens, as it writes into a file once it does.
  public struct Endpoints: Decodable, Sendable, Equatable {
    /// `ws://127.0.0.1:PORT/connection/websocket`.
    public var websocket: String
    /// The endpoint of the ROUTER for services' commands, a file in the data folder.
    public var commands: String
    /// The endpoint of the tap.
    public var tap: String
    /// The port for backends and operators: `http://127.0.0.1:PORT`.
    public var admin: String
  }

  /// The server did not start. Holds the end of what it wrote to standard error.
  public struct StartFailure: Error, CustomStringConvertible {
    public var description: String
  }

  /// The server did not end well when it was told to, or was gone before. Holds the end of what it wrote.
  public struct UnexpectedEnd: Error, CustomStringConvertible {
    public var description: String
  }

  public let endpoints: Endpoints
  public var identifier: Int32 { process.identifier }
  /// The server's `data.directory`.
  public let directory: URL
  private let process: ChildProcess
  private let errorFile: URL

  /// Starts the server and waits until it listens.
  ///
  /// - Parameters:
  ///   - directory: its `data.directory`; what an earlier server left there is found again.
  ///   - configuration: the whole configuration file, JSON.
  ///   - arguments: more flags for `fanfare serve`.
  public init(
    in directory: URL, configuration: String, arguments: [String] = [], deadline: Duration = .seconds(120)
  ) async throws {
    self.directory = directory
    let files = FileManager.default
    try files.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let configurationFile = directory.appendingPathComponent("fanfare-test.json")
    try configuration.write(to: configurationFile, atomically: true, encoding: .utf8)
    let endpointsFile = directory.appendingPathComponent("endpoints.json")
    // The file of an earlier server is removed, or its ports would be taken for this one's.
    try? files.removeItem(at: endpointsFile)
    errorFile = directory.appendingPathComponent("stderr-\(UUID().uuidString).txt")
    process = try ChildProcess(
      Self.executable(),
      [
        "serve", "--config", configurationFile.path, "--set", "server.host=127.0.0.1", "--set", "server.port=0",
        "--set", "admin.port=0", "--set", "data.directory=\(directory.path)",
      ] + arguments,
      environment: ChildProcess.fanfareEnvironment, errors: errorFile)
    endpoints = try await Self.waitForEndpoints(
      at: endpointsFile, of: process, errorFile: errorFile, deadline: deadline)
  }

  public var isRunning: Bool { process.isRunning }

  /// What the server wrote to standard error, at most the last 8 KiB.
  public var errorOutput: String { Self.end(of: errorFile) }

  /// Ends the server as an operator would (SIGTERM) and reaps it; SIGKILL after the deadline.
  ///
  /// - Returns: the exit status; negative: the signal that ended it.
  @discardableResult
  public func terminate(deadline: Duration = .seconds(180)) async -> Int32 {
    process.signal(SIGTERM)
    if await !hasExited(within: deadline) {
      process.signal(SIGKILL)
      _ = await hasExited(within: .seconds(120))
    }
    return process.status ?? -SIGKILL
  }

  /// Kills the server without notice (SIGKILL) and reaps it: what it had acknowledged as durable must be there
  /// afterwards.
  public func kill() async {
    process.signal(SIGKILL)
    _ = await hasExited(within: .seconds(120))
  }

  /// Waits until the process has ended.
  ///
  /// - Returns: false where it still runs at the deadline.
  public func hasExited(within limit: Duration) async -> Bool {
    await eventually(within: limit) { !self.process.isRunning }
  }

  private static func waitForEndpoints(
    at file: URL, of process: ChildProcess, errorFile: URL, deadline: Duration
  ) async throws -> Endpoints {
    let isThere = await eventually(within: deadline) {
      FileManager.default.fileExists(atPath: file.path) || !process.isRunning
    }
    if let status = process.status {
      throw StartFailure(
        description: "fanfare ended with status \(status) before it listened: \(end(of: errorFile))")
    }
    guard isThere else {
      throw StartFailure(description: "fanfare did not listen within \(deadline): \(end(of: errorFile))")
    }
    return try JSONDecoder().decode(Endpoints.self, from: Data(contentsOf: file))
  }

  private static func end(of file: URL) -> String {
    let text = (try? Data(contentsOf: file)) ?? Data()
    return String(decoding: text.suffix(8192), as: UTF8.self)
  }

  /// The binary that SwiftPM built beside the test bundle.
  public static func executable() throws -> URL {
    var folders = [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
    folders += Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }
      .map { $0.bundleURL.deletingLastPathComponent() }
    folders.append(repository.appendingPathComponent(".build/debug"))
    for folder in folders {
      let file = folder.appendingPathComponent("fanfare")
      if FileManager.default.isExecutableFile(atPath: file.path) { return file }
    }
    throw StartFailure(
      description: "the fanfare binary is in none of \(folders.map(\.path)); run \"swift build\" first")
  }

  /// The repository's top folder, found from this file's place in it.
  public static let repository = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}

/// Starts a server in a directory of its own, and ends it and removes the directory whatever happens.
public func withServer<Result>(
  _ configuration: String, arguments: [String] = [], _ body: (ServerProcess) async throws -> Result
) async throws -> Result {
  try await withTemporaryFolder { directory in
    let server = try await ServerProcess(in: directory, configuration: configuration, arguments: arguments)
    let result: Result
    do { result = try await body(server) } catch {
      try await end(server, after: error)
      throw error
    }
    try await end(server, after: nil)
    return result
  }
}

/// Ends a server, and throws if it did not end well, with the test's own error in the text: the test may have failed
/// only because its server was gone.
private func end(_ server: ServerProcess, after error: (any Error)?) async throws {
  let status = await server.terminate()
  guard status != 0 else { return }
  let cause = error.map { " The test had failed with: \($0)" } ?? ""
  throw ServerProcess.UnexpectedEnd(
    description: "fanfare ended with status \(status) instead of 0: \(server.errorOutput)\(cause)")
}

/// Waits until the condition holds, and blocks the caller's thread: for tests that have a thread of their own.
///
/// - Returns: false where it does not hold by the deadline.
public func blocksUntil(within limit: Duration, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + limit
  while true {
    // The time is read before the condition, so that a late caller still checks the condition once more.
    let isLate = ContinuousClock.now >= deadline
    if try condition() { return true }
    if isLate { return false }
    usleep(500)
  }
}

/// Waits until the condition holds.
///
/// - Returns: false where it does not hold by the deadline.
public func eventually(within limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async rethrows
  -> Bool
{
  let clock = ContinuousClock()
  let deadline = clock.now + limit
  while true {
    // The time is read before the condition, so that a late caller still checks the condition once more.
    let isLate = clock.now >= deadline
    if try await condition() { return true }
    if isLate { return false }
    await Ticker.shared.next()
  }
}
