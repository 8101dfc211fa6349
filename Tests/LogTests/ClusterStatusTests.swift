import Foundation
import TestSupport
import Testing

@testable import Log

/// What `fanfare cluster status` reads.
@Suite("The status of a cluster", .ownThread, .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
struct ClusterStatusTests {
  private func status(_ subject: PostgresSubject) throws -> ClusterStatus {
    try ClusterStatus.read(subject.options)
  }

  @Test("Owner, those who wait, and the outbox are told, and nothing is changed by asking")
  func cluster() throws {
    let first = try PostgresSubject {
      $0.owner = "one"
      $0.outboxMilliseconds = 0
    }
    let before = try status(first)
    let owner = try #require(before.partitions.first?.owner)
    #expect(before.partitions.count == 1 && owner.broker.isEmpty)
    #expect(owner.name == "one" && owner.epoch == 1 && owner.millisecondsLeft > 0 && owner.since.count > 15)
    #expect(before.partitions[0].waiting.isEmpty && before.replicas.isEmpty && !before.isReadOnly)
    #expect(before.outboxRows == 0 && before.refusedRows == 0)
    try first.query("SELECT publish('a', '1')")
    let (schema, done) = (first.schema, DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      let second = try? PostgresSubject(schema: schema) {
        $0.owner = "two"
        $0.outboxMilliseconds = 0
      }
      second?.store.close()
      done.signal()
    }
    try eventually { try status(first).partitions[0].waiting == ["two"] }
    #expect(try status(first).outboxRows == 1)
    first.store.close()
    done.wait()
    #expect(try status(first).partitions[0].owner == nil)
  }

  @Test("Of a log that is shared out, each partition is told, also one that nobody has begun, and what waits in all")
  func partitions() throws {
    var options = PostgresStore.Options(
      connection: try PostgresServer.shared().connection,
      schema: "t" + UUID().uuidString.lowercased().filter { $0 != "-" })
    options.outboxMilliseconds = 0
    var home = options
    (home.owner, home.brokerName, home.partitions) = ("one", "ann", 3)
    let subject = try PostgresSubject(schema: options.schema) { $0 = home }
    let other = try PostgresSubject(schema: options.schema) {
      $0 = home
      ($0.partition, $0.owner, $0.brokerName) = (2, "two", "")
    }
    (options.owner, options.brokerName) = ("standing", "bob")
    let standing = StandingBroker(options, partitions: 3)
    defer { standing.stop() }
    try subject.query("INSERT INTO outbox (channel, data, options) VALUES ('a', '1', '{}'), ('b', '2', '{}')")
    try other.query("INSERT INTO \(options.schema)_p2.outbox (channel, data, options) VALUES ('c', '3', '{}')")
    try eventually {
      let status = try self.status(subject)
      return status.partitions[0].waiting == ["standing, process 0"]
        && status.partitions[2].waiting == ["standing, process 2"] && status.partitions[0].owner?.broker == "ann"
        && status.partitions[1].owner?.broker == "bob"
    }
    let status = try self.status(subject)
    #expect(status.partitions.map { $0.owner?.name } == ["one", "standing, process 1", "two"])
    #expect(status.partitions[2].owner?.broker == "" && status.partitions.allSatisfy(\.isKept))
    #expect(status.outboxRows == 3 && status.refusedRows == 0)
    other.store.close()
    subject.store.close()
  }

  @Test("Standbys of the server are told, with how they are")
  func standbys() throws {
    let primary = try PostgresServer.new()
    defer { primary.end() }
    let subject = try PostgresSubject(connection: primary.connection)
    let standby = try primary.standby()
    defer { standby.end() }
    try eventually { try status(subject).replicas.map(\.state) == ["streaming"] }
    let replica = try #require(try status(subject).replicas.first)
    #expect(replica.name == "walreceiver" && replica.synchrony == "async" && replica.bytesBehind >= 0)
    subject.store.close()
  }

  @Test("A schema without a log, and a server that is not there, are told in a sentence")
  func missing() throws {
    let options = PostgresStore.Options(connection: try PostgresServer.shared().connection, schema: "nothing_here")
    let error = #expect(throws: PostgresStartError.self) { try ClusterStatus.read(options) }
    #expect(error?.description.contains("there is no log in the schema nothing_here") == true)
    let nowhere = PostgresStore.Options(connection: "host=/nowhere dbname=x", schema: "fanfare")
    guard case .unreachable = #expect(throws: PostgresStartError.self, performing: { try ClusterStatus.read(nowhere) })
    else {
      Issue.record("another error")
      return
    }
  }
}
