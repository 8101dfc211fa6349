import Foundation
import TestSupport
import Testing

/// A data folder as the first version wrote it, filled by SQLite's own command, under today's server.
///
/// The tables stand here once more, and not in a constant of the sources: a step of the schema that is changed after it
/// shipped would change both sides of the comparison.
@Suite("Upgrade", .ownThread)
struct UpgradeTests {
  /// The key `k` was used for `"two"`, whose digest (FNV-1a, quotation marks included) stands beside it.
  private static let first = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES ('v1');
    CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('sequence', 4), ('clean', 1), ('era', 'era'), ('run', 'run');
    CREATE TABLE channels (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch TEXT NOT NULL, top INTEGER NOT NULL,
      durability TEXT NOT NULL, history_ttl INTEGER NOT NULL, expires INTEGER
    ) STRICT;
    CREATE INDEX channels_expires ON channels (expires) WHERE expires IS NOT NULL;
    CREATE TABLE publications (
      channel_id INTEGER NOT NULL, offset INTEGER NOT NULL, time INTEGER NOT NULL, data BLOB NOT NULL, info BLOB,
      tags BLOB, origin_gateway INTEGER, origin_request INTEGER, PRIMARY KEY (channel_id, offset)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE idempotency (
      channel_id INTEGER NOT NULL, key TEXT NOT NULL, offset INTEGER NOT NULL, digest INTEGER NOT NULL,
      expires INTEGER NOT NULL, PRIMARY KEY (channel_id, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_expires ON idempotency (expires);
    CREATE TABLE origins (
      channel_id INTEGER NOT NULL, gateway INTEGER NOT NULL, request INTEGER NOT NULL, offset INTEGER NOT NULL,
      time INTEGER NOT NULL, PRIMARY KEY (channel_id, gateway, request)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX origins_time ON origins (time);

    CREATE TEMP TABLE clock AS SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000 AS now;
    INSERT INTO channels SELECT 1, 'dur:old', 'epoch', 3, 'durable', 3600000, now + 3600000 FROM clock;
    INSERT INTO channels SELECT 2, 'rel:old', 'other', 500, 'relaxed', 3600000, now + 3600000 FROM clock;
    INSERT INTO publications SELECT 1, 1, now - 2000, CAST('"one"' AS BLOB), NULL, NULL, NULL, NULL FROM clock;
    INSERT INTO publications SELECT 1, 2, now - 1000, CAST('"two"' AS BLOB), NULL, NULL, 7, 8 FROM clock;
    INSERT INTO publications SELECT 1, 3, now, CAST('"three"' AS BLOB), NULL, NULL, NULL, NULL FROM clock;
    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500)
      INSERT INTO publications
      SELECT 2, n, now - 500 + n, CAST('"' || n || '"' AS BLOB), NULL, NULL, NULL, NULL FROM number, clock;
    INSERT INTO idempotency SELECT 1, 'k', 2, 4344730233009932625, now + 300000 FROM clock;
    """

  private static func make(_ folder: URL) async throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let database = folder.appendingPathComponent("fanfare.sqlite").path
    let outcome = try await Command(named: "sqlite3", ["-bail", database, first]).run(deadline: .seconds(60))
    try #require(outcome.status == 0, "\(outcome.output)")
    // The number of the last transaction, little-endian.
    try Data([4, 0, 0, 0, 0, 0, 0, 0]).write(to: folder.appendingPathComponent("fanfare.mark"))
  }

  @Test("A data folder of the first version is taken over whole: history, epochs, keys; and again after a restart")
  func takenOver() async throws {
    try await withTemporaryFolder { folder in
      try await Self.make(folder.appendingPathComponent("broker"))
      try await Deployment.with(.serve, in: folder) { deployment in
        try await Self.check(deployment, newest: 3)
        let conflict = try await deployment.service().publish("other", to: "dur:old", key: "k")
        #expect(conflict.isError, "the key was used for other data before")
        let again = try await deployment.service().publish("two", to: "dur:old", key: "k")
        #expect(again.offset == 2 && !again.isError, "what was done before is answered as the first time")
        #expect(try await deployment.service().publish("four", to: "dur:old").offset == 4)
        let status = await deployment.broker.end()
        #expect(status == 0)
        try await deployment.restartBroker()
        try await Self.check(deployment, newest: 4)
      }
    }
  }

  private static func check(_ deployment: Deployment, newest: UInt64) async throws {
    let texts = ["one", "two", "three", "four"].prefix(Int(newest))
    let service = try deployment.service()
    #expect(try await service.wholeHistory("dur:old").map(\.data) == Array(texts))
    #expect(try await service.wholeHistory("rel:old").map(\.data) == (1...500).map { "\($0)" })
    // A client that was away during the upgrade goes on where it was.
    let client = try await deployment.client("ada")
    let here = try await client.subscribe("dur:old", since: Peer.Position(epoch: "epoch.era", offset: 1))
    #expect(here.recovered == true)
    #expect(here.publications?.map(\.data) == Array(texts.dropFirst()))
    let relaxed = try await client.subscribe("rel:old", since: Peer.Position(epoch: "other.run", offset: 498))
    #expect(relaxed.recovered == true)
    #expect(relaxed.publications?.map(\.data) == ["499", "500"])
  }
}
