import Broker
import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker
@testable import Gateway
@testable import Log

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
      seeds = 1...(Self.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 450)
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
    guard seeds.count >= 450 && failures.isEmpty else { return }
    #expect(coverage.acknowledged > seeds.count, "\(coverage)")
    #expect(coverage.missing == [], "\(coverage)")
  }

  /// Looks for the first seed under which the fault breaks a promise.
  @Test("Each fault that is put in on purpose is noticed", arguments: Mutation.ofChannels)
  func mutants(_ mutation: Mutation) {
    let red = (1...60 as ClosedRange<UInt64>).first { !Self.run(seed: $0, mutation: mutation).violations.isEmpty }
    #expect(red != nil)
  }

  @Test("The same seed replays to the same end")
  func replays() {
    let first = Self.run(seed: 42)
    let second = Self.run(seed: 42)
    #expect(first.now == second.now)
    #expect(first.clients.map { $0.feeds.map(\.position) } == second.clients.map { $0.feeds.map(\.position) })
    #expect("\(first.coverage)" == "\(second.coverage)")
  }

  @Test("Each fault that is put into a gateway on purpose is noticed", arguments: GatewayMutation.allCases)
  func gatewayMutants(_ mutation: GatewayMutation) {
    let red = (1...60 as ClosedRange<UInt64>).first {
      !Self.run(seed: $0, gatewayMutation: mutation).violations.isEmpty
    }
    #expect(red != nil)
  }

  private static func run(
    seed: UInt64, mutation: Mutation? = nil, gatewayMutation: GatewayMutation? = nil
  ) -> World {
    let world = World(seed: seed, mutation: mutation, gatewayMutation: gatewayMutation)
    for _ in 0..<500 where world.violations.isEmpty { world.step() }
    if world.violations.isEmpty { world.heal() }
    guard world.violations.isEmpty else { return world }
    world.publishLast()
    for gateway in world.gateways { world.note(gateway) }
    world.coverage.deferred += world.broker?.counters.requestsDeferred ?? 0
    // What the next broker would find on the disk is compared with what was acknowledged.
    var tops: [ChannelName: StreamPosition] = [:]
    for name in World.channels { tops[name] = try? world.log?.store.open(name, durability: .durable).position }
    world.violations += world.oracle.verdict(tops: tops.filter { $0.key.namespace == "d" })
    world.judge()
    return world
  }
}
