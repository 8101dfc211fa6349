import Foundation

/// Two results of one scenario, figure by figure: whether the second is better, worse, or the same.
///
/// A figure is called different where three things hold: its interval (``RatioInterval``) leaves out 1, it differs at a
/// risk of one in a hundred for *all* figures of *all* peers together (``PermutationTest``), and by a hundredth at
/// least. So of a hundred comparisons of two runs of one build, one at most names any difference at all.
public struct Comparison: Sendable {
  public enum Outcome: String, Sendable {
    /// The whole interval lies within the margin.
    case same
    case better, worse
    /// Too few turns, or too different ones, to say it.
    case undecided
  }

  struct Row: Sendable, Equatable {
    var peer: String
    var label: String
    var quantity: Quantity
    var isBetterLarger: Bool
    /// Each valid turn's figure, in the order of the turns.
    var first: [Double]
    var second: [Double]
    /// Second over first; nil with fewer turns than ``turnsNeeded``. Relative to the floor's of the same round where
    /// ``isByFloor``.
    var interval: RatioInterval?
    var isByFloor: Bool
    /// The part of all ways of dealing the rounds to the runs in which some figure differs as much.
    var significance: Double
    var outcome: Outcome
    /// Turns of each result that the ratio is of: where it is relative to the floor's, those beside a valid floor.
    var compared: [Int]
    /// Why nothing can be said, where it is not that turns are few or far apart.
    var reason: String?
  }

  /// Valid turns of each result that a verdict takes at least: with four, no interval is sure to one in a hundred.
  static let turnsNeeded = 5
  /// A difference below this part counts as none, however sure it is: a build's figures move by some thousandths with
  /// where the linker put a function, or with which pages the kernel gave.
  static let leastDifference = 0.01

  /// What was measured when, of which commit: the first and the second.
  let runs: [String]
  let rows: [Row]
  /// The floor's figures in both results, taken by themselves: how the machine was in the one run and in the other.
  let machine: [Row]
  /// Why times were not compared; nil: they were, or there are none.
  let stamps: Incomparability?
  /// Half the width, as a part of 1, that an interval may have around 1 to be called the same.
  let margin: Double

  /// - Parameters:
  ///   - peers: nil: all that both results have.
  ///   - figures: labels of the rows; nil: all that say something of the server. With fewer, smaller differences are
  ///     found.
  ///   - isAbsolute: figures are taken as they are, though the floor was measured beside.
  ///   - ignoresStamps: times are compared though the kernel stamped arrivals in one of the two alone.
  ///   - margin: as a part of 1.
  /// - Throws: a sentence, where there is no such peer or figure in both, where a peer has no valid turn any more, or
  ///   where nothing is left that can be compared.
  public init(
    _ first: RunResult, _ second: RunResult, peers: [String]? = nil, figures: [String]? = nil,
    isAbsolute: Bool = false, ignoresStamps: Bool = false, margin: Double = 0.05
  ) throws(BenchError) {
    let measured = Self.peers(first).filter(Self.peers(second).contains)
    let servers = try Self.chosen(peers, among: measured.filter { $0 != "floor" || peers != nil }, "peer")
    let all = Metric.all(of: first.scenario).filter { figures != nil || $0.isJudged }
    let labels = try Self.chosen(figures, among: all.map(\.label), "figure")
    let metrics = all.filter { labels.contains($0.label) }
    let stamps = ignoresStamps || !metrics.contains(where: \.isTime) ? nil : Incomparability.stamps(first, second)
    if let stamps, metrics.allSatisfy(\.isTime) {
      throw BenchError("the two cannot be compared: \(stamps.reason).")
    }
    self.stamps = stamps
    var columns: [Column] = []
    for peer in servers {
      if Self.validTurns(first, peer) > 0, Self.validTurns(second, peer) == 0 {
        throw BenchError(
          "\(peer) has valid turns in the first result and none in the second: see there what was wrong with them.")
      }
      for metric in metrics {
        let obstacle = stamps != nil && metric.isTime ? "kernel stamps in one alone" : nil
        if let column = Column(peer, metric, first, second, isAbsolute: isAbsolute, obstacle: obstacle) {
          columns.append(column)
        }
      }
    }
    guard !columns.isEmpty else {
      throw BenchError("the two results have no figure in common that could be compared.")
    }
    self.margin = margin
    runs = [first, second].map { result in
      "\(result.scenario.name), \(result.startedAt)" + (result.commit.map { ", commit \($0)" } ?? "")
    }
    rows = Self.judged(columns, margin)
    machine =
      servers.contains("floor") || !measured.contains("floor")
      ? []
      : Self.judged(
        metrics.filter { $0.isCompared && (stamps == nil || !$0.isTime) }
          .compactMap { Column("floor", $0, first, second, isAbsolute: true) }, margin)
  }

  private static func validTurns(_ result: RunResult, _ peer: String) -> Int {
    result.turns.count { $0.peer == peer && $0.isValid }
  }

  private static func peers(_ result: RunResult) -> [String] {
    var names: [String] = []
    for turn in result.turns where !names.contains(turn.peer) { names.append(turn.peer) }
    return names
  }

  private static func chosen(
    _ wanted: [String]?, among known: [String], _ what: String
  ) throws(BenchError) -> [String] {
    guard let wanted else {
      guard !known.isEmpty else { throw BenchError("the two results have no \(what) in common.") }
      return known
    }
    for name in wanted where !known.contains(name) {
      let hint = Spelling.nearest(to: name, among: known).map { "did you mean \"\($0)\"?" }
      throw BenchError(
        "both results have no \(what) \"\(name)\"; \(hint ?? "they have \(known.joined(separator: ", ")).")")
    }
    return wanted
  }

