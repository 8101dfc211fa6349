import Dispatch
import PostgreSQL
import Wire

/// Reads on a connection of its own, which it makes when it is first asked, and again when it was lost.
///
/// Unchecked: its thread alone uses it, and whoever closes it when that has ended.
final class PostgresReader: JobReader, @unchecked Sendable {
  struct Row {
    var row: ChannelReader.Row
    var floor: UInt64
  }

  /// Publications that are asked for at once: the bytes that an answer may have are known only when they are here.
  static let rowsPerPiece = 256

  private let server: PostgresDatabase
  private var connection: Connection?

  init(_ server: PostgresDatabase) { self.server = server }

  func close() {
    connection?.close()
    connection = nil
  }

  /// Channels that are read with one question: after a takeover all of them are asked for, and an answer of its own for
  /// each takes the server ten times as long.
  var batchSize: Int { 256 }

  func read(_ jobs: [ReadJob]) -> [ReadJob.Found] {
    do { return try reading { try PostgresChannels(jobs).read(by: self) } } catch {
      return jobs.map { _ in .failed(error) }
    }
  }

  func read(_ job: ReadJob) -> ReadJob.Found {
    do { return try reading { try answer(job) } } catch { return .failed(error) }
  }

  /// Runs `body`, once more where the connection turns out to be lost: it may have been so for long.
  func reading<Result>(_ body: () throws -> Result) throws(LogError) -> Result {
    var isSecond = false
    while true {
      do { return try body() } catch let error as PostgresError {
        if error.isLost { close() }
        if isSecond || !error.isLost { throw PostgresFault.logError(for: error) }
        isSecond = true
      } catch { throw .unavailable("\(error)") }
    }
  }

  /// Sends all statements, and then waits for all results.
  func ask(_ statements: [(sql: String, parameters: [Parameter])]) throws(PostgresError) -> [Rows] {
    let connection: Connection
    if let known = self.connection { connection = known } else { connection = try server.connect() }
    self.connection = connection
    let deadline = DispatchTime.now() + server.patience
    for statement in statements { try connection.send(statement.sql, statement.parameters, by: deadline) }
    var results: [Rows] = []
    var refusal: PostgresError?
    for _ in statements {
      do throws(PostgresError) { results.append(try connection.receive(by: deadline)) } catch {
        if error.isLost { throw error }
        refusal = refusal ?? error
      }
    }
    if let refusal { throw refusal }
    return results
  }

  private func ask(_ sql: String, _ parameters: [Parameter]) throws(PostgresError) -> Rows {
    try ask([(sql, parameters)])[0]
  }

  // MARK: Answers

  private func answer(_ job: ReadJob) throws -> ReadJob.Found {
    switch job {
    case .channel(let name, let now, let withEntries): return .channel(try channel(name, at: now, withEntries))
    case .page(let name, let range, let span, let warmth):
      guard let id = try row(of: name)?.row.id else {
        return .page([], warm: warmth.map { ReadJob.WarmPublications(through: $0.span.upperBound) })
      }
      return .page(
        try span.map { try page(of: id, in: $0, range) } ?? [], warm: try warmth.map { try warm($0, of: id) })
    case .entry(let name, let key): return try entry(key, of: name)
    case .ending(let name, let score, let limit):
      let rows = try ask(Self.ending, [.bytes(name.bytes), .int(score), .int(Int64(limit))])
      return .ending((0..<rows.count).map { ExpiringKey(key: rows.text($0, 0), expires: rows.int($0, 1)) })
    case .kept(let account):
      let rows = try ask(
        "SELECT bytes, entries FROM kept WHERE namespace = $1 AND payer = $2",
        [.bytes(Array(account.namespace.utf8)), .bytes(Array(account.user.utf8))])
      return .kept(KeptAmount(bytes: Int(rows.int(0, 0)), entries: Int(rows.int(0, 1))))
    case .trace(let trace): return .traced(try trace.read(from: self))
    }
  }

