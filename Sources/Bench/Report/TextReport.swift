/// A run's result for a terminal.
public enum TextReport {
  /// - Parameter others: results that goals of this one are held against.
  public static func render(_ result: RunResult, beside others: [RunResult] = []) -> String {
    let summary = Summary(result)
    var parts = [head(result), figures(summary)]
    if summary.rows.contains(where: { !$0.ratios.isEmpty }) { parts.append(ratios(summary)) }
    let steps = ramp(result)
    if !steps.isEmpty { parts.append(steps) }
    let verdicts = Verdict.all(result, beside: others)
    if !verdicts.isEmpty {
      parts.append("goals\n" + verdicts.map { "  " + $0.sentence }.joined(separator: "\n"))
    }
    let notes = notes(result, summary)
    if !notes.isEmpty { parts.append(notes.joined(separator: "\n")) }
    return parts.joined(separator: "\n\n") + "\n"
  }

  private static func head(_ result: RunResult) -> String {
    let machine = result.machine
    return """
      \(result.scenario.name): \(result.scenario.about)
      \(result.scenario.shape)
      \(machine.described)
      """
  }

  private static func figures(_ summary: Summary) -> String {
    var table = TextTable(
      header: ["median (valid/measured turns)"]
        + summary.peers.map { summary.doubtful.contains($0) ? $0 + " (!)" : $0 })
    for row in summary.rows {
      table.add(
        [row.metric.label]
          + summary.peers.map { row.figures[$0].map { "\($0.told(row.metric.quantity)) (\($0.count))" } ?? "–" })
    }
    return table.text
  }

  private static func ratios(_ summary: Summary) -> String {
    let peers = summary.peers.filter { $0 != summary.yardstick }
    var table = TextTable(header: ["against \(summary.yardstick ?? "") (valid/measured rounds)"] + peers)
    for row in summary.rows where !row.ratios.isEmpty {
      table.add([row.metric.label] + peers.map { row.ratios[$0].map(ratio) ?? "–" })
    }
    return table.text
  }

  /// A ratio's median, its range, and of how many rounds it is.
  static func ratio(_ figure: Summary.Figure) -> String {
    let (least, most) = (Quantity.ratio.format(figure.least).dropLast(), Quantity.ratio.format(figure.most).dropLast())
    let range = figure.turns > 1 ? "\(least)–\(most); " : ""
    return "\(figure.told(.ratio)) (\(range)\(figure.count))"
  }

  /// Each step of each peer's first turn that has steps.
  private static func ramp(_ result: RunResult) -> String {
    guard let limit = result.scenario.ramp?.p99LimitMilliseconds else { return "" }
    var tables: [String] = []
    for peer in result.peers.map(\.name) {
      guard let turn = result.turns.first(where: { $0.peer == peer && !$0.steps.isEmpty }) else { continue }
      let knee = Saturation.knee(turn.steps, limitMilliseconds: limit)?.rate
      let kneeName = turn.opening(result.scenario) == nil ? "knee" : "knee, at least"
      var table = TextTable(
        header: [
          "\(peer), turn \(turn.number)", "published/s", "deliveries/s", "p50", "p99", "server", "all cores",
          "generator",
        ])
      for step in turn.steps {
        let latency = step.report.latency
        table.add([
          step.rate == knee ? kneeName : step.generatorWasLimit == true ? "generator-bound" : "",
          Quantity.rate.format(step.rate),
          Quantity.rate.format(Double(step.report.arrived) / max(result.scenario.ramp?.seconds ?? 1, 0.001)),
          Quantity.nanoseconds.format(Double(latency.value(at: 0.5))),
          Quantity.nanoseconds.format(Double(latency.value(at: 0.99))),
          step.server.map { Quantity.part.format($0.cpuSeconds / max($0.wallSeconds, 0.001)) } ?? "–",
          step.machine?.mean { $0.busy }.map { Quantity.part.format($0) } ?? "–",
          Quantity.part.format(step.generatorUse),
        ])
      }
      tables.append(table.text)
    }
    return tables.joined(separator: "\n\n")
  }

  private static func notes(_ result: RunResult, _ summary: Summary) -> [String] {
    var notes = result.openingNotes + result.unknowns
    for peer in result.peers { notes.append("\(peer.name): \(peer.version); \(peer.settings)") }
    if !result.scenario.settings.isEmpty {
      notes.append("settings of Fanfare: \(result.scenario.settings.joined(separator: ", "))")
    }
    for (peer, reason) in result.skipped.sorted(by: { $0.key < $1.key }) {
      notes.append("\(peer) was skipped: \(reason)")
    }
    notes.append("order of turns: \(result.described(order: result.order))")
    notes.append("commit: \(result.commit ?? "unknown")")
    notes.append("command: \(result.command)")
    for turn in result.turns {
      for fault in turn.faults { notes.append("INVALID \(turn.peer), turn \(turn.number): \(fault)") }
      for remark in turn.report?.remarks ?? [] { notes.append("\(turn.peer), turn \(turn.number): \(remark)") }
    }
    for peer in summary.peers where summary.doubtful.contains(peer) {
      notes.append("(!) No turn of \(peer) was valid; its figures are of turns with faults.")
    }
    return notes
  }
}

extension Scenario {
  /// The scenario in a line: what is published, how much, how long.
  var shape: String {
    let parts = groups.map { group in
      let size = "\(group.channels) × \(group.subscribers)"
      let load =
        group.rate > 0
        ? ", \(JSONValue.plain(group.rate))/s of \(group.payload) B"
          + (group.burst > 1 ? " in bursts of \(group.burst)" : "")
        : ""
      let slow = group.slow > 0 ? ", \(Quantity.part.format(group.slow)) stop reading" : ""
      return (groups.count > 1 ? group.name + " " : "") + size + load + slow
    }
    let times: String =
      switch measure {
      case .delivery: "\(JSONValue.plain(duration)) s after \(JSONValue.plain(warmup)) s"
      case .idle: "\(JSONValue.plain(duration)) s"
      case .saturation:
        ramp.map {
          "steps of \(JSONValue.plain($0.seconds)) s, each ×\(JSONValue.plain($0.factor)), p99 ≤ \(JSONValue.plain($0.p99LimitMilliseconds)) ms"
        } ?? ""
      case .resume: "\(missed ?? Scenario.Defaults.missed) missed"
      case .connect: "connecting"
      }
    return "\(parts.joined(separator: "; ")); \(times); \(turns) turn\(turns == 1 ? "" : "s"); \(format)"
  }
}

extension RunResult {
  /// Rounds in a line, each as its peers' names.
  func described(order: [[String]]) -> String { order.map { $0.joined(separator: " ") }.joined(separator: ", ") }
}

extension Machine {
  /// The machine in a line.
  var described: String {
    let cores = "\(cores) core\(cores == 1 ? "" : "s")"
    func list(_ cores: [Int]) -> String { cores.map(String.init).joined(separator: ",") }
    let pinning =
      serverCores.isEmpty
      ? "not pinned" : "server on \(list(serverCores)), generator on \(list(generatorCores))"
    return "\(processor), \(cores), \(Quantity.bytes.format(Double(memoryBytes))), \(kernel); \(pinning)"
  }
}
