/// When figures cannot be trusted. Each reason is a sentence; `benchmarks/README.md` explains the rules.
enum TurnRules {
  /// Beyond this part of a core, the generator may have been what was slow.
  static let generatorLimit = 0.9
  /// In a ramp's step, where the server is driven to its end, the generator may be nearly as busy.
  static let stepGeneratorLimit = 0.97
  /// Below this part of its cores the server had something left.
  static let serverBusy = 0.9
  /// The generator's own lateness is part of each latency. It may be a tenth of the p99; below a millisecond it is what
  /// any program's waking takes, and no reason to distrust anything.
  static let latenessFloor = 1_000_000.0
  static let latenessPart = 0.1

  static func faults(of turn: Turn, _ scenario: Scenario) -> [String] {
    if let report = turn.report {
      var faults = checks(report)
      if turn.generatorUse > generatorLimit {
        faults.append(
          "the generator used \(Quantity.part.format(turn.generatorUse)) of a core: it may have been the bottleneck; "
            + "lower the rate, or give it more cores and workers")
      }
      if scenario.measure == .delivery, let sentence = lateness(report) { faults.append(sentence) }
      return faults
    }
    guard let first = turn.steps.first, let ramp = scenario.ramp else { return [] }
    var faults: [String] = []
    if Saturation.knee(turn.steps, limitMilliseconds: ramp.p99LimitMilliseconds) == nil {
      let whose = first.generatorWasLimit == true ? ", and the generator was its limit" : ""
      faults.append(
        "not even the first step, of \(Quantity.rate.format(first.rate))/s, stayed within the limit\(whose); begin lower"
      )
    }
    let wrong = turn.steps.flatMap { $0.report.groups }
    let (doubled, misordered) = (
      wrong.reduce(0) { $0 + $1.duplicated }, wrong.reduce(0) { $0 + $1.misordered }
    )
    if doubled > 0 { faults.append("\(doubled) deliveries came twice") }
    if misordered > 0 { faults.append("\(misordered) deliveries came out of order") }
    return faults
  }

  /// - Parameter serverCores: that the server is pinned to; 0: not pinned.
  static func faults(of step: Step, _ scenario: Scenario, serverCores: Int) -> [String] {
    checks(step.report) + generatorLimits(of: step, serverCores: serverCores)
  }

  /// Why the generator was the limit of a step; none where it was not.
  ///
  /// - Parameter serverCores: that the server is pinned to; 0: not pinned.
  static func generatorLimits(of step: Step, serverCores: Int) -> [String] {
    var limits: [String] = []
    let serverUse = step.server.map { $0.wallSeconds > 0 ? $0.cpuSeconds / $0.wallSeconds : 0 } ?? 0
    if step.generatorUse > stepGeneratorLimit, serverUse < serverBusy * Double(max(serverCores, 1)) {
      limits.append(
        "generator-bound: it used \(Quantity.part.format(step.generatorUse)) of a core, the server "
          + "\(Quantity.part.format(serverUse))")
    }
    if let sentence = lateness(step.report) { limits.append("generator-bound: \(sentence)") }
    return limits
  }

  /// What is no fault of a turn and has to be said beside its figures.
  static func remarks(of report: WorkerReport, _ scenario: Scenario) -> [String] {
    guard scenario.measure == .delivery else { return [] }
    return [fallenBehind(report, scenario), lateReading(report)].compactMap(\.self)
  }

  /// A server that delivers less than is asked of it has the latencies of a queue that grows.
  private static func fallenBehind(_ report: WorkerReport, _ scenario: Scenario) -> String? {
    guard scenario.duration > 0 else { return nil }
    // Two publications, or a hundredth of all deliveries, may be under way at the end of the measured time.
    let underWay = scenario.groups.map { 2 * $0.burst * $0.subscribers }.max() ?? 0
    guard report.arrived + max(underWay, report.expected / 100) < report.expected else { return nil }
    let (offered, arrived) = (
      Double(report.expected) / scenario.duration, Double(report.arrived) / scenario.duration
    )
    return "the server fell behind: of \(Quantity.rate.format(offered)) deliveries/s that were offered, "
      + "\(Quantity.rate.format(arrived)) arrived in the measured time"
  }

  /// Beyond this part of all cores, what is neither the server's nor the generator's is worth a note.
  static let othersLimit = 0.25

  /// What else ran while a turn was measured; nil where it was little, or where it is not known what the server or the
  /// generator used: its workers do not say what connecting took them.
  static func others(in turn: Turn) -> String? {
    guard let machine = turn.machine, let busy = machine.mean({ $0.busy }), let server = turn.server,
      let report = turn.report, server.wallSeconds > 0, report.cpuSeconds > 0
    else { return nil }
    let own = (server.cpuSeconds + report.cpuSeconds) / (server.wallSeconds * Double(machine.cores.count))
    guard busy - own > othersLimit else { return nil }
    return
      "\(Quantity.part.format(busy - own)) of all cores were used by neither server nor generator: other programs, "
      + "or the kernel outside of their calls"
  }

  /// Most of the p99 passed after the kernel had the publications: it says more of the generator than of the server.
  private static func lateReading(_ report: WorkerReport) -> String? {
    let stamped = report.groups.compactMap(\.kernel)
    guard !stamped.isEmpty else { return nil }
    let kernel = Double(EncodedHistogram.merged(stamped).value(at: 0.99))
    let read = Double(report.latency.value(at: 0.99))
    guard read - kernel > latenessFloor, kernel < read / 2 else { return nil }
    return "the generator read late: p99 is \(Quantity.nanoseconds.format(kernel)) at the kernel and "
      + "\(Quantity.nanoseconds.format(read)) at the reading"
  }

  private static func checks(_ report: WorkerReport) -> [String] {
    var faults: [String] = []
    for group in report.groups {
      let place = report.groups.count > 1 ? " in group \(group.name)" : ""
      let among = group.refused > 0 ? ", those of refused publications among them" : ""
      if group.lost > 0 { faults.append("\(group.lost) of \(group.expected) deliveries were lost\(place)\(among)") }
      if let lost = group.lostBefore, lost > 0 {
        faults.append("\(lost) deliveries of what was published before it were lost\(place)\(among)")
      }
      if group.duplicated > 0 { faults.append("\(group.duplicated) deliveries came twice\(place)") }
      if group.misordered > 0 { faults.append("\(group.misordered) deliveries came out of order\(place)") }
      if group.refused > 0 { faults.append("the server refused \(group.refused) publications\(place)") }
      if group.unanswered > 0 {
        faults.append("the server never acknowledged \(group.unanswered) publications\(place)")
      }
      if group.published < group.intended {
        faults.append("\(group.intended - group.published) publications never went out\(place)")
      }
    }
    if report.disconnected > 0 { faults.append("the server disconnected \(report.disconnected) clients") }
    return faults
  }

  private static func lateness(_ report: WorkerReport) -> String? {
    let late = Double(report.lateness.value(at: 0.99))
    guard late > latenessFloor, late > latenessPart * Double(report.latency.value(at: 0.99)) else { return nil }
    return "the generator itself was late: its p99 of \(Quantity.nanoseconds.format(late)) is more than a tenth of the "
      + "latency's"
  }
}
