import PostgreSQL
import Wire

/// Reads where many channels stand, with one question for each table rather than for each channel.
///
/// Every table is looked into by its index, channel by channel, within the server: the subqueries have an order or a limit
/// of their own, over which the planner does not join in another way, whatever it takes for the number of rows.
struct PostgresChannels {
  private let names: [[UInt8]]
  private let buckets: [Int64]
  private let times: [Int64]
  private let oldest: [Int64]

  /// - Parameter jobs: all of them about channels, without entries of maps.
  init(_ jobs: [ReadJob]) {
    let channels = jobs.map { job -> (name: ChannelName, now: Int64) in
      guard case .channel(let name, let now, _) = job else { preconditionFailure("only channels are read together") }
      return (name, now)
    }
    names = channels.map(\.name.bytes)
    buckets = channels.map { PostgresSchema.bucket(of: $0.name.string) }
    times = channels.map(\.now)
    oldest = channels.map { $0.now.minus(ttl: RequestTraces.originLifetime) }
  }

  /// - Returns: what was found of each channel, in the order of the jobs.
  func read(by reader: PostgresReader) throws(PostgresError) -> [ReadJob.Found] {
    let results = try reader.ask([
      (Self.rows, [.blobs(names)]), (Self.generations, [.ints(buckets)]), (Self.keys, [.blobs(names), .ints(times)]),
      (Self.unkeptOrigins, [.blobs(names), .ints(oldest)]),
      (Self.keptOrigins, [.blobs(names), .ints(oldest), .int(Int64(RequestTraces.originLimit))]),
    ])
    var found = Array(repeating: ReadJob.ChannelOnDisk(), count: names.count)
    let (rows, generations, keys) = (results[0], results[1], results[2])
    for row in 0..<rows.count {
      found[Self.place(rows, row)].row = ChannelReader.Row(
        id: rows.int(row, 1), epoch: rows.text(row, 2), top: rows.unsigned(row, 3), durability: rows.text(row, 4),
        ttl: rows.int(row, 5))
    }
    for row in 0..<generations.count { found[Self.place(generations, row)].generation = generations.int(row, 1) }
    for row in 0..<keys.count {
      found[Self.place(keys, row)].keys.append(
        IdempotencyRecord(
          key: keys.text(row, 1), offset: keys.unsigned(row, 2), digest: keys.unsigned(row, 3),
          expires: keys.int(row, 4)))
    }
    for origins in results[3...4] {
      for row in 0..<origins.count {
        let origin = RequestOrigin(gateway: origins.unsigned(row, 1), request: origins.unsigned(row, 2))
        found[Self.place(origins, row)].origins[origin] = origins.unsigned(row, 3)
      }
    }
    return found.map { .channel($0) }
  }

  /// The index of the job that a row is about.
  private static func place(_ rows: Rows, _ row: Int) -> Int { Int(rows.int(row, 0)) - 1 }

  private static let itsID = "(SELECT id FROM channels WHERE name = n.name)"
  private static let rows = """
    SELECT n.place, c.* FROM unnest($1::bytea[]) WITH ORDINALITY AS n (name, place) CROSS JOIN LATERAL (
      SELECT id, epoch, top, durability, history_ttl FROM channels WHERE name = n.name LIMIT 1) AS c
    """
  private static let generations = """
    SELECT n.place, g.generation FROM unnest($1::bigint[]) WITH ORDINALITY AS n (bucket, place) CROSS JOIN LATERAL (
      SELECT generation FROM generations WHERE bucket = n.bucket LIMIT 1) AS g
    """
  private static let keys = """
    SELECT n.place, k.* FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS n (name, now, place)
    CROSS JOIN LATERAL (SELECT key, off, digest, expires FROM idempotency
      WHERE channel = \(itsID) AND expires > n.now ORDER BY off) AS k
    """
  private static let unkeptOrigins = """
    SELECT n.place, o.* FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS n (name, since, place)
    CROSS JOIN LATERAL (SELECT gateway, request, off FROM origins
      WHERE channel = \(itsID) AND time >= n.since OFFSET 0) AS o
    """
  private static let keptOrigins = """
    SELECT n.place, o.* FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS n (name, since, place)
    CROSS JOIN LATERAL (SELECT gateway, request, off FROM publications
      WHERE channel = \(itsID) AND gateway IS NOT NULL AND off > coalesce((SELECT off FROM publications
        WHERE channel = \(itsID) AND time < n.since ORDER BY off DESC LIMIT 1), 0)
      ORDER BY off DESC LIMIT $3) AS o
    """
}
