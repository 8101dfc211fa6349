import Wire

/// The tables and functions of the log in a PostgreSQL database, in a schema of their own.
///
/// Names and keys are `bytea`, because they are told apart by their bytes and may hold a zero byte, which a `text` does
/// not take. Each table has the shard of its channel, a slot of its name (``Partitioning/slot(of:)``): the lease of shard
/// 0 covers all that are in the partition whose schema this is (``PostgresSharing``).
enum PostgresSchema {
  static let shardCount = 256
  /// Buckets of names, by which an epoch's generation is counted (``Epoch/derived(from:generation:durability:name:)``).
  static let bucketCount = Partitioning.buckets

  /// Scripts that bring the schema from one version to the next, the first from nothing. What was released is never
  /// changed: a change is another script.
  static let migrations = [
    tables + PostgresFunctions.all,
    PostgresOutboxSchema.all + "\nDROP FUNCTION append;\n" + PostgresFunctions.append,
    PostgresFunctions.fenceWithDrain,
    PostgresKeysSchema.all,
    PostgresSharing.publishing,
    PostgresRelaySchema.all,
  ]

  /// The bucket of a name: FNV-1a of its bytes. It must never change, since databases hold what it gave.
  static func bucket(of name: String) -> Int64 { Int64(Partitioning.bucket(of: name)) }

  /// Where the names of a namespace's channels stand in the index of names: from `journal:` to `journal;`, where the next
  /// names begin, and the same with a `$` before. Names without a namespace stand everywhere.
  static func spans(of namespace: String) -> [(first: [UInt8], end: [UInt8])] {
    if namespace.isEmpty { return [([], [0xFF])] }
    return ["", "$"].map { (Array("\($0)\(namespace):".utf8), Array("\($0)\(namespace);".utf8)) }
  }

  private static let tables = """
    CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
    INSERT INTO meta VALUES ('clean', '1'), ('era', ''), ('run', ''), ('seed', ''), ('quotas', '');

    CREATE TABLE shards (
      shard smallint PRIMARY KEY,
      epoch bigint NOT NULL, -- rises with each owner: the fence
      seq bigint NOT NULL, -- transactions that were committed under a lease
      owner text NOT NULL,
      pid integer NOT NULL, -- the owner's session
      expires timestamptz NOT NULL
    );
    INSERT INTO shards VALUES (0, 0, 0, '', 0, '-infinity');

    -- The last thousand leases: where one began, and whose it was. A broker's mark is held against it.
    CREATE TABLE leases (
      epoch bigint PRIMARY KEY,
      term text NOT NULL, -- random
      started bigint NOT NULL, -- shards.seq when it was taken
      owner text NOT NULL,
      taken timestamptz NOT NULL
    );

    CREATE TABLE channels (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      shard smallint NOT NULL,
      bucket smallint NOT NULL,
      name bytea NOT NULL UNIQUE,
      epoch text NOT NULL,
      top bigint NOT NULL,
      floor bigint NOT NULL, -- what stands at or below it is not kept, deleted or not
      trimmed bigint NOT NULL DEFAULT 0, -- what stands at or below it is deleted
      durability text NOT NULL,
      history_ttl bigint NOT NULL,
      expires bigint, -- when the oldest publication may be too old; null where nothing is kept
      used bigint NOT NULL,
      quota_namespace bytea, -- null: what is kept here counts for nobody
      quota_owner bytea -- null: whoever wrote a row pays for it
    ) WITH (fillfactor = 70); -- rows are updated with each publication, and stay on their page
    CREATE INDEX channels_expires ON channels (expires) WHERE expires IS NOT NULL;

    CREATE TABLE publications (
      channel bigint NOT NULL,
      off bigint NOT NULL,
      time bigint NOT NULL,
      gateway bigint,
      request bigint,
      shard smallint NOT NULL,
      data bytea NOT NULL,
      info bytea,
      tags bytea,
      change bytea,
      PRIMARY KEY (channel, off)
    );

    CREATE TABLE entries (
      channel bigint NOT NULL,
      key bytea NOT NULL,
      off bigint NOT NULL,
      time bigint NOT NULL,
      score bigint NOT NULL,
      expires bigint, -- null: never
      shard smallint NOT NULL,
      data bytea NOT NULL,
      info bytea,
      tags bytea,
      PRIMARY KEY (channel, key)
    );
    CREATE INDEX entries_due ON entries (channel, score, expires) WHERE expires IS NOT NULL;
    CREATE INDEX entries_ends ON entries (channel, expires) WHERE expires IS NOT NULL;

    CREATE TABLE idempotency (
      channel bigint NOT NULL,
      key bytea NOT NULL,
      off bigint NOT NULL,
      digest bigint NOT NULL,
      expires bigint NOT NULL,
      shard smallint NOT NULL,
      PRIMARY KEY (channel, key)
    );
    CREATE INDEX idempotency_expires ON idempotency (expires);

    -- Origins of publications that are not kept themselves.
    CREATE TABLE origins (
      channel bigint NOT NULL,
      gateway bigint NOT NULL,
      request bigint NOT NULL,
      off bigint NOT NULL,
      time bigint NOT NULL,
      shard smallint NOT NULL,
      PRIMARY KEY (channel, gateway, request)
    );
    CREATE INDEX origins_time ON origins (time);

    CREATE TABLE kept (
      namespace bytea NOT NULL,
      payer bytea NOT NULL,
      bytes bigint NOT NULL,
      entries bigint NOT NULL,
      PRIMARY KEY (namespace, payer)
    );
    -- Accounts that have changed and of which the owner was not told.
    CREATE UNLOGGED TABLE changed (namespace bytea, payer bytea, PRIMARY KEY (namespace, payer));

    -- How many rows of channels were deleted whose names fall into the bucket: such a channel begins anew, and must do
    -- so in another epoch.
    CREATE TABLE generations (bucket smallint PRIMARY KEY, generation bigint NOT NULL);

    """
}
