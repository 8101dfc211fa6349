/// One operation of the hot path, to be counted rather than timed.
public struct MicroBenchmark: Sendable {
  public let name: String
  /// What one iteration is, for the reader of a threshold.
  public let about: String
  /// Sets up, and returns what runs so many iterations.
  public let prepare: @Sendable () throws -> (_ iterations: Int) -> Void

  public init(
    name: String, about: String, prepare: @escaping @Sendable () throws -> (_ iterations: Int) -> Void
  ) {
    self.name = name
    self.about = about
    self.prepare = prepare
  }
}
