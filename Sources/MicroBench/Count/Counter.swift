import Foundation

/// Counts benchmarks by running a program under callgrind twice, the second time with twice as many iterations. Only
/// the thread that runs the benchmark counts: when other threads get to run differs from run to run.
public struct Counter {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// The arguments that make the program run one benchmark; the benchmark's name and the iterations follow them.
  private let words: [String]
  private let valgrind: String
  /// A copy of the program without debug information, which valgrind may not be able to read, in a folder of its own.
  private let program: URL
  private let folder: TemporaryFolder

  /// - Parameters:
  ///   - program: the path of a program that runs one benchmark on its main thread.
  ///   - words: the arguments that make it do that; the benchmark's name and the iterations follow them.
  public init(program: String, words: [String]) throws {
    self.words = words
    valgrind = try Self.find("valgrind", package: "valgrind")
    folder = try TemporaryFolder()
    self.program = folder.url.appendingPathComponent("program")
    let strip = Process()
    strip.executableURL = URL(fileURLWithPath: try Self.find("strip", package: "binutils"))
    strip.arguments = ["--strip-debug", "-o", self.program.path, program]
    try strip.run()
    strip.waitUntilExit()
    guard strip.terminationStatus == 0 else {
      throw Failure(description: "\(program) cannot be copied without its debug information; make room and count again")
    }
  }

  private static func find(_ tool: String, package: String) throws -> String {
    for folder in ["/usr/bin", "/usr/local/bin"] {
      let path = "\(folder)/\(tool)"
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw Failure(description: "\(tool) was not found; install it (apt-get install \(package)) and count again")
  }

  public func count(_ benchmark: MicroBenchmark) throws -> Counts {
    // The two runs go side by side, since a machine that counts has two processors at least.
    let runs = try [benchmark.iterations, 2 * benchmark.iterations].map { iterations in
      try Run(self, benchmark.name, iterations, in: folder.url)
    }
    let profiles = try runs.map { try $0.profile() }
    return Counts(from: profiles[0], to: profiles[1], iterations: benchmark.iterations)
  }

  private struct Run {
    let process = Process()
    /// The beginning of the profiles' names, to which valgrind adds a number for each thread.
    let profiles: URL
    let output: URL

    init(_ counter: Counter, _ name: String, _ iterations: Int, in folder: URL) throws {
      profiles = folder.appendingPathComponent("\(name).\(iterations).callgrind")
      output = folder.appendingPathComponent("\(name).\(iterations).output")
      process.executableURL = URL(fileURLWithPath: counter.valgrind)
      process.arguments =
        ["--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=\(profiles.path)", counter.program.path]
        + counter.words + ["--run", name, "--iterations", String(iterations)]
      // Each process would draw the order of its dictionaries anew, and with it the number of their collisions.
      process.environment = [
        "SWIFT_DETERMINISTIC_HASHING": "1", "TMPDIR": folder.path, "PATH": "/usr/bin:/bin",
        "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
      ]
      guard FileManager.default.createFile(atPath: output.path, contents: nil) else {
        throw Failure(description: "no file can be made in \(folder.path); make room there and count again")
      }
      let handle = try FileHandle(forWritingTo: output)
      process.standardOutput = handle
      process.standardError = handle
      process.standardInput = FileHandle.nullDevice
      try process.run()
    }

    func profile() throws -> CallgrindProfile {
      process.waitUntilExit()
      let mainThread = "\(profiles.path)-01"
      guard process.terminationStatus == 0, let bytes = FileManager.default.contents(atPath: mainThread) else {
        let said = FileManager.default.contents(atPath: output.path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        throw Failure(description: "the benchmark failed under valgrind:\n\(said.suffix(2_000))")
      }
      return try CallgrindProfile(Array(bytes))
    }
  }
}
