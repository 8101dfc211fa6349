internal import Wire

/// Calls. One that is not kept waits for the connection and the answer for ``Configuration/timeout``, and is sent once.
/// One that is kept stands in a lane, of which one at a time is under way:
///
///     phase     may go (1)   answer   error 100, 111, no answer   connection lost      key may be forgotten (2)
///     waiting   sent         –        –                           waiting              in doubt, if it was sent
///     sent      –            ends     pausing (3)                 waiting (3)          when it leaves `sent`
///     pausing   –            ends     –                           waiting              in doubt: ends
///
/// (1) Connected, the first of its lane, and a subscription to its channel stands, where there is one.
/// (2) After nine tenths of the time for which the server knows it: the rest is for the way there, and for two clocks
///     that run at different speeds.
/// (3) What may not be sent twice ends instead, and says that it may have been done.
///
/// The timer `pause` leads from pausing to waiting, the timer `keep` ends a call that waited for too long, and what
/// ends the connection for good ends all calls.
extension ClientMachine {
  mutating func call(_ id: CallID, _ body: ClientCommand.Body, _ options: CallOptions) {
    if let keep = options.keep {
      guard
        queuedCalls < configuration.maximumQueuedCalls,
        queuedBytes + keep.bytes <= configuration.maximumQueuedBytes
      else {
        effects.append(.complete(id, .failure(.queueFull(calls: queuedCalls, bytes: queuedBytes))))
        return
      }
      calls[id] = CallRecord(body: body, options: options)
      queuedCalls += 1
      queuedBytes += keep.bytes
      lanes[keep.lane, default: []].append(id)
      effects.append(.start(.keep(id), configuration.maximumQueuedTime))
      pump(keep.lane)
      return
    }
    guard phase != .idle else {
      effects.append(.complete(id, .failure(.disconnected(LocalCode.disconnectCalled.saying("not connected")))))
      return
    }
    guard calls.count - queuedCalls < configuration.maximumCalls else {
      effects.append(.complete(id, .failure(.tooManyCalls(limit: configuration.maximumCalls))))
      return
    }
    calls[id] = CallRecord(body: body, options: options)
    effects.append(.start(.call(id), configuration.timeout))
    if mayGo(id) { transmit(id) }
  }

  // MARK: Sending

  private func mayGo(_ id: CallID) -> Bool {
    guard phase == .connected, let call = calls[id], call.phase == .waiting else { return false }
    guard let channel = call.options.after, let subscription = subscriptionsByChannel[channel] else { return true }
    return subscriptions[subscription]?.phase == .subscribed
  }

  private mutating func transmit(_ id: CallID) {
    guard let call = calls[id] else { return }
    calls[id]?.phase = .sent
    calls[id]?.wasSent = true
    if call.commandIDs.count >= CallRecord.maximumTries {
      pending[call.commandIDs[0]] = nil
      calls[id]?.commandIDs.removeFirst()
    }
    send(call.body, for: .call(id), timed: false)
    guard let keep = call.options.keep else { return }
    effects.append(.start(.answer(id), configuration.timeout))
    if case .whileKnown(let time) = keep.repetition, !call.wasSent {
      effects.append(.start(.old(id), time / 10 * 9))
    }
  }

  private mutating func pump(_ lane: String) {
    if let id = lanes[lane]?.first, mayGo(id) { transmit(id) }
  }

  /// Sends whatever may go now: the connection or a subscription stands, or a subscription has ended.
  mutating func pumpAll() {
    guard phase == .connected, !calls.isEmpty else { return }
    for id in calls.keys.sorted() where calls[id]?.options.keep == nil && mayGo(id) { transmit(id) }
    for lane in lanes.keys.sorted() { pump(lane) }
  }

  // MARK: Answers

