import Apps
import Foundation
import Log
import Wire

/// Performs what an app decided: one transaction of the log, all of it or nothing.
extension BrokerCore {
  /// The parts of a transaction as they are put together.
  private struct Assembly {
    var entries: [LogEntry] = []
    /// The channel of each entry, in the same order.
    var states: [BrokerChannel] = []
    var records: [(key: String, offset: UInt64)] = []
    var marks: [RefreshQueue.Place] = []
    var undo: [AppRecords.Undo] = []
    /// What webhooks are told along with the transaction.
    var drafts: [OutboxDraft] = []
    /// What the app in other partitions is sent along with it.
    var relays: [LogRelay] = []
    var requester: Requester
    /// Set where the command was done before, so that only its answer is wanted.
    var repeated: Repeated?

    /// The offset for the next entry on a channel. Entries are searched one by one, as transactions are small.
    func offset(on state: BrokerChannel) throws(ClientError) -> UInt64 {
      if let last = states.lastIndex(where: { $0 === state }) { return entries[last].publication.offset + 1 }
      guard let offset = state.sequencer.peek() else { throw .draining }
      return offset
    }
  }

  /// Says that what a command would publish was published before, or is on its way to the disk.
  private struct Repeated {
    /// The earlier decision, where it is not on disk yet.
    var underWay: PendingDecision?
  }

  func carryOut(
    _ decision: AppDecision, of host: AppHost, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    if let notices, notices.host === host { notices.noteOpen(in: decision, at: turn.time.monotonic) }
    let marks = missingMarks(of: decision, host, at: turn.time.monotonic)
    if marks.isEmpty, let index = decision.onlyEntry(withNotices: notices != nil),
      case .publish(let publication) = decision.effects[index],
      host.recordsState.sequencer.isIdle, !requester.isOutbox
    {
      return try publish(publication, by: decision, of: host, for: requester, in: &turn)
    }
    try open(decision, in: &turn)
    var parts = Assembly(requester: requester)
    do throws(ClientError) {
      try assemble(decision, &parts, of: host, in: &turn)
      if let repeated = parts.repeated {
        host.records.restore(parts.undo)
        return answer(decision, for: requester, with: repeated.underWay, in: &turn)
      }
      if parts.entries.isEmpty { return finish(decision, for: requester, of: host, in: &turn) }
      for place in marks {
        let mark = Publication(time: turn.time.wall, data: Self.noData, change: KeyChange(key: place.mark))
        try add(mark, nil, host.marksState, &parts)
      }
      parts.marks = marks
      if requester.isOutbox {
        // The row of a relay is deleted once, so one entry alone says which it is.
        for index in parts.entries.indices { parts.entries[index].origin = index == 0 ? requester.origin : nil }
      }
      try commit(decision, parts, of: host, in: &turn)
    } catch {
      host.records.restore(parts.undo)
      throw error
    }
  }

  /// Opens all channels that the decision writes to, or might have written to, so that the store is asked for all that are
  /// not in use at once.
  private func open(_ decision: AppDecision, in turn: inout Turn) throws(ClientError) {
    for effect in decision.effects {
      let name: ChannelName
      switch effect {
      case .publish(let publication): name = publication.channel
      case .edit(let channel, _, _, _), .refresh(let channel, _, .atomically), .open(let channel): name = channel
      case .write, .erase, .refresh(_, _, .soon), .touch, .readmit, .scrub, .pictureFates, .tell, .notify,
        .acknowledge, .push, .unsent, .relay:
        continue
      }
      if isElsewhere(name) { continue }
      do throws(ClientError) { _ = try channel(name, in: &turn) } catch { if turn.missing.isEmpty { throw error } }
    }
    if !turn.missing.isEmpty { throw .waits }
  }

  /// The short way, which nearly all decisions take: one publication, and no record on its way to the disk.
  private func publish(
    _ publication: AppPublication, by decision: AppDecision, of host: AppHost, for requester: Requester,
    in turn: inout Turn
  ) throws(ClientError) {
    let state = try channel(publication.channel, in: &turn)
    var (record, repeated) = try check(publication, on: state, for: requester, in: &turn)
    if let repeated { return answer(decision, for: requester, with: repeated.underWay, in: &turn) }
    guard let offset = state.sequencer.peek() else { throw .draining }
    record?.offset = offset
    let entry = entry(
      Publication(
        offset: offset, time: turn.time.wall, data: publication.data, info: publication.info, tags: publication.tags),
      record, edit: nil, of: state, for: requester)
    let pending = PendingDecision(decision, count: 1, of: host, for: requester)
    try append(entry, on: state, for: .decision(pending), in: &turn)
  }

