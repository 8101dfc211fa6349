import PostgreSQL
import Wire

/// The one transaction that moves a log's rows among its partitions (``ClusterPartitioning``).
///
/// What is to move is asked for by pages of names, and written into temporary tables that go with the transaction. From
/// then on each pair of partitions is a few statements, however many rows it has.
struct PartitionMove {
  let connection: Connection
  /// All that there are or will be, by their numbers.
  let partitions: [PostgresDatabase]
  let options: PostgresStore.Options
  let from: Int
  let to: Int
  /// Nil: all.
  let webhooks: Set<String>?
  private let placement: (ChannelName) -> Int
  /// Namespaces whose accounts each partition has counted.
  private var quotas: [Set<String>] = []
  /// The sequences of the ids of each partition's channels.
  private var sequences: [String] = []

  /// Names that are asked for at once.
  private static let pageSize: Int64 = 4096

  init(
    _ connection: Connection, _ partitions: [PostgresDatabase], _ options: PostgresStore.Options, from: Int, to: Int,
    webhooks: Set<String>?, placement: @escaping (ChannelName) -> Int
  ) {
    (self.connection, self.partitions, self.options) = (connection, partitions, options)
    (self.from, self.to) = (from, to)
    (self.webhooks, self.placement) = (webhooks, placement)
  }

  /// The partitions that there were, and that there will be.
  var old: Range<Int> { 0..<from }
  var new: Range<Int> { 0..<to }
  func schema(_ partition: Int) -> String { partitions[partition].schema }

  mutating func perform() throws -> ClusterPartitioning.Outcome {
    try run("BEGIN ISOLATION LEVEL READ COMMITTED")
    var outcome = ClusterPartitioning.Outcome(from: from, to: to, movedChannels: 0, movedMessages: 0, restingEvents: 0)
    do {
      try look()
      let pairs = try sortChannels()
      outcome.movedChannels = pairs.reduce(0) { $0 + $1.count }
      try refuseSharedApps()
      try refuseDoubles()
      let lives = try PartitionLives(self)
      let streams = PartitionStreams(self, lives)
      try streams.refuseWaiting(leaving: Set(pairs.map(\.source)))
      try lives.write()
      for pair in pairs { try copy(from: pair.source, to: pair.target) }
      for source in Set(pairs.map(\.source)).sorted() { try delete(from: source) }
      try streams.moveOccupancy()
      outcome.restingEvents = try streams.clearDissolved()
      try streams.copyRevocations()
      try lives.writeGenerations()
      outcome.movedMessages = try moveOutboxes()
      try PostgresSharing.record(to, connection, partitions[0])
      try PostgresSharing.record(namespacesOf: options) { try ask($0, $1) }
    } catch {
      try? run("ROLLBACK")
      throw error
    }
    if try ask("COMMIT").isUnconfirmed { throw ClusterPartitioning.Fault.unconfirmed(to: to) }
    return outcome
  }

  // MARK: Statements

  func run(_ script: String) throws(PostgresError) {
    try connection.run(script: script, within: ClusterPartitioning.unlimited)
  }

  @discardableResult
  func ask(_ sql: String, _ parameters: [Parameter] = []) throws(PostgresError) -> Rows {
    try connection.query(sql, parameters, within: ClusterPartitioning.unlimited)
  }

  /// Runs a script in which names that are not qualified, as those in triggers, are the partition's.
  func run(in partition: Int, _ script: String) throws(PostgresError) {
    try run("SET LOCAL search_path TO \(schema(partition)), pg_catalog;\n" + script)
  }

  // MARK: What moves

  private mutating func look() throws(PostgresError) {
    for partition in partitions.indices {
      let rows = try ask(
        """
        SELECT value, pg_get_serial_sequence('\(schema(partition)).channels', 'id') FROM \(schema(partition)).meta
        WHERE key = 'quotas'
        """)
      let names = rows.text(0, 0).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      quotas.append(Set(names.map(String.init)))
      sequences.append(rows.text(0, 1))
    }
  }

  /// The partition of a channel: home, where the bytes are no name.
  func target(of name: String) -> Int {
    guard let channel = try? ChannelName(name, limit: .max) else { return Partitioning.home }
    let target = placement(channel)
    precondition(new.contains(target), "\(name) is placed in partition \(target) of \(to)")
    return target
  }

