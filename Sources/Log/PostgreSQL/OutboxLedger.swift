import Dispatch
import Synchronization
import Wire

/// Which rows of the outbox are under way in this broker, for the three who share them: the thread that reads the table
/// (``OutboxReader``), the broker's turn, and the writer thread.
///
/// States of a row:
/// - unread. Can transition to: handed out.
/// - handed out: the broker decides. Can transition to: carried (an entry of the log has it), ending (published without
///   an entry, or refused), unread (for now it cannot be published).
/// - carried: an entry that deletes the row waits for the database. Can transition to: gone (committed), ending
///   (the database will never take it), unread (the entry failed).
/// - ending: the row is to be deleted or put aside. Can transition to: gone.
///
/// States of the ledger:
/// - open: rows are handed out while there is room. Can transition to: halted (a row has failed), away (another broker
///   has the lease).
/// - halted: no row is handed out, and those that the broker has still to decide fail with it, so that none overtakes the
///   one that failed. Can transition to: open in a new round, when no row is under way and a moment has passed; away.
/// - away. Can transition to: open in a new round.
///
/// In each new round the table is read from its beginning: what is not published yet stands in it.
final class OutboxLedger: Sendable {
  /// Rows under way at most, and their bytes.
  static let mostRows = 1024
  static let mostBytes = 4 << 20
  /// Between a failure and the next round.
  static let pause = DispatchTimeInterval.milliseconds(100)
  /// A row that has failed in so many rounds, one after another, is put aside: those behind it have waited for some 30
  /// seconds then. One that an app has sent from another partition is never put aside for that: what it brings was decided
  /// there already.
  static let mostFailures = 300

  fileprivate enum Row {
    case handedOut
    case carried
    case ending
  }

  fileprivate enum Phase {
    case open
    case halted(until: DispatchTime)
    case away
  }

  fileprivate struct State {
    var phase = Phase.open
    var round = 1
    var rows: [Int64: (state: Row, bytes: Int, isRelay: Bool)] = [:]
    var bytes = 0
    /// The row that failed last, and in how many rounds one after another.
    var failing: (row: Int64, rounds: Int)?
    var isClosed = false

    var hasRoom: Bool { rows.count < OutboxLedger.mostRows && bytes < OutboxLedger.mostBytes }

    mutating func remove(_ row: Int64) {
      guard let removed = rows.removeValue(forKey: row) else { return }
      bytes -= removed.bytes
    }
  }

