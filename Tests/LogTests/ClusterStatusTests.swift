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
    let owner = try #require(before.owner)
    #expect(owner.name == "one" && owner.epoch == 1 && owner.millisecondsLeft > 0 && owner.since.count > 15)
    #expect(before.waiting.isEmpty && before.replicas.isEmpty && !before.isReadOnly)
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
    try eventually { try status(first).waiting == ["two"] }
    #expect(try status(first).outboxRows == 1)
    first.store.close()
    done.wait()
    #expect(try status(first).owner == nil)
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
