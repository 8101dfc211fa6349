/// Medians over turns, and ratios of turns that were measured one after another.
struct Summary: Sendable {
  /// Median and range of one figure over a peer's turns.
  struct Figure: Sendable, Equatable {
    var median: Double
    var least: Double
    var most: Double
    /// How many turns the figure is of.
    var turns: Int
    /// Of these, the valid ones; 0 where no turn was valid and the figure is of turns with faults.
    var valid: Int
    /// Turns that were measured, or rounds in which both peers of a ratio were.
    var measured: Int
    /// How the median stands to the true one.
    var bound: Bound

    /// A figure of exact values; nil where there is none.
    init?(_ values: [Double]) { self.init(values.map { Reading(value: $0) }, measured: values.count) }

    /// A figure of readings; nil where there is none, and where some are lower and some are upper bounds: nothing can be
    /// said of their median.
    ///
    /// - Parameter isDoubtful: the readings are of turns with faults.
    init?(_ readings: [Reading], measured: Int, isDoubtful: Bool = false) {
      let sorted = readings.filter(\.value.isFinite).sorted { $0.value < $1.value }
      guard let first = sorted.first, let last = sorted.last else { return nil }
      let middle = sorted.count / 2
      let isOdd = sorted.count % 2 == 1
      median = isOdd ? sorted[middle].value : (sorted[middle - 1].value + sorted[middle].value) / 2
      (least, most, turns) = (first.value, last.value, sorted.count)
      (valid, self.measured) = (isDoubtful ? 0 : sorted.count, measured)
      // A lower bound above the middle stays above it whatever the true value is, and an upper bound below it likewise.
      let rises = sorted[...middle].contains { $0.bound == .atLeast }
      let falls = sorted[(isOdd ? middle : middle - 1)...].contains { $0.bound == .atMost }
      guard !(rises && falls) else { return nil }
      bound = rises ? .atLeast : falls ? .atMost : .exact
    }

    /// Of how many turns the figure is: `5/7` are five valid ones of seven.
    var count: String { "\(valid)/\(measured)" }

    /// The median with its sign.
    func told(_ quantity: Quantity) -> String { bound.sign + quantity.format(median) }
  }

  struct Row: Sendable {
    var metric: Metric
    /// Figures by peer.
    var figures: [String: Figure]
    /// Ratios to the yardstick's figure of the same round, by peer. Empty where the figure is not compared.
    var ratios: [String: Figure]
  }

  /// In the order in which the peers were asked for.
  let peers: [String]
  /// The floor where it was measured, else the first peer; nil where there is one peer alone.
  let yardstick: String?
  /// Figures that no peer has are left out.
  let rows: [Row]
  /// Peers none of whose turns was valid: their figures are of turns with faults.
  let doubtful: Set<String>

  init(_ result: RunResult) {
    var peers: [String] = []
    for peer in result.peers.map(\.name) + result.turns.map(\.peer) where !peers.contains(peer) { peers.append(peer) }
    var all: [String: [Turn]] = [:]
    var turns: [String: [Turn]] = [:]
    var doubtful: Set<String> = []
    for peer in peers {
      let measured = result.turns.filter { $0.peer == peer }
      let valid = measured.filter(\.isValid)
      (all[peer], turns[peer]) = (measured, valid.isEmpty ? measured : valid)
      if valid.isEmpty && !measured.isEmpty { doubtful.insert(peer) }
    }
    let yardstick = peers.count > 1 ? (peers.contains("floor") ? "floor" : peers.first) : nil
    rows = Metric.all(of: result.scenario).compactMap { metric in
      var row = Row(metric: metric, figures: [:], ratios: [:])
      for peer in peers {
        let (measured, own) = (all[peer] ?? [], turns[peer] ?? [])
        row.figures[peer] = Figure(
          own.compactMap(metric.reading), measured: measured.count, isDoubtful: doubtful.contains(peer))
        if metric.isCompared, let yardstick, peer != yardstick {
          let rounds = measured.count { turn in all[yardstick]?.contains { $0.number == turn.number } == true }
          row.ratios[peer] = Figure(
            Self.ratios(metric, of: own, to: turns[yardstick] ?? []), measured: rounds,
            isDoubtful: doubtful.contains(peer) || doubtful.contains(yardstick))
        }
      }
      return row.figures.isEmpty ? nil : row
    }
    (self.peers, self.yardstick, self.doubtful) = (peers, yardstick, doubtful)
  }

  /// The ratio of each round in which both were measured.
  static func ratios(_ metric: Metric, of turns: [Turn], to others: [Turn]) -> [Reading] {
    turns.compactMap { turn in
      guard let other = others.first(where: { $0.number == turn.number }), let own = metric.reading(turn),
        let base = metric.reading(other), base.value > 0, let bound = Bound.ofRatio(own.bound, to: base.bound)
      else { return nil }
      return Reading(value: own.value / base.value, bound: bound)
    }
  }

  /// How many of a peer's turns were valid, as a sentence has it.
  static func validity(_ peer: String, _ result: RunResult) -> String {
    let turns = result.turns.filter { $0.peer == peer }
    return "\(peer) \(turns.count(where: \.isValid)) of \(turns.count)"
  }
}
