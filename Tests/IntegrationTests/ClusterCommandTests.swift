import Foundation
import Log
import TestSupport
import Testing

/// `fanfare cluster status` and `drain` of a log that is shared out in partitions.
@Suite("The commands about a cluster", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct ClusterCommandTests {
  @Test("Each partition has a line that says who has it and who waits, and is handed over by number or by broker")
  func partitions() async throws {
    try await withTemporaryFolder { folder in
      let schema = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
      var options = PostgresStore.Options(connection: try PostgresServer.shared().connection, schema: schema)
      options.outboxMilliseconds = 0
      options.leaseMilliseconds = 6000
      var named = options
      (named.owner, named.brokerName) = ("one", "ann")
      let settings = [
        "log.engine=postgres", "log.postgres.connection=\(options.connection)", "log.postgres.schema=\(schema)",
      ].flatMap { ["--set", $0] }
      let ann = StandingBroker(named, partitions: 2)
      defer { ann.stop() }
      func told(_ arguments: String...) async throws -> (status: Int32?, output: String, errors: String) {
        let ran = try await Tool.run(["cluster"] + arguments + settings, in: folder)
        return (ran.status, ran.tool.output, ran.tool.errors)
      }
      #expect(
        try await eventually {
          try await told("status").output.components(separatedBy: "(broker ann)").count == 3
        })
      options.owner = "two"
      let second = StandingBroker(options, partitions: 2)
      defer { second.stop() }
      var lines: [Substring] = []
      #expect(
        try await eventually {
          lines = try await told("status").output.split(separator: "\n")
          return lines.prefix(2).allSatisfy { $0.contains(" ms; waiting: ") } && lines.count > 2
        }, "\(lines)")
      #expect(lines.prefix(2).map { $0.prefix(14) } == ["partition 0   ", "partition 1   "])
      let unsaid = try await told("drain")
      #expect(unsaid.status == 1 && unsaid.errors.contains("--partition (0 to 1)"), "\(unsaid)")
      let both = try await told("drain", "--partition", "0", "--broker", "ann")
      #expect(both.status == 64 && both.errors.contains("not both"), "\(both)")
      try await handOver(told)
    }
  }

  /// Whatever the broker `ann` has goes to the other one, which has no name.
  private func handOver(
    _ told: (String...) async throws -> (status: Int32?, output: String, errors: String)
  ) async throws {
    let json = try await told("status", "--json")
    let status = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let partitions = try #require(status["partitions"] as? [[String: Any]])
    #expect(json.status == 0 && partitions.map { $0["partition"] as? Int } == [0, 1] && status["owner"] == nil)
    let its = partitions.filter { ($0["owner"] as? [String: Any])?["broker"] as? String == "ann" }
    #expect(its.count == 2)
    for part in its {
      let number = try #require(part["partition"] as? Int)
      let drained = try await told("drain", "--partition", "\(number)")
      let (former, next) = ("one, process \(number)", "two, process \(number)")
      let sentence = "partition \(number): \(former) has handed it over: \(next) has it now\n"
      #expect(drained.status == 0 && drained.output == sentence, "\(drained)")
    }
    let none = try await told("drain", "--broker", "ann")
    #expect(none.status == 1 && none.errors.contains("no partition is kept by a broker of the name ann"), "\(none)")
    let after = try await told("status")
    #expect(after.status == 0 && !after.output.contains("broker ann"), "\(after)")
  }
}
