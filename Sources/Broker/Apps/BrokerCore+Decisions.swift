import Apps
import Foundation
import Log
import Wire

/// Performs what an app decided: one transaction of the log, all of it or nothing.
extension BrokerCore {
  /// The parts of a transaction as they are put together.
  private struct Assembly {
    var entries: [LogEntry] = []
    var states: [ChannelState] = []
    /// The next offset of each channel of the transaction.
    var next: [ChannelName: UInt64] = [:]
    var records: [(key: String, offset: UInt64)] = []
    var undo: [AppRecords.Undo] = []
    var afterwards: [AppEffect] = []
    var requester: Requester
    /// The command was done before: only its answer is wanted.
    var isRepeated = false
  }

  func perform(
    _ decision: AppDecision, of host: AppHost, for requester: Requester, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    var parts = Assembly(requester: requester)
    do throws(ClientError) {
      try assemble(decision, &parts, of: host, at: time)
      if parts.isRepeated {
        host.records.restore(parts.undo)
        parts.afterwards = []
        return try finish(decision, parts, of: host, at: time, into: &effects)
      }
      if parts.entries.isEmpty { return try finish(decision, parts, of: host, at: time, into: &effects) }
      try commit(decision, parts, of: host, at: time, into: &effects)
    } catch {
      host.records.restore(parts.undo)
      throw error
    }
  }

  private func assemble(
    _ decision: AppDecision, _ parts: inout Assembly, of host: AppHost, at time: BrokerTime
  ) throws(ClientError) {
    // Records first: lists are worked out from them.
    for effect in decision.effects {
      switch effect {
      case .write(let key, let record): try add(record, key, &parts, of: host, at: time)
      case .erase(let key): try add(nil, key, &parts, of: host, at: time)
      default: break
      }
    }
    for effect in decision.effects {
      switch effect {
      case .write, .erase: break
      case .publish(let publication): try add(publication, &parts, at: time)
      case .edit(let channel, let offset, let data): try add(edit: offset, of: channel, data, &parts, at: time)
      case .refresh(let channel, let key, .atomically):
        let state = try self.channel(channel, at: time)
        if let change = try publication(of: key, in: state, of: host, at: time) { try add(change, nil, state, &parts) }
      case .refresh(_, _, .soon), .readmit, .scrub, .discardPictures: parts.afterwards.append(effect)
      }
    }
    try noteDiscards(&parts, of: host, at: time)
    // What was decided upon something that is not on disk must fail with it.
    if !parts.entries.isEmpty, parts.records.isEmpty, !host.recordsState.sequencer.isIdle {
      let nothing = Publication(time: time.wall, data: [], change: KeyChange(key: Self.chainKey, removed: true))
      try add(nothing, nil, host.recordsState, &parts)
    }
  }

  /// Pictures are deleted by gateways, which may be away, and the broker may be killed before it has told them: so they
  /// are told again, until a record says that it was done.
  private func noteDiscards(_ parts: inout Assembly, of host: AppHost, at time: BrokerTime) throws(ClientError) {
    let pictures = parts.afterwards.flatMap { effect -> [String] in
      if case .discardPictures(let pictures) = effect { pictures } else { [] }
    }
    guard let first = pictures.first else { return }
    let record = DiscardedPictures(pictures: pictures, due: time.wall + Self.discardInterval)
    try add(record, DiscardedPictures.prefix + first, &parts, of: host, at: time)
  }

  /// Milliseconds until gateways are told again what to delete.
  static let discardInterval: Int64 = 60_000

  /// No record has it.
  private static let chainKey = " "

  private func add(
    _ record: (any AppRecord)?, _ key: String, _ parts: inout Assembly, of host: AppHost, at time: BrokerTime
  ) throws(ClientError) {
    var data: [UInt8] = []
    if let record {
      do { data = Array(try JSONEncoder().encode(record)) } catch {
        throw .internalError.saying("a record could not be written; try again later")
      }
    }
    let due = record?.due
    let change = KeyChange(key: key, removed: record == nil, expires: due ?? .max)
    let publication = Publication(time: time.wall, data: data, change: change)
    let offset = try add(publication, nil, host.recordsState, &parts)
    parts.records.append((key, offset))
    parts.undo.append(host.records.set(record, key, offset: offset))
    if let due { host.nextDue = host.nextDue.map { min($0, due) } }
  }

  private func add(
    _ publication: AppPublication, _ parts: inout Assembly, at time: BrokerTime
  ) throws(ClientError) {
    let state = try channel(publication.channel, at: time)
    guard state.options.durability == .durable else {
      preconditionFailure("apps publish on durable channels alone, not on \(state.name)")
    }
    var record: IdempotencyRecord?
    if let key = publication.idempotencyKey {
      let digest = digest(of: publication.data)
      switch decideIdempotency(state.idempotency[IdentifierKey(key)], digest: digest, now: time.wall) {
      case .publish: break
      case .conflict: throw .idempotencyConflict
      case .alreadyPublished: parts.isRepeated = true
      }
      record = IdempotencyRecord(
        key: key, offset: 0, digest: digest, expires: time.wall + configuration.idempotencyWindow)
    }
    // A gateway whose broker was killed asks again, and this broker knows what the log tells it.
    if !state.recentOrigins.isEmpty, let origin = parts.requester.origin, state.recentOrigins[origin] != nil {
      parts.isRepeated = true
    }
    try add(
      Publication(time: time.wall, data: publication.data, info: publication.info, tags: publication.tags), nil, state,
      &parts, record)
  }

  private func add(
    edit offset: UInt64, of name: ChannelName, _ data: [UInt8]?, _ parts: inout Assembly, at time: BrokerTime
  ) throws(ClientError) {
    let state = try channel(name, at: time)
    let plan = EditPlan(original: try kept(offset, in: state, at: time), data: data, editor: nil, at: time.wall)
    try add(plan.notice, plan.edit, state, &parts)
  }