  /// What the thread that reads is to read.
  struct Order {
    let round: Int
    /// Rows that are under way.
    let taken: [Int64]
    let rows: Int
    let bytes: Int
  }

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)

  // MARK: The reader

  /// Waits until there is something to read.
  ///
  /// - Parameter pause: how long to wait first.
  /// - Returns: nil where the ledger is closed.
  func next(after pause: DispatchTimeInterval) -> Order? {
    var due = DispatchTime.now() + pause
    while true {
      let (order, until, isClosed) = state.withLock { $0.next(due: due, at: .now()) }
      if isClosed { return nil }
      if let order { return order }
      if let until { _ = wake.wait(timeout: until) } else { wake.wait() }
      // What woke the reader may be room that a full ledger has now.
      due = min(due, .now() + pause)
    }
  }

  /// Notes rows that are handed to the broker now.
  ///
  /// - Parameter rows: `isRelay`: an app has sent the row from another partition.
  /// - Returns: false where the round is over.
  func handOut(_ rows: [(id: Int64, bytes: Int, isRelay: Bool)], in round: Int) -> Bool {
    state.withLock { state in
      guard state.round == round, case .open = state.phase else { return false }
      for row in rows {
        state.rows[row.id] = (.handedOut, row.bytes, row.isRelay)
        state.bytes += row.bytes
      }
      return true
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    wake.signal()
  }

  /// Ends the pause after a failure. For tests, which wait for no time.
  func endPause() {
    state.withLock { state in if case .halted = state.phase { state.phase = .halted(until: .now()) } }
    wake.signal()
  }

  // MARK: The broker's turn

  /// Notes that an entry of the log has the row from now on.
  ///
  /// - Returns: false where the row is not the broker's to publish: it was handed out in a round that is over.
  func carry(_ row: Int64) -> Bool {
    state.withLock { state in
      guard case .handedOut = state.rows[row]?.state else { return false }
      state.rows[row]?.state = .carried
      return true
    }
  }

  /// Takes in what the broker says of a row.
  ///
  /// - Returns: what the writer is to do with it.
  func conclude(_ id: OutboxMessage.ID, _ fate: OutboxFate) -> OutboxEnding? {
    let (ending, isFree) = state.withLock { state -> (OutboxEnding?, Bool) in
      guard state.round == id.round, let row = state.rows[id.row] else { return (nil, false) }
      switch (fate, row.state) {
      case (_, .ending), (.published, .carried): return (nil, false)
      case (.published, .handedOut): return (state.end(id.row, nil), false)
      case (.refused(let error), _): return (state.end(id.row, error), false)
      case (.failed(let error), _):
        if state.isStuck(at: id.row) { return (state.end(id.row, error), false) }
        state.remove(id.row)
        if case .open = state.phase { state.phase = .halted(until: .now() + Self.pause) }
        return (nil, true)
      }
    }
    if isFree { wake.signal() }
    return ending
  }

  // MARK: The writer

  /// The rows are gone from the table.
  func gone(_ rows: [Int64]) {
    if rows.isEmpty { return }
    let isFree = state.withLock { state in
      let hadRoom = state.hasRoom
      for row in rows {
        state.remove(row)
        if state.failing?.row == row { state.failing = nil }
      }
      return !hadRoom || state.rows.isEmpty
    }
    if isFree { wake.signal() }
  }

  /// The database will never take the entries that have the rows.
  ///
  /// - Returns: what to do with the rows.
  func reject(_ rows: [Int64], _ error: ClientError) -> [OutboxEnding] {
    state.withLock { state in rows.filter { state.rows[$0] != nil }.map { state.end($0, error) } }
  }

  /// Another broker has the lease.
  func lost() {
    state.withLock { state in
      state.phase = .away
      state.forget()
    }
  }

  /// The lease is ours again.
  func regained() {
    state.withLock { state in
      state.phase = .open
      state.forget()
    }
    wake.signal()
  }
}

extension OutboxLedger.State {
  fileprivate mutating func forget() {
    round += 1
    rows = [:]
    bytes = 0
    failing = nil
  }

  /// Counts a failure, if it is the first of the round: those behind it fail because of it.
  ///
  /// - Returns: whether the row has failed so often that the others wait for it no longer, and may be put aside.
  fileprivate mutating func isStuck(at row: Int64) -> Bool {
    guard case .open = phase else { return false }
    failing = (row, failing?.row == row ? (failing?.rounds ?? 0) + 1 : 1)
    if rows[row]?.isRelay == true { return false }
    return failing.map { $0.rounds >= OutboxLedger.mostFailures } ?? false
  }

  fileprivate mutating func end(_ row: Int64, _ error: ClientError?) -> OutboxEnding {
    rows[row]?.state = .ending
    return OutboxEnding(row: row, refusal: error)
  }

  /// - Returns: what to read; or when to look again, at the latest.
  fileprivate mutating func next(
    due: DispatchTime, at now: DispatchTime
  ) -> (OutboxLedger.Order?, until: DispatchTime?, isClosed: Bool) {
    if isClosed { return (nil, nil, true) }
    switch phase {
    case .away: return (nil, nil, false)
    case .halted(let until):
      guard rows.isEmpty else { return (nil, nil, false) }
      if now < until { return (nil, until, false) }
      phase = .open
      round += 1
    case .open: break
    }
    if now < due { return (nil, due, false) }
    guard hasRoom else { return (nil, nil, false) }
    let order = OutboxLedger.Order(
      round: round, taken: Array(rows.keys), rows: OutboxLedger.mostRows - rows.count,
      bytes: OutboxLedger.mostBytes - bytes)
    return (order, nil, false)
  }
}

/// A row of the outbox of which nothing more comes: it is deleted, or put aside with the reason.
struct OutboxEnding: Sendable, Equatable {
  let row: Int64
  /// Nil: it is published.
  let refusal: ClientError?
}
