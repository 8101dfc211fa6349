/// Whether two sets of rounds differ in any of several figures, at one risk for all figures together.
///
/// A round is what was measured one after another: a row of figures. If both runs measured the same thing, it does not
/// matter which run a round is called part of. So the rounds are dealt to the two runs in all ways (or in very many),
/// and each time the largest of all figures' t statistics is kept; a figure differs where its own, as the rounds were
/// really dealt, is larger than nearly all of those (Westfall and Young 1993, the single-step maxT).
///
/// - It is exact for any distribution, heavy tails and ties among them, because it rests on the dealing alone.
/// - It allows for there being many figures, and for their depending on each other: whole rounds are dealt, so figures
///   that move together count as little more than one. Bonferroni's division of the risk would ask for more turns than
///   anybody makes: with 5 rounds of each there are 252 ways, and no single figure can be rarer than 2 of them.
/// - It looks at sizes, not at ranks, so that a large difference shows in five rounds among many figures.
///
/// What it cannot see: a machine that was slower in one of the two runs as a whole. Rounds of one run are then alike
/// for a reason that no round shows; ``Comparison`` takes figures relative to the floor of the same round for it.
struct PermutationTest {
  /// Below this spread of logarithms a figure is the same in all rounds: what is left is rounding.
  private static let nothing = 1e-9

  /// Rows are rounds, columns figures; each figure's values are centred. NaN: the round has no such figure.
  private let values: [Double]
  private let rounds: Int
  private let figures: Int
  /// How many of the rounds, the foremost, are the first run's.
  private let first: Int
  /// Of each figure: how many rounds have it, and its values' squares.
  private let present: [Double]
  private let squares: [Double]

  /// The most ways of dealing that are all gone through: 8 rounds against 8 have 12,870.
  static let exactLimit = 20_000.0
  /// How many ways are drawn where there are more than ``exactLimit``. The real one is counted beside, so that the test
  /// stays exact (Phipson and Smyth 2010).
  static let drawn = 9_999

  /// - Parameters:
  ///   - first: rounds of the first run, each with as many figures, as logarithms; nil where the round has no such
  ///     figure.
  ///   - second: rounds of the second run.
  init(_ first: [[Double?]], _ second: [[Double?]]) {
    let all = first + second
    let width = all.first?.count ?? 0
    var values = [Double](repeating: .nan, count: all.count * width)
    var (present, squares) = ([Double](repeating: 0, count: width), [Double](repeating: 0, count: width))
    for figure in 0..<width {
      let known = all.compactMap { $0[figure] }
      let mean = known.reduce(0, +) / Double(max(known.count, 1))
      for (round, row) in all.enumerated() {
        guard let value = row[figure] else { continue }
        values[round * width + figure] = value - mean
        squares[figure] += (value - mean) * (value - mean)
      }
      present[figure] = Double(known.count)
      if squares[figure] <= present[figure] * Self.nothing * Self.nothing { squares[figure] = 0 }
    }
    (self.values, self.present, self.squares) = (values, present, squares)
    (rounds, figures, self.first) = (all.count, width, first.count)
  }

  /// Of each figure: the part of all ways of dealing in which some figure differs as much as this one does. Not above
  /// `risk` in more than that part of all comparisons of equal runs.
  func significances() -> [Double] {
    guard figures > 0, first > 0, first < rounds else { return [Double](repeating: 1, count: figures) }
    var scratch = Scratch(figures)
    score(Array(0..<first), &scratch)
    let found = scratch.statistics
    var (reached, ways) = ([Double](repeating: 0, count: figures), 0.0)
    visitWays { dealt in
      score(dealt, &scratch)
      // What rounding adds must not make of an equal way a lesser one.
      let largest = (scratch.statistics.max() ?? 0) * (1 + 1e-9)
      for figure in 0..<figures where largest >= found[figure] { reached[figure] += 1 }
      ways += 1
    }
    return reached.map { $0 / ways }
  }

  /// What one way of dealing comes to, of each figure; made once, because there are thousands of ways.
  private struct Scratch {
    var sums: [Double]
    var counts: [Double]
    /// t².
    var statistics: [Double]

    init(_ figures: Int) {
      sums = [Double](repeating: 0, count: figures)
      (counts, statistics) = (sums, sums)
    }
  }

  /// Fills in each figure's statistic, as if the dealt rounds were the first run's.
  private func score(_ dealt: [Int], _ scratch: inout Scratch) {
    for figure in 0..<figures { (scratch.sums[figure], scratch.counts[figure]) = (0, 0) }
    for round in dealt {
      let row = round * figures
      for figure in 0..<figures where !values[row + figure].isNaN {
        scratch.sums[figure] += values[row + figure]
        scratch.counts[figure] += 1
      }
    }
    for figure in 0..<figures {
      let (own, other) = (scratch.counts[figure], present[figure] - scratch.counts[figure])
      guard own > 0, other > 0, present[figure] > 2, squares[figure] > 0 else {
        scratch.statistics[figure] = 0
        continue
      }
      let between = scratch.sums[figure] * scratch.sums[figure] * (1 / own + 1 / other)
      let within = squares[figure] - between
      // Where nothing is left within the sets, the difference is beyond measure.
      scratch.statistics[figure] =
        within > squares[figure] * 1e-12 ? between / within * (present[figure] - 2) : .infinity
    }
  }

  // MARK: Ways of dealing

  private func visitWays(_ visit: ([Int]) -> Void) {
    if Self.ways(first, of: rounds) <= Self.exactLimit { visitAll(visit) } else { visitDrawn(visit) }
  }

  private static func ways(_ part: Int, of whole: Int) -> Double {
    (0..<part).reduce(1.0) { $0 * Double(whole - $1) / Double($1 + 1) }
  }

  /// Visits every way in lexicographic order, the real one first.
  private func visitAll(_ visit: ([Int]) -> Void) {
    var dealt = Array(0..<first)
    while true {
      visit(dealt)
      guard let place = dealt.indices.last(where: { dealt[$0] < rounds - first + $0 }) else { return }
      dealt[place] += 1
      for later in (place + 1)..<max(first, place + 1) { dealt[later] = dealt[later - 1] + 1 }
    }
  }

  /// Visits the real way and drawn ones. They are drawn alike each time, so that a comparison repeats.
  private func visitDrawn(_ visit: ([Int]) -> Void) {
    var order = Array(0..<rounds)
    visit(Array(order[..<first]))
    var random = Draw(state: 0x9E37_79B9_7F4A_7C15)
    for _ in 0..<Self.drawn {
      for place in 0..<first { order.swapAt(place, place + random.below(rounds - place)) }
      visit(Array(order[..<first]))
    }
  }

  /// xorshift64*: dealt rounds must be even, not secret.
  private struct Draw {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return Int((state &* 0x2545_F491_4F6C_DD1D).multipliedFullWidth(by: UInt64(bound)).high)
    }
  }
}