  private func assemble(
    _ decision: AppDecision, _ parts: inout Assembly, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    // Records come first, because entries of lists are worked out from them.
    var fates: [PictureFate] = []
    for effect in decision.effects {
      switch effect {
      case .write(let key, let record): try add(record, key, &parts, of: host, in: &turn)
      case .erase(let key): try add(nil, key, &parts, of: host, in: &turn)
      case .pictureFates(let pictures): fates += pictures
      default: break
      }
    }
    for effect in decision.effects {
      switch effect {
      case .publish(let publication): try add(publication, &parts, in: &turn)
      case .edit(let channel, let offset, let data, let concealment):
        // The store is asked for all that is to be changed at once.
        do throws(ClientError) {
          try add(edit: offset, of: channel, data, from: concealment, &parts, in: &turn)
        } catch { if turn.missing.isEmpty { throw error } }
      case .refresh(let channel, let key, .atomically):
        try add(entry: key, of: channel, &parts, of: host, in: &turn)
      case .tell(let event, let data): parts.drafts.append(OutboxDraft(event, at: turn.time.wall, data: data))
      case .write, .erase, .refresh(_, _, .soon), .open, .touch, .readmit, .scrub, .pictureFates, .acknowledge,
        .push, .unsent:
        break
      case .notify(let notice): try add(notice, &parts, in: &turn)
      case .relay(let relay): add(relay, &parts, of: host)
      }
    }
    if !turn.missing.isEmpty { throw .waits }
    try note(fates, &parts, of: host, in: &turn)
    // A decision that writes no record, made while records are under way, must fail if they do. So its transaction gets
    // an entry on the records' channel, which removes a key that no record has. So does one that sends or takes in a
    // relay, so that those after it fail with it: none may overtake another.
    let keepsOrder = !parts.relays.isEmpty || parts.requester.isOutbox
    if !parts.entries.isEmpty || !parts.relays.isEmpty, parts.records.isEmpty,
      keepsOrder || !host.recordsState.sequencer.isIdle
    {
      let nothing = Publication(time: turn.time.wall, data: [], change: KeyChange(key: Self.chainKey, removed: true))
      try add(nothing, nil, host.recordsState, &parts)
    }
    if host === notices?.host { try chain(&parts, of: host, in: &turn) }
  }

  /// Adds what an entry of a list shows now, and what else that entails. The list may be another partition's.
  private func add(
    entry key: String, of channel: ChannelName, _ parts: inout Assembly, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    if host.app.tellsOfEntries {
      let isAwaited = parts.requester != .broker
      let effects = try consult(host, for: parts.requester, in: &turn) { (lens) throws(ClientError) in
        try host.app.follows(key, of: channel, isAwaited: isAwaited, lens)
      }
      for effect in effects {
        switch effect {
        case .write(let key, let record): try add(record, key, &parts, of: host, in: &turn)
        case .erase(let key): try add(nil, key, &parts, of: host, in: &turn)
        case .relay(let relay): add(relay, &parts, of: host)
        default: preconditionFailure("an entry entails records and relays alone")
        }
      }
    }
    if isElsewhere(channel) { return }
    let state = try self.channel(channel, in: &turn)
    if let change = try publication(of: key, in: state, of: host, in: &turn) { try add(change, nil, state, &parts) }
  }

  /// Whether another partition has the channel.
  func isElsewhere(_ channel: ChannelName) -> Bool {
    configuration.partitioning.count > 1
      && configuration.partitioning.partition(of: channel) != configuration.partition
  }

  /// What the app of notifications decides rests on the records of other apps: that something was acknowledged, for one.
  /// If records of theirs that are under way fail, the decision must fail, so it gets an entry behind them, too.
  private func chain(_ parts: inout Assembly, of host: AppHost, in turn: inout Turn) throws(ClientError) {
    if parts.entries.isEmpty { return }
    for other in hosts.all where other !== host && other.isLoaded && !other.recordsState.sequencer.isIdle {
      let nothing = Publication(time: turn.time.wall, data: [], change: KeyChange(key: Self.chainKey, removed: true))
      try add(nothing, nil, other.recordsState, &parts)
    }
  }

