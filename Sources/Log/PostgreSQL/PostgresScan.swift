import PostgreSQL
import Synchronization
import Wire

/// Reads the log in PostgreSQL for somebody other than its broker, on any thread.
///
/// Unchecked: the reader is used within `turn` alone.
final class PostgresScan: LogScan, @unchecked Sendable {
  private let turn = Mutex(())
  private let reader: PostgresReader

  init(_ server: PostgresDatabase) { reader = PostgresReader(server) }

  func channel(_ name: ChannelName, at now: Int64) throws(LogError) -> ScannedChannel? {
    try asking { reader throws(PostgresError) in
      guard let row = try reader.row(of: name)?.row else { return nil }
      let suffix = try reader.suffix(of: row.durability)
      return ScannedChannel(
        id: row.id, epoch: suffix.isEmpty ? row.epoch : row.epoch + "." + suffix, top: row.top,
        notBefore: now.minus(ttl: row.ttl))
    }
  }

  func publications(
    of id: Int64, in span: ClosedRange<UInt64>, limit: Int, notBefore: Int64, _ body: (Publication) -> Bool
  ) throws(LogError) {
    var (low, left, isOver) = (span.lowerBound, limit, false)
    // Where the connection is lost on the way, the rest is read on another one.
    try asking { reader throws(PostgresError) in
      guard !isOver, left > 0, low <= span.upperBound else { return }
      try reader.publications(
        of: id, in: low...span.upperBound, limit: left, reverse: false, notBefore: notBefore
      ) { publication in
        low = publication.offset + 1
        left -= 1
        isOver = !body(publication)
        return !isOver
      }
    }
  }

  func close() throws(LogError) { turn.withLock { _ in reader.close() } }

  private func asking<Answer>(
    _ body: (PostgresReader) throws(PostgresError) -> Answer
  ) throws(LogError) -> Answer {
    var result: Result<Answer, LogError>?
    turn.withLock { _ in
      do throws(LogError) {
        result = .success(try reader.reading { try body(reader) })
      } catch {
        result = .failure(error)
      }
    }
    guard let result else { preconditionFailure("the body neither returned nor threw") }
    return try result.get()
  }
}
