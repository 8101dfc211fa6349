import Log
import Wire

extension BrokerCore {
  /// Decides whether a publication is a new one, gives it its offset, and gives it to the log. It is delivered and the
  /// request answered at once, or when the log has it on disk.
  ///
  /// - Throws: why nothing is published, and ``ClientError/waits`` where a store has to be asked first. Nothing has
  ///   changed then.
  func publish(
    _ request: BrokerRequest.PublishRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard request.data.count <= configuration.maximumPayloadBytes else {
      throw .limitExceeded.saying("the data has more than \(configuration.maximumPayloadBytes) bytes; send less")
    }
    if case .outbox(let message) = requester { try postings.check(message) }
    let state = try channel(toPublish: request, for: requester, in: &turn)
    let kept = state.quota == nil ? nil : try self.kept(by: request.info, on: state, for: requester, in: &turn)
    try channels.checkPublishing(request, on: state, for: requester, at: turn.time)
    var change: KeyChange?
    if let write = request.write {
      change = try self.change(write, in: state, at: turn.time)
      if change == nil { return answerGone(write.key, in: state, to: requester, in: &turn) }
    } else if state.map != nil {
      throw .badRequest.saying("\"\(state.name)\" is a map channel; publish with a key")
    } else if state.options.kind == .sharedPoll {
      throw .badRequest.saying("\"\(state.name)\" is a shared poll: what its keys are, your backend is asked")
    }
    let digest = request.idempotencyKey == nil ? 0 : digest(of: request.data)
    if let key = request.idempotencyKey.map(IdentifierKey.init) {
      let held = state.idempotency[key]
      switch decideIdempotency(held?.record, digest: digest, now: turn.time.wall) {
      case .publish: try channels.checkKeys(request.info?.user, in: state)
      case .conflict:
        return answer(requester, .failed(.idempotencyConflict), after: held?.ticket, in: &turn)
      case .alreadyPublished(let offset):
        tally.counters.duplicatesAvoided += 1
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
    try append(consume publication, record, edit: nil, of: state, for: requester, kept: kept, in: &turn)
  }

  /// The channel of a publication, opened where it was not in use. A channel of an app is refused to everybody but the
  /// broker, before it is opened: only the app's own methods write there.
  private func channel(
    toPublish request: BrokerRequest.PublishRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> BrokerChannel {
    let name = request.channel
    if let state = channels[name] {
      if let app = state.options.app, requester != .broker { throw Self.refusal(of: name, app) }
      if state.options.mapPresence != .none, requester != .broker { throw Self.refusalOfPresenceMap(name) }
      return state
    }
    let options = try options(of: name)
    if requester == .broker { return try channel(name, in: &turn) }
    if let app = options.app { throw Self.refusal(of: name, app) }
    if options.mapPresence != .none { throw Self.refusalOfPresenceMap(name) }
    return try channel(name, options, madeBy: .publisher(request.info), in: &turn)
  }

  /// - Parameters:
  ///   - original: the publication that `edit` changes.
  ///   - kept: what the publisher keeps in the namespace already; nil where no quota counts it.
  func append(
    _ publication: consuming Publication, _ record: IdempotencyRecord?, edit: LogEdit?,
    over original: Publication? = nil, of state: BrokerChannel, for requester: Requester, kept: KeptAmount? = nil,
    in turn: inout Turn
  ) throws(ClientError) {
    var claim: QuotaClaim?
    if let quota = state.quota, let kept {
      claim = try self.claim(for: copy publication, edit: edit, of: original, on: state, quota, over: kept)
    }
    let entry = entry(consume publication, record, edit: edit, of: state, for: requester, claim: claim)
    try append(entry, on: state, for: .requester(requester), in: &turn)
  }
}
