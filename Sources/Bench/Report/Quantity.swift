import Foundation

/// How a figure is written for people.
enum Quantity: Sendable {
  /// Time, from nanoseconds.
  case nanoseconds
  /// Time, from seconds.
  case seconds
  /// Always in microseconds, from seconds: costs per delivery are compared.
  case microseconds
  case rate
  case bytes
  /// A part of 1, as percent.
  case part
  case ratio

  func format(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    switch self {
    case .nanoseconds: return Self.time(value)
    case .seconds: return Self.time(value * 1e9)
    case .microseconds: return Self.three(value * 1e6) + " µs"
    case .rate: return Self.scaled(value, 1000, ["", " k", " M", " G"])
    case .bytes: return Self.scaled(value, 1024, [" B", " KiB", " MiB", " GiB"])
    case .part: return Self.three(value * 100) + " %"
    case .ratio: return String(format: "%.2f×", value)
    }
  }

  private static func time(_ nanoseconds: Double) -> String {
    switch abs(nanoseconds) {
    case ..<999.5: three(nanoseconds) + " ns"
    case ..<999_500: three(nanoseconds / 1e3) + " µs"
    case ..<999_500_000: three(nanoseconds / 1e6) + " ms"
    default: three(nanoseconds / 1e9) + " s"
    }
  }

  private static func scaled(_ value: Double, _ base: Double, _ units: [String]) -> String {
    var (value, place) = (value, 0)
    while abs(value) >= base * 0.9995, place < units.count - 1 {
      value /= base
      place += 1
    }
    return three(value) + units[place]
  }

  /// Three digits that count.
  static func three(_ value: Double) -> String {
    switch abs(value) {
    case 0: "0"
    case ..<0.9995: String(format: "%.3f", value)
    case ..<9.995: String(format: "%.2f", value)
    case ..<99.95: String(format: "%.1f", value)
    default: String(format: "%.0f", value)
    }
  }
}
