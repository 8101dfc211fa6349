import Foundation

/// The charts of one result, and of several together.
struct ReportCharts {
  struct Figure {
    var title: String
    /// What is seen, in a sentence.
    var note: String
    var svg: String
  }

  private let result: RunResult
  private let summary: Summary
  /// Peers have the same colour in every chart of a page.
  private let colours: [String: Int]

  init(_ result: RunResult, _ summary: Summary, colours: [String: Int]) {
    (self.result, self.summary, self.colours) = (result, summary, colours)
  }

  var all: [Figure] {
    var figures = bars
    if result.scenario.measure == .saturation { figures += throughput }
    if result.scenario.measure == .delivery {
      for index in result.scenario.groups.indices { figures += spectrum(group: index) }
      figures += overTime
    }
    if result.scenario.measure == .resume {
      figures += spectrum("A client's recovery", "From the return to the last publication recovered\(validity).") {
        $0.resumed
      }
    }
    if result.scenario.measure == .connect {
      figures += connectSpectrum
    }
    return figures
  }

  /// Of how many turns a chart of all peers is.
  private var validity: String {
    " (valid turns: \(summary.peers.map { Summary.validity($0, result) }.joined(separator: ", ")))"
  }

  private func colour(_ peer: String) -> Int { colours[peer] ?? 0 }

  private func turns(_ peer: String) -> [Turn] {
    let all = result.turns.filter { $0.peer == peer }
    let valid = all.filter(\.isValid)
    return valid.isEmpty ? all : valid
  }

  // MARK: Bars

  private var bars: [Figure] {
    let labels: [String] =
      switch result.scenario.measure {
      case .delivery: ["CPU per delivery", "acknowledged/s"]
      case .saturation: ["knee: deliveries/s", "knee: CPU per delivery"]
      case .connect: ["connections/s"]
      case .idle: ["memory per connection"]
      case .resume: ["time until all recovered"]
      }
    return labels.compactMap { label in
      guard let row = summary.rows.first(where: { $0.metric.label == label }), let title = label.first else {
        return nil
      }
      let metric = row.metric
      // Where not everybody acknowledges there is nothing to compare.
      guard label != "acknowledged/s" || row.figures.count == summary.peers.count else { return nil }
      let bars = summary.peers.compactMap { peer in
        row.figures[peer].map { figure in
          BarChart.Bar(
            name: peer, colour: colour(peer), median: figure.median, turns: turns(peer).compactMap(metric.value),
            label: "\(figure.told(metric.quantity)) (\(figure.count))"
              + (row.ratios[peer].map { " \($0.told(.ratio))" } ?? ""))
        }
      }
      let yardstick = summary.yardstick.flatMap { metric.isCompared ? row.figures[$0]?.median : nil }
      let against =
        yardstick == nil ? "" : " The dashed line is \(summary.yardstick ?? "")'s median, and the ratio is to it."
      return Figure(
        title: title.uppercased() + label.dropFirst(),
        note: "Bars are medians, dots are turns; in parentheses, valid of measured turns.\(against)",
        svg: BarChart(title: label, quantity: metric.quantity, bars: bars, line: yardstick).svg)
    }
  }

  // MARK: Percentiles

  private func spectrum(group index: Int) -> [Figure] {
    let group = result.scenario.groups[index]
    let name = result.scenario.groups.count > 1 ? " in group \(group.name)" : ""
    return spectrum(
      "Latency by percentile\(name)",
      "All deliveries of all valid turns, from the time at which each was due\(validity)."
    ) { $0.groups.indices.contains(index) ? $0.groups[index].latency : nil }
  }

  private func spectrum(
    _ title: String, _ note: String, _ histogram: (WorkerReport) -> EncodedHistogram?
  ) -> [Figure] {
    draw(title, note) { peer in turns(peer).compactMap { $0.report.flatMap(histogram) } }
  }

  private var connectSpectrum: [Figure] {
    draw("A client's connect by percentile", "From opening the socket to the confirmed subscription\(validity).") {
      peer in
      turns(peer).compactMap { $0.connect?.latency }
    }
  }

  private func draw(_ title: String, _ note: String, _ parts: (String) -> [EncodedHistogram]) -> [Figure] {
    let series = summary.peers.compactMap { peer -> LineChart.Series? in
      let merged = EncodedHistogram.merged(parts(peer))
      guard !merged.isEmpty else { return nil }
      return LineChart.Series(name: peer, colour: colour(peer), points: Self.spectrum(merged))
    }
    guard !series.isEmpty else { return [] }
    let points = series.flatMap(\.points)
    let chart = LineChart(
      title: title, x: ChartAxis("percentile", .percentile, of: points.map(\.x), .part),
      y: ChartAxis("latency", .logarithmic, of: points.map(\.y), .nanoseconds), series: series)
    return [Figure(title: title, note: note, svg: chart.svg)]
  }

  /// Twenty points a nine, up to the part of which a single value is left.
  static func spectrum(_ histogram: EncodedHistogram) -> [(x: Double, y: Double)] {
    let end = log10(Double(max(histogram.count, 2)))
    var points = (0...Int(end * 20)).map { step in 1 - pow(10, -Double(step) / 20) }
    points.append(1 - pow(10, -end))
    return points.map { ($0, Double(histogram.value(at: $0))) }
  }

  // MARK: Time

