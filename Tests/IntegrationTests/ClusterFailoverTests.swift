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
    let (seed, rounds) = (Fire.seed(of: "database under fire"), Fire.rounds(usually: 2))
    var random = SeededGenerator(seed: seed)
    var primary = try PostgresServer.new()
    defer { primary.end() }
    try await Cluster.with(brokers: 2, on: primary) { cluster in
      let (record, history) = try await cluster.fire(on: Self.channel, "seed \(seed)") { record in
        for round in 0..<rounds {
          let what = "round \(round), seed \(seed)"
          let standby = try await Self.standby(of: primary)
          do {
            try await record.goesOn(by: .random(in: 50...400, using: &random), what)
            try await Self.failOver(from: primary, to: standby, cluster, using: &random)
          } catch {
            standby.end()
            throw error
          }
          primary = standby
          try await record.goesOn(by: 50, what)
        }
      }
      #expect(!cluster.account.contains("critical"), "\(cluster.account)")
      let refused = record.refused.count
      print("database under fire: \(history.count) publications, once and in order, \(refused) refused for now")
    }
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
    // The time that somebody takes to decide.
    await Fire.letPass(.milliseconds(Int.random(in: 0...2000, using: &random)))
    _ = try ask(standby, "SELECT pg_promote()::text")
    let isPromoted = await eventually(within: .seconds(60)) {
      (try? ask(standby, "SELECT pg_is_in_recovery()::text")) == "false"
    }
    try #require(isPromoted)
    if !findsEarly { cluster.lead(to: standby) }
    try cluster.askFromNowOn(standby)
    print("database under fire: the standby took over \(ContinuousClock.now - begun) after its server's death")
  }
}
