import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// Several brokers, each with a process for each partition: stores that are opened again when they are closed.
@Suite(
  "Brokers that are preferred for partitions", .ownThread,
  .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct PreferredBrokerTests {
  private func broker(_ name: String, partitions: Int, schema: String) throws -> StandingBroker {
    var options = PostgresStore.Options(connection: try PostgresServer.shared().connection, schema: schema)
    (options.brokerName, options.owner) = (name, name)
    options.outboxMilliseconds = 0
    // An owner that has nothing to write hears that it is asked when it renews its lease.
    options.leaseMilliseconds = 6000
    return StandingBroker(options, partitions: partitions)
  }

  /// Names of brokers by partition, as their leases say it.
  private func owners(_ connection: Connection, _ schema: String, partitions: Int) throws -> [String] {
    try (0..<partitions).map { partition in
      let partition = PostgresStore.Options.schema(schema, of: partition)
      if try connection.query("SELECT to_regclass('\(partition).shards') IS NULL").bool(0, 0) { return "" }
      let rows = try connection.query("SELECT owner FROM \(partition).shards WHERE shard = 0")
      return String(rows.text(0, 0).prefix { $0 != "," })
    }
  }

  private func leases(_ connection: Connection, _ schema: String, partitions: Int) throws -> [Int64] {
    try (0..<partitions).map { partition in
      try connection.query("SELECT epoch FROM \(PostgresStore.Options.schema(schema, of: partition)).shards").int(0, 0)
    }
  }

  private func preferred(_ names: [String], partitions: Int) -> [String] {
    (0..<partitions).compactMap { Rendezvous.first(of: names, for: $0) }
  }

  @Test("Partitions go to the brokers that are preferred, one by one, and only those of a broker that ends move again")
  func placed() throws {
    let (schema, names, many) = (newSchema(), ["broker-1", "broker-2", "broker-3"], 4)
    let connection = try PostgresServer.shared().connect()
    var brokers: [String: StandingBroker] = [:]
    defer { for broker in brokers.values { broker.stop() } }
    brokers["broker-1"] = try broker("broker-1", partitions: many, schema: schema)
    try eventually {
      try owners(connection, schema, partitions: many) == Array(repeating: "broker-1", count: many)
    }
    for name in names.dropFirst() { brokers[name] = try broker(name, partitions: many, schema: schema) }
    let expected = preferred(names, partitions: many)
    try eventually { try owners(connection, schema, partitions: many) == expected }
    let epochs = try leases(connection, schema, partitions: many)
    #expect(epochs.allSatisfy { (1...4).contains($0) }, "\(epochs)")
    brokers.removeValue(forKey: "broker-2")?.stop()
    let rest = preferred(["broker-1", "broker-3"], partitions: many)
    try eventually { try owners(connection, schema, partitions: many) == rest }
    let moved = try leases(connection, schema, partitions: many)
    for partition in 0..<many {
      let isMoved = expected[partition] == "broker-2"
      #expect(isMoved ? moved[partition] > epochs[partition] : moved[partition] == epochs[partition], "\(partition)")
    }
  }

  @Test("A broker that comes gets the leases that it is preferred for one by one, a second or more apart")
  func oneByOne() throws {
    let (schema, many) = (newSchema(), 6)
    let connection = try PostgresServer.shared().connect()
    let first = try broker("broker-2", partitions: many, schema: schema)
    defer { first.stop() }
    try eventually {
      try owners(connection, schema, partitions: many) == Array(repeating: "broker-2", count: many)
    }
    let second = try broker("broker-3", partitions: many, schema: schema)
    defer { second.stop() }
    let expected = preferred(["broker-2", "broker-3"], partitions: many)
    #expect(expected.count { $0 == "broker-3" } >= 2)
    try eventually { try owners(connection, schema, partitions: many) == expected }
    let union = (0..<many).filter { expected[$0] == "broker-3" }
      .map { "SELECT taken FROM \(PostgresStore.Options.schema(schema, of: $0)).leases WHERE owner LIKE 'broker-3%'" }
      .joined(separator: " UNION ALL ")
    // No lease is asked for within a second after the one before it was taken.
    let rows = try connection.query(
      """
      SELECT min(gap) > interval '900 milliseconds' FROM (
        SELECT taken - lag(taken) OVER (ORDER BY taken) AS gap FROM (\(union)) AS t) AS g
      """)
    #expect(rows.bool(0, 0))
  }

  @Test("A broker without a name asks for nothing, and is asked for nothing")
  func nameless() throws {
    let schema = newSchema()
    let isDrained = Mutex(false)
    let owner = try PostgresSubject(schema: schema) {
      $0.outboxMilliseconds = 0
      $0.owner = "nameless"
      $0.onDrain = { isDrained.withLock { $0 = true } }
    }
    let broker = try self.broker("broker-3", partitions: 1, schema: schema)
    defer { broker.stop() }
    try eventually { try owner.rows("brokers") == 1 }
    #expect(try owner.rows("owners") == 0)
    // It stands there for much longer than it would wait to ask.
    let begun = try owner.query("SELECT max(seen)::text FROM brokers").text(0, 0)
    try eventually {
      try owner.query(
        "SELECT max(seen) > $1::timestamptz + interval '4 seconds' FROM brokers", [.text(begun)]
      ).bool(0, 0)
    }
    #expect(!isDrained.withLock { $0 } && owner.store.term == 1)
    owner.store.close()
    try eventually { try owner.rows("owners") == 1 }
  }

  @Test("A broker that lost its leases while it was paused gets those again that it is preferred for, and only those")
  func paused() throws {
    let (schema, many) = (newSchema(), 2)
    let connection = try PostgresServer.shared().connect()
    let proxy = try PostgresProxy()
    defer { proxy.close() }
    let preferred = try #require(preferred(["broker-1", "broker-2", "broker-3"], partitions: 1).first)
    let address = proxy.connection
    let first = try PostgresSubject(schema: schema, connection: address) {
      $0.outboxMilliseconds = 0
      $0.leaseMilliseconds = 6000
      ($0.brokerName, $0.owner, $0.partitions) = (preferred, "\(preferred), process 0", many)
    }
    let other = try broker("broker-1", partitions: many, schema: schema)
    defer { other.stop() }
    try eventually { try owners(connection, schema, partitions: many) == [preferred, "broker-1"] }
    proxy.set(.paused)
    try eventually { try owners(connection, schema, partitions: many) == ["broker-1", "broker-1"] }
    proxy.set(.open)
    // It stands in line again once its channels are let go.
    _ = try first.news { $0.contains(.regained) }
    #expect(try owners(connection, schema, partitions: many) == [preferred, "broker-1"])
    first.store.close()
  }

  @Test("Tables of brokers that cannot be asked harm nobody: leases are taken and kept as without names")
  func unseen() throws {
    let schema = newSchema()
    let connection = try PostgresServer.shared().connect()
    let first = try broker("broker-1", partitions: 1, schema: schema)
    try eventually { try owners(connection, schema, partitions: 1) == ["broker-1"] }
    try connection.run(script: "DROP TABLE \(schema).brokers")
    let second = try broker("broker-3", partitions: 1, schema: schema)
    defer { second.stop() }
    let epoch = try leases(connection, schema, partitions: 1)
    let seq = try connection.query("SELECT seq FROM \(schema).shards").int(0, 0)
    try eventually { try connection.query("SELECT seq FROM \(schema).shards").int(0, 0) > seq + 2 }
    #expect(try leases(connection, schema, partitions: 1) == epoch)
    first.stop()
    try eventually { try owners(connection, schema, partitions: 1) == ["broker-3"] }
  }

  private func newSchema() -> String { "t" + UUID().uuidString.lowercased().filter { $0 != "-" } }
}
