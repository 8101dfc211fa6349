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
}

extension BrokerCore {
  /// Decide → sequence → log; then delivered and answered, at once or when the log has it.
  func publish(
    _ request: BrokerRequest.PublishRequest, for requester: Requester, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    guard request.data.count <= configuration.maximumPayloadBytes else {
      throw .limitExceeded.saying("the data has more than \(configuration.maximumPayloadBytes) bytes; send less")
    }
    let state = try channel(request.channel, at: time)
    if state.options.app != nil, requester != .broker { throw Self.refusal(of: state) }
    var change: KeyChange?
    if let write = request.write {
      change = try self.change(write, in: state, at: time)
      // What is to go is gone already.
      if change == nil {
        return answerPublished(state.sequencer.top.offset, in: state, to: requester, at: time, into: &effects)
      }
    } else if state.map != nil {
      throw .badRequest.saying("\"\(state.name)\" is a map channel; publish with a key")
    }
    let digest = request.idempotencyKey == nil ? 0 : digest(of: request.data)
    if let key = request.idempotencyKey.map(IdentifierKey.init) {
      switch decideIdempotency(state.idempotency[key], digest: digest, now: time.wall) {
      case .publish: break
      case .conflict: throw .idempotencyConflict
      case .alreadyPublished(let offset):
        counters.duplicatesAvoided += 1
        if state.waitingForKey[key] != nil {
          state.waitingForKey[key]?.append(requester)
        } else {
          answerPublished(offset, in: state, to: requester, at: time, into: &effects)
        }
        return
      }
    }
    guard let offset = state.sequencer.peek() else {
      throw .draining
    }
    let publication = Publication(
      offset: offset, time: time.wall, data: request.data, info: request.info, tags: request.tags, change: change)
    let record = request.idempotencyKey.map {
      IdempotencyRecord(
        key: $0, offset: offset, digest: digest, expires: time.wall + configuration.idempotencyWindow)
    }
    try append(consume publication, record, edit: nil, of: state, for: requester, at: time, into: &effects)
  }

  /// The entry for the log, with a ticket of its own.
  func entry(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?, of state: ChannelState,
    for requester: Requester
  ) -> LogEntry {
    let ticket = nextTicket
    nextTicket += 1
    let writesMap = publication.change != nil && state.options.mapMode == .persistent
    return LogEntry(
      ticket: ticket, channel: state.name, epoch: state.sequencer.top.epoch, publication: consume publication,
      durability: state.options.durability, historySize: state.options.keepsHistory ? state.options.historySize : 0,
      historyTTLMilliseconds: state.options.historyTTLMilliseconds, idempotency: record, origin: requester.origin,
      writesMap: writesMap, edit: edit)
  }

  func append(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?, of state: ChannelState,
    for requester: Requester, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    let entry = entry(consume publication, record, edit: edit, of: state, for: requester)
    switch state.store.append(entry) {
    case .kept:
      state.sequencer.kept()
      if let record { hold(record, in: state, at: time) }
      noteIdle(state, at: time)
      deliver(entry.publication, on: state, at: time, into: &effects)
      answerPublished(entry.publication.offset, in: state, to: requester, at: time, into: &effects)
    case .pending:
      state.sequencer.taken()
      if let record {
        hold(record, in: state, at: time)
        state.waitingForKey[IdentifierKey(record.key)] = []
      }
      state.map?.taken(entry.publication)
      pendingBytes += entry.publication.data.count
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
    _ completions: [LogCompletion], at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    for completion in completions {
      guard let publish = pending.removeValue(forKey: completion.ticket) else {
        preconditionFailure("the log completed ticket \(completion.ticket), which is not pending")
      }
      pendingBytes -= publish.publication.data.count
      let state = publish.state
      // Those who sent the same again while it was under way.
      var others: [Requester] = []
      if let key = publish.idempotencyKey { others = state.waitingForKey.removeValue(forKey: key) ?? [] }
      if let error = completion.error {
        state.sequencer.failed()
        state.map?.failed(publish.publication)
        changeFailed(publish.publication, of: state, at: time)
        if let key = publish.idempotencyKey { state.idempotency[key] = nil }
        counters.refused += 1
        for requester in [publish.requester] + others {
          settle(requester, .failed(clientError(for: error)), at: time, into: &effects)
        }
        if let decision = publish.decision { advance(decision, error: error, at: time, into: &effects) }
      } else {
        state.sequencer.completed(offset: publish.publication.offset)
        deliver(publish.publication, on: state, at: time, into: &effects)
        answerPublished(publish.publication.offset, in: state, to: publish.requester, at: time, into: &effects)
        for requester in others {
          answerPublished(publish.publication.offset, in: state, to: requester, at: time, into: &effects)
        }
        if let decision = publish.decision {
          noteDue(publish.publication, of: state, decision.host)
          advance(decision, error: nil, at: time, into: &effects)
        }
      }
      noteIdle(state, at: time)
    }
  }

  func answerPublished(
    _ offset: UInt64, in state: ChannelState, to requester: Requester, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) {
    if requester == .broker { return }
    let position = StreamPosition(epoch: state.sequencer.top.epoch, offset: offset)
    settle(requester, .published(position), at: time, into: &effects)
  }

  /// Answers a publish, and remembers the answer for a gateway that asks again.
  func settle(
    _ requester: Requester, _ response: BrokerResponse, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    if case .gateway(let gateway, let request) = requester { links[gateway]?.remember(response, for: request) }
    answer(requester, response, at: time, into: &effects)
  }

  func deliver(
    _ publication: Publication, on state: ChannelState, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    // An app's records have neither subscribers nor taps.
    if state.isHidden { return }
    counters.published += 1
    if let map = state.map {
      map.apply(publication)
      expireLater(publication, in: state)
    }
    effects.append(.tap(state.name, epoch: state.sequencer.top.epoch, publication))
    if state.interest.isEmpty { return }
    counters.delivered += UInt64(state.interest.count)
    let body = LinkPublication(channel: state.name, publication: publication).bytes
    broadcast(.publication, body, to: state.interest, at: time, into: &effects)
  }

  /// A gateway asks again for something whose answer it never got.
  ///
  /// - Returns: true where the request was answered or is under way, and must not be done a second time.
  func answerRetry(
    _ original: BrokerRequest, gateway: UInt64, request: UInt64, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) -> Bool {
    let requester = Requester.gateway(gateway, request: request)
    switch links[gateway]?.result(of: request) ?? .nothing {
    case .underWay:
      counters.duplicatesAvoided += 1
      return true
    case .answered(let response):
      counters.duplicatesAvoided += 1
      answer(requester, response, at: time, into: &effects)
      return true
    case .nothing: break
    }
    // A broker that restarted knows only what its log holds.
    guard let name = original.channel, let state = try? channel(name, at: time),
      let offset = state.recentOrigins[RequestOrigin(gateway: gateway, request: request)]
    else { return false }
    counters.duplicatesAvoided += 1
    answerPublished(offset, in: state, to: requester, at: time, into: &effects)
    return true
  }
}
