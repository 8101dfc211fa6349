import Histogram

/// A histogram of nanoseconds as it goes from worker to coordinator and into results: every recorded value with its
/// count, so that nothing is lost when histograms are merged.
public struct EncodedHistogram: Codable, Sendable, Equatable {
  /// A value, its count, the next value, its count, …; values rise.
  public private(set) var pairs: [UInt64]

  public init() { pairs = [] }

  /// Encodes a histogram that ``makeHistogram()`` made.
  public init(_ histogram: Histogram<UInt64>) {
    pairs = []
    for entry in histogram.recordedValues() {
      pairs.append(entry.value)
      pairs.append(entry.count)
    }
  }

  /// The shape that all of the bench's histograms have: 1 ns to 10 minutes, three digits.
  public static func makeHistogram() -> Histogram<UInt64> {
    Histogram(lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000_000, numberOfSignificantValueDigits: .three)
  }

  /// Adds everything that was recorded here.
  public func add(to histogram: inout Histogram<UInt64>) {
    for place in stride(from: 0, to: pairs.count - 1, by: 2) {
      histogram.record(min(pairs[place], 600_000_000_000), count: pairs[place + 1])
    }
  }

  public var histogram: Histogram<UInt64> {
    var histogram = Self.makeHistogram()
    add(to: &histogram)
    return histogram
  }

  public static func merged(_ parts: [EncodedHistogram]) -> EncodedHistogram {
    var histogram = makeHistogram()
    for part in parts { part.add(to: &histogram) }
    return EncodedHistogram(histogram)
  }
}
