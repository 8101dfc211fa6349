import Apps
import Log
import Wire

/// The steps of a batch of deletions (``UserDeletions``).
extension BrokerCore {
  /// Milliseconds between two steps, and between two looks whether something awaited has come.
  private static let deletionStep: Int64 = 1
  private static let deletionPause: Int64 = 20
  /// Milliseconds after a step that failed.
  private static let deletionRetry: Int64 = 1000

  /// Does what time brings: begins a batch, and goes on with the one under way.
  func watchDeletions(in turn: inout Turn) {
    guard let deletions, deletions.isLoaded else { return }
    forgetDeletions(in: &turn)
    if deletions.next <= turn.time.monotonic { run(.deletion, in: &turn) }
  }

  /// Goes on with the batch: one step, and further steps while the store need not be asked.
  func goOnDeleting(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let deletions, deletions.isLoaded, waiting != nil || !deletions.isParked else { return }
    deletions.isParked = false
    do throws(ClientError) {
      deletions.next = turn.time.monotonic + (try step(deletions, in: &turn) ? Self.deletionStep : Self.deletionPause)
      if case .resting = deletions.phase, deletions.waiting.isEmpty { deletions.next = .max }
    } catch {
      if !turn.missing.isEmpty {
        deletions.isParked = true
        return stores.park(waiting, .deletion, in: &turn)
      }
      deletions.next = turn.time.monotonic + Self.deletionRetry
    }
  }

  /// One step. Each asks the stores one question at most, since an input that has waited keeps its answers.
  ///
  /// - Returns: whether the next step can be done at once.
  private func step(_ deletions: UserDeletions, in turn: inout Turn) throws(ClientError) -> Bool {
    switch deletions.phase {
    case .resting: return beginBatch(deletions, in: &turn)
    case .barring(let ids, let walk):
      let open = ids.filter { isAwaited($0) }
      if open.isEmpty { return goOnBarring(deletions, walk, in: &turn) }
      deletions.phase = .barring(orders: open, walk: walk)
      return false
    case .settling:
      _ = try erasure(.settle, of: stores.disk, in: &turn)
      (deletions.hasFound, deletions.trimmed) = (false, [])
      deletions.phase = .emptying(channels.beginWalk())
    case .emptying(var walk):
      let isMore = eraseInMemoryMaps(deletions, &walk, in: &turn)
      deletions.phase = isMore ? .emptying(walk) : .tracing(.start, isMemory: false)
    case .tracing(let position, let isMemory): try trace(deletions, position, isMemory, in: &turn)
    case .erasing(let next, let isMemory):
      eraseRows(deletions, in: &turn)
      if !deletions.rows.isEmpty || deletions.underWay > 0 { return deletions.underWay < UserDeletions.rowsUnderWay }
      try turnPage(deletions, next, isMemory, in: &turn)
    case .unmarking(let since):
      if hosts.all.contains(where: { $0.marks.hasOlder(than: since) }) {
        // Once: the same marks would be set anew with each step until they go.
        if deletions.marksEnded != since {
          deletions.marksEnded = since
          for host in hosts.all { host.marks.endOlder(than: since) }
        }
        return false
      }
      deletions.phase = .dropping
    case .dropping: return try drop(deletions, in: &turn)
    case .ordering: orderForgetting(deletions, in: &turn)
    case .ordered(let id, let told, let isConfirmed):
      return awaitForgetting(deletions, order: id, told: told, isConfirmed: isConfirmed, in: &turn)
    case .elsewhere:
      if deletions.awaited > 0 { return false }
      deletions.phase = .parting
    case .parting: return try part(deletions, in: &turn)
    case .parted: return awaitBarriers(deletions)
    case .readmitting:
      // A step begins when the one before is on the disk: what is not is found again.
      if deletions.writing > 0 { return false }
      if try readmit(deletions.batch.filter { !$0.isBanned }.map(\.user), in: &turn) { return false }
      try close(deletions, in: &turn)
    case .closing:
      if deletions.writing > 0 { return false }
      if deletions.takeWriteFailure() {
        try close(deletions, in: &turn)
      } else {
        deletions.phase = .scrubbing
        tellDeletions(obedient: deletions.forgotBatch, in: &turn)
      }
    case .scrubbing:
      guard try erasure(.scrub, of: stores.disk, in: &turn) == .done else { return false }
      try confirm(deletions, in: &turn)
    case .confirming:
      if deletions.writing > 0 { return false }
      if deletions.takeWriteFailure() { try confirm(deletions, in: &turn) } else { finish(deletions) }
    }
    return true
  }

