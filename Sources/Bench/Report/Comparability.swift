/// Why two results cannot be compared: what was measured was not the same.
public struct Incomparability: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// What was asked of the servers.
    case scenario
    /// How the servers were configured.
    case settings
    /// The processor, its cores and the kernel.
    case machine
  }

  public var kind: Kind
  /// The reason as a sentence without its full stop.
  public var reason: String

  /// Everything in which the results differ but what is compared: name, sentence, turns, peers and goals do not matter.
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

extension Machine {
  /// Whether figures of both can be compared. The amount of memory may differ a little from one boot to the next.
  func isLike(_ other: Machine) -> Bool {
    let (own, its) = (Double(memoryBytes), Double(other.memoryBytes))
    return processor == other.processor && cores == other.cores && kernel == other.kernel
      && serverCores == other.serverCores && generatorCores == other.generatorCores
      && abs(own - its) <= 0.05 * max(own, its)
  }
}
