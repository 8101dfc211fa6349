import PostgreSQL
import Wire

/// The server's own channels, when a log is shared out anew (``PartitionMove``): each partition has its own of the same
/// names, and they are not moved.
///
/// The names are those that the broker opens. What is revoked is copied into partitions that are new; which channels are
/// told to webhooks as occupied goes with the channels; the rest stays, and is deleted with its partition.
struct PartitionStreams {
  /// What the server's own namespaces begin with, which no configuration may name.
  private static let prefix = "fanfare."
  private static let revocations = "fanfare.revocations:"
  private static let deletions = "fanfare.deletions:"
  private static let records = "fanfare.webhooks:records"
  private static let occupied = "fanfare.occupied:all"
  private static let waiting = "fanfare.webhook:"
  private static let givenUp = "fanfare.webhook-given-up:"

  /// A webhook's stream of which something is kept.
  private struct Rest {
    var name: String
    var events: Int
  }

  private let move: PartitionMove
  private let lives: PartitionLives

  init(_ move: PartitionMove, _ lives: PartitionLives) {
    self.move = move
    self.lives = lives
  }

  static func isServers(_ name: String) -> Bool {
    let body = name.utf8.first == UInt8(ascii: "$") ? name.dropFirst() : name[...]
    return body.hasPrefix(prefix) && body.utf8.contains(UInt8(ascii: ":"))
  }

  /// A condition for the channels whose names begin so: from `a:` to `a;`, where the next names begin.
  private static func begins(_ prefix: String, _ column: String = "c.name") -> String {
    let end = prefix.dropLast() + (prefix.hasSuffix(":") ? ";" : "/")
    return "\(column) >= convert_to('\(prefix)', 'UTF8') AND \(column) < convert_to('\(end)', 'UTF8')"
  }

  // MARK: What waits

  /// Refuses where events wait in a partition from which channels go, or that ends: those that follow would overtake
  /// them, or they would be lost. Deletions look for a user's channels partition by partition, and would miss what moves.
  ///
  /// - Parameter leaving: partitions from which channels go.
  func refuseWaiting(leaving: Set<Int>) throws {
    for partition in move.old where leaving.contains(partition) || partition >= move.to {
      for rest in try waiting(in: partition) where isConfigured(rest.name) {
        throw ClusterPartitioning.Fault.waitingEvents(
          webhook: rest.name, events: rest.events, partition: partition, partitions: move.from)
      }
    }
    if leaving.isEmpty, move.to >= move.from { return }
    for partition in move.old {
      let count = try deletions(in: partition)
      if count > 0 {
        throw ClusterPartitioning.Fault.deletionsUnderWay(count, partition: partition, partitions: move.from)
      }
    }
  }

  private func isConfigured(_ webhook: String) -> Bool { move.webhooks?.contains(webhook) ?? true }

  /// Deletions that are not done: entries that are neither records of what is done nor what these need.
  private func deletions(in partition: Int) throws(PostgresError) -> Int {
    Int(
      try move.ask(
        """
        SELECT count(*) FROM \(move.schema(partition)).channels AS c JOIN \(move.schema(partition)).entries AS e
          ON e.channel = c.id
        WHERE \(Self.begins(Self.deletions)) AND substring(e.key FROM 1 FOR 1) <> convert_to(' ', 'UTF8')
          AND substring(e.key FROM 1 FOR 5) <> convert_to('done:', 'UTF8')
        """
      ).int(0, 0))
  }

  /// Webhooks with events that are not sent.
  private func waiting(in partition: Int) throws(PostgresError) -> [Rest] {
    try rests(of: Self.waiting, after: "done/", in: partition)
  }

  /// - Parameters:
  ///   - prefix: of the streams' names, which end with the webhook's.
  ///   - record: the beginning of the key of the entry that says up to where a stream is done.
  private func rests(
    of prefix: String, after record: String, in partition: Int
  ) throws(PostgresError) -> [Rest] {
    let schema = move.schema(partition)
    let streams = try move.ask(
      "SELECT c.id, c.name, c.epoch, c.floor FROM \(schema).channels AS c WHERE \(Self.begins(prefix)) ORDER BY c.name")
    var rests: [Rest] = []
    for row in 0..<streams.count {
      let webhook = String(streams.text(row, 1).dropFirst(prefix.count))
      let era = lives.era(of: partition)
      let epoch = era.isEmpty ? streams.text(row, 2) : streams.text(row, 2) + "." + era
      let done = try done(record + webhook, epoch: epoch, in: schema)
      let events = try move.ask(
        "SELECT count(*) FROM \(schema).publications WHERE channel = $1 AND off > $2",
        [.int(streams.int(row, 0)), .int(max(done, streams.int(row, 3)))])
      if events.int(0, 0) > 0 { rests.append(Rest(name: webhook, events: Int(events.int(0, 0)))) }
    }
    return rests
  }

  /// Up to which offset a stream is done; 0 where its record is of another epoch, or there is none.
  private func done(_ key: String, epoch: String, in schema: String) throws(PostgresError) -> Int64 {
    let rows = try move.ask(
      """
      SELECT e.data FROM \(schema).channels AS c JOIN \(schema).entries AS e ON e.channel = c.id
      WHERE c.name = convert_to('\(Self.records)', 'UTF8') AND e.key = $1
      """, [.bytes(Array(key.utf8))])
    guard rows.count > 0, let fields = (try? JSONValue(parsing: rows.bytes(0, 0)))?.object,
      let recorded = fields["epoch"]?.string, recorded.hasSameBytes(as: epoch),
      let offset = fields["offset"].flatMap({ Int64($0.text) })
    else { return 0 }
    return offset
  }

