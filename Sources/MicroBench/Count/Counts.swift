/// What one iteration of a benchmark takes.
public struct Counts: Sendable, Equatable, Codable {
  /// Instructions executed outside of the kernel.
  public var instructions: Double
  /// Calls that ask for memory.
  public var allocations: Double
  /// Retains and releases of objects.
  public var references: Double

  public init(instructions: Double, allocations: Double, references: Double) {
    self.instructions = instructions
    self.allocations = allocations
    self.references = references
  }

  /// The functions through which memory is allocated, also by Swift's runtime.
  static let allocating = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"]
  static let counting = ["swift_retain", "swift_release", "swift_retain_n", "swift_release_n"]

  /// Counts from two runs. Set-up, start and end of the program take the same in both, so the difference is what the
  /// additional iterations took.
  ///
  /// - Parameter iterations: those of the shorter run; the longer one has twice as many.
  public init(from shorter: CallgrindProfile, to longer: CallgrindProfile, iterations: Int) {
    func each(_ count: (CallgrindProfile) -> UInt64) -> Double {
      let difference = Double(count(longer)) - Double(count(shorter))
      return max(0, (difference / Double(max(1, iterations)) * 100).rounded() / 100)
    }
    instructions = each(\.instructions).rounded()
    allocations = each { $0.calls(of: Self.allocating) }
    references = each { $0.calls(of: Self.counting) }
  }
}
