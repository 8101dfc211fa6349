import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Brokers whose database has a synchronous standby, which takes its place when the server dies.
@Suite("Brokers whose database fails over", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct ClusterFailoverTests {
  private static let channel = "dur:fire"

  private static func ask(_ server: PostgresServer, _ statement: String) throws -> String {
    let connection = try Connection(ConnectionParameters(server.connection, applicationName: "operator"))
    defer { connection.close() }
    let rows = try connection.query(statement)
    return rows.count > 0 ? rows.text(0, 0) : ""
  }

  /// A standby of the server, without whose disk no commit counts from now on.
  private static func standby(of server: PostgresServer) async throws -> PostgresServer {
    let standby = try server.standby()
    _ = try ask(server, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
    _ = try ask(server, "SELECT pg_reload_conf()::text")
    let counts = await eventually(within: .seconds(60)) {
      (try? ask(server, "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'quorum'")) == "1"
    }
    try #require(counts, "the server waits for no standby")
    return standby
  }

  @Test("Its server dies and a standby is promoted: publications wait, none is lost, doubled or reordered")
  func promoted() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = environment["FIRE_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
    let rounds = environment["FIRE_ROUNDS"].flatMap { Int($0) } ?? 2
    print("database under fire: FIRE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    var primary = try PostgresServer.new()
    defer { primary.end() }
    try await Cluster.with(brokers: 2, on: primary) { cluster in
      let subscriber = try await cluster.client("sub", at: "a")
      try await subscriber.subscribe(Self.channel)
      let publishers = [try await cluster.client("w0", at: "a"), try await cluster.client("w1", at: "b")]
      let record = FireRecord()
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { record.end() }
        for (index, peer) in publishers.enumerated() {
          group.addTask { await record.pipeline("w\(index)", to: Self.channel, over: peer) }
        }
        for round in 0..<rounds {
          let standby = try await Self.standby(of: primary)
          do {
            let some = Int.random(in: 50...400, using: &random)
            try await Self.progress(of: record, by: some, "round \(round), seed \(seed)")
            try await Self.failOver(from: primary, to: standby, cluster, using: &random)
          } catch {
            standby.end()
            throw error
          }
          primary = standby
          try await Self.progress(of: record, by: 50, "round \(round), seed \(seed)")
        }
        record.end()
        try await group.waitForAll()
      }
      try await Self.check(cluster, record, heardBy: subscriber, "seed \(seed)")
      #expect(([subscriber] + publishers).allSatisfy { $0.socket.closing == nil })
      #expect(!cluster.account.contains("critical"), "\(cluster.account)")
    }
  }

  private static func progress(of record: FireRecord, by some: Int, _ what: String) async throws {
    let before = record.acknowledgements
    let goesOn = await eventually(within: .seconds(90)) { record.hasProgress(since: before, by: some) }
    try #require(goesOn, "\(what): \(record.account(since: before))")
  }

  /// The server is gone, and whoever decides has the standby promoted. Brokers may find it before that, when it does not
  /// take anything yet.
  private static func failOver(
    from primary: PostgresServer, to standby: PostgresServer, _ cluster: Cluster, using random: inout SeededGenerator
  ) async throws {
    let findsEarly = Bool.random(using: &random)
    primary.end()
    let begun = ContinuousClock.now
    if findsEarly { cluster.lead(to: standby) }
    let delay = ContinuousClock.now + .milliseconds(Int.random(in: 0...2000, using: &random))
    // Nothing can happen meanwhile: it is no more than the time that somebody takes to decide.
    _ = await eventually(within: .seconds(60)) { ContinuousClock.now >= delay }
    _ = try ask(standby, "SELECT pg_promote()::text")
    let isPromoted = await eventually(within: .seconds(60)) {
      (try? ask(standby, "SELECT pg_is_in_recovery()::text")) == "false"
    }
    try #require(isPromoted)
    if !findsEarly { cluster.lead(to: standby) }
    try cluster.askFromNowOn(standby)
    print("database under fire: the standby took over \(ContinuousClock.now - begun) after its server's death")
  }

  private static func check(
    _ cluster: Cluster, _ record: FireRecord, heardBy subscriber: Peer, _ what: String
  ) async throws {
    let history = try await cluster.history(channel)
    let faults = record.faults(in: history)
    #expect(faults.isEmpty, "\(what): \(faults.prefix(10))")
    #expect(await eventually(within: .seconds(60)) { subscriber.publications(channel).count >= history.count })
    let seen = subscriber.publications(channel)
    let isWhole = seen.map(\.data) == history
    #expect(isWhole, "\(what): \(seen.count) seen, \(history.count) kept")
    let isContiguous = seen.compactMap(\.offset) == (0..<seen.count).map { UInt64($0) + 1 }
    #expect(isContiguous)
    #expect(subscriber.events(channel).filter { if case .unsubscribed = $0 { true } else { false } }.isEmpty)
    print(
      "database under fire: \(history.count) publications, \(record.refused.count) refused for now, once and in order")
  }
}