  @discardableResult
  private func add(
    _ publication: Publication, _ edit: LogEdit?, _ state: ChannelState, _ parts: inout Assembly,
    _ record: IdempotencyRecord? = nil
  ) throws(ClientError) -> UInt64 {
    guard let offset = parts.next[state.name] ?? state.sequencer.peek() else { throw .draining }
    parts.next[state.name] = offset + 1
    var publication = publication
    publication.offset = offset
    var record = record
    record?.offset = offset
    parts.entries.append(entry(publication, record, edit: edit, of: state, for: parts.requester))
    parts.states.append(state)
    return offset
  }

  // MARK: The log

  private func commit(
    _ decision: AppDecision, _ parts: Assembly, of host: AppHost, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    let outcome = parts.entries.count == 1 ? disk.append(parts.entries[0]) : disk.append(parts.entries)
    if case .refused(let error) = outcome {
      counters.refused += 1
      throw clientError(for: error)
    }
    let pendingDecision = PendingDecision(
      host: host, remaining: parts.entries.count, records: parts.records, afterwards: parts.afterwards, answers: [])
    if case .reply(let reply) = decision.answer { pendingDecision.answers.append((parts.requester, .result(reply))) }
    host.lastPending = pendingDecision
    for (entry, state) in zip(parts.entries, parts.states) {
      state.map?.taken(entry.publication)
      if let record = entry.idempotency { hold(record, in: state, at: time) }
      if outcome == .kept {
        state.sequencer.kept()
        deliver(entry.publication, on: state, at: time, into: &effects)
        advance(pendingDecision, error: nil, at: time, into: &effects)
      } else {
        state.sequencer.taken()
        pendingBytes += entry.publication.data.count
        pending[entry.ticket] = PendingPublish(
          state: state, publication: entry.publication, requester: .broker,
          idempotencyKey: entry.idempotency.map { IdentifierKey($0.key) }, decision: pendingDecision)
      }
    }
  }

  /// Nothing for the log: the answer comes at once, unless it may tell of what is not on disk yet.
  private func finish(
    _ decision: AppDecision, _ parts: Assembly, of host: AppHost, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    for effect in parts.afterwards { follow(effect, of: host, at: time, into: &effects) }
    switch decision.answer {
    case .search(let search): effects.append(.search(search, parts.requester))
    case .reply(let reply):
      if let last = host.lastPending {
        last.answers.append((parts.requester, .result(reply)))
      } else {
        settle(parts.requester, .result(reply), at: time, into: &effects)
      }
    }
  }

  // MARK: Time

  /// Lets apps look at the records whose time has come. Bounded: the rest comes with the next turn, so that ten thousand
  /// that end together hold up nobody's messages.
  func wakeApps(at time: BrokerTime, into effects: inout [BrokerEffect]) {
    for host in hosts {
      host.refreshesLeft = Self.refreshesPerTurn
      refresh(host, at: time, into: &effects)
      scrub(host, at: time)
      guard host.nextDue.map({ $0 <= time.wall }) ?? true, host.recordsState.sequencer.peek() != nil else { continue }
      do throws(LogError) {
        // Those that are suspended must not stand in the way of the others.
        let limit = Self.dueRecordsUnderWay + host.suspended.count
        let due = try disk.keys(of: host.recordsState.name, expiringBy: .max, limit: limit)
        host.nextDue = .max
        var woken = 0
        for expiring in due where !host.records.isUnderWay(expiring.key) {
          guard expiring.expires <= time.wall else {
            host.nextDue = expiring.expires
            break
          }
          if wake(expiring.key, of: host, at: time, into: &effects) { woken += 1 }
          if woken == Self.dueRecordsPerTurn { break }
        }
        // Those under way are looked at again when they are on disk.
        if due.contains(where: { $0.expires <= time.wall }) { host.nextDue = time.wall + Self.dueInterval }
      } catch {
        host.nextDue = time.wall + 1000
      }
    }
  }

  /// A turn is over within a millisecond or two: a decision takes some 0.2 ms, and as much again when it is on disk.
  static let dueRecordsPerTurn = 4
  /// So many decisions of theirs may come back from the disk at once.
  static let dueRecordsUnderWay = 8
  /// Milliseconds until more records are looked at where there are more.
  static let dueInterval: Int64 = 5

  /// - Returns: whether the app was asked.
  private func wake(
    _ key: String, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) -> Bool {
    if let until = host.suspended[IdentifierKey(key)], until > time.wall { return false }
    host.suspended[IdentifierKey(key)] = nil
    do throws(ClientError) {
      if key.utf8.starts(with: DiscardedPictures.prefix.utf8) {
        try discardAgain(key, of: host, at: time, into: &effects)
        return true
      }
      let decision = try host.app.due(key, AppLens(core: self, host: host, time: time))
      try perform(decision, of: host, for: .broker, at: time, into: &effects)
      if host.records.isUnderWay(key) { return true }
    } catch {
      counters.refused += 1
    }
    // It failed, or changed nothing: not again and again without a breath.
    host.suspended[IdentifierKey(key)] = time.wall + 10_000
    return true
  }

  private func discardAgain(
    _ key: String, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    let record = try AppLens(core: self, host: host, time: time).record(DiscardedPictures.self, key)
    discard(record?.pictures ?? [], at: time, into: &effects)
    try perform(AppDecision([.erase(key: key)]), of: host, for: .broker, at: time, into: &effects)
  }
}

/// Pictures that gateways were told to delete.
struct DiscardedPictures: AppRecord {
  /// No app's key begins with a space.
  static let prefix = " discard/"

  var pictures: [String]
  var due: Int64?
}
