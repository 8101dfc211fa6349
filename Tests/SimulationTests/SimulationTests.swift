import Broker
import Foundation
import TestSupport
import Testing
import Wire

@testable import Gateway

/// `FANFARE_SEED=17` replays one seed; `FANFARE_SEEDS=100000` looks for longer.
@Suite("Broker, log, two gateways and their clients under a seed", .ownThread)
struct SimulationTests {
  static let environment = ProcessInfo.processInfo.environment

  @Test("Order is kept, nothing acknowledged is lost, and a recovery is whole or says that it is not")
  func promisesHold() {
    let seeds: ClosedRange<UInt64>
    if let one = Self.environment["FANFARE_SEED"].flatMap(UInt64.init) {
      seeds = one...one
    } else {
      seeds = 1...(Self.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 3000)
    }
    var coverage = Coverage()
    var failures: [String] = []
    for seed in seeds where failures.count < 5 {
      let world = Self.run(seed: seed)
      coverage.add(world.coverage)
      if world.violations.isEmpty { continue }
      failures.append("seed \(seed): \(world.violations.prefix(3).joined(separator: "; "))")
    }
    #expect(failures == [])
    guard seeds.count > 1000 && failures.isEmpty else { return }
    #expect(coverage.acknowledged > seeds.count, "\(coverage)")
    #expect(coverage.refused > 0 && coverage.recovered > 0 && coverage.notRecovered > 0, "\(coverage)")
    #expect(coverage.lostPositions > 0 && coverage.gaps > 0 && coverage.resets > 0, "\(coverage)")
    #expect(coverage.deferred > 0 && coverage.tooLarge > 0, "\(coverage)")
    #expect(coverage.refilled > 0 && coverage.brokerCrashes > 0 && coverage.gatewayCrashes > 0, "\(coverage)")
  }

  @Test("The same seed replays to the same end")
  func replays() {
    let first = Self.run(seed: 42)
    let second = Self.run(seed: 42)
    #expect(first.now == second.now)
    #expect(first.clients.map(\.position) == second.clients.map(\.position))
    #expect(first.coverage.acknowledged == second.coverage.acknowledged)
  }

  private static func run(seed: UInt64) -> World {
    let world = World(seed: seed)
    for _ in 0..<400 where world.violations.isEmpty { world.step() }
    guard world.violations.isEmpty else { return world }
    world.heal()
    for node in world.gateways {
      world.coverage.gaps += node.link.counters.gaps
      world.coverage.resets += node.link.counters.resets
      world.coverage.refilled += node.link.counters.channelsRefilled
    }
    world.coverage.deferred += world.broker?.counters.requestsDeferred ?? 0
    world.violations += world.oracle.verdict(disk: world.disk.channels)
    for client in world.clients {
      if client.state != .live { world.violations.append("\(client.name) never came back: \(client.state)") }
      if !client.publishing.isEmpty { world.violations.append("\(client.name): a publish was never answered") }
    }
    for channel in World.channels {
      let positions = Set(world.clients.filter { $0.channel == channel }.map(\.position))
      if positions.count > 1 {
        world.violations.append("\(channel): subscribers stand at different places, \(positions)")
      }
      let there = world.clients.filter { $0.channel == channel && $0.state == .live }.map(\.info.client).sorted()
      let present = world.presence(on: channel)
      if present != there { world.violations.append("\(channel): present are \(present), there are \(there)") }
    }
    return world
  }
}
