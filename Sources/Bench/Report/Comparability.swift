/// Why two results cannot be compared: what was measured was not the same.
public struct Incomparability: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// What was asked of the servers.
    case scenario
    /// How the servers were configured.
    case settings
    /// The processor, its cores and the kernel.
    case machine
    /// Whether the kernel stamped what arrived: times alone cannot be compared then (``stamps(_:_:)``).
    case stamps
  }

  public var kind: Kind
  /// The reason as a sentence without its full stop.
  public var reason: String

  /// Everything in which the results differ but what is compared: name, sentence, turns, peers and goals do not matter.
  /// What forbids to compare some figures alone is not in it.
  public static func all(_ first: RunResult, _ second: RunResult) -> [Incomparability] {
    var found = scenario(first.scenario, second.scenario)
    func settings(_ what: String, _ own: String, _ other: String) {
      guard own != other else { return }
      found.append(Incomparability(kind: .settings, reason: "\(what) were \"\(own)\" and are \"\(other)\""))
    }
    settings(
      "the scenario's settings", first.scenario.settings.joined(separator: ", "),
      second.scenario.settings.joined(separator: ", "))
    for peer in first.peers {
      guard let other = second.peers.first(where: { $0.name == peer.name }) else { continue }
      settings("the settings of \(peer.name)", peer.settings, other.settings)
    }
    if !first.machine.isLike(second.machine) {
      found.append(
        Incomparability(
          kind: .machine,
          reason: "the machine was \(first.machine.described), and is \(second.machine.described)"))
    }
    return found
  }

  /// Why no time of the one result can be compared with one of the other; nil where nothing is in the way, or where a
  /// result has no deliveries that could be stamped.
  ///
  /// Where the kernel stamps arrivals, each packet and each reading of the generator takes longer, and all times end with
  /// a reading. Figures of the server's CPU and memory, and rates, are compared all the same.
  public static func stamps(_ first: RunResult, _ second: RunResult) -> Incomparability? {
    guard let own = first.hasKernelStamps, let other = second.hasKernelStamps, own != other else { return nil }
    return Incomparability(
      kind: .stamps,
      reason: "arrivals were stamped by the kernel in the \(own ? "first" : "second") result alone, which takes time "
        + "of its own; measure both with --kernel-stamps, or both without")
  }

  private static func scenario(_ first: Scenario, _ second: Scenario) -> [Incomparability] {
    var different: [String] = []
    func check(_ key: String, _ isEqual: Bool) { if !isEqual { different.append(key) } }
    check("measure", first.measure == second.measure)
    check("warmup", first.warmup == second.warmup)
    check("duration", first.duration == second.duration)
    check("ramp", first.ramp == second.ramp)
    check("missed", first.missed == second.missed)
    check("format", first.format == second.format)
    check("workers", first.workers == second.workers)
    check("template", first.template == second.template)
    check("groups", first.groups == second.groups)
    guard !different.isEmpty else { return [] }
    return [
      Incomparability(
        kind: .scenario,
        reason: "the scenarios differ in \(different.joined(separator: ", ")): \(first.name) was \(first.shape), "
          + "and \(second.name) is \(second.shape)")
    ]
  }
}

extension RunResult {
  /// Whether the kernel stamped what arrived; nil where no turn has a report of deliveries.
  var hasKernelStamps: Bool? {
    let reports = turns.compactMap(\.report) + turns.flatMap(\.steps).map(\.report)
    let groups = reports.flatMap(\.groups)
    return groups.isEmpty ? nil : groups.contains { $0.kernel != nil }
  }
}

extension Machine {
  /// Whether figures of both can be compared. The amount of memory may differ a little from one boot to the next.
  func isLike(_ other: Machine) -> Bool {
    let (own, its) = (Double(memoryBytes), Double(other.memoryBytes))
    return processor == other.processor && cores == other.cores && kernel == other.kernel
      && serverCores == other.serverCores && generatorCores == other.generatorCores
      && abs(own - its) <= 0.05 * max(own, its)
  }
}
