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
  /// The goal.
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
      decide(goal, metric, own.map(\.value), Self.values(its, goal.of ?? goal.peer, other).map(\.value), name)
    } else if let peer = goal.of {
      let base = Self.values(metric, peer, result)
      let pairs = own.compactMap { turn in
        base.first { $0.round == turn.round }.map { (turn.value, $0.value) }
      }
      let values = pairs.compactMap { value, base in
        goal.unit != nil ? value - base : base > 0 ? value / base : nil
      }
      decide(goal, metric, values, "rounds with a valid turn of both")
    } else {
      decide(goal, metric, own.map(\.value), "valid turns")
    }
  }

  /// A peer's figure in each of its valid turns.
  private static func values(
    _ metric: Metric, _ peer: String, _ result: RunResult
  ) -> [(round: Int, value: Double)] {
    result.turns.filter { $0.peer == peer && $0.isValid }.compactMap { turn in
      metric.value(turn).map { (turn.number, $0) }
    }
  }

  private mutating func decide(_ goal: Goal, _ metric: Metric, _ values: [Double], _ what: String) {
    guard values.count >= Self.turnsNeeded, let figure = Summary.Figure(values) else {
      reason = "\(values.count) \(what), and \(Self.turnsNeeded) are needed"
      return
    }
    let quantity: Quantity = goal.unit == nil ? .ratio : metric.quantity
    outcome = goal.holds(figure.median, metric.quantity) ? .met : .missed
    reason =
      "\(quantity.format(figure.median)) (\(quantity.format(figure.least)) to \(quantity.format(figure.most))), "
      + "\(values.count) \(what)"
  }

  /// Judges a goal against another scenario. The two are runs of their own, without rounds in common, so medians are
  /// compared.
  private mutating func decide(
    _ goal: Goal, _ metric: Metric, _ own: [Double], _ others: [Double], _ scenario: String
  ) {
    guard min(own.count, others.count) >= Self.turnsNeeded, let figure = Summary.Figure(own),
      let base = Summary.Figure(others), goal.unit != nil || base.median > 0
    else {
      reason =
        "\(own.count) valid turns here and \(others.count) in \(scenario), and \(Self.turnsNeeded) of each are needed"
      return
    }
    let value = goal.unit != nil ? figure.median - base.median : figure.median / base.median
    let quantity: Quantity = goal.unit == nil ? .ratio : metric.quantity
    outcome = goal.holds(value, metric.quantity) ? .met : .missed
    reason =
      "\(quantity.format(value)), of \(metric.quantity.format(figure.median)) and "
      + "\(metric.quantity.format(base.median)), medians of \(own.count) and \(others.count) valid turns"
  }
}
