import Log
import Wire

/// Answers, and what they have to wait for.
///
/// Many requests change nothing, because an earlier one did already what they ask for: the key to be removed is gone,
/// the receipt was given before, the publication is sent again. Where the earlier change is on disk, such a request is
/// answered at once. Where the log has not answered for that change yet, the answer waits for it and fails with it: an
/// acknowledgement that came before the disk would be a promise that a power cut breaks. A refusal that rests on a
/// change under way waits likewise.
extension BrokerCore {
  /// Answers when the entry with the ticket is on disk, or with the log's error where it does not get there; at once
  /// where the log has answered for the entry already, or there is no ticket.
  func answer(
    _ requester: Requester, _ response: BrokerResponse, after ticket: UInt64?, in turn: inout Turn
  ) {
    if requester == .broker { return }
    let follower = Follower(requester: requester, response: response)
    if let ticket, appends.follow(ticket, follower) { return }
    answerAndRemember(requester, response, in: &turn)
  }

  /// The log has answered for an entry: the requests that waited for it are answered.
  func answerFollowers(of completion: LogCompletion, in turn: inout Turn) {
    for follower in appends.takeFollowers(of: completion.ticket) {
      let response = completion.error.map { BrokerResponse.failed($0.asClientError) } ?? follower.response
      answerAndRemember(follower.requester, response, in: &turn)
    }
  }

  /// Answers the removal of a key that the map does not hold, or will not hold once an earlier removal is on disk.
  func answerGone(
    _ key: String, in state: BrokerChannel, to requester: Requester, in turn: inout Turn
  ) {
    let ticket = state.map?.ticket(of: key)
    let offset = ticket.flatMap { appends[$0]?.publication.offset } ?? state.sequencer.top.offset
    let position = StreamPosition(epoch: state.sequencer.top.epoch, offset: offset)
    answer(requester, .published(position), after: ticket, in: &turn)
  }

  /// Answers a request with an error: at once, unless an app refuses it while a decision of that app is not on disk
  /// yet. The refusal may rest on that decision, so it waits for it.
  ///
  /// The renewal of a subscription after a link was reset is refused without waiting: what is published meanwhile would
  /// reach somebody who may not have it.
  func refuse(
    _ request: BrokerRequest, _ error: ClientError, for requester: Requester, _ occasion: RequestOccasion = .first,
    in turn: inout Turn
  ) {
    if occasion != .resync, let host = hosts.host(concernedBy: request), let pending = host.lastPending {
      pending.waiting.append(WaitingAnswer(requester, .response(.failed(error)), failures: host.failures))
    } else if request.isRemembered {
      answerAndRemember(requester, .failed(error), in: &turn)
    } else {
      answer(requester, .failed(error), in: &turn)
    }
  }

  func answerPublished(
    _ offset: UInt64, in state: BrokerChannel, to requester: Requester, in turn: inout Turn
  ) {
    if requester == .broker { return }
    let position = StreamPosition(epoch: state.sequencer.top.epoch, offset: offset)
    answerAndRemember(requester, .published(position), in: &turn)
  }

  /// Answers a request that is done once only (a publish, a call and their like), and remembers the answer for a
  /// gateway that asks again.
  func answerAndRemember(
    _ requester: Requester, _ response: BrokerResponse, in turn: inout Turn
  ) {
    if let hops, !hops.isIdle { hops.answered(requester, failure: response.failure) }
    guard let (gateway, request) = requester.link else {
      return answer(requester, response, in: &turn)
    }
    links[gateway]?.remember(response, for: request)
    links.reply(LinkReply(id: request, response: response), to: gateway, in: &turn)
    answeredOnce(requester, response, in: &turn)
  }

  // MARK: What is asked again

  /// Whether this broker has begun or answered a request that a gateway sends again. If it was answered, the answer is
  /// repeated.
  func isKnown(_ request: UInt64, on link: PeerLink, in turn: inout Turn) -> Bool {
    #if MUTATIONS
      if mutation == .ignoresRetries { return false }
    #endif
    switch link.result(of: request) {
    case .nothing: return false
    case .underWay: break
    // The answer, late for the session before, went out in this one before the retry was read: the gateway has it.
    case .over: break
    case .answered(let response): answer(.gateway(link.gateway, request: request), response, in: &turn)
    }
    tally.counters.duplicatesAvoided += 1
    return true
  }

  /// The answer to a request whose publication an earlier broker process made: only the log knows it. Nil: the log has
  /// no publication of that request.
  ///
  /// - Throws: ``ClientError/waits`` where the store has to be asked.
  func published(
    _ request: BrokerRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse? {
    #if MUTATIONS
      if mutation == .ignoresRetries { return nil }
    #endif
    guard let name = request.channel, let origin = requester.origin else { return nil }
    var state: BrokerChannel?
    do throws(ClientError) { state = try existing(name, in: &turn) } catch {
      if !turn.missing.isEmpty { throw error }
    }
    guard let state, let offset = state.recentOrigins[origin] else { return nil }
    tally.counters.duplicatesAvoided += 1
    return .published(StreamPosition(epoch: state.sequencer.top.epoch, offset: offset))
  }
}
