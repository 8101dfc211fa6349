import PostgreSQL
import Wire

/// How a log is shared in partitions, as its database says it: each partition has a schema of its own, and what is of all
/// of them stands in home's, which is the configured one.
enum PostgresSharing {
  /// Makes what a broker of any partition needs in home's schema, and holds the number of partitions against its own. A
  /// log in which nothing stands yet, and which nobody has, is shared as its first broker says.
  ///
  /// - Throws: ``PostgresStartError/otherPartitions(inLog:configured:)`` where the log is shared otherwise.
  static func check(_ connection: Connection, _ options: PostgresStore.Options) throws {
    let home = try options.server(of: Partitioning.home)
    let key = Parameter.int(home.lockKey("sharing"))
    _ = try connection.query("SELECT pg_advisory_lock($1)", [key], within: 60)
    defer { _ = try? connection.query("SELECT pg_advisory_unlock($1)", [key], within: home.patience) }
    try makeTables(connection, home)
    let known = try count(connection, home)
    if known == options.partitions { return }
    // A broker that has all channels for itself has the lease of home, or is about to take it and looks again then.
    let lease = Parameter.int(home.lockKey("lease"))
    guard known == 1, try connection.query("SELECT pg_try_advisory_lock($1)", [lease], within: home.patience).bool(0, 0)
    else { throw PostgresStartError.otherPartitions(inLog: known, configured: options.partitions) }
    defer { _ = try? connection.query("SELECT pg_advisory_unlock($1)", [lease], within: home.patience) }
    guard try isEmpty(connection, home) else {
      throw PostgresStartError.otherPartitions(inLog: known, configured: options.partitions)
    }
    try begin(connection, options)
  }

  /// Makes all partitions' tables as they are now: backends may publish on channels of any of them, and a broker of an
  /// older version must find that the log is none of its.
  private static func begin(_ connection: Connection, _ options: PostgresStore.Options) throws {
    for partition in (0..<options.partitions).reversed() {
      let database = try options.server(of: partition)
      try database.enter(connection)
      try database.prepare(connection)
      try database.migrate(connection)
    }
    try record(options.partitions, connection, try options.server(of: Partitioning.home))
    try options.server().enter(connection)
  }

  /// Makes what is of all partitions, where it is missing. Whoever asks has the lock.
  static func makeTables(_ connection: Connection, _ home: PostgresDatabase) throws(PostgresError) {
    guard
      try connection.query("SELECT to_regclass('\(home.schema).sharing') IS NULL", within: home.patience).bool(0, 0)
    else { return }
    try home.makeSchema(connection)
    try connection.run(script: tables(of: home.schema), within: home.patience)
  }

