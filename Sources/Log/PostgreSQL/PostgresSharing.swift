import PostgreSQL

/// How a log is shared in partitions, as its database says it: each partition has a schema of its own, and what is of all
/// of them stands in home's, which is the configured one.
enum PostgresSharing {
  /// The schema of a partition.
  static func schema(_ home: String, of partition: Int) -> String {
    partition == 0 ? home : "\(home)_p\(partition)"
  }

  /// Makes what a broker of any partition needs in home's schema, and holds the number of partitions against its own. A
  /// log in which nothing stands yet is shared as its first broker says.
  ///
  /// - Throws: ``PostgresStartError/otherPartitions(inLog:configured:)`` where the log is shared otherwise.
  static func check(_ connection: Connection, _ home: PostgresDatabase, partitions: Int) throws {
    let key = Parameter.int(home.lockKey("sharing"))
    _ = try connection.query("SELECT pg_advisory_lock($1)", [key], within: 60)
    defer { _ = try? connection.query("SELECT pg_advisory_unlock($1)", [key], within: home.patience) }
    try makeTables(connection, home)
    let known = try count(connection, home)
    if known == partitions { return }
    guard known == 1, try isEmpty(connection, home) else {
      throw PostgresStartError.otherPartitions(inLog: known, configured: partitions)
    }
    try record(partitions, connection, home)
  }

  /// Makes what is of all partitions, where it is missing. Whoever asks has the lock.
  static func makeTables(_ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) {
    guard
      try connection.query("SELECT to_regclass('\(home.schema).sharing') IS NULL", within: home.patience).bool(0, 0)
    else { return }
    // Without this question a user who may not make schemas could not begin in one that is there.
    let isThere = try connection.query(
      "SELECT 1 FROM pg_namespace WHERE nspname = $1", [.text(home.schema)], within: home.patience)
    let schema = isThere.count > 0 ? "" : "CREATE SCHEMA \(home.schema);"
    try connection.run(script: schema + tables(of: home.schema), within: home.patience)
  }

  /// Not a step of the schema's versions: brokers of all partitions need it, and only home's may take those.
  private static func tables(of home: String) -> String {
    """
    CREATE TABLE \(home).sharing (partitions bigint NOT NULL); -- empty: 1
    -- Brokers that live, by the names that they have among those of the log.
    CREATE TABLE \(home).brokers (name text PRIMARY KEY, seen timestamptz NOT NULL);
    """
  }

  /// In how many partitions the log is shared.
  static func count(_ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) -> Int {
    try count(connection, of: home.schema, within: home.patience)
  }

  private static func count(
    _ connection: Connection, of home: String, within patience: Double
  ) throws(PostgresError) -> Int {
    if try connection.query("SELECT to_regclass('\(home).sharing') IS NULL", within: patience).bool(0, 0) { return 1 }
    return Int(
      try connection.query("SELECT coalesce(max(partitions), 1) FROM \(home).sharing", within: patience).int(0, 0))
  }

  /// Holds the number against that of a broker which has just taken a lease: it may have changed while the broker stood
  /// in line, or was paused, and does not as long as there is a lease (``ClusterPartitioning``).
  ///
  /// - Throws: ``PostgresStartError/otherPartitions(inLog:configured:)``.
  static func confirm(_ connection: Connection, _ database: PostgresDatabase) throws {
    let known = try count(connection, of: database.home, within: database.patience)
    if known != database.partitions {
      throw PostgresStartError.otherPartitions(inLog: known, configured: database.partitions)
    }
  }

  static func record(_ partitions: Int, _ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) {
    try connection.run(
      script: "DELETE FROM \(home.schema).sharing; INSERT INTO \(home.schema).sharing VALUES (\(partitions))",
      within: home.patience)
  }

  private static func isEmpty(_ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) -> Bool {
    if try connection.query("SELECT to_regclass('\(home.schema).channels') IS NULL", within: home.patience).bool(0, 0) {
      return true
    }
    return try !connection.query("SELECT EXISTS (SELECT FROM \(home.schema).channels)", within: home.patience)
      .bool(0, 0)
  }

