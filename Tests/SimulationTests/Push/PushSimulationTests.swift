import Apps
import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker

/// `FANFARE_SEED=17` replays one seed; `FANFARE_SEEDS=1000` looks for longer.
@Suite("Notifications: people, devices, services, broker and log under a seed", .ownThread)
struct PushSimulationTests {
  /// Of each seed: a hundred thousand of all of them.
  private static let messages = 10_000

  @Test("Of what was acknowledged in time nobody is told, and of the rest everybody, by the deadline and a second")
  func promisesHold() {
    let seeds: ClosedRange<UInt64>
    if let one = SimulationTests.environment["FANFARE_SEED"].flatMap(UInt64.init) {
      seeds = one...one
    } else {
      seeds = 1...(SimulationTests.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 10)
    }
    var coverage = PushJudge.Coverage()
    var failures: [String] = []
    for seed in seeds where failures.count < 3 {
      let world = Self.run(seed: seed)
      coverage.add(world.judge.coverage)
      if world.judge.violations.isEmpty { continue }
      failures.append("seed \(seed): \(world.judge.violations.prefix(3).joined(separator: "; "))")
    }
    #expect(failures == [])
    guard seeds.count >= 10 && failures.isEmpty else { return }
    #expect(coverage.missing == [], "\(coverage)")
  }

  @Test("When everybody has read everything, all that was shown is taken back, and nothing is kept of it")
  func ends() {
    let world = Self.run(seed: 99, messages: 500)
    world.isHealed = true
    for _ in 0..<600 { world.step(writing: 0) }
    world.readAll()
    for _ in 0..<1200 { world.step(writing: 0) }
    #expect(world.judge.violations == [])
    for (key, record) in world.log.entries(of: "push.records:all") where key.hasPrefix("notices/") {
      let fields = (try? JSONValue(parsing: record.data))?.object
      #expect(fields?["subjects"]?.array?.isEmpty == true, "\(key) is still shown")
    }
    #expect(world.core?.noticeStatus?.waiting == 0)
  }

  @Test("The same seed replays to the same end")
  func replays() {
    let (first, second) = (Self.run(seed: 42, messages: 1000), Self.run(seed: 42, messages: 1000))
    #expect("\(first.judge.coverage)" == "\(second.judge.coverage)" && first.now == second.now)
  }

  private static func run(seed: UInt64, messages: Int = Self.messages) -> PushWorld {
    let world = PushWorld(seed: seed)
    while world.messages < messages, world.judge.violations.isEmpty { world.step(writing: 40) }
    // What is under way comes to its end.
    for _ in 0..<1000 where world.judge.violations.isEmpty { world.step(writing: 0) }
    return world
  }
}