  /// Adds a notice, where notifications are on.
  private func add(_ notice: AppNotice, _ parts: inout Assembly, in turn: inout Turn) throws(ClientError) {
    guard let notices else { return }
    guard notices.isOpen else { throw .draining }
    let intent = PushIntent(
      offset: 0, time: turn.time.wall, topic: notice.topic, subject: notice.subject, users: notice.users)
    for portion in NoticeOutbox.portions(of: intent) {
      let offset = try parts.offset(on: notices.stream)
      parts.entries.append(notices.entry(portion, at: offset, ticket: appends.ticket()))
      parts.states.append(notices.stream)
    }
  }

  private func add(_ relay: AppRelay, _ parts: inout Assembly, of host: AppHost) {
    precondition(
      relay.partition != configuration.partition && (0..<configuration.partitioning.count).contains(relay.partition),
      "\(host.app.name) sends something to partition \(relay.partition), which is its own, or does not exist")
    parts.relays.append(LogRelay(to: relay.partition, of: host.app.name, relay.data))
  }

  /// Adds a record of the pictures that gateways are to delete. A gateway may be away, and the broker may be killed
  /// before it has told them: the record stays until they have been told once more.
  private func note(
    _ pictures: [PictureFate], _ parts: inout Assembly, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    guard let first = pictures.first else { return }
    let record = DiscardedPictures(pictures, due: turn.time.wall + Self.discardInterval)
    try add(record, DiscardedPictures.prefix + first.id, &parts, of: host, in: &turn)
  }

  /// Milliseconds until gateways are told again what to delete.
  static let discardInterval: Int64 = 60_000

  /// A key that no record has.
  private static let chainKey = " "

  private func add(
    _ record: (any AppRecord)?, _ key: String, _ parts: inout Assembly, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    guard key.utf8.count <= AppRecords.maximumKeyBytes else {
      throw .limitExceeded.saying("what the command names is too long to be kept; use a shorter name")
    }
    var data: [UInt8] = []
    if let record {
      do { data = Array(try JSONEncoder().encode(record)) } catch {
        throw .internalError.saying("a record could not be written; try again later")
      }
    }
    let due = record?.due
    let lane = record?.lane ?? .endings
    let change = KeyChange(key: key, removed: record == nil, score: lane.rawValue, expires: due ?? .max)
    let publication = Publication(time: turn.time.wall, data: data, change: change)
    let offset = try add(publication, nil, host.recordsState, &parts)
    parts.records.append((key, offset))
    parts.undo.append(host.records.set(record, key, bytes: data.count, offset: offset))
    if let due { host.timetable.note(due, in: lane) }
  }

  private func add(
    _ publication: AppPublication, _ parts: inout Assembly, in turn: inout Turn
  ) throws(ClientError) {
    let state = try channel(publication.channel, in: &turn)
    let (record, repeated) = try check(publication, on: state, for: parts.requester, in: &turn)
    if let repeated { parts.repeated = repeated }
    try add(
      Publication(time: turn.time.wall, data: publication.data, info: publication.info, tags: publication.tags), nil,
      state,
      &parts, record)
  }

