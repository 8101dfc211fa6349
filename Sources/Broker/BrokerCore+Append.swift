import Apps
public import Log
import Wire

/// The one way into the log: what a client publishes, what an app decides, what the broker keeps for itself.
///
/// States of an entry:
/// - taken: the entry has its offset. Can transition to: kept, pending, refused.
/// - pending: the log answers later. Can transition to: kept, failed.
/// - kept: the publication is delivered, and the entry's owner is told.
/// - refused: the owner is told why, and nothing else has changed.
/// - failed: the owner is told why, and the channel gives out no offset until all entries after this one have failed,
///   too (``Sequencer``).
extension BrokerCore {
  /// The entry for the log, with a ticket of its own.
  func entry(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?, of state: BrokerChannel,
    for requester: Requester, claim: QuotaClaim? = nil
  ) -> LogEntry {
    let mayUseReserve = requester == .broker || publication.change?.removed == true
    let writesMap = publication.change != nil && state.options.mapMode == .persistent
    return LogEntry(
      ticket: appends.ticket(), channel: state.name, epoch: state.sequencer.top.epoch, publication: consume publication,
      durability: state.options.durability, historySize: state.options.keepsHistory ? state.options.historySize : 0,
      historyTTLMilliseconds: state.options.historyTTLMilliseconds, idempotency: record, origin: requester.origin,
      writesMap: writesMap, edit: edit, mayUseReserve: mayUseReserve, claim: claim)
  }

  /// Gives one entry to the log.
  ///
  /// - Throws: why the log refuses it. Nothing has changed then.
  func append(
    _ entry: LogEntry, on state: BrokerChannel, for owner: PendingAppend.Owner, in turn: inout Turn
  ) throws(ClientError) {
    if state.options.durability == .durable, state.tellsUsers || state.hooks?.publication.isEmpty == false {
      return try append([entry], on: [state], for: owner, in: &turn)
    }
    try append(alone: entry, on: state, for: owner, in: &turn)
  }

  private func append(
    alone entry: LogEntry, on state: BrokerChannel, for owner: PendingAppend.Owner, in turn: inout Turn
  ) throws(ClientError) {
    let isKept = try store(.one(asKept(entry, on: state)), in: state.store)
    if case .decision(let decision) = owner { decision.host.lastPending = decision }
    noteAppended(entry, on: state, isKept: isKept, for: owner, in: &turn)
  }

  /// Gives entries of one store to the log as one transaction: it keeps all of them or none.
  ///
  /// What webhooks want to know of them goes into the same transaction, and so do notices for people.
  ///
  /// - Parameters:
  ///   - states: the channel of each entry, in the same order.
  ///   - drafts: what an app tells webhooks along with them.
  ///   - relays: what an app sends to other partitions along with them.
  /// - Throws: why the log refuses them. Nothing has changed then.
  func append(
    _ entries: [LogEntry], on states: [BrokerChannel], for owner: PendingAppend.Owner,
    telling drafts: [OutboxDraft] = [], relaying relays: [LogRelay] = [], in turn: inout Turn
  ) throws(ClientError) {
    let events = try events(of: entries, on: states, and: drafts)
    let notices = try notices(of: entries, on: states)
    if entries.count == 1, events.isEmpty, notices.isEmpty, relays.isEmpty {
      return try append(alone: entries[0], on: states[0], for: owner, in: &turn)
    }
    let isShownOtherwise = entries.contains { $0.publication.change?.kept != nil || $0.vanishes }
    let kept = isShownOtherwise ? entries.indices.map { asKept(entries[$0], on: states[$0]) } : entries
    let others = events.entries + notices
    let all = others.isEmpty ? kept : kept + others
    let isKept = try store(relays.isEmpty ? .together(all) : .relaying(all, relays), in: states[0].store)
    if case .decision(let decision) = owner { decision.host.lastPending = decision }
    let trace = events.isEmpty ? nil : hops?.context(of: owner)
    for index in entries.indices {
      noteAppended(entries[index], on: states[index], isKept: isKept, for: owner, in: &turn)
    }
    if !notices.isEmpty { note(notices: notices, isKept: isKept, in: &turn) }
    if events.isEmpty { return }
    hops?.events.telling = trace
    note(events, isKept: isKept, in: &turn)
    hops?.events.telling = nil
  }

  /// The entry as the log is to keep it. What it says stands there otherwise where the app of the channel wants it so.
  private func asKept(_ entry: LogEntry, on state: BrokerChannel) -> LogEntry {
    if entry.publication.change?.kept != nil { return entry.asKept }
    guard entry.vanishes, state.options.app != nil, let app = hosts.host(of: state)?.app else { return entry }
    var kept = entry
    if kept.publication.vanishes != nil { kept.publication = app.sealed(kept.publication, on: state.name) }
    if let edit = kept.edit, edit.replacement.vanishes != nil {
      kept.edit = LogEdit(replacement: app.sealed(edit.replacement, on: state.name), erases: edit.erases)
    }
    return kept
  }

  /// - Returns: true where the entries may be delivered now; false where the log answers later.
  /// - Throws: why the log refuses the entries.
  func store(_ batch: LogBatch, in store: any LogStore) throws(ClientError) -> Bool {
    switch store.append(batch) {
    case .kept: return true
    case .pending: return false
    case .refused(let error):
      tally.counters.refused += 1
      throw error.asClientError
    }
  }

