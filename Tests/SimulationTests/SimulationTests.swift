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
      seeds = 1...(Self.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 600)
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
    guard seeds.count >= 600 && failures.isEmpty else { return }
    #expect(coverage.acknowledged > seeds.count, "\(coverage)")
    #expect(coverage.missing == [], "\(coverage)")
  }

  /// The first seed under which somebody notices what is wrong; nil: nobody does.
  @Test("Each fault that is put in on purpose is noticed", arguments: Mutation.allCases)
  func mutants(_ mutation: Mutation) {
    let red = (1...60 as ClosedRange<UInt64>).first { !Self.run(seed: $0, mutation: mutation).violations.isEmpty }
    #expect(red != nil)
  }

  @Test("The same seed replays to the same end")
  func replays() {
    let first = Self.run(seed: 42)
    let second = Self.run(seed: 42)
    #expect(first.now == second.now)
    #expect(first.clients.map(\.position) == second.clients.map(\.position))
    #expect(first.coverage.acknowledged == second.coverage.acknowledged)
  }

  private static func run(seed: UInt64, mutation: Mutation? = nil) -> World {
    let world = World(seed: seed, mutation: mutation)
    for _ in 0..<400 where world.violations.isEmpty { world.step() }
    guard world.violations.isEmpty else { return world }
    world.heal()
    world.publishLast()
    for node in world.gateways {
      world.coverage.gaps += node.link.counters.gaps
      world.coverage.resets += node.link.counters.resets
      world.coverage.refilled += node.link.counters.channelsRefilled
    }
    world.coverage.deferred += world.broker?.counters.requestsDeferred ?? 0
    // The disk, as the next broker would find it.
    var tops: [ChannelName: StreamPosition] = [:]
    for name in World.channels { tops[name] = try? world.log?.store.open(name, durability: .durable).position }
    world.violations += world.oracle.verdict(tops: tops.filter { $0.key.namespace == "d" })
    for client in world.clients {
      if client.state != .live { world.violations.append("\(client.name) never came back: \(client.state)") }
      if !client.unanswered.isEmpty { world.violations.append("\(client.name): a publish was never answered") }
    }
    for channel in World.channels {
      let top = world.top(of: channel)
      for client in world.clients where client.channel == channel && client.position != top {
        world.violations.append(
          "\(client.name) stands at \(client.position as Any), and \(channel) ends at \(top as Any)")
      }
      guard world.namespaces.options(for: channel)?.presence == true else { continue }
      let there = world.clients.filter { $0.channel == channel && $0.state == .live }.map(\.info.client).sorted()
      let present = world.presence(on: channel).sorted()
      if present != there { world.violations.append("\(channel): present are \(present), there are \(there)") }
    }
    return world
  }
}
