import CLinuxIO
import Foundation
import Logging
import PostgreSQL
import Wire

/// What the writer does beside entries.
extension PostgresWriter {
  /// Rows that one portion of a sweep deletes at most: some milliseconds, in which entries wait.
  static let rowsPerPortion: Int64 = 2000
  /// Rows of channels that one portion looks at for what is to be trimmed.
  static let channelsPerPortion: Int64 = 4096

  func perform(_ work: WriterWork) {
    switch work {
    case .append, .resume: preconditionFailure("the round does these itself")
    case .remove(let channel, let most, let question):
      inbox.post([.removed(question, remove(channel, through: most))], freeing: 0)
    case .sweep(let now): sweep(now)
    case .look(let sweep): inbox.post([.looked(look(sweep))], freeing: 0)
    case .delete(let ids):
      _ = commit([PostgresCall("delete_channels", [.ints(ids)])])
      inbox.post([.deleted], freeing: 0)
    case .scrub: break  // The server overwrites nothing; its vacuum frees what was deleted.
    case .erase(let question): erase(question)
    case .endOutbox(let more): endings += more
    case .readKeys(let reply): reply.send(readKeys())
    case .replaceKeys(let row, let lease, let reply): reply.send(replaceKeys(row, under: lease))
    case .intercept, .runInTest: preconditionFailure("tests of SQLite alone ask for its connection")
    }
  }

  /// Deletes rows of the outbox of which nothing more comes, or puts them aside. Where that fails, it is tried again.
  func endOutboxRows() {
    let published = endings.filter { $0.refusal == nil }
    let refused = endings.compactMap { ending in ending.refusal.map { (row: ending.row, error: $0) } }
    let call = PostgresCall(
      "end_outbox",
      [
        .ints(published.map(\.row)), .ints(refused.map(\.row)), .ints(refused.map { Int64($0.error.code) }),
        .texts(refused.map { $0.error.message.replacing("\0", with: " ") }),
      ])
    guard commit([call]).error == nil else { return }
    for (row, error) in refused {
      logger.warning(
        "a publication of the outbox is refused, and kept in the table outbox_refused",
        metadata: ["row": "\(row)", "reason": "\(error.message)"])
    }
    outbox?.gone(endings.map(\.row))
    endings = []
    metrics.outbox(published: published.count, refused: refused.count)
  }

  private func remove(_ channel: WriterChannel, through most: UInt64) -> Result<UInt64, LogError> {
    let top = min(most, channel.committed.top)
    let call = PostgresCall("remove_history", [.bytes(channel.name.bytes), .int(Int64(clamping: top))])
    if let error = commit([call]).error { return .failure(error) }
    postTotals()
    channel.committed.floor = max(channel.committed.floor, top)
    channel.working = channel.committed
    return .success(top)
  }

  /// Does one portion of a sweep; the rest follows after the entries that came meanwhile.
  func sweep(_ now: Int64) {
    sweep = nil
    let call = PostgresCall(
      "sweep",
      [
        .int(now), .int(now.minus(ttl: RequestTraces.originLifetime)), .int(trimmedThrough),
        .int(Self.channelsPerPortion), .int(Self.rowsPerPortion),
      ])
    let outcome = commit([call])
    postTotals()
    guard outcome.error == nil, let rows = outcome.committed.first ?? nil else { return }
    trimmedThrough = rows.int(0, 0)
    // Should the server refuse, the next sweep is soon enough.
    if rows.bool(0, 1) { sweep = (now, .now() + Upkeep.sweepPause) }
  }

  private func look(_ sweep: ChannelSweep) -> ChannelSweep.Found {
    var found = ChannelSweep.Found(next: sweep.after)
    let unfollowed = sweep.followers.indices.map { index in
      " AND NOT EXISTS (SELECT 1 FROM channels AS f WHERE f.name = $\(5 + index) || c.name)"
    }
    let result = session.ask(
      """
      SELECT id, name, used < $4 AND \(Self.nothingKept)\(unfollowed.joined()),
        EXISTS (SELECT 1 FROM entries WHERE channel = c.id AND expires <= $3)
      FROM channels AS c WHERE id > $1 ORDER BY id LIMIT $2
      """,
      [.int(sweep.after), .int(ChannelSweep.rowsPerLook), .int(sweep.now), .int(sweep.usedBefore)]
        + sweep.followers.map { .bytes(Array($0.utf8)) })
    guard case .success(let rows) = result else {
      if case .failure(let error) = result, error == .fenced { note(error) }
      return found
    }
    for row in 0..<rows.count {
      found.next = rows.int(row, 0)
      guard let name = try? ChannelName(rows.text(row, 1)) else { continue }
      if rows.bool(row, 2) { found.stale.append((found.next, name)) }
      if rows.bool(row, 3) { found.due.append(name) }
      if found.stale.count >= ChannelSweep.mostStale || found.due.count >= ChannelSweep.mostDue { return found }
    }
    if rows.count < Int(ChannelSweep.rowsPerLook) { found.next = 0 }
    return found
  }

  private static let nothingKept = """
    NOT EXISTS (SELECT 1 FROM publications WHERE channel = c.id)
      AND NOT EXISTS (SELECT 1 FROM entries WHERE channel = c.id)
      AND NOT EXISTS (SELECT 1 FROM idempotency WHERE channel = c.id)
      AND NOT EXISTS (SELECT 1 FROM origins WHERE channel = c.id)
    """

  // MARK: Deleting a user's data

  private func erase(_ question: ErasureQuestion) {
    let error: LogError?
    switch question {
    case .settle: error = commit([PostgresCall("fence")]).error
    case .scrub: return vacuum()
    case .drop(let names): error = commit([PostgresCall("drop_channels", [.blobs(names.map(\.bytes))])]).error
    case .clear(let rows):
      let keys = rows.map { row in row.kind == .entry ? row.publication.change.map { Array($0.key.utf8) } : nil }
      let parameters: [Parameter] = [
        .blobs(rows.map(\.channel.bytes)), .blobs(keys),
        .ints(rows.map { Int64(clamping: $0.publication.offset) }), .bytes(ErasureQuestion.emptied),
      ]
      error = commit([PostgresCall("clear_rows", parameters)]).error
    case .forgetAccounts(let users):
      error = commit([PostgresCall("forget_accounts", [.blobs(users.map { Array($0.utf8) })])]).error
    case .trace: preconditionFailure("traces are read by the readers' threads")
    }
    postTotals()
    inbox.post([.erased(question, error)], freeing: 0)
  }

  /// Has the server forget what was replaced and removed, on a connection of its own and beside the writer: that takes
  /// minutes for a large log. It is asked for once at a time.
  ///
  /// PostgreSQL gives the room free and does not overwrite it at once; its write-ahead log, and standbys, hold what was
  /// written for as long as they are set up to.
  private func vacuum() {
    let (database, inbox) = (session.database, inbox)
    let thread = Thread {
      unsafe linuxio_name_thread("fanfare-vacuum")
      var error: LogError?
      do throws(PostgresError) {
        let connection = try database.connect()
        try connection.run(script: "VACUUM publications, entries, idempotency, origins, channels", within: 3600)
      } catch let fault {
        error = PostgresFault.logError(for: fault)
      }
      inbox.post([.erased(.scrub, error)], freeing: 0)
    }
    thread.start()
  }
}
