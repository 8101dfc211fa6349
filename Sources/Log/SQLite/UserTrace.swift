import SQLite
import Wire

/// Looks for what names users: one page of it, on a reader's thread.
///
/// It looks for the users' ids as bytes, in whatever columns may hold one: all ids at once, so that a page costs the same
/// for one user as for many. What it finds is held against the users exactly, except payloads (``TracedRow``).
struct UserTrace: Sendable {
  /// Rows of a table that one page looks at.
  static let rowsPerPage: Int64 = 4096
  /// Rows found after which a page ends.
  static let mostFound = 256
  /// Bytes of found rows (``Publication/cost``) after which a page ends.
  static let mostBytes = 1 << 20

  let sought: SoughtUsers
  /// Beginnings of channel names of which payloads are looked at, too: one or two for each app, all of them, because what
  /// is left out here is left on the disk.
  let contents: [String]
  let after: TracePosition
  let patterns: PatternSet

  init(users: [String], contents: [String], after: TracePosition) {
    sought = SoughtUsers(users)
    self.contents = contents
    self.after = after
    var patterns: Set<[UInt8]> = []
    for user in users {
      patterns.insert(Array(user.utf8))
      patterns.insert(Array(PlainName.encode(user).utf8))
      // In JSON: as Fanfare writes it, and as Foundation does, which escapes slashes too.
      var writer = JSONWriter()
      writer.write(element: user)
      let quoted = Array(writer.bytes.dropFirst().dropLast())
      patterns.insert(quoted)
      patterns.insert(quoted.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] })
    }
    self.patterns = PatternSet(patterns)
  }

  func read(from reader: ChannelReader) throws -> TracePage {
    try reader.connection.inDatabase { db in
      switch after.table {
      case .channels: try channels(db)
      case .publications: try rows(.publications, db)
      case .entries: try rows(.entries, db)
      }
    }
  }

  private func channels(_ db: Database) throws -> TracePage {
    let statement = try db.statement("SELECT id, name FROM channels WHERE id > ?1 ORDER BY id LIMIT ?2")
    statement.bind(after.channel, at: 1)
    statement.bind(Self.rowsPerPage, at: 2)
    var page = TracePage()
    var (count, last) = (Int64(0), after.channel)
    while try statement.next() {
      count += 1
      last = statement.int(0)
      guard let name = try? ChannelName(statement.text(1), limit: .max), sought.own(name) else { continue }
      page.rows.append(TracedRow(.channel, name, Publication(data: [])))
    }
    page.next = TracePosition(
      table: count < Self.rowsPerPage ? .publications : .channels, channel: count < Self.rowsPerPage ? 0 : last)
    return page
  }

  // MARK: Publications and entries

  private func rows(_ table: TracePosition.Table, _ db: Database) throws -> TracePage {
    let end = try self.end(of: table, db)
    var found: [(place: TracePosition, row: TracedRow)] = []
    try look(in: table, through: end, db) { found.append(($0, $1)) }
    var page = TracePage(next: end ?? (table == .publications ? TracePosition(table: .entries) : nil))
    var bytes = 0
    for (place, var row) in found {
      if page.rows.count >= Self.mostFound || bytes > Self.mostBytes { break }
      row.place = place
      page.rows.append(row)
      bytes += row.publication.cost
      let isFull = page.rows.count >= Self.mostFound || bytes > Self.mostBytes
      if isFull, page.rows.count < found.count { page.next = place }
    }
    return page
  }

  /// The last row that the page looks at; nil: the table ends within it.
  private func end(of table: TracePosition.Table, _ db: Database) throws -> TracePosition? {
    let column = table == .publications ? "offset" : "key"
    let statement = try db.statement(
      """
      SELECT channel_id, \(column) FROM \(table == .publications ? "publications" : "entries")
      WHERE (channel_id, \(column)) > (?1, ?2) ORDER BY channel_id, \(column) LIMIT 1 OFFSET ?3
      """)
    bind(after, to: statement, at: 1)
    statement.bind(Self.rowsPerPage - 1, at: 3)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return position(statement, in: table)
  }

  private func position(_ statement: Statement, in table: TracePosition.Table) -> TracePosition {
    table == .publications
      ? TracePosition(table: table, channel: statement.int(0), offset: statement.unsigned(1))
      : TracePosition(table: table, channel: statement.int(0), key: statement.text(1))
  }

  private func bind(_ position: TracePosition, to statement: Statement, at index: CInt) {
    statement.bind(position.channel, at: index)
    if position.table == .publications {
      statement.bind(position.offset, at: index + 1)
    } else {
      statement.bind(position.key, at: index + 1)
    }
  }

  private func look(
    in table: TracePosition.Table, through end: TracePosition?, _ db: Database,
    _ found: (TracePosition, TracedRow) -> Void
  ) throws {
    let statement = try db.statement(Self.query(table))
    bind(after, to: statement, at: 1)
    let last = end ?? TracePosition(table: table, channel: .max)
    statement.bind(last.channel, at: 3)
    if table == .publications { statement.bind(last.offset, at: 4) } else { statement.bind(last.key, at: 4) }
    while try statement.next() {
      let isContents = contents.contains { statement.text(2).utf8.starts(with: $0.utf8) }
      guard names(statement, table) || isContents && patterns.occur(in: statement.blob(4)) else { continue }
      guard let name = try? ChannelName(statement.text(2), limit: .max), !sought.own(name) else { continue }
      let row = TracedRow(table == .publications ? .publication : .entry, name, publication(statement, table))
      if isContents || sought.areNamed(by: row.publication) { found(position(statement, in: table), row) }
    }
  }

  /// Whether one of the ids stands in what says who and for whom: the sender, the tags, the key.
  private func names(_ row: Statement, _ table: TracePosition.Table) -> Bool {
    if !row.isNull(5), patterns.occur(in: row.blob(5)) { return true }
    if !row.isNull(6), patterns.occur(in: row.blob(6)) { return true }
    if table == .entries { return patterns.occur(in: row.blob(1)) }
    return !row.isNull(9) && patterns.occur(in: row.blob(9))
  }

  private func publication(_ row: Statement, _ table: TracePosition.Table) -> Publication {
    let isEntry = table == .entries
    let change =
      isEntry
      ? KeyChange(key: row.text(1), score: row.int(7), expires: row.isNull(8) ? .max : row.int(8))
      : row.isNull(9) ? nil : RowCodec.decodeChange(row.blob(9))
    return Publication(
      offset: isEntry ? row.unsigned(9) : row.unsigned(1), time: row.int(3), data: row.blob(4),
      info: row.isNull(5) ? nil : RowCodec.decodeInfo(row.blob(5)),
      tags: row.isNull(6) ? [:] : RowCodec.decodeTags(row.blob(6)), change: change)
  }

  /// Columns: row of the channel, offset or key, name, time, data, info, tags, then score, expires and offset of an
  /// entry, or two nulls and the change of a publication.
  private static func query(_ table: TracePosition.Table) -> String {
    let isEntry = table == .entries
    let column = isEntry ? "key" : "offset"
    return """
      SELECT r.channel_id, r.\(column), c.name, r.time, r.data, r.info, r.tags,
        \(isEntry ? "r.score, r.expires, r.offset" : "NULL, NULL, r.change")
      FROM \(isEntry ? "entries" : "publications") AS r JOIN channels AS c ON c.id = r.channel_id
      WHERE (r.channel_id, r.\(column)) > (?1, ?2) AND (r.channel_id, r.\(column)) <= (?3, ?4)
      """
  }
}

