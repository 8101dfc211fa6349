import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker

/// `FANFARE_SEED=17` replays one seed; `FANFARE_SEEDS=100000` looks for longer.
@Suite("Clique and State, their people and phones, broker, log and two gateways under a seed", .ownThread)
struct AppSimulationTests {
  @Test(
    """
    Messages come once and in order, lists agree with what stands, secrets wait for their answer, timers all fire, and \
    pictures are seen and deleted with what shows them
    """)
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
    print("COVERAGE \(coverage)")
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

  @Test("A message that is sent again after a crash, and decided again, is noticed")
  func mutant() {
    let red = (1...80 as ClosedRange<UInt64>).first {
      !Self.run(seed: $0, mutation: .forgetsDecisions).violations.isEmpty
    }
    #expect(red != nil)
  }

  @Test("A broker that does not tell gateways once more what to delete is noticed")
  func forgetfulMutant() {
    let red = (1...80 as ClosedRange<UInt64>).first {
      !Self.run(seed: $0, mutation: .tellsDiscardsOnce).violations.isEmpty
    }
    #expect(red != nil)
  }

  private static func run(seed: UInt64, mutation: Mutation? = nil) -> AppWorld {
    let world = AppWorld(seed: seed, mutation: mutation)
    world.hasGroups = true
    // Every second one, so that groups are founded under faults, too.
    if seed % 2 == 0 { world.beginInGroup() }
    world.hasVanishing = true
    world.hasPictures = true
    // Some do little else, so that much becomes of the same few pictures.
    if seed % 3 == 0 {
      world.pictureShare = 65
      world.beginInConversations()
    }
    for _ in 0..<2500 where world.violations.isEmpty { world.step() }
    if world.violations.isEmpty { world.heal() }
    if world.violations.isEmpty { world.judge() }
    if world.violations.isEmpty { world.loseTellings() }
    if world.violations.isEmpty { world.outlive() }
    world.coverage.lost = world.ledger.lost
    world.coverage.found = world.ledger.found
    return world
  }
}