  /// Whether a publication was published before, and the idempotency record that is to be kept of it, whose offset is
  /// still to be set.
  private func check(
    _ publication: AppPublication, on state: BrokerChannel, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> (record: IdempotencyRecord?, repeated: Repeated?) {
    guard state.options.durability == .durable else {
      preconditionFailure("apps publish on durable channels alone, not on \(state.name)")
    }
    var repeated: Repeated?
    var record: IdempotencyRecord?
    if let key = publication.idempotencyKey {
      let digest = digest(of: publication.identity ?? publication.data)
      let held = state.idempotency[IdentifierKey(key)]
      switch decideIdempotency(held?.record, digest: digest, now: turn.time.wall) {
      case .publish: try channels.checkKeys(publication.info?.user, in: state)
      case .conflict: throw .idempotencyConflict
      case .alreadyPublished: repeated = Repeated(underWay: held?.ticket.flatMap { appends[$0]?.decision })
      }
      record = IdempotencyRecord(
        key: key, offset: 0, digest: digest, expires: turn.time.wall + configuration.idempotencyWindow)
    }
    // A gateway whose broker was killed asks again: the log has told this broker which requests it holds publications
    // of.
    if !state.recentOrigins.isEmpty, let origin = requester.origin, state.recentOrigins[origin] != nil {
      repeated = Repeated(underWay: nil)
    }
    return (record, repeated)
  }

  private func add(
    edit offset: UInt64, of name: ChannelName, _ data: [UInt8]?, from concealment: AppConcealment?,
    _ parts: inout Assembly, in turn: inout Turn
  ) throws(ClientError) {
    let state = try channel(name, in: &turn)
    let original = try kept(offset, removing: data == nil, in: state, in: &turn)
    let plan = EditPlan(
      original: original, data: data, editor: nil, at: turn.time.wall, from: concealment, isApps: true)
    try add(plan.notice, plan.edit, state, &parts)
  }

  @discardableResult
  private func add(
    _ publication: Publication, _ edit: LogEdit?, _ state: BrokerChannel, _ parts: inout Assembly,
    _ record: IdempotencyRecord? = nil
  ) throws(ClientError) -> UInt64 {
    let offset = try parts.offset(on: state)
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
    _ decision: AppDecision, _ parts: Assembly, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    let pending = PendingDecision(
      decision, count: parts.entries.count, parts.records, of: host, for: parts.requester)
    pending.relays = UInt64(parts.relays.count)
    try append(
      parts.entries, on: parts.states, for: .decision(pending), telling: parts.drafts, relaying: parts.relays,
      in: &turn)
    for (key, _) in parts.records {
      // A read of the record that is under way may find it as it was before.
      stores.spoil(.entry(host.recordsState.name, IdentifierKey(key)))
      host.noteWritten(key)
    }
    for place in parts.marks { host.marks.marked(place, at: turn.time.monotonic) }
  }

  /// The places that the decision leaves to be worked out later and that are not marked yet. Without a mark, the next
  /// broker would not know of them if this one were killed.
  private func missingMarks(of decision: AppDecision, _ host: AppHost, at now: Int64) -> [RefreshQueue.Place] {
    var places: [RefreshQueue.Place] = []
    for effect in decision.effects {
      let place: RefreshQueue.Place
      switch effect {
      case .touch(let subject): place = .init(channel: host.recordsState.name, key: subject)
      case .refresh(let channel, let key, .soon)
      where configuration.namespaces.options(for: channel)?.mapMode == .persistent:
        place = .init(channel: channel, key: key)
      case .refresh, .open, .write, .erase, .publish, .edit, .readmit, .scrub, .pictureFates, .tell, .notify,
        .acknowledge, .push, .unsent, .relay:
        continue
      }
      if !host.marks.touch(place, at: now), !places.contains(place) { places.append(place) }
    }
    return places
  }

  /// Finishes a decision that writes nothing: it is answered at once, or after the last decision under way, as it may
  /// tell of what that one changes.
  private func finish(
    _ decision: AppDecision, for requester: Requester, of host: AppHost, in turn: inout Turn
  ) {
    for effect in decision.effects { follow(effect, of: host, in: &turn) }
    answer(decision, for: requester, with: host.lastPending, in: &turn)
  }

  /// Gives a decision's answer.
  ///
  /// - Parameter other: the decision that has to be on disk first, and with whose error the answer fails; nil: none.
  private func answer(
    _ decision: AppDecision, for requester: Requester, with other: PendingDecision?, in turn: inout Turn
  ) {
    guard let other else {
      switch decision.answer {
      case .search(let search): turn.effects.append(.search(search, requester))
      case .reply(let reply): answerAndRemember(requester, .result(reply), in: &turn)
      case .later: preconditionFailure("what is to be done later is put aside before it is performed")
      }
      return
    }
    switch decision.answer {
    case .search(let search):
      other.waiting.append(WaitingAnswer(requester, .search(search), failures: other.host.failures))
    case .reply(let reply):
      other.waiting.append(WaitingAnswer(requester, .response(.result(reply)), failures: other.host.failures))
    case .later: preconditionFailure("what is to be done later is put aside before it is performed")
    }
  }
}

extension AppDecision {
  /// The index of a publication that is all that the decision writes; nil where it writes more, or nothing.
  ///
  /// - Parameter withNotices: notices are written, as notifications are on.
  fileprivate func onlyEntry(withNotices: Bool) -> Int? {
    var only: Int?
    for index in effects.indices {
      switch effects[index] {
      case .publish:
        if only != nil { return nil }
        only = index
      case .refresh(_, _, .soon), .touch, .readmit, .scrub, .acknowledge, .push, .unsent: continue
      case .notify: if withNotices { return nil }
      case .write, .erase, .edit, .refresh(_, _, .atomically), .open, .pictureFates, .tell, .relay: return nil
      }
    }
    return only
  }
}
