import SQLite
import Wire

/// Looks for what names users: one page of it, on a reader's thread.
///
/// SQLite looks for the users' ids as bytes, in whatever columns may hold one, which costs a page of some thousand rows
/// a few milliseconds. What it finds is held against the users exactly, except payloads (``TracedRow``).
struct UserTrace: Sendable {
  /// Rows of a table that one page looks at.
  static let rowsPerPage: Int64 = 4096
  /// Rows found after which a page ends.
  static let mostFound = 256
  /// Bytes of found rows (``Publication/cost``) after which a page ends.
  static let mostBytes = 1 << 20
  /// Patterns that one statement looks for. SQLite bounds the depth of an expression at a thousand.
  private static let patternsPerStatement = 64
  /// Beginnings of channel names that one statement compares with.
  private static let mostContents = 4

  let sought: SoughtUsers
  let contents: [String]
  let after: TracePosition
  private let patterns: [[UInt8]]

  init(users: [String], contents: [String], after: TracePosition) {
    sought = SoughtUsers(users)
    self.contents = Array(contents.prefix(Self.mostContents))
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
    self.patterns = patterns.sorted { $0.lexicographicallyPrecedes($1) }
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
    var start = 0
    while start < patterns.count {
      let chunk = patterns[start..<min(start + Self.patternsPerStatement, patterns.count)]
      try look(for: chunk, in: table, through: end, db) { place, row in
        if !found.contains(where: { $0.place == place }) { found.append((place, row)) }
      }
      start += chunk.count
    }
    found.sort { $0.place.precedes($1.place) }
    var page = TracePage(next: end ?? (table == .publications ? TracePosition(table: .entries) : nil))
    var bytes = 0
    for (place, row) in found {
      if page.rows.count >= Self.mostFound || bytes > Self.mostBytes { break }
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
    for patterns: ArraySlice<[UInt8]>, in table: TracePosition.Table, through end: TracePosition?, _ db: Database,
    _ found: (TracePosition, TracedRow) -> Void
  ) throws {
    // As many parameters as a class has, so that there are few statements; those left over are null and match nothing.
    let count = patterns.count <= 1 ? 1 : patterns.count <= 8 ? 8 : Self.patternsPerStatement
    let statement = try db.statement(Self.query(table, patterns: count))
    bind(after, to: statement, at: 1)
    let last = end ?? TracePosition(table: table, channel: .max)
    statement.bind(last.channel, at: 3)
    if table == .publications { statement.bind(last.offset, at: 4) } else { statement.bind(last.key, at: 4) }
    for index in 0..<Self.mostContents {
      // No name begins with a control character.
      statement.bind(index < contents.count ? contents[index] : "\u{1}", at: CInt(5 + index))
    }
    for index in 0..<count {
      let pattern = index < patterns.count ? patterns[patterns.startIndex + index] : nil
      statement.bind(pattern, at: CInt(Self.firstPattern + index))
    }
    while try statement.next() {
      guard let name = try? ChannelName(statement.text(2), limit: .max), !sought.own(name) else { continue }
      let row = TracedRow(table == .publications ? .publication : .entry, name, publication(statement, table))
      let isContents = contents.contains { name.string.utf8.starts(with: $0.utf8) }
      if isContents || sought.areNamed(by: row.publication) { found(position(statement, in: table), row) }
    }
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

  private static let firstPattern = 5 + mostContents

  /// Columns: row of the channel, offset or key, name, time, data, info, tags, then score, expires and offset of an
  /// entry, or two nulls and the change of a publication.
  private static func query(_ table: TracePosition.Table, patterns: Int) -> String {
    let isEntry = table == .entries
    let column = isEntry ? "key" : "offset"
    let keyed = isEntry ? "CAST(r.key AS BLOB)" : "r.change"
    let numbers = firstPattern..<firstPattern + patterns
    func any(_ expression: String) -> String {
      numbers.map { "instr(\(expression), ?\($0))" }.joined(separator: " OR ")
    }
    let isContents = (0..<mostContents).map { "substr(c.name, 1, length(?\(5 + $0))) = ?\(5 + $0)" }
    return """
      SELECT r.channel_id, r.\(column), c.name, r.time, r.data, r.info, r.tags,
        \(isEntry ? "r.score, r.expires, r.offset" : "NULL, NULL, r.change")
      FROM \(isEntry ? "entries" : "publications") AS r JOIN channels AS c ON c.id = r.channel_id
      WHERE (r.channel_id, r.\(column)) > (?1, ?2) AND (r.channel_id, r.\(column)) <= (?3, ?4)
        AND ((\(any("r.info"))) OR (\(any("r.tags"))) OR (\(any(keyed)))
          OR ((\(isContents.joined(separator: " OR "))) AND (\(any("r.data")))))
      """
  }
}

extension TracePosition {
  /// In the order in which SQLite reads a table: texts by their bytes.
  fileprivate func precedes(_ other: TracePosition) -> Bool {
    if channel != other.channel { return channel < other.channel }
    if offset != other.offset { return offset < other.offset }
    return key.utf8.lexicographicallyPrecedes(other.key.utf8)
  }
}