  func noteAppended(
    _ entry: LogEntry, on state: BrokerChannel, isKept: Bool, for owner: PendingAppend.Owner, in turn: inout Turn
  ) {
    if let hops, !hops.isIdle, !state.isHidden { hops.logged(owner, on: state.name, entry.publication.offset) }
    if let record = entry.idempotency {
      channels.remember(
        record, upon: isKept ? nil : entry.ticket, of: entry.publication.info?.user, in: state, at: turn.time)
    }
    if isKept {
      state.sequencer.kept()
      channels.noteIdle(state, at: turn.time)
      return landed(entry.publication, on: state, for: owner, in: &turn)
    }
    state.sequencer.begin()
    noteUnderWay(entry, on: state)
    let key = entry.idempotency.map { IdentifierKey($0.key) }
    appends.add(
      PendingAppend(state: state, publication: entry.publication, idempotencyKey: key, owner: owner), entry.ticket)
  }

  /// The log tells what became of entries that it took.
  public func complete(
    _ completions: [LogCompletion], in turn: inout Turn
  ) {
    // Answers that the store read before these entries were on disk do not contain them. The inputs that wait for such
    // answers run first, while the entries still count as under way and are reckoned with.
    takeNews(in: &turn)
    for completion in completions {
      let append = appends.take(completion.ticket)
      let state = append.state
      if !state.editsUnderWay.isEmpty { editCameBack(append.publication, completion.ticket, on: state) }
      if let error = completion.error {
        failed(append, completion.ticket, error, in: &turn)
      } else {
        state.sequencer.completed(offset: append.publication.offset)
        landed(append.publication, on: state, for: append.owner, in: &turn)
      }
      answerFollowers(of: completion, in: &turn)
      channels.noteIdle(state, at: turn.time)
    }
  }

  private func landed(
    _ publication: Publication, on state: BrokerChannel, for owner: PendingAppend.Owner, in turn: inout Turn
  ) {
    if let hops, !hops.isIdle { tellTrace(of: publication, hops, owner, on: state, in: &turn) }
    deliver(publication, on: state, in: &turn)
    // A durable publication was told in its own transaction.
    if let hooks = state.hooks, !hooks.publication.isEmpty, state.options.durability != .durable {
      self.hops?.events.telling = self.hops?.context(of: publication.offset, on: state.name)
      tell(draft(of: publication, on: state), to: hooks.publication, in: &turn)
      self.hops?.events.telling = nil
    }
    if state.tellsUsers, state.options.durability != .durable { tellUsers(of: publication, on: state, in: &turn) }
    switch owner {
    case .requester(let requester): answerPublished(publication.offset, in: state, to: requester, in: &turn)
    case .decision(let decision):
      noteDue(publication, of: state, decision.host)
      if let notices { cameBack(publication, of: state, decision, notices, failed: false, in: &turn) }
      advance(decision, error: nil, in: &turn)
    case .revocation(let revocation): enforce(revocation, error: nil, in: &turn)
    case .outbox(let append):
      append.outbox.landed(publication)
      drive(append.outbox, in: &turn)
    case .delivery(let commit): settled(commit, error: nil, in: &turn)
    case .occupancy(let append): settled(append, error: nil, in: &turn)
    case .notice:
      notices?.reader.appended(publication.offset)
      if let notices { drive(notices, in: &turn) }
    case .deletion(let deletion): deletionWritten(deletion, error: nil, in: &turn)
    }
  }

  /// Tells the gateways that the publication which they are sent next is measured, if it is.
  private func tellTrace(
    of publication: Publication, _ hops: BrokerHops, _ owner: PendingAppend.Owner, on state: BrokerChannel,
    in turn: inout Turn
  ) {
    guard !state.isHidden, let trace = hops.landed(owner, on: state.name, publication.offset) else { return }
    if !state.interest.isEmpty { links.broadcast(.trace(trace), to: state.interest, in: &turn) }
  }

  private func failed(_ append: PendingAppend, _ ticket: UInt64, _ error: LogError, in turn: inout Turn) {
    let state = append.state
    state.sequencer.failed()
    state.map?.failed(append.publication)
    changeFailed(append.publication, of: state, at: turn.time)
    if let key = append.idempotencyKey, state.idempotency[key]?.ticket == ticket { state.idempotency.drop(key) }
    tally.counters.refused += 1
    switch append.owner {
    case .requester(let requester): answerAndRemember(requester, .failed(error.asClientError), in: &turn)
    case .decision(let decision):
      if let notices { cameBack(append.publication, of: state, decision, notices, failed: true, in: &turn) }
      advance(decision, error: error, in: &turn)
    case .revocation(let revocation): enforce(revocation, error: error.asClientError, in: &turn)
    case .outbox(let append): append.outbox.failed(append.draft)
    case .delivery(let commit): settled(commit, error: error, in: &turn)
    case .occupancy(let append): settled(append, error: error, in: &turn)
    case .notice: noticeFailed(append.publication)
    case .deletion(let deletion): deletionWritten(deletion, error: error.asClientError, in: &turn)
    }
  }

  func deliver(
    _ publication: Publication, on state: BrokerChannel, in turn: inout Turn
  ) {
    // An app's records have neither subscribers nor taps.
    if state.isHidden { return }
    tally.counters.published += 1
    state.namespace?.published += 1
    if let map = state.map {
      channels.apply(publication, to: map, of: state, at: turn.time)
      refreshFollower(of: state, at: turn.time)
    }
    turn.effects.append(.tap(state.name, epoch: state.sequencer.top.epoch, publication))
    #if MUTATIONS
      if mutation == .dropsBroadcasts { return }
    #endif
    if state.interest.isEmpty { return }
    tally.counters.delivered += UInt64(state.interest.count)
    let body = LinkBody.publication(LinkPublication(channel: state.name, publication: publication))
    links.broadcast(body, to: state.interest, in: &turn)
  }
}

extension LogEntry {
  /// Something in it is gone after a time, if the channel is an app's.
  fileprivate var vanishes: Bool { publication.vanishes != nil || edit?.replacement.vanishes != nil }
}