  private func channel(
    _ name: ChannelName, at now: Int64, _ withEntries: Bool
  ) throws(PostgresError) -> ReadJob.ChannelOnDisk {
    let oldest = now.minus(ttl: RequestTraces.originLifetime)
    var statements: [(String, [Parameter])] = [
      (Self.rowOfName, [.bytes(name.bytes)]), (Self.generation, [.int(PostgresSchema.bucket(of: name.string))]),
      (Self.keys, [.bytes(name.bytes), .int(now)]), (Self.unkeptOrigins, [.bytes(name.bytes), .int(oldest)]),
      (Self.keptOrigins, [.bytes(name.bytes), .int(oldest), .int(Int64(RequestTraces.originLimit))]),
    ]
    if withEntries { statements.append((Self.entriesOfName, [.bytes(name.bytes)])) }
    let results = try ask(statements)
    var found = ReadJob.ChannelOnDisk(row: Self.row(results[0])?.row, generation: results[1].int(0, 0))
    let keys = results[2]
    found.keys = (0..<keys.count).map {
      IdempotencyRecord(
        key: keys.text($0, 0), offset: keys.unsigned($0, 1), digest: keys.unsigned($0, 2), expires: keys.int($0, 3))
    }
    for origins in results[3...4] {
      for row in 0..<origins.count {
        let origin = RequestOrigin(gateway: origins.unsigned(row, 0), request: origins.unsigned(row, 1))
        found.origins[origin] = origins.unsigned(row, 2)
      }
    }
    if withEntries { found.entries = (0..<results[5].count).map { Self.entry(results[5], $0) } }
    return found
  }

  private func entry(_ key: IdentifierKey, of name: ChannelName) throws(PostgresError) -> ReadJob.Found {
    let results = try ask([
      (Self.entriesOfName + " AND key = $2", [.bytes(name.bytes), .bytes(Array(key.string.utf8))]),
      (Self.rowOfName, [.bytes(name.bytes)]), (Self.generation, [.int(PostgresSchema.bucket(of: name.string))]),
    ])
    return .entry(
      results[0].count > 0 ? Self.entry(results[0], 0) : nil,
      of: ReadJob.ChannelOnDisk(row: Self.row(results[1])?.row, generation: results[2].int(0, 0)))
  }

  /// What ends the epochs of channels of a durability (``EpochParts``).
  func suffix(of durability: String) throws(PostgresError) -> String {
    let key = durability == Durability.durable.rawValue ? "era" : "run"
    return try ask("SELECT value FROM meta WHERE key = $1", [.text(key)]).text(0, 0)
  }

  // MARK: Publications

  func row(of name: ChannelName) throws(PostgresError) -> Row? {
    Self.row(try ask(Self.rowOfName, [.bytes(name.bytes)]))
  }

