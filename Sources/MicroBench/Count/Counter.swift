public import Foundation

/// Counts benchmarks by running this very program under callgrind, once with so many iterations and once with twice as
/// many.
public struct Counter: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// The program, and the words that make it run one benchmark. The benchmark's name and the iterations come behind.
  public var program: String
  public var words: [String]

  public init(program: String, words: [String]) {
    self.program = program
    self.words = words
  }

  private static let valgrind = ["/usr/bin/valgrind", "/usr/local/bin/valgrind"]

  public func count(_ benchmark: MicroBenchmark) throws -> Counts {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fanfare-counts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Side by side: there are two processors wherever this is worth its time.
    let runs = try [benchmark.iterations, 2 * benchmark.iterations].map { iterations in
      try Run(self, benchmark.name, iterations, in: folder)
    }
    let profiles = try runs.map { try $0.profile() }
    return Counts(from: profiles[0], to: profiles[1], iterations: benchmark.iterations)
  }

  private struct Run {
    let process = Process()
    let file: URL
    let output: URL

    init(_ counter: Counter, _ name: String, _ iterations: Int, in folder: URL) throws {
      guard let valgrind = Counter.valgrind.first(where: FileManager.default.isExecutableFile) else {
        throw Failure(description: "valgrind was not found; install it (apt-get install valgrind) and count again")
      }
      file = folder.appendingPathComponent("callgrind.\(iterations)")
      output = folder.appendingPathComponent("output.\(iterations)")
      process.executableURL = URL(fileURLWithPath: valgrind)
      process.arguments =
        ["--tool=callgrind", "--callgrind-out-file=\(file.path)", counter.program] + counter.words
        + ["--run", name, "--iterations", String(iterations)]
      // A dictionary's order is otherwise drawn anew by each process, and with it the number of its collisions.
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
      guard process.terminationStatus == 0, let bytes = FileManager.default.contents(atPath: file.path) else {
        let said = FileManager.default.contents(atPath: output.path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        throw Failure(description: "the benchmark failed under valgrind:\n\(said.suffix(2_000))")
      }
      return try CallgrindProfile(Array(bytes))
    }
  }
}