  /// Writes into the table `moved` which channels go where. Each has its new id there already, and whose account it is
  /// on in its new place.
  private func sortChannels() throws -> [(source: Int, target: Int, count: Int)] {
    try run(
      """
      CREATE TEMPORARY TABLE moved (
        source bigint, target bigint, id bigint, new_id bigint, name bytea, quota_namespace bytea, quota_owner bytea,
        PRIMARY KEY (source, id)
      ) ON COMMIT DROP
      """)
    for source in old {
      var after = Int64.min
      while true {
        let rows = try ask(
          "SELECT id, name FROM \(schema(source)).channels WHERE id > $1 ORDER BY id LIMIT $2",
          [.int(after), .int(Self.pageSize)])
        if rows.count == 0 { break }
        after = rows.int(rows.count - 1, 0)
        try sort(rows, from: source)
      }
    }
    try run("ANALYZE pg_temp.moved")
    let pairs = try ask("SELECT source, target, count(*) FROM pg_temp.moved GROUP BY 1, 2 ORDER BY 1, 2")
    return (0..<pairs.count).map { (Int(pairs.int($0, 0)), Int(pairs.int($0, 1)), Int(pairs.int($0, 2))) }
  }

  private func sort(_ rows: Rows, from source: Int) throws(PostgresError) {
    var (ids, targets, names): ([Int64?], [Int64?], [[UInt8]?]) = ([], [], [])
    var (namespaces, owners): ([[UInt8]?], [[UInt8]?]) = ([], [])
    for row in 0..<rows.count {
      let name = rows.text(row, 1)
      if PartitionStreams.isServers(name) || staysAsShared(name) { continue }
      let target = target(of: name)
      if target == source { continue }
      let account = (try? ChannelName(name, limit: .max)).flatMap { QuotaScope(of: $0, in: quotas[target])?.columns }
      ids.append(rows.int(row, 0))
      targets.append(Int64(target))
      names.append(rows.bytes(row, 1))
      namespaces.append(account?.namespace)
      owners.append(account?.owner)
    }
    if ids.isEmpty { return }
    try ask(
      """
      INSERT INTO pg_temp.moved (source, target, id, new_id, name, quota_namespace, quota_owner)
      SELECT $1, g.target, g.id, nextval(($2::text[])[g.target + 1]::regclass), g.name, g.namespace, g.owner
      FROM unnest($3, $4, $5, $6, $7) AS g (target, id, name, namespace, owner)
      """,
      [
        .int(Int64(source)), .texts(sequences), .ints(targets), .ints(ids), .blobs(names), .blobs(namespaces),
        .blobs(owners),
      ])
  }

  private func refuseDoubles() throws {
    for target in new {
      let rows = try ask(
        """
        SELECT convert_from(m.name, 'UTF8'), m.source FROM pg_temp.moved AS m JOIN \(schema(target)).channels AS c
          ON c.name = m.name WHERE m.target = $1 LIMIT 1
        """, [.int(Int64(target))])
      if rows.count > 0 {
        throw ClusterPartitioning.Fault.doubled(
          channel: rows.text(0, 0), partitions: [target, Int(rows.int(0, 1))].sorted())
      }
    }
    let rows = try ask(
      """
      SELECT convert_from(name, 'UTF8'), min(source), max(source) FROM pg_temp.moved GROUP BY name
      HAVING count(*) > 1 LIMIT 1
      """)
    if rows.count > 0 {
      throw ClusterPartitioning.Fault.doubled(
        channel: rows.text(0, 0), partitions: [Int(rows.int(0, 1)), Int(rows.int(0, 2))])
    }
  }

  // MARK: Channels

  /// The tables whose rows are of a channel, and their columns but for its id.
  static let children: [(table: String, columns: [String])] = [
    ("publications", ["off", "time", "gateway", "request", "shard", "data", "info", "tags", "change"]),
    ("entries", ["key", "off", "time", "score", "expires", "shard", "data", "info", "tags"]),
    ("idempotency", ["key", "off", "digest", "expires", "shard"]),
    ("origins", ["gateway", "request", "off", "time", "shard"]),
  ]
  /// The columns of a channel's row but for its id and its account.
  static let columns = [
    "shard", "bucket", "name", "epoch", "top", "floor", "trimmed", "durability", "history_ttl", "expires", "used",
  ]

  /// The channel's row comes first: the triggers that count accounts look at it.
  private func copy(from source: Int, to target: Int) throws(PostgresError) {
    let (its, theirs) = (schema(source), schema(target))
    let columns = Self.columns.joined(separator: ", ")
    let chosen = Self.columns.map { "c.\($0)" }.joined(separator: ", ")
    let pair = "m.source = \(source) AND m.target = \(target)"
    var script = """
      INSERT INTO \(theirs).channels (id, \(columns), quota_namespace, quota_owner) OVERRIDING SYSTEM VALUE
      SELECT m.new_id, \(chosen), m.quota_namespace, m.quota_owner
      FROM pg_temp.moved AS m JOIN \(its).channels AS c ON c.id = m.id WHERE \(pair) ORDER BY m.new_id;
      """
    for (table, columns) in Self.children {
      script += """

        INSERT INTO \(theirs).\(table) (channel, \(columns.joined(separator: ", ")))
        SELECT m.new_id, \(columns.map { "r.\($0)" }.joined(separator: ", "))
        FROM pg_temp.moved AS m JOIN \(its).\(table) AS r ON r.channel = m.id WHERE \(pair);
        """
    }
    try run(in: target, script)
  }

