import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker
@testable import Coverage
@testable import Gateway

@Suite("Why a publication did or did not reach somebody, asked of random histories", .ownThread)
struct WhySimulationTests {
  /// What came of all questions of some seeds.
  struct Tally {
    var cases = 0
    var decided = 0
    var wrong: [String] = []
    var verdicts: [String: Int] = [:]
    var reasons: [WhyReason: Int] = [:]

    mutating func add(_ asked: WhyCase, seed: UInt64) {
      cases += 1
      if asked.isDecided { decided += 1 }
      let finding = asked.explanation.devices.first.map { "\($0.finding)" } ?? "none"
      verdicts["\(asked.explanation.verdict) \(finding)", default: 0] += 1
      if let complaint = asked.complaint() {
        wrong.append("seed \(seed): \(complaint)")
      } else {
        for reason in asked.reasons { reasons[reason, default: 0] += 1 }
      }
    }
  }

  @Test("Of ten thousand answers each is right, and most of them leave no doubt")
  func answers() throws {
    var tally = Tally()
    var seed: UInt64 = SimulationTests.environment["FANFARE_SEED"].flatMap(UInt64.init) ?? 1
    while tally.cases < 10_000, seed < 2_000 {
      try Self.run(seed: seed, into: &tally)
      seed += 1
    }
    for seed in seed..<(seed + 40) { try Self.runApps(seed: seed, into: &tally) }
    #expect(tally.cases >= 10_000)
    #expect(tally.wrong.prefix(5) == [], "\(tally.wrong.count) of \(tally.cases) wrong; \(tally.verdicts)")
    #expect(tally.decided * 100 >= tally.cases * 75, "\(tally.decided) of \(tally.cases) decided; \(tally.verdicts)")
    // Every kind of answer was given at all.
    for verdict in [Explanation.Verdict.delivered, .perhaps, .underWay, .filtered, .gap, .away, .notSubscribed] {
      #expect(tally.verdicts.contains { $0.key.hasPrefix("\(verdict) ") }, "no \(verdict) among \(tally.verdicts)")
    }
    // Every reason that somebody may ask for was given, and rightly.
    for reason in WhyReason.allCases {
      #expect(tally.reasons[reason, default: 0] > 0, "never \(reason); \(tally.reasons)")
    }
  }

  @Test("Each thing that gateways could get wrong makes answers wrong", arguments: WhyMutation.allCases)
  func mutants(_ mutation: WhyMutation) throws {
    var tally = Tally()
    for seed in 1...60 as ClosedRange<UInt64> where tally.wrong.isEmpty {
      try Self.run(seed: seed, mutation: mutation, into: &tally)
    }
    #expect(!tally.wrong.isEmpty)
  }

  @Test(
    "Each thing that could be got wrong about blocks, seals and limits is noticed", arguments: WhyAppMutation.allCases)
  func appMutants(_ mutation: WhyAppMutation) throws {
    var tally = Tally()
    for seed in 1...40 as ClosedRange<UInt64> where tally.wrong.isEmpty {
      try Self.runApps(seed: seed, mutation: mutation, into: &tally)
    }
    #expect(!tally.wrong.isEmpty)
  }

  private static func runApps(seed: UInt64, mutation: WhyAppMutation? = nil, into tally: inout Tally) throws {
    let world = try WhyAppWorld(seed: seed)
    for step in 0..<240 {
      world.step()
      if step > 60, step % 4 == 0, let asked = world.askWhy(mutation) { tally.add(asked, seed: seed) }
    }
    world.heal()
    for _ in 0..<60 {
      if let asked = world.askWhy(mutation, isSettled: true) { tally.add(asked, seed: seed) }
    }
  }

  private static func run(seed: UInt64, mutation: WhyMutation? = nil, into tally: inout Tally) throws {
    let world = World(seed: seed, why: try WhyLedger())
    for step in 0..<500 where world.violations.isEmpty {
      world.step()
      if step > 100, step % 16 == 0, let asked = world.askWhy(mutation) { tally.add(asked, seed: seed) }
    }
    if world.violations.isEmpty { world.heal() }
    #expect(world.violations == [])
    for _ in 0..<40 {
      if let asked = world.askWhy(mutation, isSettled: true) { tally.add(asked, seed: seed) }
    }
  }
}
