import PostgreSQL
import Synchronization

/// A set of keys beside the log, as its database has it: wrapped by whoever it belongs to, and of no meaning to the log.
public struct KeyRow: Sendable, Equatable {
  public var name: String
  /// Rises by one with each change, from 1 on.
  public var version: Int64
  public var box: [UInt8]

  public init(name: String, version: Int64, box: [UInt8]) {
    self.name = name
    self.version = version
    self.box = box
  }
}

/// The table `keys` in home's schema, for whoever keeps keys beside the log. Other partitions' brokers only read it.
///
/// It is read and written by the log's writer thread, in its session: a change is one of the lease's transactions, fenced and
/// confirmed as an append is, and what became of it when a connection broke is looked up in the same way.
public final class PostgresKeys: Sendable {
  public typealias Taker = @Sendable (_ rows: [KeyRow], _ lease: UInt64) throws -> Void

  private let inbox: WriterInbox
  private let takers = Mutex<[Taker]>([])

  init(_ inbox: WriterInbox) { self.inbox = inbox }

  /// All rows, and the number of the lease under which they were read. Waits for the database, for as long as that takes.
  ///
  /// - Throws: ``LogError/fenced`` where another broker has the log, ``LogError/closed`` where the log is closed.
  public func all() throws(LogError) -> (rows: [KeyRow], lease: UInt64) {
    let reply = Reply<FoundKeys>()
    guard inbox.ask(.readKeys(reply)) else { throw .closed }
    let found = try reply.wait()
    return (found.rows, found.lease)
  }

  /// Puts a row in the place of the one before it. Waits until the commit is confirmed, for as long as that takes.
  ///
  /// - Parameters:
  ///   - row: its version is the next one.
  ///   - lease: under which the one before it was read.
  /// - Throws: ``LogError/fenced`` where that lease is over, or is not home's: then nothing is written.
  public func replace(_ row: KeyRow, under lease: UInt64) throws(LogError) {
    let reply = Reply<Void>()
    guard inbox.ask(.replaceKeys(row, lease: lease, reply)) else { throw .closed }
    try reply.wait()
  }

  /// Calls `take` on the writer thread after the lease was lost and taken again, before the store is told so: another broker
  /// may have changed the rows. It must not call this table. Where it throws, the lease is given back, and tried again later.
  public func whenRegained(_ take: @escaping Taker) { takers.withLock { $0.append(take) } }

  func regained(_ found: FoundKeys) throws {
    for take in takers.withLock({ $0 }) { try take(found.rows, found.lease) }
  }
}

/// What the writer thread has read.
struct FoundKeys: Sendable {
  var rows: [KeyRow]
  var lease: UInt64
}

extension PostgresWriter {
  func readKeys() -> Result<FoundKeys, LogError> {
    let table = "\(session.database.home).keys"
    return isThere(table).flatMap { isThere in
      if !isThere { return .success(FoundKeys(rows: [], lease: session.term)) }
      return session.ask("SELECT name, version, box FROM \(table) ORDER BY name").map { rows in
        FoundKeys(
          rows: (0..<rows.count).map {
            KeyRow(name: rows.text($0, 0), version: rows.int($0, 1), box: rows.bytes($0, 2))
          }, lease: session.term)
      }
    }
  }

  /// Another partition's broker may begin before home's, which makes the table.
  private func isThere(_ table: String) -> Result<Bool, LogError> {
    if session.database.isHome { return .success(true) }
    return session.ask("SELECT to_regclass('\(table)') IS NOT NULL").map { $0.bool(0, 0) }
  }

  /// - Parameter lease: a change that was decided under a lease that is over may undo what was changed since.
  func replaceKeys(_ row: KeyRow, under lease: UInt64) -> Result<Void, LogError> {
    guard session.database.isHome, lease == session.term else { return .failure(.fenced) }
    let call = PostgresCall("replace_keys", [.text(row.name), .int(row.version), .bytes(row.box)])
    if let error = commit([call]).error { return .failure(error) }
    return .success(())
  }
}