  /// A channel that goes elsewhere with its row does not begin anew: its name's generation is not to rise.
  private func delete(from source: Int) throws(PostgresError) {
    let deletes = Self.children.map {
      "DELETE FROM \($0.table) AS r USING pg_temp.moved AS m WHERE m.source = \(source) AND r.channel = m.id;"
    }
    try run(
      in: source,
      deletes.joined(separator: "\n") + """

        ALTER TABLE channels DISABLE TRIGGER channel_deleted;
        DELETE FROM channels AS c USING pg_temp.moved AS m WHERE m.source = \(source) AND c.id = m.id;
        ALTER TABLE channels ENABLE TRIGGER channel_deleted;
        """)
  }

  // MARK: Outboxes

  /// Moves what waits in outboxes. Each row is a new one in its outbox: it gets its position, in the order of the former
  /// ones, and its transaction's number at the commit.
  ///
  /// What was refused stays where it is, for people to look at, and comes home from a partition that there is no more.
  private func moveOutboxes() throws -> Int {
    try lockPublishers()
    try run(
      "CREATE TEMPORARY TABLE placed (channel text COLLATE \"C\" PRIMARY KEY, target bigint) ON COMMIT DROP")
    for source in old { try sortMessages(of: source) }
    var count = 0
    for source in old {
      for target in new where target != source {
        let rows = try ask(
          """
          WITH gone AS (
            DELETE FROM \(schema(source)).outbox AS o USING pg_temp.placed AS p
            WHERE p.channel = o.channel AND p.target = $1
            RETURNING o.position, o.id, o.channel, o.data, o.options, o.publisher
          ), come AS (
            INSERT INTO \(schema(target)).outbox (channel, data, options, publisher)
            SELECT channel, data, options, publisher FROM gone ORDER BY position, id RETURNING 1
          ) SELECT count(*) FROM come
          """, [.int(Int64(target))])
        count += Int(rows.int(0, 0))
      }
    }
    for source in old where source >= to {
      try run(
        """
        INSERT INTO \(schema(0)).outbox_refused (id, channel, data, options, publisher, code, reason, refused, app)
        SELECT nextval(pg_get_serial_sequence('\(schema(0)).outbox', 'id')), channel, data, options, publisher, code,
          reason, refused, app FROM \(schema(source)).outbox_refused ORDER BY id;
        DELETE FROM \(schema(source)).outbox_refused
        """)
    }
    return count
  }

  /// Waits for the transactions of backends that have published, and has others wait: they look at the number first.
  ///
  /// Then numbers of rows go on behind those of all partitions. Origins of a channel's publications are numbers of rows
  /// of its former outbox, and a new row of the same number would be taken for a repetition.
  private func lockPublishers() throws {
    try run("SET LOCAL lock_timeout TO \(ClusterPartitioning.transactionPatience)")
    do throws(PostgresError) { try run("LOCK TABLE \(schema(0)).sharing IN ACCESS EXCLUSIVE MODE") } catch {
      throw error.state == .lockNotAvailable ? ClusterPartitioning.Fault.openTransaction : error
    }
    try run("SET LOCAL lock_timeout TO 0")
    let sequences = try partitions.indices.map { partition throws(PostgresError) in
      try ask("SELECT pg_get_serial_sequence('\(schema(partition)).outbox', 'id')").text(0, 0)
    }
    let highest =
      try sequences.map { sequence throws(PostgresError) in
        try ask("SELECT last_value FROM \(sequence)").int(0, 0)
      }.max() ?? 1
    for sequence in sequences { try ask("SELECT setval('\(sequence)', \(highest))") }
  }

  private func sortMessages(of source: Int) throws(PostgresError) {
    var after = ""
    while true {
      let rows = try ask(
        """
        SELECT DISTINCT channel COLLATE "C" AS name FROM \(schema(source)).outbox WHERE channel COLLATE "C" > $1
        ORDER BY name LIMIT $2
        """, [.text(after), .int(Self.pageSize)])
      if rows.count == 0 { return }
      let names = (0..<rows.count).map { rows.text($0, 0) }
      after = names[names.count - 1]
      try ask(
        "INSERT INTO pg_temp.placed SELECT * FROM unnest($1, $2) AS g (channel, target) ON CONFLICT DO NOTHING",
        [.texts(names), .ints(names.map { PartitionStreams.isServers($0) ? 0 : Int64(target(of: $0)) })])
    }
  }
}
