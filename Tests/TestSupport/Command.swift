public import Foundation

/// A program that is run to its end.
public struct Command: Sendable {
  public struct Outcome: Sendable {
    /// The exit status; nil where the program had to be ended at the deadline.
    public var status: Int32?
    /// Standard output, and then standard error.
    public var output: String
  }

  public var executable: URL
  public var arguments: [String]
  /// Variables that are added to the environment of the tests.
  public var environment: [String: String]

  public init(_ executable: URL, _ arguments: [String] = [], environment: [String: String] = [:]) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
  }

  /// Looks for the program in the folders of `PATH`.
  public init(named name: String, _ arguments: [String] = [], environment: [String: String] = [:]) {
    self.init(URL(fileURLWithPath: "/usr/bin/env"), [name] + arguments, environment: environment)
  }

  /// Runs the program to its end, or ends it with SIGKILL at the deadline.
  public func run(deadline: Duration) async throws -> Outcome {
    try await withTemporaryFolder { directory in
      let file = directory.appendingPathComponent("output.txt")
      let errors = directory.appendingPathComponent("errors.txt")
      let process = try ChildProcess(
        executable, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
        output: file, errors: errors)
      let hasEnded = await eventually(within: deadline) { !process.isRunning }
      if !hasEnded { process.signal(SIGKILL) }
      let text = try [file, errors].map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }.joined()
      return Outcome(status: hasEnded ? process.status : nil, output: text)
    }
  }

  /// Whether the program runs and ends well within a minute. Blocks the caller's thread: for conditions of tests, which
  /// cannot wait otherwise.
  public func succeeds() -> Bool {
    let process = try? ChildProcess(
      executable, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
      errors: URL(fileURLWithPath: "/dev/null"))
    guard let process else { return false }
    // One that takes longer is killed and reaped with the last reference to it.
    return blocksUntil(within: .seconds(60)) { !process.isRunning } && process.status == 0
  }
}