  private func erasure(
    _ question: ErasureQuestion, of store: any LogStore, in turn: inout Turn
  ) throws(ClientError) -> ErasureAnswer {
    guard case .erasure(let answer) = try stores.ask(.erasure(question), of: store, in: &turn) else {
      preconditionFailure("a store answers an erasure as one")
    }
    return answer
  }

  // MARK: The beginning

  private func beginBatch(_ deletions: UserDeletions, in turn: inout Turn) -> Bool {
    if deletions.done.hasUnscrubbed {
      // A process before this one ended between the last two steps.
      deletions.phase = .scrubbing
      return true
    }
    if deletions.waiting.isEmpty { return false }
    let jobs = Array(deletions.waiting.prefix(UserDeletions.jobsPerBatch))
    deletions.waiting.removeFirst(jobs.count)
    var owned: Set<ChannelName> = []
    for job in jobs {
      for host in hosts.all { owned.formUnion(host.app.channels(of: job.user)) }
      owned.formUnion(job.channels.compactMap { try? ChannelName($0) })
    }
    deletions.begin(jobs, owned: owned)
    deletions.phase = .barring(orders: bar(jobs, in: &turn))
    return true
  }

  /// Has the users' tokens refused, and their connections ended.
  ///
  /// - Returns: the orders that gateways have to confirm.
  private func bar(_ jobs: [UserDeletions.Job], in turn: inout Turn) -> [UInt64] {
    let now = turn.time.tokenSeconds
    var bars: [Revocation] = []
    for job in jobs {
      if job.isBanned {
        let ban = BrokerRequest.RevokeRequest(.user(job.user, issuedBefore: nil), expiresAt: job.bannedUntil)
        // A ban that cannot be written holds while the deletion lasts; whoever asked sees it in the log of refusals.
        do throws(ClientError) { try revoke(ban, for: .broker, in: &turn) } catch { tally.counters.refused += 1 }
      }
      let bar = Revocation(.user(job.user, issuedBefore: now + 1), expiresAt: now + Self.barSeconds)
      // In memory alone: on disk the revocation would name the user.
      if let log = revocations { bars.append(log.table.insert(bar)) }
    }
    var ids: [UInt64] = []
    let order = { (order: SessionOrder, turn: inout Turn) in
      ids.append(self.orders.following)
      self.tellGateways(order, then: .done, for: .broker, in: &turn)
    }
    if !bars.isEmpty { order(.revoke(bars, replacesAll: false, isComplete: true), &turn) }
    for job in jobs { order(.disconnect(SessionTarget(user: job.user), .forceDisconnect), &turn) }
    return ids
  }

  /// Seconds after which users who are not banned may come back, should the deletion take so long.
  private static let barSeconds: Int64 = 86_400

  // MARK: Passes

  private func trace(
    _ deletions: UserDeletions, _ position: TracePosition, _ isMemory: Bool, in turn: inout Turn
  ) throws(ClientError) {
    let question = ErasureQuestion.trace(
      users: deletions.sought.users, contents: namedContents, after: position)
    guard case .page(let page) = try erasure(question, of: isMemory ? stores.memory : stores.disk, in: &turn) else {
      return
    }
    deletions.rows = page.rows.reversed()
    deletions.phase = .erasing(next: page.next, isMemory: isMemory)
  }

  /// Beginnings of the channels whose payloads name people: those of all apps, switched on or not.
  var namedContents: [String] {
    let apps = ["clique.", "state.", "push."]
    return Set(hosts.all.map(\.methodPrefix) + apps + [Outbox.prefix, NoticeOutbox.channel.string]).sorted()
  }

