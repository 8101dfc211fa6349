import Foundation
import Synchronization
import TestSupport

/// Processes with one configuration: one that is all, or a broker and gateways. Each is reaped whatever happens.
final class ServerGroup: Sendable {
  struct Endpoints: Decodable, Sendable {
    var websocket: String?
    var commands: String?
    var tap: String?
    var backbone: String?
    var admin: String?
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The process that is all, or the broker. Gateways are `gateway0` and so on.
  static let broker = "broker"

  private let folder: URL
  private let configuration: URL
  private let settings: [String]
  private let running = Mutex<[String: (process: ChildProcess, endpoints: Endpoints)]>([:])

  /// - Parameters:
  ///   - configuration: the whole configuration file, JSON.
  ///   - settings: `key=value`, over the file, for all of them.
  init(_ configuration: String, settings: [String] = [], in folder: URL) throws {
    self.folder = folder
    self.settings = settings
    self.configuration = folder.appendingPathComponent("fanfare.json")
    try configuration.write(to: self.configuration, atomically: true, encoding: .utf8)
  }

  /// Runs the body against processes of its own, and throws where one of them does not end well.
  ///
  /// - Parameter gateways: how many there are; 0: one process is all.
  static func with(
    _ configuration: String, settings: [String] = [], gateways: Int = 0, _ body: (ServerGroup) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let group = try ServerGroup(configuration, settings: settings, in: folder)
      do {
        try await group.start(gateways: gateways)
        try await body(group)
      } catch {
        await group.kill()
        throw error
      }
      try await group.end()
    }
  }

  // MARK: Processes

  /// - Parameter gateways: how many there are; 0: one process is all.
  func start(gateways: Int) async throws {
    if gateways == 0 { return try await start(Self.broker, "serve") }
    // Whichever gateway is asked for a picture has it only where they share a folder.
    let pictures = "state.picture_directory=\(folder.appendingPathComponent("pictures").path)"
    try await start(Self.broker, "broker", ["backbone.endpoint=ipc://\(folder.path)/b.ipc", pictures])
    let link = "backbone.endpoint=\(endpoints().backbone ?? "")"
    for number in 0..<gateways { try await start("gateway\(number)", "gateway", [link, pictures]) }
  }

  private func start(_ name: String, _ role: String, _ more: [String] = []) async throws {
    let data = self.data(of: name)
    try FileManager.default.createDirectory(
      at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let file = data.appendingPathComponent("endpoints.json")
    try? FileManager.default.removeItem(at: file)
    let own = ["server.host=127.0.0.1", "server.port=0", "admin.port=0", "data.directory=\(data.path)"]
    let process = try ChildProcess(
      ServerProcess.executable(),
      [role, "--config", configuration.path] + (own + more + settings).flatMap { ["--set", $0] },
      environment: ChildProcess.fanfareEnvironment, errors: errors(of: name))
    let listens = await eventually(within: .seconds(120)) {
      !process.isRunning || FileManager.default.fileExists(atPath: file.path)
    }
    guard listens, process.isRunning else {
      process.signal(SIGKILL)
      throw Failure(description: "fanfare \(role) did not start: \(errorOutput(of: name))")
    }
    let endpoints = try JSONDecoder().decode(Endpoints.self, from: Data(contentsOf: file))
    running.withLock { $0[name] = (process, endpoints) }
  }

  func data(of name: String = broker) -> URL { folder.appendingPathComponent(name) }

  func endpoints(_ name: String = broker) -> Endpoints { running.withLock { $0[name]?.endpoints } ?? Endpoints() }

  private func errors(of name: String) -> URL { folder.appendingPathComponent("\(name)-errors.txt") }

  /// What a process wrote to standard error, at most the last 4,000 characters.
  func errorOutput(of name: String = broker) -> String {
    String(((try? String(contentsOf: errors(of: name), encoding: .utf8)) ?? "").suffix(4000))
  }

  /// SIGKILL to the one process, which then goes on with the same data.
  func killAndRestart() async throws {
    await kill(Self.broker)
    try await start(Self.broker, "serve")
  }

  /// SIGKILL to all.
  func kill() async { for name in running.withLock({ Array($0.keys) }) { await kill(name) } }

  private func kill(_ name: String) async {
    guard let process = running.withLock({ $0.removeValue(forKey: name)?.process }) else { return }
    process.signal(SIGKILL)
    _ = await eventually(within: .seconds(60)) { !process.isRunning }
  }

  /// Ends all as an operator would (SIGTERM), the gateways before their broker.
  private func end() async throws {
    var badly: [String] = []
    for (name, one) in running.withLock({ $0 }).sorted(by: { $0.key > $1.key }) {
      one.process.signal(SIGTERM)
      _ = await eventually(within: .seconds(180)) { !one.process.isRunning }
      let status = one.process.status
      if status != 0 { badly.append("\(name) ended with status \(status ?? -SIGKILL): \(errorOutput(of: name))") }
      await kill(name)
    }
    if !badly.isEmpty { throw Failure(description: badly.joined(separator: "\n")) }
  }
}
