import SQLite
import Wire

extension SQLiteStore {
  /// Opens the log for somebody other than the broker, on a connection of its own, which must be closed before the
  /// store.
  public func scan() throws(LogError) -> any LogScan {
    do { return try SQLiteScan(path: databasePath, journal: journal) } catch { throw StoreFault.logError(for: error) }
  }
}

private struct SQLiteScan: LogScan {
  private let reader: ChannelReader
  /// Holds the era and the run, with which the epochs of channels end: they change only when a store is opened.
  private let meta: StoreMeta

  init(path: String, journal: UnfoldedJournal) throws {
    reader = ChannelReader(connection: try Schema.reader(at: path), journal: journal)
    meta = try reader.connection.inDatabase { try StoreMeta($0) }
  }

  func channel(_ name: ChannelName, at now: Int64) throws(LogError) -> ScannedChannel? {
    guard let row = try asking({ try reader.row(of: name) }) else { return nil }
    let life = row.durability == Durability.durable.rawValue ? meta.era : meta.run
    return ScannedChannel(
      id: row.id, epoch: row.epoch + "." + life, top: row.top, notBefore: now.minus(ttl: row.ttl))
  }

  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, notBefore: Int64, _ body: (Publication) -> Bool
  ) throws(LogError) {
    try asking {
      try reader.publications(of: id, in: span, limit: limit, reverse: false, notBefore: notBefore, body)
    }
  }

  func close() throws(LogError) { try asking { try reader.connection.close() } }

  private func asking<Answer>(_ body: () throws -> Answer) throws(LogError) -> Answer {
    do { return try body() } catch { throw StoreFault.logError(for: error) }
  }
}