  private var overTime: [Figure] {
    let chosen = summary.peers.compactMap { peer in turns(peer).first { ($0.report?.seconds.count ?? 0) > 1 } }
    let values = chosen.flatMap { $0.report?.seconds ?? [] }.flatMap { [Double($0.p50), Double($0.max)] }
    guard !chosen.isEmpty else { return [] }
    // The same scale for all peers, so that they can be compared by eye.
    let y = ChartAxis("latency", .logarithmic, of: values, .nanoseconds)
    return chosen.map { turn in
      let seconds = turn.report?.seconds ?? []
      func line(_ name: String, _ stroke: LineChart.Series.Stroke, _ value: (WorkerReport.Second) -> UInt64)
        -> LineChart.Series
      {
        LineChart.Series(
          name: name, colour: colour(turn.peer),
          points: seconds.enumerated().map { (Double($0 + 1), Double(value($1))) }, stroke: stroke)
      }
      let chart = LineChart(
        title: "Latency over time, \(turn.peer)",
        x: ChartAxis("second of the turn", .linear, of: [Double(seconds.count)], .rate), y: y,
        series: [line("max", .faint) { $0.max }, line("p99", .solid) { $0.p99 }, line("p50", .dashed) { $0.p50 }])
      return Figure(
        title: "Latency over time: \(turn.peer)", note: "Of turn \(turn.number) alone, each second\(validity).",
        svg: chart.svg)
    }
  }

  // MARK: A ramp

  private var throughput: [Figure] {
    guard let ramp = result.scenario.ramp else { return [] }
    var series: [LineChart.Series] = []
    var rings: [LineChart.Ring] = []
    func point(_ step: Step) -> (x: Double, y: Double) {
      (Double(step.report.arrived) / max(ramp.seconds, 0.001), Double(step.report.latency.value(at: 0.99)))
    }
    for peer in summary.peers {
      for (index, turn) in turns(peer).enumerated() {
        series.append(
          LineChart.Series(
            name: peer, colour: colour(peer), points: turn.steps.map(point), stroke: index == 0 ? .solid : .faint,
            hasDots: index == 0, isNamed: index == 0))
        guard index == 0, let knee = Saturation.knee(turn.steps, limitMilliseconds: ramp.p99LimitMilliseconds) else {
          continue
        }
        let place = point(knee)
        let sign = turn.opening(result.scenario) == nil ? "" : Bound.atLeast.sign
        rings.append(
          LineChart.Ring(
            x: place.x, y: place.y, colour: colour(peer), label: "\(sign)\(Quantity.rate.format(place.x))/s"))
      }
    }
    let points = series.flatMap(\.points).filter { $0.x > 0 && $0.y > 0 }
    guard !points.isEmpty else { return [] }
    let limit = ramp.p99LimitMilliseconds * 1e6
    let chart = LineChart(
      title: "Throughput against p99", x: ChartAxis("deliveries per second", .logarithmic, of: points.map(\.x), .rate),
      y: ChartAxis("p99", .logarithmic, of: points.map(\.y) + [limit], .nanoseconds), series: series, rings: rings,
      limit: (limit, "limit: \(Quantity.nanoseconds.tick(limit))"))
    return [
      Figure(
        title: "Throughput against p99",
        note:
          "Each dot is a step of the ramp; the ring is the knee of the first turn, the highest step within the limit with nothing lost (≥: not the server ended the search). Faint: further turns\(validity).",
        svg: chart.svg)
    ]
  }

  // MARK: Several results

  /// Of how many turns each result is, by its subscribers.
  private static func validities(_ results: [RunResult]) -> String {
    results.sorted { $0.scenario.groups[0].subscribers < $1.scenario.groups[0].subscribers }.map { result in
      let peers = Summary(result).peers.map { Summary.validity($0, result) }.joined(separator: ", ")
      return "\(result.scenario.groups[0].subscribers): \(peers)"
    }.joined(separator: "; ")
  }

  /// The last subscriber's time against the number of subscribers, for each scenario that was measured with several.
  static func lastAgainstCount(_ results: [RunResult], colours: [String: Int]) -> [Figure] {
    let eligible = results.filter { $0.scenario.measure == .delivery && $0.scenario.groups.count == 1 }
    let families = Dictionary(grouping: eligible) {
      $0.scenario.name.split(separator: "-").first.map(String.init) ?? ""
    }
    return families.sorted { $0.key < $1.key }.compactMap { name, results in
      let counts = Set(results.map { $0.scenario.groups[0].subscribers })
      guard counts.count > 1 else { return nil }
      var series: [LineChart.Series] = []
      for peer in colours.keys.sorted(by: { (colours[$0] ?? 0) < (colours[$1] ?? 0) }) {
        for (label, stroke) in [
          ("last subscriber p99", LineChart.Series.Stroke.solid), ("last subscriber p50", .dashed),
        ] {
          let points = results.compactMap { result -> (x: Double, y: Double)? in
            let row = Summary(result).rows.first { $0.metric.label == label }
            return row?.figures[peer].map { (Double(result.scenario.groups[0].subscribers), $0.median) }
          }
          guard !points.isEmpty else { continue }
          series.append(
            LineChart.Series(
              name: "\(peer) \(label.suffix(3))", colour: colours[peer] ?? 0, points: points.sorted { $0.x < $1.x },
              stroke: stroke, hasDots: true))
        }
      }
      let points = series.flatMap(\.points)
      guard !points.isEmpty else { return nil }
      let chart = LineChart(
        title: "Last subscriber against N", x: ChartAxis("subscribers", .logarithmic, of: points.map(\.x), .rate),
        y: ChartAxis("time to the last subscriber", .logarithmic, of: points.map(\.y), .nanoseconds), series: series)
      return Figure(
        title: "Last subscriber against N: \(name)",
        note:
          "From the time at which a publication was due until its last subscriber had it; medians of valid turns: \(validities(results)).",
        svg: chart.svg)
    }
  }
}
