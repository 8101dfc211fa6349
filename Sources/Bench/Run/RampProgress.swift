/// How a saturation run goes on: up by the ramp's factor, until two steps in a row were beyond the limit, somebody was
/// disconnected, or the ramp has had its most steps.
struct RampProgress {
  private let ramp: Scenario.Ramp
  private var steps = 0
  private var beyond = 0
  /// The next step's rate; nil when the ramp is over.
  private(set) var nextRate: Double?

  init(_ ramp: Scenario.Ramp, first: Double) {
    self.ramp = ramp
    nextRate = first
  }

  mutating func add(_ step: Step) {
    steps += 1
    beyond = Saturation.holds(step, limitMilliseconds: ramp.p99LimitMilliseconds) ? 0 : beyond + 1
    let isOver = steps >= ramp.maximumSteps || beyond >= 2 || step.report.disconnected > 0
    nextRate = isOver ? nil : step.rate * ramp.factor
  }
}
