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
    for line in text.split(separator: "\n") where line.first != "#" && samples.count < Self.mostSamples {
      if let sample = Self.sample(line) { samples.append(sample) }
    }
  }

  /// The sum of a metric over all its labels; nil: it is not on the page.
  public func sum(_ name: String) -> Double? {
    let values = samples.lazy.filter { $0.name == name }.map(\.value)
    return values.isEmpty ? nil : values.reduce(0, +)
  }

  private static func sample(_ line: Substring) -> Sample? {
    guard let end = line.firstIndex(where: { $0 == "{" || $0 == " " }) else { return nil }
    var rest = line[end...]
    var labels: [Label] = []
    if rest.first == "{" {
      rest = rest.dropFirst()
      while let label = takeLabel(&rest) { labels.append(label) }
      guard rest.first == "}" else { return nil }
      rest = rest.dropFirst()
    }
    let words = rest.split(separator: " ")
    guard let word = words.first, let value = number(word) else { return nil }
    return Sample(name: String(line[..<end]), labels: labels, value: value)
  }

  private static func number(_ word: Substring) -> Double? {
    switch word {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    default: Double(word)
    }
  }

  /// Takes `name="value"` and a comma behind it; nil where there is none.
  private static func takeLabel(_ rest: inout Substring) -> Label? {
    if rest.first == "," { rest = rest.dropFirst() }
    guard rest.first != "}", let equals = rest.firstIndex(of: "=") else { return nil }
    let name = String(rest[..<equals])
    var place = rest.index(after: equals)
    guard place < rest.endIndex, rest[place] == "\"" else { return nil }
    place = rest.index(after: place)
    var value = ""
    while place < rest.endIndex, rest[place] != "\"" {
      var character = rest[place]
      if character == "\\" {
        place = rest.index(after: place)
        guard place < rest.endIndex else { return nil }
        character = rest[place] == "n" ? "\n" : rest[place]
      }
      value.append(character)
      place = rest.index(after: place)
    }
    guard place < rest.endIndex else { return nil }
    rest = rest[rest.index(after: place)...]
    return Label(name: name, value: value)
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
