public import Log
import Wire

/// A publication that the log has not answered for yet.
struct PendingPublish {
  var state: ChannelState
  var publication: Publication
  var requester: Requester
  var idempotencyKey: IdentifierKey?
  /// Of which it is a part.
  var decision: PendingDecision?
  /// It is no publication, but keeps a revocation.
  var revocation: PendingRevocation?
}

extension BrokerCore {
  /// Decide → sequence → log; then delivered and answered, at once or when the log has it.
  func publish(
    _ request: BrokerRequest.PublishRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard request.data.count <= configuration.maximumPayloadBytes else {
      throw .limitExceeded.saying("the data has more than \(configuration.maximumPayloadBytes) bytes; send less")
    }
    let state = try channel(toPublish: request, for: requester, in: &turn)
    if state.quota != nil { try knowQuota(of: request.info, on: state, for: requester, in: &turn) }
    try checkPublishing(request, on: state, for: requester, at: turn.time)
    var change: KeyChange?
    if let write = request.write {
      change = try self.change(write, in: state, at: turn.time)
      if change == nil { return answerGone(write.key, in: state, to: requester, in: &turn) }
    } else if state.map != nil {
      throw .badRequest.saying("\"\(state.name)\" is a map channel; publish with a key")
    }
    let digest = request.idempotencyKey == nil ? 0 : digest(of: request.data)
    if let key = request.idempotencyKey.map(IdentifierKey.init) {
      let held = state.idempotency[key]
      switch decideIdempotency(held?.record, digest: digest, now: turn.time.wall) {
      case .publish: try checkKeys(request.info?.user, in: state)
      case .conflict:
        return answer(requester, .failed(.idempotencyConflict), after: held?.ticket, in: &turn)
      case .alreadyPublished(let offset):
        counters.duplicatesAvoided += 1
        let response = BrokerResponse.published(StreamPosition(epoch: state.sequencer.top.epoch, offset: offset))
        return answer(requester, response, after: held?.ticket, in: &turn)
      }
    }
    guard let offset = state.sequencer.peek() else {
      throw .draining
    }
    var tags = request.tags
    if state.options.app != nil, let change, change.removed { tags = audienceTags(of: state.map?.latest(change.key)) }
    let publication = Publication(
      offset: offset, time: turn.time.wall, data: request.data, info: request.info, tags: tags, change: change)
    let record = request.idempotencyKey.map {
      IdempotencyRecord(
        key: $0, offset: offset, digest: digest, expires: turn.time.wall + configuration.idempotencyWindow)
    }
    try append(consume publication, record, edit: nil, of: state, for: requester, in: &turn)
  }

