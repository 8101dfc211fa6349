/// What a figure has to reach, as a part of another's, as a difference to another's, or by itself.
///
///     {"figure": "CPU per delivery", "at_most": 1.1, "of": "uwebsockets"}         a ratio, taken within each round
///     {"figure": "p50", "at_most": 200, "unit": "us"}                             by itself
///     {"figure": "quiet p99", "at_most": 2, "unit": "ms", "scenario": "rest"}     the difference to another scenario's
public struct Goal: Codable, Sendable, Equatable {
  /// The peer whose figure is judged.
  public var peer: String
  /// Label of the figure: of a row of the scenario's table.
  public var figure: String
  /// The limit, in ``unit`` or as a factor. A goal has either ``atMost`` or ``atLeast``.
  public var atMost: Double?
  public var atLeast: Double?
  /// The peer whose figure this one is held against; nil, with a ``scenario``: the same peer's.
  public var of: String?
  /// The scenario whose figure this one is held against, measured in a run of its own; nil: the same run's.
  public var scenario: String?
  /// Unit of the limit, such as `ms`. With a unit the limit is an amount (of the difference, where the figure is held
  /// against another's); without, it is a factor.
  public var unit: String?

  static let keys = ["peer", "figure", "at_most", "at_least", "of", "scenario", "unit"]

  var limit: Double { atMost ?? atLeast ?? 0 }
  var isRelative: Bool { of != nil || scenario != nil }

  /// Whether the value is as the goal wants it.
  func holds(_ value: Double, _ quantity: Quantity) -> Bool {
    let limit = limit * (unit.flatMap { quantity.units[$0] } ?? 1)
    return atMost != nil ? value <= limit : value >= limit
  }

  /// The goal as a sentence without its full stop.
  func described(_ quantity: Quantity) -> String {
    let amount =
      unit.flatMap { quantity.units[$0] }.map { quantity.format(limit * $0) } ?? Quantity.ratio.format(limit)
    let yardstick = [of.map { "\($0)'s" }, scenario.map { "in \($0)" }].compactMap { $0 }.joined(separator: " ")
    let relation = atMost != nil ? "≤" : "≥"
    guard isRelative else { return "\(figure) of \(peer) \(relation) \(amount)" }
    return unit == nil
      ? "\(figure) of \(peer) \(relation) \(amount) \(yardstick.isEmpty ? "the other" : yardstick)"
      : "\(figure) of \(peer) \(relation) \(amount) more than \(yardstick)"
  }
}

extension Quantity {
  /// Units that a goal may be given in, in what the figure itself is in.
  var units: [String: Double] {
    switch self {
    case .nanoseconds: ["us": 1e3, "ms": 1e6, "s": 1e9]
    case .seconds, .microseconds: ["us": 1e-6, "ms": 1e-3, "s": 1]
    case .rate: ["/s": 1]
    case .bytes: ["KiB": 1024, "MiB": 1024 * 1024]
    case .part: ["%": 0.01]
    case .ratio: [:]
    }
  }
}

extension ScenarioFile {
  static func read(goal fields: ScenarioFields) throws(BenchError) -> Goal {
    func limit(_ key: String) throws(BenchError) -> Double? {
      fields.has(key) ? try fields.number(key, default: 0, in: 0...1e12, "a number") : nil
    }
    func name(_ key: String, _ expected: String) throws(BenchError) -> String? {
      fields.has(key) ? try fields.text(key, default: nil, expected) : nil
    }
    let goal = Goal(
      peer: try fields.text("peer", default: "fanfare", "a peer's name"),
      figure: try fields.text("figure", default: nil, "a row of the scenario's table, such as \"CPU per delivery\""),
      atMost: try limit("at_most"), atLeast: try limit("at_least"), of: try name("of", "a peer's name"),
      scenario: try name("scenario", "a scenario's name"), unit: try name("unit", "a unit"))
    guard (goal.atMost == nil) != (goal.atLeast == nil) else {
      throw fields.missing("at_most", "a goal has either \"at_most\" or \"at_least\"")
    }
    return goal
  }
}

extension ScenarioRules {
  static func check(_ goals: [Goal], of scenario: Scenario, _ wrong: (String) -> BenchError) throws(BenchError) {
    let metrics = Metric.all(of: scenario)
    for goal in goals {
      guard let metric = metrics.first(where: { $0.label == goal.figure }) else {
        let labels = metrics.map(\.label)
        let hint = Spelling.nearest(to: goal.figure, among: labels).map { "did you mean \"\($0)\"?" }
        throw wrong(
          "there is no figure \"\(goal.figure)\" for a goal; \(hint ?? "the figures are \(labels.joined(separator: ", ")).")"
        )
      }
      let known = PeerCatalogue.names + [MeasurementRun.Remote.name]
      for peer in [goal.peer, goal.of].compactMap({ $0 }) where !known.contains(peer) {
        throw wrong("a goal names the peer \"\(peer)\"; the peers are \(PeerCatalogue.names.joined(separator: ", ")).")
      }
      if let unit = goal.unit, metric.quantity.units[unit] == nil {
        throw wrong(
          "the goal for \"\(goal.figure)\" has the unit \"\(unit)\"; it is measured in one of "
            + "\(metric.quantity.units.keys.sorted().joined(separator: ", ")).")
      }
      guard goal.unit != nil || goal.isRelative else {
        throw wrong(
          "the goal for \"\(goal.figure)\" has neither a unit nor anything to be a part of; set \"unit\", \"of\" or "
            + "\"scenario\".")
      }
    }
  }
}
