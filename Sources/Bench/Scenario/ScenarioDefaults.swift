extension Scenario {
  /// What a scenario has where its file leaves a key out: the one place for it, whoever reads, runs or tells of it.
  enum Defaults {
    static let measure = Measure.delivery
    /// Seconds.
    static let warmup = 2.0
    static let duration = 10.0
    /// Of a ``Measure/saturation`` run; of others there is no ramp.
    static let ramp = Ramp(factor: 1.25, seconds: 4, p99LimitMilliseconds: 50, maximumSteps: 40)
    /// Of a ``Measure/resume`` run; of others nothing is missed.
    static let missed = 100
    static let format = "json"
    static let turns = 5
    static let workers = 1
    static let peers = ["fanfare", "floor"]
    /// A group without a name is called `group` and its number.
    static let group = Group(
      name: "", channels: 1, subscribers: 1, rate: 0, payload: 128, burst: 1, publishers: 1, slow: 0, namespace: "")
  }
}
