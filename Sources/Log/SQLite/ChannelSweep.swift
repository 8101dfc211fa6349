import SQLite
import Wire

/// Looks for channels of which nobody will ask for anything any more, and for maps that hold entries whose time is over
/// though nobody has opened them: a part of the channels at a time, round and round.
///
/// The sweep proposes and does nothing: the row of a channel in use must stay, and which channels are in use the writer
/// thread does not know; entries of a map end by publications, which the broker makes.
struct ChannelSweep: Sendable {
  /// Rows that one look takes in: some milliseconds on the writer's thread.
  static let rowsPerLook: Int64 = 8192
  /// Rows that one look proposes to delete: some milliseconds more.
  static let mostStale = 2000
  /// Maps with entries whose time is over that one look names.
  static let mostDue = 64

  struct Found: Sendable {
    /// Rows of which nothing is kept.
    var stale: [(id: Int64, name: ChannelName)] = []
    /// Maps with entries whose time is over.
    var due: [ChannelName] = []
    /// The row after which the next look begins; 0: the first.
    var next: Int64 = 0
  }

  /// Milliseconds since 1970.
  let now: Int64
  /// Channels that were written later stay: a client may come back and ask what it missed since. Milliseconds since
  /// 1970.
  let usedBefore: Int64
  /// The look begins after this row.
  let after: Int64
  /// Prefixes of the names of channels that hold the receipts of another channel. They count by that channel's offsets,
  /// so its row stays for as long as one of them has a row.
  let followers: [String]

  func look(_ db: Database) throws -> Found {
    var found = Found(next: after)
    let statement = try db.statement(query)
    statement.bind(after, at: 1)
    statement.bind(Self.rowsPerLook, at: 2)
    statement.bind(now, at: 3)
    statement.bind(usedBefore, at: 4)
    for (index, follower) in followers.enumerated() { statement.bind(follower, at: 5 + CInt(index)) }
    var rows: Int64 = 0
    while try statement.next() {
      rows += 1
      found.next = statement.int(0)
      guard let name = try? ChannelName(statement.text(1)) else { continue }
      if statement.int(2) != 0 { found.stale.append((found.next, name)) }
      if statement.int(3) != 0 { found.due.append(name) }
      if found.stale.count >= Self.mostStale || found.due.count >= Self.mostDue {
        statement.reset()
        return found
      }
    }
    if rows < Self.rowsPerLook { found.next = 0 }
    return found
  }

  /// Asks of each row whether nothing is kept of it, and whether it has an entry whose time is over.
  private var query: String {
    let unfollowed = followers.indices.map { index in
      " AND NOT EXISTS (SELECT 1 FROM channels AS follower WHERE follower.name = ?\(5 + index) || channels.name)"
    }
    return """
      SELECT id, name, used < ?4 AND \(Self.nothingKept)\(unfollowed.joined()),
        EXISTS (SELECT 1 FROM entries WHERE channel_id = channels.id AND expires <= ?3)
      FROM channels WHERE id > ?1 ORDER BY id LIMIT ?2
      """
  }

  private static let nothingKept = """
    NOT EXISTS (SELECT 1 FROM publications WHERE channel_id = channels.id)
      AND NOT EXISTS (SELECT 1 FROM entries WHERE channel_id = channels.id)
      AND NOT EXISTS (SELECT 1 FROM idempotency WHERE channel_id = channels.id)
      AND NOT EXISTS (SELECT 1 FROM origins WHERE channel_id = channels.id)
    """

  /// Deletes the rows of which nothing is kept. To be called within a transaction.
  static func delete(_ ids: [Int64], _ db: Database) throws {
    let statement = try db.statement("DELETE FROM channels WHERE id = ?1 AND \(nothingKept)")
    for id in ids {
      statement.bind(id, at: 1)
      try statement.run()
    }
  }
}

/// What the store knows of the channel sweep under way.
///
/// States:
/// - resting. Can transition to: looking, with the next sweep of the log.
/// - looking: the writer looks. Channels that are opened meanwhile are noted, since it may propose them. Can transition
///   to: resting (nothing was found), deleting.
/// - deleting: the writer was asked to delete rows. For the broker they are gone: whoever opens such a channel begins
///   it anew, in an epoch that is drawn. Can transition to: resting.
/// - dropping: the same for channels of a user whose data is deleted. Comes from resting or looking; what that look
///   finds is not acted on. Can transition to: resting.
struct ChannelUpkeep {
  enum Phase {
    case resting
    case looking(openedMeanwhile: Set<ChannelName>)
    case deleting(Set<Int64>)
    /// The writer was asked to delete channels with everything that is kept of them, by their names.
    case dropping(Set<ChannelName>)
  }

  var phase = Phase.resting
  /// The row after which the next look begins.
  var next: Int64 = 0
  /// How often the writer was asked to delete rows and is through.
  private(set) var deletions = 0

  var isDeleting: Bool {
    switch phase {
    case .deleting, .dropping: true
    case .resting, .looking: false
    }
  }

  func isLeaving(_ id: Int64, _ name: ChannelName) -> Bool {
    switch phase {
    case .deleting(let ids): ids.contains(id)
    case .dropping(let names): names.contains(name)
    case .resting, .looking: false
    }
  }

  mutating func deleted() {
    phase = .resting
    deletions += 1
  }

  mutating func opened(_ name: ChannelName) {
    guard case .looking(var names) = phase else { return }
    phase = .resting
    names.insert(name)
    phase = .looking(openedMeanwhile: names)
  }
}

extension LogWriter {
  func look(_ sweep: ChannelSweep) {
    var found = ChannelSweep.Found(next: sweep.after)
    if refusal == nil {
      _ = attempt { db in
        found = try sweep.look(db)
        return false
      }
      found.stale.removeAll { journal.hasEntries(of: $0.id) }
    }
    inbox.post([.looked(found)], freeing: 0)
  }

  func delete(_ ids: [Int64]) {
    // No row of the journal may speak of a channel that is gone: another channel may get its row in the table, or the
    // same one may begin anew at offset 0.
    account.mustEmpty = true
    if refusal == nil, foldAll() == nil {
      _ = attempt { db in
        try db.inTransaction {
          try ChannelSweep.delete(ids, db)
        }
        return true
      }
    }
    inbox.post([.deleted], freeing: 0)
  }
}
