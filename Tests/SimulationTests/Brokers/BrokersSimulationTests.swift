import Foundation
import TestSupport
import Testing

/// `FANFARE_SEED=17` replays one seed; `FANFARE_SEEDS=100000` looks for longer.
@Suite("Several brokers, their database and gateways under a seed", .ownThread)
struct BrokersSimulationTests {
  private static func run(_ seed: UInt64, _ mutation: ModelStore.Mutation? = nil) -> BrokersWorld {
    let world = BrokersWorld(seed: seed, mutation: mutation)
    world.run(steps: 1500)
    return world
  }

  @Test("Whoever has the log: nothing acknowledged is lost, and each gateway hears everything once and in order")
  func promisesHold() {
    let environment = ProcessInfo.processInfo.environment
    let one = environment["FANFARE_SEED"].flatMap(UInt64.init)
    let seeds = one.map { $0...$0 } ?? 1...(environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 200)
    var coverage = BrokersWorld.Coverage()
    var failures: [String] = []
    for seed in seeds where failures.count < 5 {
      let world = Self.run(seed)
      coverage.add(world.coverage)
      if world.violations.isEmpty { continue }
      failures.append("seed \(seed): \(world.violations.prefix(3).joined(separator: "; "))")
    }
    #expect(failures == [])
    guard seeds.count >= 200 && failures.isEmpty else { return }
    #expect(coverage.missing == [] && coverage.acknowledged > 20 * seeds.count, "\(coverage)")
  }

  @Test("Each fault that is put into what holds brokers apart is noticed", arguments: ModelStore.Mutation.allCases)
  func mutants(_ mutation: ModelStore.Mutation) {
    #expect((1...60 as ClosedRange<UInt64>).contains { !Self.run($0, mutation).violations.isEmpty })
  }
}
