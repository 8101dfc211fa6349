import Log
import Wire

/// Deletions of users' data: what asks for them and tells of them, and the steps of a batch.
extension BrokerCore {
  /// Switches deletions on and goes on with those that were asked for before. To be called before the first input.
  public func openDeletions(in turn: inout Turn) {
    deletions = UserDeletions(store: stores.disk)
    run(.loadDeletions, in: &turn)
  }

  func loadDeletions(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let deletions else { return }
    do throws(ClientError) {
      let opened = try stores.load(UserDeletions.question, of: stores.disk, in: &turn)
      guard deletions.loaded(opened) else {
        return fail("a deletion of a user's data is of another version of Fanfare")
      }
      tellDeletions(in: &turn)
    } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .loadDeletions, in: &turn) }
    }
  }

  // MARK: Requests

  /// Answered when the deletion is on disk, and so will be carried out.
  func delete(
    _ deletion: UserRequest.Deletion, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let deletions else { throw .notAvailable.saying("this broker deletes no users' data") }
    if let answer = status(of: deletion.user, unless: .done) { return self.answer(requester, answer, in: &turn) }
    guard deletions.waiting.count + deletions.writing < UserDeletions.mostJobs else {
      throw .tooManyRequests.saying(
        "\(UserDeletions.mostJobs) deletions wait, as many as may; ask again when some of them are done")
    }
    let job = UserDeletions.Job(
      user: deletion.user, channels: deletion.channels.map(\.string), isBanned: deletion.isBanned,
      bannedUntil: deletion.bannedUntil, since: turn.time.wall)
    try add(job, deletions, for: requester, in: &turn)
  }

  /// Writes a job down. Where home takes one in, the jobs of the other partitions go to them with it.
  func add(
    _ given: UserDeletions.Job, _ deletions: UserDeletions, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let first = deletions.state.sequencer.peek() else { throw .draining }
    var (job, offset) = (given, first)
    if deletions.pepper == nil {
      var random = SystemRandomNumberGenerator()
      let drawn = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      try write(deletionEntry(UserDeletions.pepperKey, drawn, at: offset, turn.time), .pepper, deletions, in: &turn)
      deletions.pepper = drawn
      offset += 1
    }
    job.key = "job:\(offset)"
    let relays = share(&job, number: offset)
    let entry = deletionEntry(
      job.key, UserDeletions.encode(job), at: offset, turn.time, for: requester.isOutbox ? requester : .broker)
    deletions.arrives(job)
    do throws(ClientError) {
      try write(entry, .requested(job, requester, relays: relays.count), deletions, relaying: relays, in: &turn)
    } catch {
      deletions.arrived(job, isKept: false)
      throw error
    }
  }

  private func write(
    _ entry: LogEntry, _ pending: PendingDeletion, _ deletions: UserDeletions, relaying relays: [LogRelay] = [],
    in turn: inout Turn
  ) throws(ClientError) {
    deletions.writing += 1
    do throws(ClientError) {
      try append([entry], on: [deletions.state], for: .deletion(pending), relaying: relays, in: &turn)
    } catch {
      deletions.writing -= 1
      throw error
    }
  }

  func deletionStatus(of user: String) throws(ClientError) -> BrokerResponse {
    guard deletions != nil else { throw .notAvailable.saying("this broker deletes no users' data") }
    return status(of: user, unless: nil) ?? .result(Self.json(state: .none, since: nil, at: nil))
  }

  enum DeletionState: String { case none, waiting, deleting, done }

  /// - Parameter ignored: a state in which the user counts as unknown.
  private func status(of user: String, unless ignored: DeletionState?) -> BrokerResponse? {
    guard let deletions else { return nil }
    let isSame = { (job: UserDeletions.Job) in job.user.hasSameBytes(as: user) }
    if let job = deletions.batch.first(where: isSame) {
      return .result(Self.json(state: .deleting, since: job.since, at: nil))
    }
    if let job = deletions.waiting.first(where: isSame) {
      return .result(Self.json(state: .waiting, since: job.since, at: nil))
    }
    guard deletions.pepper != nil, let done = deletions.done[deletions.digest(of: user)] else { return nil }
    let state = done.isScrubbed ? DeletionState.done : .deleting
    if state == ignored { return nil }
    return .result(Self.json(state: state, since: done.since, at: done.isScrubbed ? done.at : nil))
  }

  private static func json(state: DeletionState, since: Int64?, at: Int64?) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("state", state.rawValue)
      if let since { writer.write("since", since) }
      if let at { writer.write("done", at) }
    }
    return writer.bytes
  }

  // MARK: Entries of their own

  /// - Parameter requester: a relay, whose row goes with the entry, or the broker itself.
  func deletionEntry(
    _ key: String, _ data: [UInt8]?, at offset: UInt64, _ time: BrokerTime, for requester: Requester = .broker
  ) -> LogEntry {
    guard let state = deletions?.state else { preconditionFailure("only deletions write their entries") }
    let change = KeyChange(key: key, removed: data == nil)
    let publication = Publication(offset: offset, time: time.wall, data: data ?? Self.noData, change: change)
    var entry = entry(publication, nil, edit: nil, of: state, for: requester)
    entry.mayUseReserve = true
    return entry
  }

  /// Writes entries of the deletions' channel as one transaction; nil data removes a key.
  ///
  /// - Parameters:
  ///   - barrier: what they are written for, whose row goes with the first of them.
  ///   - relays: what goes to other partitions with them.
  /// - Throws: why the log refuses them.
  func writeDeletions(
    _ changes: [(key: String, data: [UInt8]?)], for barrier: PendingBarrier? = nil, relaying relays: [LogRelay] = [],
    in turn: inout Turn
  ) throws(ClientError) {
    guard let deletions, !changes.isEmpty else { return }
    guard let first = deletions.state.sequencer.peek() else { throw .draining }
    let requester = barrier?.requester ?? .broker
    let entries = changes.enumerated().map { index, change in
      deletionEntry(
        change.key, change.data, at: first + UInt64(index), turn.time, for: index == 0 ? requester : .broker)
    }
    let states = Array(repeating: deletions.state, count: entries.count)
    let pending = barrier.map { PendingDeletion.barrier($0) } ?? .kept(relays: relays.count)
    deletions.writing += entries.count
    do throws(ClientError) {
      try append(entries, on: states, for: .deletion(pending), relaying: relays, in: &turn)
    } catch {
      deletions.writing -= entries.count
      throw error
    }
  }

  /// The log has answered for an entry of the deletions' channel.
  func deletionWritten(_ pending: PendingDeletion, error: ClientError?, in turn: inout Turn) {
    guard let deletions else { return }
    deletions.writing -= 1
    switch (pending, error) {
    case (.requested(let job, let requester, _), let error?):
      deletions.arrived(job, isKept: false)
      answer(requester, .failed(error), in: &turn)
    case (.requested(let job, let requester, let relays), nil):
      tally.counters.relaysSent += UInt64(relays)
      deletions.arrived(job, isKept: true)
      answer(requester, .result(Self.json(state: .waiting, since: job.since, at: nil)), in: &turn)
    case (.pepper, _?): deletions.pepper = nil  // The next deletion draws another.
    case (.kept, _?): deletions.hasFailedToWrite = true
    case (.kept(let relays), nil): tally.counters.relaysSent += UInt64(relays)
    case (.readmitted(let some), _?):
      // They are on the disk still, so the next step has to find them.
      for revocation in some { revocations?.table.insert(revocation) }
    case (.barrier(let barrier), _):
      barrier.left -= 1
      if barrier.left > 0 { break }
      if error != nil { deletions.forget(barrierOf: barrier.partition, for: barrier.numbers) }
      answer(barrier.requester, error.map { .failed($0) } ?? .result([]), in: &turn)
    case (.pepper, nil), (.readmitted, nil): break
    }
    if deletions.writing == 0 { run(.deletion, in: &turn) }
  }

  /// Forgets deletions that were done long ago, some at a time.
  func forgetDeletions(in turn: inout Turn) {
    guard let deletions, deletions.isLoaded,
      deletions.lastSweep.map({ turn.time.monotonic - $0 >= 10_000 }) ?? true
    else { return }
    deletions.lastSweep = turn.time.monotonic
    guard let old = deletions.done.old(at: turn.time.wall, limit: Self.expiriesPerTurn) else { return }
    let floor = UserDeletions.Floor(number: old.floor.number, at: old.floor.at)
    var changes: [(key: String, data: [UInt8]?)] = [(UserDeletions.floorKey, UserDeletions.encode(floor))]
    for digest in old.digests { changes.append((UserDeletions.donePrefix + digest, nil)) }
    do throws(ClientError) {
      try writeDeletions(changes, in: &turn)
      deletions.done.forget(old)
    } catch {}  // They are tried again with the next sweep.
  }
}
