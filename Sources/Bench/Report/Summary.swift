/// Medians over turns, and ratios of turns that were measured one after another.
struct Summary: Sendable {
  /// Median and range of one figure over a peer's turns.
  struct Figure: Sendable, Equatable {
    var median: Double
    var least: Double
    var most: Double
    var turns: Int

    /// Nil of nothing.
    init?(_ values: [Double]) {
      let sorted = values.filter(\.isFinite).sorted()
      guard let first = sorted.first, let last = sorted.last else { return nil }
      let middle = sorted.count / 2
      median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
      (least, most, turns) = (first, last, sorted.count)
    }
  }

  struct Row: Sendable {
    var metric: Metric
    /// By peer.
    var figures: [String: Figure]
    /// To the yardstick's figure of the same round, by peer. Empty where the figure is not compared.
    var ratios: [String: Figure]
  }

  /// In the order in which they were measured.
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
    var turns: [String: [Turn]] = [:]
    var doubtful: Set<String> = []
    for peer in peers {
      let all = result.turns.filter { $0.peer == peer }
      let valid = all.filter(\.isValid)
      turns[peer] = valid.isEmpty ? all : valid
      if valid.isEmpty && !all.isEmpty { doubtful.insert(peer) }
    }
    let yardstick = peers.count > 1 ? (peers.contains("floor") ? "floor" : peers.first) : nil
    rows = Metric.all(of: result.scenario).compactMap { metric in
      var row = Row(metric: metric, figures: [:], ratios: [:])
      for peer in peers {
        row.figures[peer] = Figure((turns[peer] ?? []).compactMap(metric.value))
        if metric.isCompared, let yardstick, peer != yardstick {
          row.ratios[peer] = Figure(Self.ratios(metric, of: turns[peer] ?? [], to: turns[yardstick] ?? []))
        }
      }
      return row.figures.isEmpty ? nil : row
    }
    (self.peers, self.yardstick, self.doubtful) = (peers, yardstick, doubtful)
  }

  /// Of each round that both were measured in.
  static func ratios(_ metric: Metric, of turns: [Turn], to others: [Turn]) -> [Double] {
    turns.compactMap { turn in
      guard let other = others.first(where: { $0.number == turn.number }), let value = metric.value(turn),
        let base = metric.value(other), base > 0
      else { return nil }
      return value / base
    }
  }
}
