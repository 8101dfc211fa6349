import Foundation

/// One operation of the hot path, to be counted rather than timed.
public struct MicroBenchmark: Sendable {
  public let name: String
  /// A sentence that says what one iteration does, for the reader of a threshold.
  public let about: String
  /// How many iterations a count takes: enough to show the cost of work that is done once in many of them.
  public let iterations: Int
  /// Sets the benchmark up, and returns the function that runs a number of iterations.
  public let prepare: @Sendable () throws -> (_ iterations: Int) -> Void

  public init(
    name: String, about: String, iterations: Int = 2_000,
    prepare: @escaping @Sendable () throws -> (_ iterations: Int) -> Void
  ) {
    self.name = name
    self.about = about
    self.iterations = iterations
    self.prepare = prepare
  }

  /// All benchmarks, in the order of the route that a message takes.
  public static let all: [MicroBenchmark] =
    commandDecoding + session + link + broker + log + publicationEncoding + hub

  /// Whether this is a release build: counts of a debug build say nothing about what is shipped.
  public static var isOptimised: Bool {
    #if DEBUG
      false
    #else
      true
    #endif
  }

  /// The compiler that made the instructions that are counted, and the kind of processor on which these differ.
  public static var toolchain: String {
    #if arch(x86_64)
      let processor = processor(described: FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data())
    #else
      let processor = "arm64"
    #endif
    #if compiler(>=6.4)
      return "Swift 6.4 or newer on \(processor)"
    #elseif compiler(>=6.3)
      return "Swift 6.3 on \(processor)"
    #else
      return "Swift 6.2 on \(processor)"
    #endif
  }

  /// The kind of processor: the C library copies and compares memory with other instructions where there is no AVX2.
  ///
  /// - Parameter description: the one that Linux gives, with a line of flags for each processor; a Mac has none, and no
  ///   valgrind.
  static func processor(described description: Data) -> String {
    let words = description.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    return words.contains(Data("avx2".utf8)) ? "x86_64" : "x86_64 without AVX2"
  }
}

/// Uses a value where the optimiser cannot see that it is not used.
@_optimize(none)
func keep<Value>(_ value: Value) {}