  /// Calls `body` for each publication of the span, in the order of reading, until it returns false.
  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, reverse: Bool, notBefore: Int64,
    _ body: (Publication) -> Bool
  ) throws(PostgresError) {
    guard span.lowerBound <= UInt64(Int64.max) else { return }
    var (low, high) = (Int64(clamping: span.lowerBound), Int64(clamping: span.upperBound))
    var left = limit
    while left > 0, low <= high {
      let count = min(left, Self.rowsPerPiece)
      let rows = try ask(
        reverse ? Self.newestFirst : Self.oldestFirst,
        [.int(id), .int(low), .int(high), .int(notBefore), .int(Int64(count))])
      for row in 0..<rows.count where !body(Self.publication(rows, row)) { return }
      guard rows.count == count else { return }
      left -= count
      let last = rows.int(count - 1, 0)
      if reverse { high = last - 1 } else { low = last + 1 }
    }
  }

  private func page(of id: Int64, in span: ClosedRange<UInt64>, _ range: LogRange) throws -> [Publication] {
    var found = FoundPublications(range)
    try publications(of: id, in: span, limit: range.limit, reverse: range.reverse, notBefore: range.notBefore) {
      found.add($0, cost: $0.cost)
      return !found.isFull
    }
    return found.publications
  }

  private func warm(_ warmth: ReadJob.Warmth, of id: Int64) throws -> ReadJob.WarmPublications {
    var tail = WarmTail(warmth)
    try publications(of: id, in: warmth.span, limit: warmth.count, reverse: true, notBefore: .min) { tail.add($0) }
    return tail.found
  }

  // MARK: Rows

  private static func row(_ rows: Rows) -> Row? {
    guard rows.count > 0 else { return nil }
    return Row(
      row: ChannelReader.Row(
        id: rows.int(0, 0), epoch: rows.text(0, 1), top: rows.unsigned(0, 2), durability: rows.text(0, 3),
        ttl: rows.int(0, 4)), floor: rows.unsigned(0, 5))
  }

  private static func publication(_ rows: Rows, _ row: Int) -> Publication {
    Publication(
      offset: rows.unsigned(row, 0), time: rows.int(row, 1), data: rows.bytes(row, 2),
      info: rows.bytesIfAny(row, 3).flatMap { RowCodec.decodeInfo($0) },
      tags: rows.bytesIfAny(row, 4).map { RowCodec.decodeTags($0) } ?? [:],
      change: rows.bytesIfAny(row, 5).flatMap { RowCodec.decodeChange($0) })
  }

  private static func entry(_ rows: Rows, _ row: Int) -> Publication {
    Publication(
      offset: rows.unsigned(row, 1), time: rows.int(row, 2), data: rows.bytes(row, 3),
      info: rows.bytesIfAny(row, 4).flatMap { RowCodec.decodeInfo($0) },
      tags: rows.bytesIfAny(row, 5).map { RowCodec.decodeTags($0) } ?? [:],
      change: KeyChange(
        key: rows.text(row, 0), score: rows.int(row, 6), expires: rows.isNull(row, 7) ? .max : rows.int(row, 7)))
  }

  private static let itsID = "(SELECT id FROM channels WHERE name = $1)"
  private static let rowOfName = "SELECT id, epoch, top, durability, history_ttl, floor FROM channels WHERE name = $1"
  private static let generation = "SELECT generation FROM generations WHERE bucket = $1"
  private static let keys =
    "SELECT key, off, digest, expires FROM idempotency WHERE channel = \(itsID) AND expires > $2 ORDER BY off"
  private static let unkeptOrigins =
    "SELECT gateway, request, off FROM origins WHERE channel = \(itsID) AND time >= $2"
  /// Ends at the newest publication that is too old, however long the history is.
  private static let keptOrigins = """
    SELECT gateway, request, off FROM publications
    WHERE channel = \(itsID) AND gateway IS NOT NULL AND off > coalesce((SELECT off FROM publications
      WHERE channel = \(itsID) AND time < $2 ORDER BY off DESC LIMIT 1), 0)
    ORDER BY off DESC LIMIT $3
    """
  private static let entriesOfName =
    "SELECT key, off, time, data, info, tags, score, expires FROM entries WHERE channel = \(itsID)"
  private static let ending = """
    SELECT key, expires FROM entries WHERE channel = \(itsID) AND score = $2 AND expires IS NOT NULL
    ORDER BY expires LIMIT $3
    """
  private static let oldestFirst = """
    SELECT off, time, data, info, tags, change FROM publications
    WHERE channel = $1 AND off BETWEEN greatest($2, (SELECT floor + 1 FROM channels WHERE id = $1)) AND $3
      AND time >= $4 ORDER BY off LIMIT $5
    """
  private static let newestFirst = """
    SELECT off, time, data, info, tags, change FROM publications
    WHERE channel = $1 AND off BETWEEN greatest($2, (SELECT floor + 1 FROM channels WHERE id = $1)) AND $3
      AND time >= $4 ORDER BY off DESC LIMIT $5
    """
}

extension ChannelName {
  var bytes: [UInt8] { Array(string.utf8) }
}
