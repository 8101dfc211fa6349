import Foundation
import Synchronization
import TestSupport
import Testing

/// `fanfare broker` with partitions, and the brokers that it has started.
final class Brokers: Sendable {
  let directory: URL
  /// Of the command line, but for which partition is meant.
  let arguments: [String]
  private let more: [String]
  private let partitions: [Int]
  private let errors: URL
  private let started = Mutex<ChildProcess?>(nil)

  private init(_ count: Int, in directory: URL, adding more: [String]) throws {
    self.directory = directory
    self.more = more
    partitions = more.last.flatMap { Int($0) }.map { [$0] } ?? Array(0..<count)
    errors = directory.appendingPathComponent("errors.txt")
    let configuration = directory.appendingPathComponent("fanfare.json")
    try Deployment.configuration(adding: "").write(to: configuration, atomically: true, encoding: .utf8)
    let settings =
      try Engine.postgres.settings() + [
        "cluster.partitions=\(count)", "data.directory=\(directory.path)/data", "admin.port=0", "log.postgres.wait=1h",
        "backbone.endpoint=ipc://\(directory.path)/b.ipc", "shutdown.deadline=500ms",
      ]
    arguments = ["broker", "--config", configuration.path] + settings.flatMap { ["--set", $0] }
  }

  /// - Parameter more: further arguments.
  static func with(_ count: Int, adding more: [String] = [], _ body: (Brokers) async throws -> Void) async throws {
    try await withProcesses(
      { try Brokers(count, in: $0, adding: more) },
      start: { brokers in
        try brokers.begin()
        try await brokers.awaitAll()
      }, account: \.account, end: { _ = await $0.end() }, body)
  }

  /// The process that has started the brokers. There is one as soon as the body of a test runs.
  var process: ChildProcess {
    guard let process = started.withLock({ $0 }) else { preconditionFailure("nothing was started yet") }
    return process
  }

  /// Starts it anew: what was said before is gone.
  func begin() throws {
    let process = try ChildProcess(
      ServerProcess.executable(), arguments + more, environment: ChildProcess.fanfareEnvironment, errors: errors)
    started.withLock { $0 = process }
  }

  /// Waits until all serve.
  func awaitAll() async throws {
    let all = await eventually(within: .seconds(120)) {
      !self.process.isRunning || self.partitions.allSatisfy { self.endpoints(of: $0) != nil }
    }
    guard all, process.isRunning else { throw Failure("not all brokers serve: \(account)") }
  }

  /// - Returns: the exit status of the process that has started the brokers; nil where it had to be killed.
  @discardableResult
  func end() async -> Int32? {
    process.signal(SIGTERM)
    if await eventually(within: .seconds(60), { !self.process.isRunning }) { return process.status }
    process.signal(SIGKILL)
    return nil
  }

  // MARK: What there is

  var data: URL { directory.appendingPathComponent("data") }

  /// The data folder of a partition's broker.
  func folder(of partition: Int) -> URL { data.appendingPathComponent("partition-\(partition)") }

  func files() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: data.path)) }

  func endpoints(of partition: Int) -> FanfareProcess.Endpoints? {
    let place = arguments.contains("cluster.partitions=1") ? data : folder(of: partition)
    let file = try? Data(contentsOf: place.appendingPathComponent("endpoints.json"))
    return file.flatMap { try? JSONDecoder().decode(FanfareProcess.Endpoints.self, from: $0) }
  }

  func http(of partition: Int) throws -> HTTPExchange {
    let port = endpoints(of: partition)?.admin.flatMap(URL.init(string:))?.port
    return HTTPExchange(port: try #require(port))
  }

  var account: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

  func said(_ sentence: String) -> Bool { account.contains(sentence) }

  /// The process of each partition that was started last, as the one that starts them says.
  var identifiers: [Int: Int32] { Self.identifiers(in: account) }

  /// - Parameter account: what the one that starts them has said.
  static func identifiers(in account: String) -> [Int: Int32] {
    let sentence = /the broker of partition ([0-9]+) was started as process ([0-9]+)/
    var found: [Int: Int32] = [:]
    for match in account.matches(of: sentence) {
      if let partition = Int(match.1), let process = Int32(match.2) { found[partition] = process }
    }
    return found
  }

  /// Whether a process that is nobody's child here has ended. Where nobody reaps it, it stays in the kernel's table.
  static func isGone(_ process: Int32) -> Bool {
    guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
    return line.split(separator: ")").last?.split(separator: " ").first == "Z"
  }
}
