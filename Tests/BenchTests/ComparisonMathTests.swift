import Foundation
import TestSupport
import Testing

@testable import Bench

/// Turns drawn from a distribution, the same for the same seed.
struct DrawnTurns {
  /// How the logarithm of a figure scatters.
  enum Noise: String, CaseIterable, Sendable {
    case normal
    /// Now and then a turn lies far out, on either side: Cauchy's, which has not even a variance.
    case heavy
    /// To one side alone, as a p99 scatters.
    case skewed
    /// Two places and nothing between, as memory that comes in pages.
    case twoPlaces
  }

  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  private mutating func part() -> Double { Double.random(in: 1e-12..<1, using: &generator) }

  mutating func noise(_ kind: Noise) -> Double {
    switch kind {
    case .normal: (-2 * log(part())).squareRoot() * cos(2 * .pi * part())
    case .heavy: tan(.pi * (part() - 0.5))
    case .skewed: -log(part())
    case .twoPlaces: part() < 0.5 ? 0 : 3
    }
  }

  /// Rows of rounds with as many figures, as logarithms; the first figure's are raised by `shift`.
  mutating func rounds(_ count: Int, figures: Int, _ kind: Noise, spread: Double, shift: Double = 0) -> [[Double]] {
    (0..<count).map { _ in
      (0..<figures).map { ($0 == 0 ? shift : 0) + spread * noise(kind) }
    }
  }
}

@Suite("What two sets of turns say of each other")
struct ComparisonMathTests {
  /// Which figures are called different, as ``Comparison`` calls them so.
  private func different(_ first: [[Double]], _ second: [[Double]]) -> [Bool] {
    let significances = PermutationTest(first.map { $0.map(Optional.some) }, second.map { $0.map(Optional.some) })
      .significances()
    return significances.indices.map { figure in
      let interval = RatioInterval(from: first.map { exp($0[figure]) }, to: second.map { exp($0[figure]) })
      let outcome = Comparison.outcome(interval, significances[figure], isBetterLarger: false, margin: 0.05)
      return outcome == .better || outcome == .worse
    }
  }

  /// In how many of so many comparisons something is found.
  private func found(
    _ comparisons: Int, seed: UInt64, turns: (Int, Int), figures: Int, _ noise: DrawnTurns.Noise, spread: Double,
    ratio: Double = 1
  ) -> Int {
    var drawn = DrawnTurns(seed: seed)
    return (0..<comparisons).count { _ in
      let first = drawn.rounds(turns.0, figures: figures, noise, spread: spread)
      let second = drawn.rounds(turns.1, figures: figures, noise, spread: spread, shift: log(ratio))
      let different = different(first, second)
      return ratio == 1 ? different.contains(true) : different[0]
    }
  }

  /// Of so many cases with a risk of one in a hundred each, what chance alone gives hardly ever: three standard
  /// deviations.
  private func tolerated(_ cases: Int) -> Int { Int(Double(cases) * 0.01 + 3 * (Double(cases) * 0.01).squareRoot()) }

  @Test("Two runs of one build differ in one of 100 comparisons at most, whatever the noise")
  func alike() {
    let comparisons = 150
    var (sum, count) = (0, 0)
    for (seed, noise) in DrawnTurns.Noise.allCases.enumerated() {
      for (turns, figures) in [((5, 5), 1), ((5, 5), 14), ((5, 8), 4), ((6, 6), 3)] {
        let found = found(
          comparisons, seed: UInt64(seed * 31 + figures), turns: turns, figures: figures, noise, spread: 0.05)
        #expect(found <= tolerated(comparisons), "\(noise), \(turns), \(figures) figures")
        (sum, count) = (sum + found, count + comparisons)
      }
    }
    #expect(sum * 100 <= count)
  }

  @Test("With noise of 1 %, twelve turns show a figure that is 2 % slower in 95 of 100 comparisons")
  func slower() {
    #expect(found(100, seed: 4, turns: (12, 12), figures: 1, .normal, spread: 0.01, ratio: 1.02) >= 95)
  }