  /// The rows of a page are done: goes on with the next page, the memory store, another pass, or the next phase.
  private func turnPage(
    _ deletions: UserDeletions, _ next: TracePosition?, _ isMemory: Bool, in turn: inout Turn
  ) throws(ClientError) {
    eraseUnsent(deletions)
    if !deletions.orphans.isEmpty {
      let orphans = deletions.orphans
      _ = try erasure(.clear(orphans), of: stores.disk, in: &turn)
      eraseUnsent(deletions)  // A page of an outbox may have been read meanwhile.
      // Where the store could not do it now, the next pass finds them again.
      (deletions.orphans, deletions.hasFound) = ([], true)
    }
    if let next {
      deletions.phase = .tracing(next, isMemory: isMemory)
    } else if !isMemory {
      deletions.phase = .tracing(.start, isMemory: true)
    } else if deletions.hasFound {
      deletions.phase = .settling
    } else {
      _ = try erasure(.forgetAccounts(deletions.sought.users), of: stores.disk, in: &turn)
      deletions.phase = .unmarking(since: turn.time.monotonic)
    }
  }

  private func eraseRows(_ deletions: UserDeletions, in turn: inout Turn) {
    var left = UserDeletions.rowsUnderWay
    while left > 0, deletions.underWay < UserDeletions.rowsUnderWay, let row = deletions.rows.popLast() {
      left -= 1
      deletions.underWay += 1
      run(.eraseRow(row), in: &turn)
    }
  }

  /// Deletes the users' own channels, when nobody has them open any more.
  private func drop(_ deletions: UserDeletions, in turn: inout Turn) throws(ClientError) -> Bool {
    // Asked about once, on the first run of the input.
    let isDropped = turn.known.contains { if case .erasure(.drop) = $0.question { true } else { false } }
    if !isDropped {
      for name in deletions.owned {
        guard let state = channels[name] else { continue }
        if !state.interest.isEmpty, deletions.sought.own(name) {
          // Somebody has subscribed again.
          deletions.phase = .barring(orders: [])
          return false
        }
        guard state.isAtRest, !stores.isReading(name) else { return false }
        channels.forget(state)
      }
    }
    let onDisk = deletions.owned.sorted()
    if !onDisk.isEmpty, try erasure(.drop(onDisk), of: stores.disk, in: &turn) != .done { return false }
    deletions.phase = .ordering
    return true
  }

  /// Other parts of the server have forgotten the users of the batch.
  ///
  /// - Parameter isDone: false: they could not, and are asked again.
  public func forgotElsewhere(isDone: Bool, in turn: inout Turn) {
    guard let deletions, case .elsewhere = deletions.phase, deletions.awaited > 0 else { return }
    deletions.awaited = 0
    guard isDone else {
      deletions.phase = .ordering
      deletions.next = turn.time.monotonic + Self.deletionRetry
      return
    }
    run(.deletion, in: &turn)
  }

  // MARK: The end

  /// Replaces the jobs by digests.
  private func close(_ deletions: UserDeletions, in turn: inout Turn) throws(ClientError) {
    guard let number = deletions.state.sequencer.peek() else { throw .draining }
    var changes: [(key: String, data: [UInt8]?)] = []
    var records: [(digest: String, record: DeletionRecords.Record)] = []
    for job in deletions.batch {
      // The offset of the first of these entries: it rises, and is on the disk with them.
      let record = DeletionRecords.Record(since: job.since, at: turn.time.wall, number: number)
      records.append((deletions.digest(of: job.user), record))
      changes.append((job.key, nil))
      changes.append((UserDeletions.donePrefix + records[records.count - 1].digest, UserDeletions.encode(record)))
    }
    try writeDeletions(changes, in: &turn)
    for (digest, record) in records { deletions.done.insert(record, for: digest) }
    deletions.phase = .closing
  }

  private func confirm(_ deletions: UserDeletions, in turn: inout Turn) throws(ClientError) {
    var changes: [(key: String, data: [UInt8]?)] = []
    for (digest, var done) in deletions.done.unscrubbed {
      done.isScrubbed = true
      changes.append((UserDeletions.donePrefix + digest, UserDeletions.encode(done)))
    }
    try writeDeletions(changes, in: &turn)
    deletions.phase = .confirming
  }

  private func finish(_ deletions: UserDeletions) {
    deletions.done.scrubbed()
    deletions.begin([], owned: [])
    deletions.phase = .resting
  }
}
