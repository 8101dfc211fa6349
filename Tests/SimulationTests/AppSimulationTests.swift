import Foundation
import TestSupport
import Testing
import Wire

/// `FANFARE_SEED=17` replays one seed; `FANFARE_SEEDS=100000` looks for longer.
@Suite("Clique and State, their people and phones, broker, log and two gateways under a seed", .ownThread)
struct AppSimulationTests {
  @Test("Messages come once and in order, lists agree with what stands, secrets wait for their answer, timers all fire")
  func promisesHold() {
    let seeds: ClosedRange<UInt64>
    if let one = SimulationTests.environment["FANFARE_SEED"].flatMap(UInt64.init) {
      seeds = one...one
    } else {
      seeds = 1...(SimulationTests.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 80)
    }
    var coverage = AppCoverage()
    var failures: [String] = []
    for seed in seeds where failures.count < 5 {
      let world = Self.run(seed: seed)
      coverage.add(world.coverage)
      if world.violations.isEmpty { continue }
      failures.append("seed \(seed): \(world.violations.prefix(3).joined(separator: "; "))")
    }
    #expect(failures == [])
    guard seeds.count >= 80 && failures.isEmpty else { return }
    #expect(coverage.missing == [], "\(coverage)")
  }

  @Test("The same seed replays to the same end")
  func replays() {
    let (first, second) = (Self.run(seed: 42), Self.run(seed: 42))
    #expect(first.wall == second.wall)
    #expect("\(first.coverage)" == "\(second.coverage)")
    #expect(
      first.phones.map { $0.following.mapValues(\.position) }
        == second.phones.map { $0.following.mapValues(\.position) })
  }

  private static func run(seed: UInt64) -> AppWorld {
    let world = AppWorld(seed: seed)
    for _ in 0..<1500 where world.violations.isEmpty { world.step() }
    if world.violations.isEmpty { world.heal() }
    if world.violations.isEmpty { world.judge() }
    if world.violations.isEmpty { world.outlive() }
    return world
  }
}