  // MARK: Partitions that end

  /// Deletes the server's channels in partitions that there are no more, but for events that nobody sends now.
  ///
  /// - Returns: how many of these there are.
  func clearDissolved() throws(PostgresError) -> Int {
    var count = 0
    for partition in move.old where partition >= move.to {
      let waiting = try waiting(in: partition)
      let givenUp = try rests(of: Self.givenUp, after: "resent/", in: partition)
      count += (waiting + givenUp).reduce(0) { $0 + $1.events }
      var kept = waiting.map { Self.waiting + $0.name } + givenUp.map { Self.givenUp + $0.name }
      if !kept.isEmpty { kept.append(Self.records) }
      try delete("NOT c.name = ANY ($1)", [.blobs(kept.map { Array($0.utf8) })], in: partition)
    }
    return count
  }

  /// Deletes channels of the server for good: their names' generations rise.
  private func delete(
    _ condition: String, _ parameters: [Parameter] = [], in partition: Int
  ) throws(PostgresError) {
    let schema = move.schema(partition)
    try move.run(in: partition, "")
    let ids = "SELECT c.id FROM \(schema).channels AS c WHERE \(Self.begins(Self.prefix)) AND \(condition)"
    for (table, _) in PartitionMove.children {
      try move.ask("DELETE FROM \(schema).\(table) WHERE channel IN (\(ids))", parameters)
    }
    try move.ask("DELETE FROM \(schema).channels WHERE id IN (\(ids))", parameters)
  }

  // MARK: Revocations

  /// Each partition says for itself who is suspended, and a new one begins with what home says.
  func copyRevocations() throws(PostgresError) {
    for partition in move.new where partition >= move.from {
      try delete(Self.begins(Self.revocations), in: partition)
      let (home, schema) = (move.schema(0), move.schema(partition))
      let columns = PartitionMove.columns
      var script = """
        INSERT INTO \(schema).channels (\(columns.joined(separator: ", ")))
        SELECT \(columns.map { "c.\($0)" }.joined(separator: ", ")) FROM \(home).channels AS c
        WHERE \(Self.begins(Self.revocations));
        """
      for (table, columns) in PartitionMove.children {
        script += """

          INSERT INTO \(schema).\(table) (channel, \(columns.joined(separator: ", ")))
          SELECT n.id, \(columns.map { "r.\($0)" }.joined(separator: ", "))
          FROM \(home).channels AS c JOIN \(schema).channels AS n ON n.name = c.name
          JOIN \(home).\(table) AS r ON r.channel = c.id WHERE \(Self.begins(Self.revocations));
          """
      }
      try move.run(in: partition, script)
    }
  }

  // MARK: Occupied channels

  /// Moves what webhooks were told of as occupied to where it will be told that it is vacated. A channel can stand here
  /// that has no row.
  func moveOccupancy() throws(PostgresError) {
    for source in move.old {
      let schema = move.schema(source)
      let rows = try move.ask(
        "SELECT e.key FROM \(schema).entries AS e JOIN \(schema).channels AS c ON c.id = e.channel WHERE c.name = $1",
        [.bytes(Array(Self.occupied.utf8))])
      let targets = Dictionary(grouping: (0..<rows.count).map { rows.bytes($0, 0) }) {
        move.target(of: String(decoding: $0, as: UTF8.self))
      }
      for (target, keys) in targets.sorted(by: { $0.key < $1.key }) where target != source {
        try moveOccupancy(of: keys, from: source, to: target)
      }
    }
  }

  /// Entries come behind what the map has, and need none of its history, which nobody reads.
  private func moveOccupancy(of keys: [[UInt8]], from source: Int, to target: Int) throws(PostgresError) {
    let (its, theirs) = (move.schema(source), move.schema(target))
    let name = Parameter.bytes(Array(Self.occupied.utf8))
    let columns = PartitionMove.columns.joined(separator: ", ")
    try move.run(in: target, "")
    try move.ask(
      """
      INSERT INTO \(theirs).channels (\(columns))
      SELECT shard, bucket, name, left(replace(gen_random_uuid()::text, '-', ''), 12), 0, 0, 0, durability, history_ttl,
        NULL, used FROM \(its).channels WHERE name = $1
      ON CONFLICT (name) DO NOTHING
      """, [name])
    try move.ask(
      """
      INSERT INTO \(theirs).entries (channel, key, off, time, score, expires, shard, data, info, tags)
      SELECT c.id, e.key, c.top + row_number() OVER (ORDER BY e.off), e.time, e.score, e.expires, e.shard, e.data, e.info,
        e.tags
      FROM \(its).channels AS f JOIN \(its).entries AS e ON e.channel = f.id, \(theirs).channels AS c
      WHERE f.name = $1 AND c.name = $1 AND e.key = ANY ($2)
      ON CONFLICT (channel, key) DO NOTHING
      """, [name, .blobs(keys)])
    try move.ask(
      "UPDATE \(theirs).channels SET top = top + $2, floor = top + $2 WHERE name = $1",
      [name, .int(Int64(keys.count))])
    try move.run(in: source, "")
    try move.ask(
      """
      DELETE FROM \(its).entries AS e USING \(its).channels AS c
      WHERE c.name = $1 AND e.channel = c.id AND e.key = ANY ($2)
      """, [name, .blobs(keys)])
  }
}
