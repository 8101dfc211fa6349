import Foundation

/// By what factor one set of turns lies above another, with an interval that holds whatever the turns' distribution.
///
/// The factor is the Hodges–Lehmann estimate on logarithms: the median of all quotients of a turn of the second set and
/// one of the first. The interval is the one that belongs to it, of the two-sided rank-sum test of Mann and Whitney: it
/// leaves out 1 exactly where that test rejects. (Hodges and Lehmann 1963; Lehmann, Nonparametrics, 2.3.)
///
/// Why not Student's t: turns are five to ten, and their latencies have tails. A t interval rests on a shape that so
/// few values cannot show; this one rests only on the turns of both sets being drawn alike, and a single turn in which
/// something else ran on the machine cannot move it far.
struct RatioInterval: Sendable, Equatable {
  /// The second set's figure over the first's.
  var ratio: Double
  var lower: Double
  var upper: Double

  /// The part of all comparisons of equal sets in which the interval leaves out 1, at most.
  static let risk = 0.01

  /// Whether the interval leaves out 1.
  var showsDifference: Bool { lower > 1 || upper < 1 }

  /// Nil where there are too few turns for any interval of so small a ``risk``; 5 of each are enough. All values must
  /// be above 0.
  init?(from first: [Double], to second: [Double]) {
    guard let rank = Self.rank(first.count, second.count) else { return nil }
    let quotients = first.flatMap { base in second.map { $0 / base } }.sorted()
    let middle = quotients.count / 2
    ratio =
      quotients.count % 2 == 1 ? quotients[middle] : (quotients[middle - 1] * quotients[middle]).squareRoot()
    (lower, upper) = (quotients[rank - 1], quotients[quotients.count - rank])
  }

  /// Which of the sorted quotients are the interval's ends, counted from 1 from either side; nil: not even the
  /// outermost.
  static func rank(_ first: Int, _ second: Int) -> Int? {
    guard first > 0, second > 0 else { return nil }
    if first * second > exactLimit {
      let (n, m) = (Double(first), Double(second))
      // The quantile of the normal distribution that belongs to half of the risk.
      return Int(n * m / 2 - 2.5758 * (n * m * (n + m + 1) / 12).squareRoot())
    }
    let counts = rankSums(first, second)
    let most = counts.reduce(0, +) * risk / 2
    var (rank, below) = (0, 0.0)
    while rank < counts.count, below + counts[rank] <= most {
      below += counts[rank]
      rank += 1
    }
    return rank == 0 ? nil : rank
  }

  /// Beyond so many quotients the rank sum is as good as normal, and counting it out would take long.
  private static let exactLimit = 2_500

  /// How many of the arrangements of so many values have each number of pairs in the wrong order, 0 first.
  ///
  /// The factors of the Gaussian binomial coefficient one after another: times (1 − q^(m+i)), by (1 − q^i).
  static func rankSums(_ first: Int, _ second: Int) -> [Double] {
    let most = first * second
    var counts = [Double](repeating: 0, count: most + 1)
    counts[0] = 1
    for factor in 1...first {
      for place in stride(from: most, through: second + factor, by: -1) {
        counts[place] -= counts[place - second - factor]
      }
      for place in stride(from: factor, through: most, by: 1) { counts[place] += counts[place - factor] }
    }
    return counts
  }
}