  /// Not a step of the schema's versions: brokers of all partitions need it, and only home's may take those.
  private static func tables(of home: String) -> String {
    """
    CREATE TABLE \(home).sharing (partitions bigint NOT NULL); -- empty: 1
    \(PostgresLine.tables(of: home))
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

  static func record(_ partitions: Int, _ connection: Connection, _ home: PostgresDatabase)
    throws(PostgresError)
  {
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
  /// - Throws: ``PostgresStartError/displaced(namespace:partitions:)`` where a namespace was placed otherwise before, and
  ///   has channels: they would be looked for where they are not. ``PostgresStartError/displacedApp(_:)`` where the same
  ///   is true of an app's records, which may be there without a channel: somebody's own settings, or a block.
  static func place(
    _ options: PostgresStore.Options, by ask: (String, [Parameter]) throws(LogError) -> Rows
  ) throws {
    let known = try ask("SELECT namespace, follows FROM pinned", [])
    let before = Dictionary(uniqueKeysWithValues: (0..<known.count).map { (known.text($0, 0), known.bool($0, 1)) })
    var now = placed(options)
    // What an app has that is switched off stays where it is, for when it is switched on again.
    let configured = options.sharedNamespaces.union(now.keys)
    for beginning in switchable where !configured.contains(where: { $0.hasPrefix(beginning) }) {
      now.merge(before.filter { $0.key.hasPrefix(beginning) }) { own, _ in own }
    }
    let changed = Set(before.keys).union(now.keys).filter { before[$0] != now[$0] }
    if changed.isEmpty { return }
    for namespace in changed.sorted() where try holds(namespace, options, by: ask) {
      throw PostgresStartError.displaced(namespace: namespace, partitions: options.partitions)
    }
    for app in PartitionMove.apps {
      let placed = changed.filter { $0.hasPrefix("\(app).") }
      let isAtHome = !options.sharedNamespaces.contains { $0.hasPrefix("\(app).") }
      // Where it was shared, some of its records are elsewhere; where it was at home, they are there.
      let isElsewhere = isAtHome && placed.contains { now[$0] != nil }
      let wasAtHome = !placed.isDisjoint(with: options.sharedNamespaces)
      let places = isElsewhere ? 1..<options.partitions : wasAtHome ? Partitioning.home..<1 : 0..<0
      for place in places where try holdsRecords(of: app, place, options, by: ask) {
        throw PostgresStartError.displacedApp(app)
      }
    }
    try record(now, in: options.schema, by: ask)
  }

  /// How the names of namespaces begin that are there while an app or notifications are on. Of `push.` it is the whole name,
  /// because an operator's own namespaces may begin like that, and are not switched off but placed otherwise.
  private static let switchable = PartitionMove.apps.map { "\($0)." } + ["push.devices"]

  /// The namespaces that are not placed by their channels' names, and whether they follow others.
  private static func placed(_ options: PostgresStore.Options) -> [String: Bool] {
    let following = options.followingNamespaces
    return Dictionary(
      uniqueKeysWithValues: options.pinnedNamespaces.union(following).map { ($0, following.contains($0)) })
  }

  static func record(
    namespacesOf options: PostgresStore.Options, by ask: (String, [Parameter]) throws -> Rows
  ) throws {
    try record(placed(options), in: options.schema, by: ask)
  }

  private static func record(
    _ placed: [String: Bool], in schema: String, by ask: (String, [Parameter]) throws -> Rows
  ) throws {
    let rows = placed.sorted { $0.key < $1.key }
    let table = "\(schema).pinned"
    _ = try ask(
      """
      WITH given AS (SELECT * FROM unnest($1, $2) AS g (namespace, follows)),
        gone AS (DELETE FROM \(table) WHERE NOT namespace = ANY ($1))
      INSERT INTO \(table) SELECT * FROM given
      ON CONFLICT (namespace) DO UPDATE SET follows = excluded.follows
      """, [.texts(rows.map(\.key)), .bools(rows.map(\.value))])
  }

  /// Whether any partition holds a channel of the namespace.
  private static func holds(
    _ namespace: String, _ options: PostgresStore.Options, by ask: (String, [Parameter]) throws(LogError) -> Rows
  ) throws -> Bool {
    for partition in 0..<options.partitions {
      let table = "\(PostgresStore.Options.schema(options.schema, of: partition)).channels"
      if namespace.isEmpty {
        let rows = try ask("SELECT EXISTS (SELECT FROM \(table) WHERE position('\\x3a'::bytea IN name) = 0)", [])
        if rows.bool(0, 0) { return true }
        continue
      }
      for span in PostgresSchema.spans(of: namespace) {
        let rows = try ask(
          "SELECT EXISTS (SELECT FROM \(table) WHERE name >= $1 AND name < $2)",
          [.bytes(span.first), .bytes(span.end)])
        if rows.bool(0, 0) { return true }
      }
    }
    return false
  }

  private static func holdsRecords(
    of app: String, _ partition: Int, _ options: PostgresStore.Options,
    by ask: (String, [Parameter]) throws(LogError) -> Rows
  ) throws -> Bool {
    let schema = PostgresStore.Options.schema(options.schema, of: partition)
    return try ask(
      """
      SELECT EXISTS (
        SELECT FROM \(schema).channels AS c JOIN \(schema).entries AS e ON e.channel = c.id WHERE c.name = $1
      )
      """, [.bytes(Array(PartitionMove.records(of: app).utf8))]
    ).bool(0, 0)
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
    -- Empty where the name has none, and null where an empty one stands in it, which no settings have.
    CREATE FUNCTION namespace_of(channel text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
      SELECT CASE WHEN position(':' IN body) > 0 THEN nullif(split_part(body, ':', 1), '') ELSE '' END
      FROM (SELECT CASE WHEN left(channel, 1) = '$' THEN substr(channel, 2) ELSE channel END AS body) AS named
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
      inserting: "its_id := put_into_outbox(publish_bytes.channel, publish_bytes.data, publish_bytes.options);"))
    REVOKE ALL ON FUNCTION slot_of, namespace_of, partition_of, put_into_outbox FROM PUBLIC;
    """
}
