import PostgreSQL
import Wire

/// Looking for what names users in a log in PostgreSQL. As in SQLite, each row is looked at; fewer in a page, because
/// they come over a network.
extension UserTrace {
  private static let rowsPerPiece: Int64 = 256

  func read(from reader: PostgresReader) throws -> TracePage {
    switch after.table {
    case .channels: try channels(reader)
    case .publications: try rows(.publications, reader)
    case .entries: try rows(.entries, reader)
    }
  }

  private func channels(_ reader: PostgresReader) throws -> TracePage {
    let rows = try reader.ask([
      (
        "SELECT id, name FROM channels WHERE id > $1 ORDER BY id LIMIT $2",
        [.int(after.channel), .int(Self.rowsPerPage)]
      )
    ])[0]
    var page = TracePage()
    for row in 0..<rows.count {
      guard let name = try? ChannelName(rows.text(row, 1), limit: .max), sought.own(name) else { continue }
      page.rows.append(TracedRow(.channel, name, Publication(data: [])))
    }
    let isLast = rows.count < Int(Self.rowsPerPage)
    page.next = TracePosition(
      table: isLast ? .publications : .channels, channel: isLast ? 0 : rows.int(rows.count - 1, 0))
    return page
  }

  private func rows(_ table: TracePosition.Table, _ reader: PostgresReader) throws -> TracePage {
    let isEntry = table == .entries
    let place: Parameter = isEntry ? .bytes(Array(after.key.utf8)) : .int(Int64(clamping: after.offset))
    let rows = try reader.ask([
      (isEntry ? Self.entryRows : Self.publicationRows, [.int(after.channel), place, .int(Self.rowsPerPiece)])
    ])[0]
    var page = TracePage()
    var bytes = 0
    for row in 0..<rows.count {
      let position = position(rows, row, table)
      page.next = position
      if let found = found(rows, row, table) {
        page.rows.append(found)
        page.rows[page.rows.count - 1].place = position
        bytes += found.publication.cost
      }
      if bytes > Self.mostBytes { return page }
    }
    // Fewer rows than were asked for: the table ends here.
    if rows.count < Int(Self.rowsPerPiece) { page.next = isEntry ? nil : TracePosition(table: .entries) }
    return page
  }

  private func position(_ rows: Rows, _ row: Int, _ table: TracePosition.Table) -> TracePosition {
    table == .publications
      ? TracePosition(table: table, channel: rows.int(row, 0), offset: rows.unsigned(row, 1))
      : TracePosition(table: table, channel: rows.int(row, 0), key: rows.text(row, 1))
  }

  private func found(_ rows: Rows, _ row: Int, _ table: TracePosition.Table) -> TracedRow? {
    let isEntry = table == .entries
    let isContents = contents.contains { rows.bytes(row, 2).starts(with: $0.utf8) }
    // Who and for whom: the sender, the tags, and the key, which stands in the change of a publication.
    let isNamed = [rows.bytes(row, 5), rows.bytes(row, 6), isEntry ? rows.bytes(row, 1) : rows.bytes(row, 7)]
      .contains { patterns.occur(in: $0) }
    guard isNamed || isContents && patterns.occur(in: rows.bytes(row, 4)) else { return nil }
    guard let name = try? ChannelName(rows.text(row, 2), limit: .max), !sought.own(name) else { return nil }
    let change =
      isEntry
      ? KeyChange(
        key: rows.text(row, 1), score: rows.int(row, 8), expires: rows.isNull(row, 9) ? .max : rows.int(row, 9))
      : rows.bytesIfAny(row, 7).flatMap { RowCodec.decodeChange($0) }
    let publication = Publication(
      offset: isEntry ? rows.unsigned(row, 7) : rows.unsigned(row, 1), time: rows.int(row, 3), data: rows.bytes(row, 4),
      info: rows.bytesIfAny(row, 5).flatMap { RowCodec.decodeInfo($0) },
      tags: rows.bytesIfAny(row, 6).map { RowCodec.decodeTags($0) } ?? [:], change: change)
    guard isContents || sought.areNamed(by: publication) else { return nil }
    return TracedRow(isEntry ? .entry : .publication, name, publication)
  }

  private static let publicationRows = """
    SELECT r.channel, r.off, c.name, r.time, r.data, r.info, r.tags, r.change
    FROM publications AS r JOIN channels AS c ON c.id = r.channel
    WHERE (r.channel, r.off) > ($1, $2) AND r.off > c.floor ORDER BY r.channel, r.off LIMIT $3
    """
  private static let entryRows = """
    SELECT r.channel, r.key, c.name, r.time, r.data, r.info, r.tags, r.off, r.score, r.expires
    FROM entries AS r JOIN channels AS c ON c.id = r.channel
    WHERE (r.channel, r.key) > ($1, $2) ORDER BY r.channel, r.key LIMIT $3
    """
}