/// Texts that are looked for together: one pass over the bytes, however many there are.
struct PatternSet: Sendable {
  private let patterns: Set<[UInt8]>
  /// Each once, so that a place where one may begin is compared once for each length.
  private let lengths: [Int]
  /// By the first two bytes of a place, whether a pattern may begin there; by the first alone, for the last byte.
  private var pairs = [Bool](repeating: false, count: 1 << 16)
  private var singles = [Bool](repeating: false, count: 1 << 8)

  init(_ patterns: Set<[UInt8]>) {
    self.patterns = patterns.filter { !$0.isEmpty }
    lengths = Set(self.patterns.map(\.count)).sorted()
    for pattern in self.patterns {
      let first = Int(pattern[0])
      if pattern.count > 1 {
        pairs[first << 8 | Int(pattern[1])] = true
      } else {
        singles[first] = true
        for second in 0..<256 { pairs[first << 8 | second] = true }
      }
    }
  }

  /// Whether one of the patterns stands somewhere in the bytes.
  func occur(in bytes: [UInt8]) -> Bool {
    for start in bytes.indices {
      let first = Int(bytes[start])
      let mayBegin = start + 1 < bytes.count ? pairs[first << 8 | Int(bytes[start + 1])] : singles[first]
      guard mayBegin else { continue }
      for length in lengths {
        guard start + length <= bytes.count else { break }
        if patterns.contains(Array(bytes[start..<start + length])) { return true }
      }
    }
    return false
  }
}