  // MARK: Verdicts

  private static func judged(_ columns: [Column], _ margin: Double) -> [Row] {
    let tested = columns.indices.filter { columns[$0].isEnough }
    let numbers = { (side: KeyPath<Column, [Int: Double]>) in
      Set(tested.flatMap { columns[$0][keyPath: side].keys }).sorted().map { number in
        tested.map { columns[$0][keyPath: side][number].map(log) }
      }
    }
    let found = PermutationTest(numbers(\.first), numbers(\.second)).significances()
    var significances = [Double](repeating: 1, count: columns.count)
    for (place, index) in tested.enumerated() { significances[index] = found[place] }
    return columns.indices.map { columns[$0].row(significances[$0], margin) }
  }

  static func outcome(
    _ interval: RatioInterval?, _ significance: Double, isBetterLarger: Bool, margin: Double
  ) -> Outcome {
    guard let interval else { return .undecided }
    if interval.showsDifference, significance <= RatioInterval.risk,
      abs(log(interval.ratio)) >= log(1 + leastDifference)
    {
      return (interval.ratio > 1) == isBetterLarger ? .better : .worse
    }
    return interval.lower >= 1 / (1 + margin) && interval.upper <= 1 + margin ? .same : .undecided
  }

  /// The comparison as a whole: worse where any figure is, because another that became better does not make it good.
  public var outcome: Outcome {
    for outcome in [Outcome.worse, .better, .undecided] where rows.contains(where: { $0.outcome == outcome }) {
      return outcome
    }
    return .same
  }
}

extension Comparison {
  /// One figure of one peer in both results.
  private struct Column {
    let peer: String
    let metric: Metric
    /// What is compared, by the turn's number.
    let first: [Int: Double]
    let second: [Int: Double]
    let isByFloor: Bool
    /// The figures of valid turns as they were measured.
    let shown: (first: [Double], second: [Double])

    /// Why the figure cannot be compared, whatever the number of turns.
    let reason: String?

    var isEnough: Bool { reason == nil && min(first.count, second.count) >= Comparison.turnsNeeded }

    /// Nil where neither result has such a figure.
    ///
    /// - Parameter obstacle: why the results have no such figures that could be compared.
    init?(
      _ peer: String, _ metric: Metric, _ first: RunResult, _ second: RunResult, isAbsolute: Bool,
      obstacle: String? = nil
    ) {
      let (own, other) = (Self.values(metric, peer, first), Self.values(metric, peer, second))
      let bounds = (Self.bounds(metric, peer, first), Self.bounds(metric, peer, second))
      guard !own.isEmpty || !other.isEmpty || bounds != (0, 0) else { return nil }
      (self.peer, self.metric) = (peer, metric)
      // To leave these turns out would be to leave out those in which the server did most.
      if let obstacle {
        reason = obstacle
      } else if bounds != (0, 0) {
        reason = "lower bounds in \(bounds.0) and \(bounds.1) turns"
      } else {
        reason = own.isEmpty ? "not in the first" : other.isEmpty ? "not in the second" : nil
      }
      shown = (Self.ordered(own), Self.ordered(other))
      if !isAbsolute && peer != "floor" && metric.quantity.varies {
        let relative = (Self.relative(own, metric, first), Self.relative(other, metric, second))
        if min(relative.0.count, relative.1.count) >= Comparison.turnsNeeded {
          (self.first, self.second, isByFloor) = (relative.0, relative.1, true)
          return
        }
      }
      (self.first, self.second, isByFloor) = (own, other, false)
    }

    func row(_ significance: Double, _ margin: Double) -> Row {
      let interval = isEnough ? RatioInterval(from: Self.ordered(first), to: Self.ordered(second)) : nil
      return Row(
        peer: peer, label: metric.label, quantity: metric.quantity, isBetterLarger: metric.isBetterLarger,
        first: shown.first, second: shown.second, interval: interval, isByFloor: isByFloor,
        significance: significance,
        outcome: Comparison.outcome(interval, significance, isBetterLarger: metric.isBetterLarger, margin: margin),
        compared: [first.count, second.count], reason: reason)
    }

    /// Valid turns in which the figure is a bound.
    private static func bounds(_ metric: Metric, _ peer: String, _ result: RunResult) -> Int {
      result.turns.count { turn in
        turn.peer == peer && turn.isValid && metric.reading(turn).map { $0.bound != .exact } ?? false
      }
    }

    /// The figure in each valid turn in which it is no bound. One that is not above 0, such as memory that shrank, has no
    /// ratio and is left out.
    private static func values(_ metric: Metric, _ peer: String, _ result: RunResult) -> [Int: Double] {
      var values: [Int: Double] = [:]
      for turn in result.turns where turn.peer == peer && turn.isValid {
        guard let reading = metric.reading(turn), reading.bound == .exact else { continue }
        if reading.value.isFinite, reading.value > 0 { values[turn.number] = reading.value }
      }
      return values
    }

    private static func relative(_ own: [Int: Double], _ metric: Metric, _ result: RunResult) -> [Int: Double] {
      let floor = values(metric, "floor", result)
      return own.reduce(into: [:]) { relative, entry in
        if let base = floor[entry.key] { relative[entry.key] = entry.value / base }
      }
    }

    private static func ordered(_ values: [Int: Double]) -> [Double] {
      values.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}

extension Quantity {
  /// Whether such a figure moves with how fast the machine is at the moment; memory does not.
  var varies: Bool { if case .bytes = self { false } else { true } }
}
