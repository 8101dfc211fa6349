/// Prometheus's text exposition format, version 0.0.4: a line for each number, and before those of a metric its help
/// and its type.
struct MetricText {
  private(set) var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(16_384) }

  // MARK: Lines

  /// - Parameter help: nil where nobody has described the metric.
  mutating func header(_ name: String, _ kind: MetricKind, help: String?) {
    if let help { append("# HELP \(name) \(Self.escaped(help, quotes: false))\n") }
    append("# TYPE \(name) \(kind.rawValue)\n")
  }

  /// - Parameter labels: as ``labels(_:)`` writes them.
  mutating func line(_ name: String, _ labels: String, _ number: String) {
    append(labels.isEmpty ? "\(name) \(number)\n" : "\(name){\(labels)} \(number)\n")
  }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// Whole numbers without a point, as they are as long as a Double holds each of them exactly.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    let isWhole = value.rounded(.towardZero) == value && value.magnitude < 9_007_199_254_740_992
    return isWhole ? String(Int64(value)) : value.description
  }

  // MARK: Names and labels

  /// Characters of a label's value at most, so that nobody's text makes the page long.
  static let longestValue = 128

  /// What stands between the braces of a line: the labels by name. A name that comes twice counts once, and so does
  /// `le`, which histograms have for their bounds.
  static func labels(_ dimensions: [(String, String)]) -> String {
    var taken: Set<String> = ["le"]
    var labels: [String] = []
    for (name, value) in dimensions {
      let name = labelName(name)
      guard taken.insert(name).inserted else { continue }
      labels.append("\(name)=\"\(escaped(String(value.prefix(longestValue)), quotes: true))\"")
    }
    return labels.sorted().joined(separator: ",")
  }

  /// The name with `_` in the place of each byte that the format does not allow there.
  static func metricName(_ text: String) -> String { name(text, allowsColon: true) }

  static func labelName(_ text: String) -> String {
    // Names that begin with two underscores are Prometheus's own.
    let name = name(text, allowsColon: false)
    return name.hasPrefix("__") ? "label\(name)" : name
  }

  private static func name(_ text: String, allowsColon: Bool) -> String {
    let bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): byte
      case UInt8(ascii: "0")...UInt8(ascii: "9"): byte
      case UInt8(ascii: ":") where allowsColon: byte
      default: UInt8(ascii: "_")
      }
    }
    let name = String(decoding: bytes, as: UTF8.self)
    guard let first = bytes.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return "_\(name)" }
    return name
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