  mutating func callAnswered(_ id: CallID, with reply: ClientReply) {
    guard case .error(_, let error) = reply else { return complete(id, .success(reply)) }
    let mayPass = error.code == ClientError.internalError.code || error.code == ClientError.tooManyRequests.code
    if mayPass, let keep = calls[id]?.options.keep, keep.repetition != .never { return pause(id) }
    complete(id, .failure(.server(error)))
  }

  private mutating func pause(_ id: CallID) {
    guard let call = calls[id], call.phase == .sent else { return }
    if call.isOld { return complete(id, .failure(.inDoubt)) }
    calls[id]?.phase = .pausing
    calls[id]?.failures += 1
    effects.append(.stop(.answer(id)))
    let delay = configuration.backoff.delay(failures: call.failures, random: configuration.random())
    effects.append(.start(.pause(id), delay))
  }

  /// A publication that carries the key of a call without an answer is its answer.
  mutating func witness(_ channel: ChannelName, _ publication: Publication) {
    guard !lanes.isEmpty else { return }
    let heads = lanes.values.compactMap(\.first).filter {
      guard let call = calls[$0], call.wasSent else { return false }
      return call.options.keep?.key != nil && call.options.after == channel
    }
    guard !heads.isEmpty, let value = try? JSONValue(parsing: publication.data), let key = value.object?["key"]?.string
    else {
      return
    }
    for id in heads.sorted() where calls[id]?.options.keep?.key?.hasSameBytes(as: key) == true {
      finish(id, .witnessed(id, offset: publication.offset))
    }
  }

  mutating func complete(_ id: CallID, _ result: Result<ClientReply, RealtimeError>) {
    finish(id, .complete(id, result))
  }

  private mutating func finish(_ id: CallID, _ effect: Effect) {
    guard let call = calls.removeValue(forKey: id) else { return }
    for commandID in call.commandIDs { pending[commandID] = nil }
    guard let keep = call.options.keep else {
      effects.append(.stop(.call(id)))
      effects.append(effect)
      return
    }
    for timer in [ClientTimer.keep(id), .answer(id), .old(id), .pause(id)] { effects.append(.stop(timer)) }
    queuedCalls -= 1
    queuedBytes -= keep.bytes
    lanes[keep.lane]?.removeAll { $0 == id }
    if lanes[keep.lane]?.isEmpty == true { lanes[keep.lane] = nil }
    effects.append(effect)
    pump(keep.lane)
  }

  // MARK: Time

  mutating func callElapsed(_ timer: ClientTimer, of id: CallID) {
    guard let call = calls[id] else { return }
    switch timer {
    case .call: complete(id, .failure(.timedOut))
    case .keep: complete(id, .failure(call.wasSent ? .inDoubt : .keptTooLong))
    case .answer:
      guard call.phase == .sent else { return }
      if call.options.keep?.repetition == .never { complete(id, .failure(.timedOut)) } else { pause(id) }
    case .pause:
      guard call.phase == .pausing, let keep = call.options.keep else { return }
      calls[id]?.phase = .waiting
      pump(keep.lane)
    case .old:
      calls[id]?.isOld = true
      if call.phase != .sent { complete(id, .failure(.inDoubt)) }
    default: break
    }
  }

  /// The connection is gone, and with it the answers: what may be sent again waits for the next one.
  mutating func interruptCalls() {
    for id in calls.keys.sorted() {
      guard let call = calls[id] else { continue }
      calls[id]?.commandIDs = []
      guard call.phase != .waiting else { continue }
      guard let keep = call.options.keep, keep.repetition != .never else {
        complete(id, .failure(.connectionLost))
        continue
      }
      effects.append(.stop(.answer(id)))
      effects.append(.stop(.pause(id)))
      calls[id]?.phase = .waiting
      if call.isOld { complete(id, .failure(.inDoubt)) }
    }
  }

  /// The connection has ended for good.
  mutating func endCalls(_ code: DisconnectCode) {
    interruptCalls()
    for id in calls.keys.sorted() {
      complete(id, .failure(calls[id]?.wasSent == true ? .inDoubt : .disconnected(code)))
    }
  }
}