  @Test("Five turns among 14 figures show a figure that is 10 % slower, and hardly one that is 2 % slower")
  func fewTurns() {
    #expect(found(100, seed: 5, turns: (5, 5), figures: 14, .normal, spread: 0.01, ratio: 1.1) >= 95)
    #expect(found(100, seed: 5, turns: (5, 5), figures: 14, .normal, spread: 0.01, ratio: 1.02) < 50)
  }

  @Test("What is sure and less than a hundredth is nothing")
  func little() {
    #expect(found(20, seed: 6, turns: (8, 8), figures: 1, .normal, spread: 0.000_1, ratio: 1.005) == 0)
    #expect(found(20, seed: 6, turns: (8, 8), figures: 1, .normal, spread: 0.000_1, ratio: 1.02) == 20)
  }

  @Test("The interval is of the quotients, as sure as the turns allow")
  func interval() throws {
    let first = [1.0, 2, 3, 4, 5]
    let interval = try #require(RatioInterval(from: first, to: first.map { $0 * 10 }))
    #expect(interval.ratio == 10 && interval.lower == 2 && interval.upper == 50)
    #expect(interval.showsDifference)
    #expect(try #require(RatioInterval(from: first, to: first)).showsDifference == false)
    #expect(RatioInterval(from: [1, 2, 3, 4], to: first) == nil)
  }

  @Test("The interval holds the true ratio in 99 of 100", arguments: DrawnTurns.Noise.allCases)
  func coverage(noise: DrawnTurns.Noise) {
    var drawn = DrawnTurns(seed: 7)
    let cases = 600
    let missed = (0..<cases).count { _ in
      let first = drawn.rounds(7, figures: 1, noise, spread: 0.1).map { exp($0[0]) }
      let second = drawn.rounds(6, figures: 1, noise, spread: 0.1, shift: log(1.5)).map { exp($0[0]) }
      guard let interval = RatioInterval(from: first, to: second) else { return true }
      return interval.lower > 1.5 * (1 + 1e-9) || interval.upper < 1.5 * (1 - 1e-9)
    }
    #expect(missed <= tolerated(cases))
  }

  @Test("Rank sums are counted: all arrangements, as many from either end")
  func rankSums() {
    #expect(RatioInterval.rankSums(2, 3) == [1, 1, 2, 2, 2, 1, 1])
    #expect(RatioInterval.rankSums(5, 5).reduce(0, +) == 252)
    // The tables of the rank-sum test, two-sided at 1 in 100.
    #expect(RatioInterval.rank(5, 5) == 1 && RatioInterval.rank(7, 7) == 5 && RatioInterval.rank(10, 10) == 17)
    #expect(RatioInterval.rank(4, 5) == nil)
    let (counted, rounded) = (RatioInterval.rank(50, 50) ?? 0, RatioInterval.rank(50, 51) ?? 0)
    #expect(abs(rounded - counted) < 30)
  }

  @Test("Of five rounds each, dealt in all ways, the rarest is 2 of 252, and equal figures differ in none")
  func ways() {
    let (low, high) = ((0..<5).map { [Optional(Double($0))] }, (0..<5).map { [Optional(Double($0) + 100)] })
    #expect(PermutationTest(low, high).significances() == [2.0 / 252])
    let one = [[Double?]](repeating: [1, nil], count: 5)
    #expect(PermutationTest(one, one).significances() == [1, 1])
    #expect(PermutationTest([], high).significances() == [1])
  }

  @Test("A round without a figure is dealt with the others, and the figure is judged on those that have it")
  func missing() {
    var first: [[Double?]] = (0..<6).map { [Double($0), 1] }
    var second: [[Double?]] = (0..<6).map { [Double($0) + 50, 1] }
    (first[0][0], second[3][0]) = (nil, nil)
    let found = PermutationTest(first, second).significances()
    #expect(found[0] < 0.01 && found[1] == 1)
  }
}
