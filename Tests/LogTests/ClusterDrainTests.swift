import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Log

/// What `fanfare cluster drain` does to a log that is shared out.
@Suite("Handing partitions over", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct ClusterDrainTests {
  /// A log in three partitions that `ann` has, and for which `bob` stands in line where he does.
  private struct Scene {
    let options: PostgresStore.Options
    let ann: StandingBroker

    init(partitions: Int = 3) throws {
      var options = PostgresStore.Options(
        connection: try PostgresServer.shared().connection,
        schema: "t" + UUID().uuidString.lowercased().filter { $0 != "-" })
      options.outboxMilliseconds = 0
      options.leaseMilliseconds = 6000
      self.options = options
      ann = Self.broker("ann", options, partitions)
      try eventually { try Self.owners(options) == Array(repeating: "ann", count: partitions) }
    }

    static func broker(_ name: String, _ options: PostgresStore.Options, _ partitions: Int) -> StandingBroker {
      var options = options
      (options.owner, options.brokerName) = (name, name)
      return StandingBroker(options, partitions: partitions)
    }

    /// Brokers' names by partition; none where nobody has it, or has told none.
    static func owners(_ options: PostgresStore.Options) throws -> [String] {
      guard let status = try? ClusterStatus.read(options) else { return [] }
      return status.partitions.map { $0.owner?.broker ?? "" }
    }

    func drain(_ target: ClusterDrain.Target, alone: Bool = false) throws -> [ClusterDrain.Outcome] {
      var outcomes: [ClusterDrain.Outcome] = []
      try ClusterDrain.perform(options, target, within: 60_000, alone: alone) { outcomes.append($0) }
      return outcomes
    }
  }

  @Test("A partition is handed over by itself, then all that a broker has, and they stay there whoever is preferred")
  func handedOver() throws {
    let scene = try Scene()
    defer { scene.ann.stop() }
    // A preference would ask for what comes back: nobody is preferred to a broker without a name.
    var options = scene.options
    options.owner = "bob"
    let bob = StandingBroker(options, partitions: 3)
    defer { bob.stop() }
    try eventually { try ClusterStatus.read(options).partitions.allSatisfy { !$0.waiting.isEmpty } }
    let one = try scene.drain(.partition(1))
    #expect(one == [.init(partition: 1, former: "ann, process 1", next: "bob, process 1")])
    try eventually { try Scene.owners(options) == ["ann", "", "ann"] }
    let rest = try scene.drain(.broker("ann"))
    #expect(rest.map(\.partition) == [0, 2] && rest.map(\.next) == ["bob, process 0", "bob, process 2"])
    let quiet = try PostgresServer.shared().connect().query(
      """
      SELECT count(*) FROM \(options.schema).owners
      WHERE quiet BETWEEN clock_timestamp() + interval '3 minutes' AND clock_timestamp() + interval '5 minutes'
      """)
    #expect(quiet.int(0, 0) == 3)
    #expect(throws: ClusterDrain.Fault.hasNothing(broker: "ann")) { try scene.drain(.broker("ann")) }
  }

  @Test("What was not said, is not there or has nobody in line is told in a sentence, and stays as it is")
  func refused() throws {
    let scene = try Scene()
    defer { scene.ann.stop() }
    let faults: [(ClusterDrain.Target, ClusterDrain.Fault)] = [
      (.whole, .unsaid(partitions: 3)), (.partition(3), .noPartition(3, partitions: 3)),
      (.partition(-1), .noPartition(-1, partitions: 3)), (.broker("bob"), .hasNothing(broker: "bob")),
      (.partition(2), .nobodyInLine(owner: "ann, process 2", partition: 2)),
    ]
    for (target, fault) in faults {
      #expect(throws: fault) { try scene.drain(target) }
      #expect(fault.description.hasSuffix(".") == false && fault.description.count > 30)
    }
    #expect(faults[0].1.description.contains("--partition (0 to 2)"))
    #expect(faults[4].1.description.contains("nobody stands in line for partition 2, which ann, process 2 has"))
    let status = try ClusterStatus.read(scene.options)
    #expect(status.partitions.map { $0.owner?.epoch } == [1, 1, 1])
  }

  @Test("The one partition of a log that is not shared out needs no number, and has one all the same")
  func whole() throws {
    let scene = try Scene(partitions: 1)
    defer { scene.ann.stop() }
    for target in [ClusterDrain.Target.whole, .partition(0), .broker("ann")] {
      try eventually { try Scene.owners(scene.options) == ["ann"] }
      let outcomes = try scene.drain(target, alone: true)
      #expect(outcomes.map(\.former) == ["ann, process 0"] && outcomes.allSatisfy { $0.partition == nil })
    }
  }
}
