import Foundation

/// One operation of the hot path, to be counted rather than timed.
public struct MicroBenchmark: Sendable {
  public let name: String
  /// What one iteration is, for the reader of a threshold.
  public let about: String
  /// How many iterations a count takes: enough for what happens once in many of them to show.
  public let iterations: Int
  /// Sets up, and returns what runs so many iterations.
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

  /// In the order of the route that a message takes.
  public static let all: [MicroBenchmark] =
    commandDecoding + session + link + broker + log + publicationEncoding + hub

  /// False in debug builds, whose counts say nothing about what is shipped.
  public static var isOptimised: Bool {
    #if DEBUG
      false
    #else
      true
    #endif
  }

  /// What made the instructions that are counted, and what they run on as far as they differ by it.
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

  /// The C library copies and compares memory with other instructions where there is no AVX2.
  ///
  /// - Parameter description: Linux's, with a line of flags for each processor; a Mac has none, and no valgrind.
  static func processor(described description: Data) -> String {
    let words = description.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    return words.contains(Data("avx2".utf8)) ? "x86_64" : "x86_64 without AVX2"
  }
}

/// Uses a value where the optimiser cannot see that it is not used.
@_optimize(none)
func keep<Value>(_ value: Value) {}
