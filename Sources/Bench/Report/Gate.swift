/// Whether a run's exit code is to say that a goal was missed.
public struct Gate: Sendable, Equatable {
  public enum Outcome: Sendable {
    case passed
    /// One goal at least was missed.
    case missed
    /// No goal was missed, and one at least could not be judged: five valid turns decide, never fewer.
    case undecided
  }

  public let outcome: Outcome
  /// Nobody asked for anything.
  public let isEmpty: Bool
  /// What became of the goals, for who reads the exit code.
  public let sentence: String

  /// - Parameter others: results of other scenarios, against which some goals are held.
  public init(_ goals: [Goal], of result: RunResult, beside others: [RunResult] = []) {
    let verdicts = Verdict.all(goals, of: result, beside: others)
    isEmpty = goals.isEmpty
    let missed = verdicts.filter { $0.outcome == .missed }
    let undecided = verdicts.filter { $0.outcome == .undecided }
    func list(_ verdicts: [Verdict]) -> String {
      verdicts.map { "\($0.goal): \($0.reason)" }.joined(separator: "; ")
    }
    if !missed.isEmpty {
      outcome = .missed
      sentence = "\(missed.count) of \(verdicts.count) goals missed: \(list(missed))."
    } else if verdicts.count < goals.count {
      outcome = .undecided
      sentence = "\(goals.count - verdicts.count) of \(goals.count) goals are of figures that the result does not have."
    } else if !undecided.isEmpty {
      outcome = .undecided
      sentence = "\(undecided.count) of \(verdicts.count) goals undecided: \(list(undecided))."
    } else {
      outcome = .passed
      sentence = "all \(verdicts.count) goals met."
    }
  }

  /// The scenario's own goals that these results can judge: one that is held against another scenario needs that one's.
  public static func goals(of scenario: Scenario, beside others: [String] = []) -> [Goal] {
    (scenario.goals ?? []).filter { goal in goal.scenario.map(others.contains) ?? true }
  }
}
