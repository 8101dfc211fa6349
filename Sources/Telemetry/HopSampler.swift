/// Says which publications are measured: every n-th, and every m-th is traced as well. A value, held by whoever lets
/// publications in; what is not measured costs one subtraction.
public struct HopSampler: Sendable {
  /// Publications until the next that is measured.
  @usableFromInline var left: Int
  private var untilMeasured: Int
  private var untilTraced: Int
  /// What ``left`` was when it was last set.
  private var step: Int
  private let measureEvery: Int
  private let traceEvery: Int

  /// A sampler that chooses nothing.
  public static let off = HopSampler(measureEvery: 0, traceEvery: 0)

  /// - Parameters:
  ///   - measureEvery: every such publication is measured; 0: none.
  ///   - traceEvery: every such publication is traced, and so measured; 0: none.
  public init(measureEvery: Int, traceEvery: Int) {
    self.measureEvery = measureEvery
    self.traceEvery = traceEvery
    untilMeasured = measureEvery > 0 ? measureEvery : .max
    untilTraced = traceEvery > 0 ? traceEvery : .max
    step = min(untilMeasured, untilTraced)
    left = step
  }

  /// A sampler that chooses as many to be traced, and measures none besides.
  public var tracesAlone: HopSampler { HopSampler(measureEvery: 0, traceEvery: traceEvery) }

  /// The next publication is one to be measured: now is the time to look at the clock.
  @inlinable public var isArmed: Bool { left <= 1 }

  /// Counts a publication.
  ///
  /// - Returns: whether it is measured; call ``choose()`` then.
  @inlinable
  public mutating func isDue() -> Bool {
    left -= 1
    return left <= 0
  }

  /// Makes the next publication due, since it was chosen before: it has waited for somebody's answer.
  ///
  /// - Returns: how many were left; give it to ``restore(_:)`` when that one has come, or will not come.
  public mutating func makeDue() -> Int {
    defer { left = 1 }
    return left
  }

  /// Goes on counting where ``makeDue()`` has interrupted it.
  public mutating func restore(_ left: Int) { self.left = left }

  /// Begins to count to the next one.
  ///
  /// - Returns: whether the one at hand is traced as well.
  public mutating func choose() -> Bool {
    if untilMeasured != .max { untilMeasured -= step }
    if untilTraced != .max { untilTraced -= step }
    let isTraced = untilTraced <= 0
    if untilMeasured <= 0 { untilMeasured = measureEvery }
    if isTraced { untilTraced = traceEvery }
    step = min(untilMeasured, untilTraced)
    left = step
    return isTraced
  }
}
