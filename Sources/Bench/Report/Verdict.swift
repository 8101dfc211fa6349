/// What became of a goal.
struct Verdict: Sendable, Equatable {
  enum Outcome: String, Sendable {
    case met, missed
    /// Too little was measured to say it.
    case undecided
  }

  /// Valid turns that a verdict takes at least: of two, one may be chance.
  static let turnsNeeded = 5

  var outcome: Outcome
  /// What was to be reached, as a sentence without its end.
  var goal: String
  /// What was measured, or what is missing.
  var reason: String

  var sentence: String { "\(outcome.rawValue): \(goal): \(reason)" }

  /// The verdict on each of a result's goals.
  ///
  /// - Parameter others: results of other scenarios, which some goals need.
  static func all(_ result: RunResult, beside others: [RunResult] = []) -> [Verdict] {
    all(result.scenario.goals ?? [], of: result, beside: others)
  }

  /// The verdict on each of these goals, in their order; those for figures that the scenario does not have are left
  /// out.
  static func all(_ goals: [Goal], of result: RunResult, beside others: [RunResult] = []) -> [Verdict] {
    let metrics = Metric.all(of: result.scenario)
    return goals.compactMap { goal in
      metrics.first { $0.label == goal.figure }.map { Verdict(goal, $0, result, others) }
    }
  }

  private init(_ goal: Goal, _ metric: Metric, _ result: RunResult, _ others: [RunResult]) {
    self.goal = goal.described(metric.quantity)
    (outcome, reason) = (.undecided, "")
    let own = Self.values(metric, goal.peer, result)
    if let name = goal.scenario {
      guard let other = others.first(where: { $0.scenario.name == name }),
        let its = Metric.all(of: other.scenario).first(where: { $0.label == goal.figure })
      else {
        reason = "measure \(name) too, and give the results of both to fanfare-bench report"
        return
      }
      decide(goal, metric, own.map(\.reading), Self.values(its, goal.of ?? goal.peer, other).map(\.reading), name)
    } else if let peer = goal.of {
      let base = Self.values(metric, peer, result)
      let values = own.compactMap { turn in
        base.first { $0.round == turn.round }.flatMap { Self.relation(goal, turn.reading, $0.reading) }
      }
      let pairs = own.count { turn in base.contains { $0.round == turn.round } }
      decide(
        goal, metric, values,
        "rounds with a valid turn of both" + (values.count < pairs ? " in which not both were bounds" : ""))
    } else {
      decide(goal, metric, own.map(\.reading), "valid turns")
    }
  }

  /// A peer's figure in each of its valid turns.
  private static func values(
    _ metric: Metric, _ peer: String, _ result: RunResult
  ) -> [(round: Int, reading: Reading)] {
    result.turns.filter { $0.peer == peer && $0.isValid }.compactMap { turn in
      metric.reading(turn).map { (turn.number, $0) }
    }
  }

  private mutating func decide(_ goal: Goal, _ metric: Metric, _ values: [Reading], _ what: String) {
    guard values.count >= Self.turnsNeeded else {
      reason = "\(values.count) \(what), and \(Self.turnsNeeded) are needed"
      return
    }
    guard let figure = Summary.Figure(values, measured: values.count) else {
      reason = Self.contrary(values, what)
      return
    }
    let quantity: Quantity = goal.unit == nil ? .ratio : metric.quantity
    outcome = Self.outcome(goal, figure.median, figure.bound, metric.quantity)
    reason =
      "\(figure.told(quantity)) (\(quantity.format(figure.least)) to \(quantity.format(figure.most))), "
      + "\(values.count) \(what)\(Self.doubt(values, figure.bound))"
  }

  /// Judges a goal against another scenario. The two are runs of their own, without rounds in common, so medians are
  /// compared.
  private mutating func decide(
    _ goal: Goal, _ metric: Metric, _ own: [Reading], _ others: [Reading], _ scenario: String
  ) {
    guard min(own.count, others.count) >= Self.turnsNeeded else {
      reason =
        "\(own.count) valid turns here and \(others.count) in \(scenario), and \(Self.turnsNeeded) of each are needed"
      return
    }
    guard let figure = Summary.Figure(own, measured: own.count) else {
      reason = Self.contrary(own, "valid turns here")
      return
    }
    guard let base = Summary.Figure(others, measured: others.count) else {
      reason = Self.contrary(others, "valid turns in \(scenario)")
      return
    }
    guard
      let value = Self.relation(
        goal, Reading(value: figure.median, bound: figure.bound), Reading(value: base.median, bound: base.bound))
    else {
      reason = "both figures are bounds: the server was the limit of neither"
      return
    }
    let quantity: Quantity = goal.unit == nil ? .ratio : metric.quantity
    outcome = Self.outcome(goal, value.value, value.bound, metric.quantity)
    reason =
      "\(value.bound.sign)\(quantity.format(value.value)), of \(figure.told(metric.quantity)) and "
      + "\(base.told(metric.quantity)), medians of \(own.count) and \(others.count) valid turns"
      + Self.doubt(own, figure.bound) + Self.doubt(others, base.bound, in: scenario)
  }

  /// The ratio, or with a unit the difference, of two figures; nil where both are bounds or the base is nothing.
  private static func relation(_ goal: Goal, _ own: Reading, _ base: Reading) -> Reading? {
    guard goal.unit != nil || base.value > 0, let bound = Bound.ofRatio(own.bound, to: base.bound) else { return nil }
    return Reading(value: goal.unit != nil ? own.value - base.value : own.value / base.value, bound: bound)
  }

  /// A bound decides where the true value can only be further on the same side of the goal.
  private static func outcome(_ goal: Goal, _ value: Double, _ bound: Bound, _ quantity: Quantity) -> Outcome {
    let holds = goal.holds(value, quantity)
    let risesAway = goal.atMost != nil ? !holds : holds
    switch bound {
    case .exact: return holds ? .met : .missed
    case .atLeast: return risesAway ? (holds ? .met : .missed) : .undecided
    case .atMost: return risesAway ? .undecided : (holds ? .met : .missed)
    }
  }

  /// What stands behind a median of which some figures, or all, are bounds; nothing behind one of exact figures.
  ///
  /// - Parameter scenario: of the figures, where it is another one.
  private static func doubt(_ values: [Reading], _ bound: Bound, in scenario: String? = nil) -> String {
    let bounded = values.count { $0.bound != .exact }
    if bounded == 0 { return "" }
    let place = scenario.map { "in \($0) " } ?? ""
    if bounded == values.count { return "; \(place)a bound, because not the server was the limit of a ramp" }
    let median =
      switch bound {
      case .exact: "the median stands whatever the true figures are"
      case .atLeast: "the true median is at least this"
      case .atMost: "the true median is at most this"
      }
    return "; \(place)\(kinds(values)), because not the server was the limit of a ramp, and the others are exact: "
      + median
  }

  /// Why figures have no median: some may be larger and some smaller than they were measured.
  private static func contrary(_ values: [Reading], _ what: String) -> String {
    "\(values.count) \(what), of which \(kinds(values)): nothing can be said of their median"
  }

  /// How many figures are bounds, and of which kind.
  private static func kinds(_ values: [Reading]) -> String {
    let (lower, upper) = (values.count { $0.bound == .atLeast }, values.count { $0.bound == .atMost })
    var parts: [String] = []
    if lower > 0 { parts.append(lower == 1 ? "1 is a lower bound" : "\(lower) are lower bounds") }
    if upper > 0 { parts.append(upper == 1 ? "1 is an upper bound" : "\(upper) are upper bounds") }
    return parts.joined(separator: " and ")
  }
}
