import SQLite

/// The tables of the log's database, and how a connection to it is set up.
enum Schema {
  /// The tables, as each version changed them.
  static let migrations = Migrations([
    .init(
      "v1",
      """
      CREATE TABLE meta (
        key TEXT NOT NULL PRIMARY KEY,
        value ANY NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO meta VALUES ('sequence', 0), ('clean', 1), ('era', ''), ('run', '');

      -- TEXT compares by bytes (collation BINARY), as channel names must be.
      CREATE TABLE channels (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        epoch TEXT NOT NULL,
        top INTEGER NOT NULL,
        durability TEXT NOT NULL,
        history_ttl INTEGER NOT NULL,
        expires INTEGER -- when the oldest publication may be too old; null where nothing is kept
      ) STRICT;
      CREATE INDEX channels_expires ON channels (expires) WHERE expires IS NOT NULL;

      CREATE TABLE publications (
        channel_id INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        time INTEGER NOT NULL,
        data BLOB NOT NULL,
        info BLOB,
        tags BLOB,
        origin_gateway INTEGER,
        origin_request INTEGER,
        PRIMARY KEY (channel_id, offset)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE idempotency (
        channel_id INTEGER NOT NULL,
        key TEXT NOT NULL,
        offset INTEGER NOT NULL,
        digest INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        PRIMARY KEY (channel_id, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotency_expires ON idempotency (expires);

      -- Origins of publications that are not kept themselves.
      CREATE TABLE origins (
        channel_id INTEGER NOT NULL,
        gateway INTEGER NOT NULL,
        request INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        time INTEGER NOT NULL,
        PRIMARY KEY (channel_id, gateway, request)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX origins_time ON origins (time);
      """),
    .init(
      "v2",
      """
      -- What a publication of a map channel did to its key.
      ALTER TABLE publications ADD COLUMN change BLOB;

      CREATE TABLE entries (
        channel_id INTEGER NOT NULL,
        key TEXT NOT NULL,
        offset INTEGER NOT NULL,
        time INTEGER NOT NULL,
        data BLOB NOT NULL,
        info BLOB,
        tags BLOB,
        score INTEGER NOT NULL,
        expires INTEGER, -- null: never
        PRIMARY KEY (channel_id, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX entries_expires ON entries (channel_id, expires) WHERE expires IS NOT NULL;
      """),
    .init(
      "v3",
      """
      INSERT INTO meta VALUES ('seed', '');

      -- How many rows of `channels` were deleted whose names fall into the bucket: such a channel begins at offset 0
      -- again, and must do so in another epoch. As many buckets as make a stranger's deletion unlikely to matter.
      CREATE TABLE epoch_generations (
        bucket INTEGER PRIMARY KEY,
        generation INTEGER NOT NULL
      ) STRICT;
      CREATE TRIGGER channels_deleted AFTER DELETE ON channels BEGIN
        INSERT INTO epoch_generations VALUES (\(epochBucket(of: "OLD.name")), 1)
        ON CONFLICT (bucket) DO UPDATE SET generation = generation + 1;
      END;
      """),
    .init(
      "due by lane",
      """
      DROP INDEX entries_expires;
      -- Records of an app wait for their time in lanes: none waits behind those of another.
      CREATE INDEX entries_due ON entries (channel_id, score, expires) WHERE expires IS NOT NULL;
      """),
    .init(
      "channels.used",
      """
      -- When the newest publication was made: long after, a row of which nothing is kept is deleted.
      ALTER TABLE channels ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
      UPDATE channels SET used = CAST(strftime('%s', 'now') AS INTEGER) * 1000;
      -- Whether anything in a map is over, in whatever lane: asked of every channel, round and round.
      CREATE INDEX entries_ends ON entries (channel_id, expires) WHERE expires IS NOT NULL;
      """),
    .init(
      "kept",
      """
      -- What each user keeps in the namespaces that have a quota, which "quotas" in meta names, each with a line feed.
      CREATE TABLE kept (
        namespace TEXT NOT NULL,
        user TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        PRIMARY KEY (namespace, user)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO meta VALUES ('quotas', '');
      """),
    .init(
      "journal",
      """
      -- Publications that are not in the tables above yet, a row for each commit: see JournalCodec.
      CREATE TABLE journal (
        sequence INTEGER PRIMARY KEY, -- the transaction's number
        entries BLOB NOT NULL
      ) STRICT;
      """),
  ])

  /// The bucket of `epoch_generations` that a name falls into, as SQL: by its last characters, which differ most. The
  /// formula must never change, since files hold what it gave.
  static func epochBucket(of name: String) -> String {
    let terms = [(1, 1), (2, 11), (3, 131), (4, 1543), (5, 211)].map { "unicode(substr(\(name), -\($0.0))) * \($0.1)" }
    return "((" + terms.joined(separator: " + ") + " + length(\(name)) * 7) % 4096)"
  }

  /// Opens the one connection that writes and checkpoints.
  ///
  /// Checkpoints each 16 MiB: whoever waits for a commit waits for the checkpoint before it, and with SQLite's 4 MiB a
  /// busy log made twelve a second, of much the same pages, which doubled the time to an answer. A burst may leave 64
  /// MiB.
  static func writer(at path: String) throws -> DatabaseConnection {
    let connection = try DatabaseConnection(path: path)
    try connection.inDatabase { db in
      try db.execute(
        """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA secure_delete = ON; -- what is deleted is overwritten: keys and messages must not stay in free pages
        PRAGMA wal_autocheckpoint = 4000;
        PRAGMA journal_size_limit = 67108864;
        PRAGMA cache_size = -8192;
        PRAGMA temp_store = MEMORY;
        """)
    }
    return connection
  }

  /// Sets whether a commit waits until the disk has it (`FULL`), or is as durable as the next commit that does, or the
  /// next checkpoint.
  static func setSynchronous(_ isFull: Bool, _ db: Database) throws {
    try db.statement(isFull ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL").run()
  }

  /// Opens a connection for a reader's thread, beside the writer's.
  static func reader(at path: String) throws -> DatabaseConnection {
    try DatabaseConnection(path: path, isReadOnly: true)
  }
}
