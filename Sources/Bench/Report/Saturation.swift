/// What a ramp shows.
enum Saturation {
  /// What kept a ramp from finding the server's limit, so that its knee is a lower bound.
  enum Opening: Equatable {
    /// Above the knee the generator was the limit, first in the step of so many publications per second.
    case generator(rate: Double)
    /// The ramp ended at the knee: no higher step was measured.
    case ramp
    /// The result is of an earlier version and does not say what the limit was above the knee, first in the step of so
    /// many publications per second.
    case unknown(rate: Double)

    /// Without its end, to stand behind a figure.
    var reason: String {
      switch self {
      case .generator: "the generator was the limit"
      case .ramp: "the ramp ended there"
      case .unknown: "the result does not say whether the generator was the limit"
      }
    }
  }

  /// Whether the server kept up at this rate: p99 within the limit, and everything delivered.
  static func holds(_ step: Step, limitMilliseconds: Double) -> Bool {
    let report = step.report
    guard report.disconnected == 0, report.delivered > 0 else { return false }
    let isWhole = report.groups.allSatisfy {
      $0.lost == 0 && ($0.lostBefore ?? 0) == 0 && $0.duplicated == 0 && $0.misordered == 0 && $0.refused == 0
        && $0.published >= $0.intended
    }
    return isWhole && Double(report.latency.value(at: 0.99)) <= limitMilliseconds * 1e6
  }

  /// The highest step that holds.
  static func knee(_ steps: [Step], limitMilliseconds: Double) -> Step? {
    steps.filter { holds($0, limitMilliseconds: limitMilliseconds) }.max { $0.rate < $1.rate }
  }

  /// Why the server may do more than the knee says; nil where a step above the knee failed by the server alone, or where
  /// there is no knee.
  ///
  /// Any limited step above the knee opens it, not the next one alone: one step may fail by chance, and then it was the
  /// limited one that ended the search.
  static func opening(_ steps: [Step], limitMilliseconds: Double) -> Opening? {
    guard let knee = knee(steps, limitMilliseconds: limitMilliseconds) else { return nil }
    let above = steps.filter { $0.rate > knee.rate }
    guard !above.isEmpty else { return .ramp }
    let limited = above.filter { $0.generatorWasLimit == true }.map(\.rate).min()
    if let limited { return .generator(rate: limited) }
    return above.filter { $0.generatorWasLimit == nil }.map(\.rate).min().map { .unknown(rate: $0) }
  }
}

extension Turn {
  /// Why the turn's knee is a lower bound; nil where it is none, or where the turn is no ramp.
  func opening(_ scenario: Scenario) -> Saturation.Opening? {
    scenario.ramp.flatMap { Saturation.opening(steps, limitMilliseconds: $0.p99LimitMilliseconds) }
  }
}
