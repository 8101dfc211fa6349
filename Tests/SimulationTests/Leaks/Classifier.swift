import Foundation

/// Something that was observed, and in which of two worlds.
struct Sample {
  var features: [String: Double]
  var isOther: Bool
}

/// How well two simple classifiers tell two worlds apart: the area under the curve, 0.5 for a guess.
struct Verdict: CustomStringConvertible {
  /// A weighted sum of all features.
  var logistic: Double
  /// The one feature that tells most, held against one threshold.
  var stump: Double
  /// The name of that feature.
  var feature: String

  var worst: Double { max(logistic, stump) }

  var description: String {
    let (one, other) = (String(format: "%.3f", logistic), String(format: "%.3f", stump))
    return "logistic \(one), stump \(other) by \"\(feature)\""
  }

  /// Learns on some samples, and is measured on others.
  init(training: [Sample], test: [Sample]) {
    let table = FeatureTable(training)
    let regression = LogisticRegression(table)
    let stump = Stump(table)
    let labels = test.map(\.isOther)
    logistic = Self.area(test.map { regression.score(table.row($0.features)) }, labels)
    self.stump = Self.area(test.map { stump.score(table.row($0.features)) }, labels)
    feature = stump.feature.map { table.names[$0] } ?? "none"
  }

  /// The probability that one of the other world gets a higher score than one of the first; ties count half.
  static func area(_ scores: [Double], _ isOther: [Bool]) -> Double {
    let order = scores.indices.sorted { scores[$0] < scores[$1] }
    let (positives, negatives) = (isOther.count { $0 }, isOther.count { !$0 })
    guard positives > 0, negatives > 0 else { return 0.5 }
    var (ranks, place) = (0.0, 0)
    while place < order.count {
      var end = place
      while end < order.count && scores[order[end]] == scores[order[place]] { end += 1 }
      // Ranks begin at 1, and those who tie share their mean.
      let rank = Double(place + 1 + end) / 2
      ranks += rank * Double(order[place..<end].count { isOther[$0] })
      place = end
    }
    return (ranks - Double(positives * (positives + 1)) / 2) / Double(positives * negatives)
  }
}

/// Samples as rows of numbers. Each feature is shifted by its mean and divided by its deviation, over the samples that
/// have it; a sample without it has 0 there.
struct FeatureTable {
  typealias Row = [(feature: Int, value: Double)]

  let names: [String]
  private(set) var rows: [Row] = []
  let isOther: [Bool]
  private let places: [String: Int]
  private var means: [Double]
  private var deviations: [Double]

  init(_ samples: [Sample]) {
    let names = Set(samples.flatMap(\.features.keys)).sorted()
    self.names = names
    places = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    isOther = samples.map(\.isOther)
    var (sums, squares, counts) = (
      Array(repeating: 0.0, count: names.count), Array(repeating: 0.0, count: names.count),
      Array(repeating: 0.0, count: names.count)
    )
    for sample in samples {
      for (name, value) in sample.features {
        guard let place = places[name] else { continue }
        sums[place] += value
        squares[place] += value * value
        counts[place] += 1
      }
    }
    means = names.indices.map { sums[$0] / counts[$0] }
    deviations = names.indices.map { place in
      let mean = sums[place] / counts[place]
      return max(squares[place] / counts[place] - mean * mean, 0).squareRoot()
    }
    // One that is the same wherever it is tells by being there.
    for place in names.indices where deviations[place] < 1e-9 {
      (means[place], deviations[place]) = (means[place] - 1, 1)
    }
    rows = samples.map { row($0.features) }
  }

  /// In the order of the features, so that sums are the same in every run.
  func row(_ features: [String: Double]) -> Row {
    features.compactMap { name, value -> (feature: Int, value: Double)? in
      places[name].map { (feature: $0, value: (value - means[$0]) / deviations[$0]) }
    }.sorted { $0.feature < $1.feature }
  }
}

/// Logistic regression by gradient descent.
struct LogisticRegression {
  private var weights: [Double]
  private var bias = 0.0

  init(_ table: FeatureTable, steps: Int = 300, rate: Double = 3, decay: Double = 3e-4) {
    weights = Array(repeating: 0, count: table.names.count)
    let share = 1 / Double(max(table.rows.count, 1))
    for _ in 0..<steps {
      var gradient = weights.map { $0 * decay }
      var shift = 0.0
      for (row, isOther) in zip(table.rows, table.isOther) {
        let error = (1 / (1 + exp(-score(row))) - (isOther ? 1 : 0)) * share
        for (feature, value) in row { gradient[feature] += error * value }
        shift += error
      }
      for feature in weights.indices { weights[feature] -= rate * gradient[feature] }
      bias -= rate * shift
    }
  }

  func score(_ row: FeatureTable.Row) -> Double {
    row.reduce(bias) { $0 + weights[$1.feature] * $1.value }
  }
}

/// One feature and one threshold: those that put most of the samples on their side.
struct Stump {
  private(set) var feature: Int?
  private var threshold = 0.0
  /// The share of the other world among the samples that do not have the feature, below the threshold, and above it.
  private var shares = (absent: 0.5, below: 0.5, above: 0.5)

  init(_ table: FeatureTable) {
    var columns: [[(value: Double, isOther: Bool)]] = Array(repeating: [], count: table.names.count)
    for (row, isOther) in zip(table.rows, table.isOther) {
      for (feature, value) in row { columns[feature].append((value, isOther)) }
    }
    let (others, all) = (table.isOther.count { $0 }, table.isOther.count)
    var best = 0
    for (place, column) in columns.enumerated() {
      let sorted = column.sorted { $0.value < $1.value }
      let present = sorted.count { $0.isOther }
      var (below, end) = (0, 0)
      while end < sorted.count {
        let value = sorted[end].value
        while end < sorted.count, sorted[end].value == value {
          below += sorted[end].isOther ? 1 : 0
          end += 1
        }
        // By how many more samples each part is of one world than of the other.
        let gain =
          abs(2 * below - end) + abs(2 * (present - below) - (sorted.count - end))
          + abs(2 * (others - present) - (all - sorted.count))
        guard gain > best else { continue }
        best = gain
        (feature, threshold) = (place, value)
        shares = (
          Self.share(others - present, all - sorted.count), Self.share(below, end),
          Self.share(present - below, sorted.count - end)
        )
      }
    }
  }

  private static func share(_ part: Int, _ whole: Int) -> Double { whole == 0 ? 0.5 : Double(part) / Double(whole) }

  func score(_ row: FeatureTable.Row) -> Double {
    guard let feature, let value = row.first(where: { $0.feature == feature })?.value else { return shares.absent }
    return value <= threshold ? shares.below : shares.above
  }
}
