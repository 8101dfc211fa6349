import Foundation

/// One axis of a chart: from figures to places between 0 and 1.
struct ChartAxis: Sendable {
  enum Scale: Sendable {
    case linear
    case logarithmic
    /// Of parts of 1: each further nine takes as much room as the one before, as HdrHistogram's plots have it.
    case percentile
  }

  struct Tick: Sendable, Equatable {
    var value: Double
    var label: String
  }

  let label: String
  let scale: Scale
  private(set) var lower: Double
  private(set) var upper: Double
  private(set) var ticks: [Tick]

  /// Around the values, with ticks at round figures.
  init(_ label: String, _ scale: Scale, of values: [Double], _ quantity: Quantity) {
    self.label = label
    self.scale = scale
    let finite = values.filter(\.isFinite)
    switch scale {
    case .linear:
      lower = 0
      let step = Self.roundStep((finite.max() ?? 1) / 5)
      upper = max(step, ((finite.max() ?? 1) / step).rounded(.up) * step)
      ticks = stride(from: 0, through: upper * 1.0001, by: step).map { Tick(value: $0, label: quantity.tick($0)) }
    case .logarithmic:
      let positive = finite.filter { $0 > 0 }
      let rounds = Self.rounds(from: positive.min() ?? 1, to: positive.max() ?? 10)
      (lower, upper) = (rounds.first ?? 1, rounds.last ?? 10)
      // Beyond three decades only the decades themselves.
      let isWide = upper / lower > 1001
      ticks = rounds.filter { !isWide || Self.isDecade($0) }.map { Tick(value: $0, label: quantity.tick($0)) }
    case .percentile:
      lower = 0
      let end = min(max(finite.max() ?? 0.9, 0.9), 1 - 1e-9)
      upper = end
      ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999].filter { $0 <= end }
        .map { Tick(value: $0, label: Self.percent($0)) }
    }
  }

  /// 0 at the lower end, 1 at the upper; what is outside stays at the end.
  func place(_ value: Double) -> Double {
    let place =
      switch scale {
      case .linear: (value - lower) / (upper - lower)
      case .logarithmic: log(max(value, lower) / lower) / log(upper / lower)
      case .percentile: log(1 - min(value, upper)) / log(1 - upper)
      }
    return min(1, max(0, place.isFinite ? place : 0))
  }

  private static func percent(_ part: Double) -> String {
    part == 0 ? "0" : "\(JSONValue.plain((part * 1e9).rounded() / 1e7)) %"
  }

  private static func roundStep(_ value: Double) -> Double {
    guard value > 0, value.isFinite else { return 1 }
    let decade = pow(10, log10(value).rounded(.down))
    return [1, 2, 5, 10].map { $0 * decade }.first { $0 >= value * 0.999 } ?? value
  }

  /// 1, 2 and 5 times powers of ten, from one that is not above the least to one that is not below the most.
  private static func rounds(from least: Double, to most: Double) -> [Double] {
    let exponents =
      Int(
        log10(least).rounded(.down))...max(
        Int(log10(least).rounded(.down)), Int(log10(most).rounded(.up)))
    let all = exponents.flatMap { exponent in [1.0, 2, 5].map { $0 * pow(10, Double(exponent)) } }
    let first = all.lastIndex { $0 <= least * 1.0001 } ?? 0
    let last = all.firstIndex { $0 >= most * 0.9999 } ?? all.count - 1
    return first < last ? Array(all[first...last]) : [all[first], all[first] * 2]
  }

  private static func isDecade(_ value: Double) -> Bool {
    let exponent = log10(value)
    return abs(exponent - exponent.rounded()) < 1e-6
  }
}

extension Quantity {
  /// As ``format(_:)``, without zeros that say nothing.
  func tick(_ value: Double) -> String {
    let text = format(value)
    guard let end = text.firstIndex(where: { !$0.isNumber && $0 != "." && $0 != "-" }) ?? Optional(text.endIndex),
      text[..<end].contains(".")
    else { return text }
    var digits = text[..<end]
    while digits.last == "0" { digits.removeLast() }
    if digits.last == "." { digits.removeLast() }
    return String(digits + text[end...])
  }
}
