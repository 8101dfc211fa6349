/// What a ramp shows.
enum Saturation {
  /// Whether the server kept up at this rate: p99 within the limit, and everything delivered.
  static func holds(_ step: Step, limitMilliseconds: Double) -> Bool {
    let report = step.report
    guard report.disconnected == 0, report.delivered > 0 else { return false }
    let isWhole = report.groups.allSatisfy {
      $0.lost == 0 && $0.duplicated == 0 && $0.misordered == 0 && $0.refused == 0 && $0.published >= $0.intended
    }
    return isWhole && Double(report.latency.value(at: 0.99)) <= limitMilliseconds * 1e6
  }

  /// The highest step that holds.
  static func knee(_ steps: [Step], limitMilliseconds: Double) -> Step? {
    steps.filter { holds($0, limitMilliseconds: limitMilliseconds) }.max { $0.rate < $1.rate }
  }
}
