/// Numbers with units, as they are written in the configuration.
enum SettingUnits {
  static let durations: [(unit: String, milliseconds: Int)] = [
    ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]
  static let sizes: [(unit: String, bytes: Int)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]

  /// Milliseconds in "250ms", "25s", "10m" or "24h"; nil for anything else.
  static func milliseconds(_ text: String) -> Int? {
    let (count, unit) = split(text)
    guard let count, let factor = durations.first(where: { $0.unit == unit })?.milliseconds else { return nil }
    return product(count, factor)
  }

  /// Bytes in "65536", "64KiB", "1MiB" or "1GiB"; nil for anything else.
  static func bytes(_ text: String) -> Int? {
    let (count, unit) = split(text)
    guard let count else { return nil }
    if unit.isEmpty { return count }
    guard let factor = sizes.first(where: { $0.unit == unit })?.bytes else { return nil }
    return product(count, factor)
  }

  static func text(milliseconds: Int) -> String {
    guard milliseconds != 0, let unit = durations.first(where: { milliseconds % $0.milliseconds == 0 }) else {
      return "0s"
    }
    return "\(milliseconds / unit.milliseconds)\(unit.unit)"
  }

  static func text(bytes: Int) -> String {
    guard bytes != 0, let unit = sizes.first(where: { bytes % $0.bytes == 0 }) else { return String(bytes) }
    return "\(bytes / unit.bytes)\(unit.unit)"
  }

  /// The number's digits, and what follows them. The digits are cut out first because `Int` would also take a sign.
  private static func split(_ text: String) -> (count: Int?, unit: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    return (Int(digits), String(text.dropFirst(digits.count)))
  }

  private static func product(_ a: Int, _ b: Int) -> Int? {
    let (result, overflow) = a.multipliedReportingOverflow(by: b)
    return overflow ? nil : result
  }
}
