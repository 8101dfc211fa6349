import Wire

/// What a process's `/metrics` says at one moment (Prometheus text format 0.0.4).
public struct MetricsPage: Sendable, Equatable {
  public struct Sample: Sendable, Equatable {
    public var name: String
    /// In the order of the page.
    public var labels: [Label]
    public var value: Double

    public subscript(label: String) -> String? { labels.first { $0.name == label }?.value }
  }

  public struct Label: Sendable, Hashable {
    public var name: String
    public var value: String
  }

  public private(set) var samples: [Sample] = []

  /// Most samples that are read of one page.
  public static let mostSamples = 200_000

  /// Reads a page. Lines that are no samples are passed over: a page of a later version may have more.
  public init(_ text: String) {
    // By bytes: a page has hundreds of lines and is read each second, and finding characters would take ten times as long.
    for line in Array(text.utf8).split(separator: UInt8(ascii: "\n"))
    where line.first != UInt8(ascii: "#") && samples.count < Self.mostSamples {
      if let sample = Self.sample(line) { samples.append(sample) }
    }
  }

  /// The sum of a metric over all its labels; nil: it is not on the page.
  public func sum(_ name: String) -> Double? {
    let values = samples.lazy.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.reduce(0, +)
  }

  private typealias Bytes = ArraySlice<UInt8>

  private static func sample(_ line: Bytes) -> Sample? {
    guard let end = line.firstIndex(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: " ") }) else { return nil }
    var rest = line[end...]
    var labels: [Label] = []
    if rest.first == UInt8(ascii: "{") {
      rest = rest.dropFirst()
      while let label = takeLabel(&rest) { labels.append(label) }
      guard rest.first == UInt8(ascii: "}") else { return nil }
      rest = rest.dropFirst()
    }
    let word = rest.drop { $0 == UInt8(ascii: " ") }.prefix { $0 != UInt8(ascii: " ") }
    guard !word.isEmpty, let value = number(text(word)) else { return nil }
    return Sample(name: text(line[..<end]), labels: labels, value: value)
  }

  private static func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func number(_ word: String) -> Double? {
    switch word {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    default: Double(word)
    }
  }

  /// Takes `name="value"` and a comma behind it; nil where there is none.
  private static func takeLabel(_ rest: inout Bytes) -> Label? {
    if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
    guard rest.first != UInt8(ascii: "}"), let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = text(rest[..<equals])
    var left = rest[(equals + 1)...]
    guard left.popFirst() == UInt8(ascii: "\"") else { return nil }
    var value: [UInt8] = []
    while let byte = left.popFirst() {
      switch byte {
      case UInt8(ascii: "\""):
        rest = left
        return Label(name: name, value: String(decoding: value, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = left.popFirst() else { return nil }
        value.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped)
      default: value.append(byte)
      }
    }
    return nil
  }
}

/// A histogram over a while: the difference between two looks at its buckets.
public struct HistogramWindow: Sendable, Equatable {
  /// Upper bounds in seconds, rising, and how many were at or below each.
  private var buckets: [(bound: Double, count: Double)]

  public static func == (a: HistogramWindow, b: HistogramWindow) -> Bool {
    a.buckets.elementsEqual(b.buckets) { $0.bound == $1.bound && $0.count == $1.count }
  }

  public init(_ buckets: [(bound: Double, count: Double)]) { self.buckets = buckets.sorted { $0.bound < $1.bound } }

  public var count: Double { buckets.last?.count ?? 0 }

  /// The value below which a part of all lie, worked out as Prometheus does it: evenly within a bucket. Nil where
  /// nothing was measured.
  public func quantile(_ part: Double) -> Double? {
    guard count > 0, let index = buckets.firstIndex(where: { $0.count >= part * count }) else { return nil }
    let below = index == 0 ? (bound: 0, count: 0) : buckets[index - 1]
    // Beyond the last bound nothing more is known than that.
    if buckets[index].bound.isInfinite { return below.bound }
    let inBucket = buckets[index].count - below.count
    guard inBucket > 0 else { return buckets[index].bound }
    return below.bound + (buckets[index].bound - below.bound) * (part * count - below.count) / inBucket
  }
}