  /// The channel of a publication. Nobody writes around an app, and whoever tries opens nothing.
  private func channel(
    toPublish request: BrokerRequest.PublishRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> ChannelState {
    let name = request.channel
    if let state = inUse(name) {
      if let app = state.options.app, requester != .broker { throw Self.refusal(of: name, app) }
      return state
    }
    let options = try options(of: name)
    if requester == .broker { return try channel(name, in: &turn) }
    if let app = options.app { throw Self.refusal(of: name, app) }
    return try channel(name, options, madeBy: .publisher(request.info), in: &turn)
  }

  /// The entry for the log, with a ticket of its own.
  func entry(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?, of state: ChannelState,
    for requester: Requester, claim: QuotaClaim? = nil
  ) -> LogEntry {
    let ticket = nextTicket
    nextTicket += 1
    let mayUseReserve = requester == .broker || publication.change?.removed == true
    let writesMap = publication.change != nil && state.options.mapMode == .persistent
    return LogEntry(
      ticket: ticket, channel: state.name, epoch: state.sequencer.top.epoch, publication: consume publication,
      durability: state.options.durability, historySize: state.options.keepsHistory ? state.options.historySize : 0,
      historyTTLMilliseconds: state.options.historyTTLMilliseconds, idempotency: record, origin: requester.origin,
      writesMap: writesMap, edit: edit, mayUseReserve: mayUseReserve, claim: claim)
  }

  /// - Parameter original: the publication that `edit` changes.
  func append(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?,
    over original: Publication? = nil, of state: ChannelState, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    var claim: QuotaClaim?
    if let quota = state.quota {
      claim = try self.claim(
        for: copy publication, edit: edit, of: original, on: state, quota, for: requester, in: &turn)
    }
    let entry = entry(consume publication, record, edit: edit, of: state, for: requester, claim: claim)
    switch state.store.append(.one(entry.publication.change?.kept == nil ? entry : entry.asKept)) {
    case .kept:
      state.sequencer.kept()
      if let record { hold(record, upon: nil, of: entry.publication.info?.user, in: state, at: turn.time) }
      noteIdle(state, at: turn.time)
      deliver(entry.publication, on: state, in: &turn)
      answerPublished(entry.publication.offset, in: state, to: requester, in: &turn)
    case .pending:
      state.sequencer.taken()
      if let record { hold(record, upon: entry.ticket, of: entry.publication.info?.user, in: state, at: turn.time) }
      noteUnderWay(entry, on: state)
      pending[entry.ticket] = PendingPublish(
        state: state, publication: entry.publication, requester: requester,
        idempotencyKey: record.map { IdentifierKey($0.key) })
    case .refused(let error):
      counters.refused += 1
      throw clientError(for: error)
    }
  }

  /// The log tells what became of entries that it took.
  public func complete(
    _ completions: [LogCompletion], in turn: inout Turn
  ) {
    for completion in completions {
      guard let publish = pending.removeValue(forKey: completion.ticket) else {
        preconditionFailure("the log completed ticket \(completion.ticket), which is not pending")
      }
      let state = publish.state
      if !state.editsUnderWay.isEmpty { editCameBack(publish.publication, completion.ticket, on: state) }
      if let error = completion.error {
        state.sequencer.failed()
        state.map?.failed(publish.publication)
        changeFailed(publish.publication, of: state, at: turn.time)
        if let key = publish.idempotencyKey, state.idempotency[key]?.ticket == completion.ticket {
          state.idempotency.drop(key)
        }
        counters.refused += 1
        settle(publish.requester, .failed(clientError(for: error)), in: &turn)
        if let decision = publish.decision { advance(decision, error: error, in: &turn) }
        if let revocation = publish.revocation { enforce(revocation, error: error, in: &turn) }
      } else {
        state.sequencer.completed(offset: publish.publication.offset)
        deliver(publish.publication, on: state, in: &turn)
        answerPublished(publish.publication.offset, in: state, to: publish.requester, in: &turn)
        if let decision = publish.decision {
          noteDue(publish.publication, of: state, decision.host)
          advance(decision, error: nil, in: &turn)
        }
        if let revocation = publish.revocation { enforce(revocation, error: nil, in: &turn) }
      }
      if !followers.isEmpty { answerFollowers(of: completion, in: &turn) }
      noteIdle(state, at: turn.time)
    }
  }

  func deliver(
    _ publication: Publication, on state: ChannelState, in turn: inout Turn
  ) {
    // An app's records have neither subscribers nor taps.
    if state.isHidden { return }
    counters.published += 1
    if let map = state.map {
      mapBytes -= map.bytes
      if let quota = state.quota, let change = publication.change {
        quota.replaced(map.entry(change.key), by: change.removed ? nil : publication, in: accounts)
      }
      map.apply(publication)
      mapBytes += map.bytes
      map.lastWrite = turn.time.monotonic
      noteEnds(of: state)
    }
    turn.effects.append(.tap(state.name, epoch: state.sequencer.top.epoch, publication))
    #if DEBUG
      if mutation == .dropsBroadcasts { return }
    #endif
    if state.interest.isEmpty { return }
    counters.delivered += UInt64(state.interest.count)
    let body = LinkBody.publication(LinkPublication(channel: state.name, publication: publication))
    broadcast(body, to: state.interest, in: &turn)
  }
}