  /// Says in home's schema which namespaces' channels are at home, and which follow others, for ``publish``.
  ///
  /// - Parameters:
  ///   - pinned: namespaces; the empty name: channels without one.
  ///   - following: likewise.
  static func place(
    pinned: Set<String>, following: Set<String>, by ask: (String, [Parameter]) throws(LogError) -> Rows
  ) throws(LogError) {
    let rows = pinned.union(following).sorted()
    _ = try ask(
      """
      WITH given AS (SELECT * FROM unnest($1, $2) AS g (namespace, follows)),
        gone AS (DELETE FROM pinned WHERE NOT namespace = ANY ($1))
      INSERT INTO pinned SELECT * FROM given
      ON CONFLICT (namespace) DO UPDATE SET follows = excluded.follows
      """, [.texts(rows), .bools(rows.map { following.contains($0) })])
  }

  /// The step of the schema that has `publish` put a row where its channel is.
  static let publishing = """
    CREATE TABLE pinned (namespace text PRIMARY KEY, follows boolean NOT NULL);
    SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
    -- As Partitioning.slot(of:): FNV-1a in two halves of 32 bits, since a bigint takes no 64.
    CREATE FUNCTION slot_of(channel text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
    DECLARE
      bytes bytea := convert_to(channel, 'UTF8');
      high bigint := x'cbf29ce4'::bigint;
      low bigint := x'84222325'::bigint;
      mask bigint := x'ffffffff'::bigint;
      product bigint;
    BEGIN
      FOR place IN 0 .. octet_length(bytes) - 1 LOOP
        low := low # get_byte(bytes, place);
        product := low * 435;
        high := (high * 435 + (product >> 32) + ((low << 8) & mask)) & mask;
        low := product & mask;
      END LOOP;
      RETURN ((low # high) & 4095) / 16;
    END $$;
    CREATE FUNCTION namespace_of(channel text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
      SELECT CASE WHEN position(':' IN channel) > 0 THEN split_part(ltrim_one, ':', 1) ELSE '' END
      FROM (SELECT CASE WHEN left(channel, 1) = '$' THEN substr(channel, 2) ELSE channel END AS ltrim_one) AS named
    $$;
    CREATE FUNCTION partition_of(channel text) RETURNS bigint LANGUAGE plpgsql STABLE STRICT AS $$
    DECLARE
      many bigint;
      its_name text := channel;
      is_following boolean;
    BEGIN
      SELECT partitions INTO many FROM sharing;
      IF many IS NULL OR many = 1 THEN RETURN 0; END IF;
      SELECT follows INTO is_following FROM pinned WHERE namespace = namespace_of(its_name);
      IF is_following AND right(its_name, -position(':' IN its_name)) = '' THEN
        is_following := NULL;
      ELSIF is_following THEN
        its_name := substr(its_name, position(':' IN its_name) + 1);
        SELECT follows INTO is_following FROM pinned WHERE namespace = namespace_of(its_name);
        IF is_following THEN is_following := NULL; END IF;
      END IF;
      IF NOT is_following THEN RETURN 0; END IF;
      RETURN slot_of(its_name) * many / \(PostgresSchema.shardCount);
    END $$;
    -- While the log is shared out anew, whoever publishes waits (PartitionMove), and then sees the new number. In a
    -- transaction that goes on seeing the old one, the second statement fails as one that was overtaken.
    CREATE FUNCTION put_into_outbox(its_channel text, its_data bytea, its_options jsonb) RETURNS bigint
    LANGUAGE plpgsql AS $$
    DECLARE
      its_id bigint;
      its_partition bigint;
    BEGIN
      LOCK TABLE sharing IN ACCESS SHARE MODE;
      IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM 1 FROM sharing FOR KEY SHARE;
      END IF;
      its_partition := partition_of(its_channel);
      IF its_partition = 0 THEN
        INSERT INTO outbox (channel, data, options) VALUES (its_channel, its_data, its_options) RETURNING id INTO its_id;
      ELSE
        EXECUTE format(
          'INSERT INTO %I.outbox (channel, data, options) VALUES ($1, $2, $3) RETURNING id',
          current_schema() || '_p' || its_partition)
        INTO its_id USING its_channel, its_data, its_options;
      END IF;
      RETURN its_id;
    END $$;
    \(PostgresOutboxSchema.publishBytes(
      replacing: true,
      inserting: "its_id := put_into_outbox(publish_bytes.channel, publish_bytes.data, publish_bytes.options);"))
    REVOKE ALL ON FUNCTION slot_of, namespace_of, partition_of, put_into_outbox FROM PUBLIC;
    """
}
