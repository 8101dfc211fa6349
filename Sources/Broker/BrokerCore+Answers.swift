import Log
import Wire

/// Answers, and what they have to wait for.
///
/// Many requests change nothing, because what they ask for is done: a key is removed that is gone, a receipt is said
/// twice, a publication is sent again. Where it is done on disk, they are answered at once. Where the log has not told yet
/// what became of it, the answer waits for that and fails with it: an acknowledgement that came before the disk would be
/// a promise that a power cut breaks. So it is with refusals that tell of something under way.
extension BrokerCore {
  /// Answers when the entry with the ticket is on disk, or with its error where it does not get there; at once where the
  /// log has answered for it.
  func answer(
    _ requester: Requester, _ response: BrokerResponse, after ticket: UInt64?, in turn: inout Turn
  ) {
    if requester == .broker { return }
    let follower = Follower(requester: requester, response: response)
    if let ticket, appends.follow(ticket, follower) { return }
    settle(requester, response, in: &turn)
  }

  /// The entry with the ticket came back: so do those who waited for it.
  func answerFollowers(of completion: LogCompletion, in turn: inout Turn) {
    for follower in appends.takeFollowers(of: completion.ticket) {
      let response = completion.error.map { BrokerResponse.failed($0.asClientError) } ?? follower.response
      settle(follower.requester, response, in: &turn)
    }
  }

  /// A key is to be removed that the map does not hold, or will not once its removal is on disk.
  func answerGone(
    _ key: String, in state: ChannelState, to requester: Requester, in turn: inout Turn
  ) {
    let ticket = state.map?.ticket(of: key)
    let offset = ticket.flatMap { appends[$0]?.publication.offset } ?? state.sequencer.top.offset
    let position = StreamPosition(epoch: state.sequencer.top.epoch, offset: offset)
    answer(requester, .published(position), after: ticket, in: &turn)
  }

  /// A request is refused: at once, unless an app's rules refuse it by what a decision changes that is not on disk yet.
  ///
  /// Who was subscribed before the link was reset, and is refused now, is let go at once: what is published meanwhile would
  /// reach them.
  func refuse(
    _ request: BrokerRequest, _ error: ClientError, for requester: Requester, _ occasion: RequestOccasion = .first,
    in turn: inout Turn
  ) {
    if occasion != .resync, let host = hosts.host(concernedBy: request), let pending = host.lastPending {
      pending.waiting.append(WaitingAnswer(requester, .response(.failed(error)), failures: host.failures))
    } else if request.isRemembered {
      settle(requester, .failed(error), in: &turn)
    } else {
      answer(requester, .failed(error), in: &turn)
    }
  }

  func answerPublished(
    _ offset: UInt64, in state: ChannelState, to requester: Requester, in turn: inout Turn
  ) {
    if requester == .broker { return }
    let position = StreamPosition(epoch: state.sequencer.top.epoch, offset: offset)
    settle(requester, .published(position), in: &turn)
  }

  /// Answers a publish, and remembers the answer for a gateway that asks again.
  func settle(
    _ requester: Requester, _ response: BrokerResponse, in turn: inout Turn
  ) {
    guard case .gateway(let gateway, let request) = requester else {
      return answer(requester, response, in: &turn)
    }
    links[gateway]?.remember(response, for: request)
    links.reply(LinkReply(id: request, response: response), to: gateway, in: &turn)
  }

  // MARK: What is asked again

  /// A gateway asks again for something whose answer it never got.
  ///
  /// - Returns: false where this broker knows nothing of it.
  func isKnown(_ request: UInt64, on link: PeerLink, in turn: inout Turn) -> Bool {
    #if MUTATIONS
      if mutation == .ignoresRetries { return false }
    #endif
    switch link.result(of: request) {
    case .nothing: return false
    case .underWay: break
    // What was late for the former session was answered in this one, before its retry had its turn.
    case .over: break
    case .answered(let response): answer(.gateway(link.gateway, request: request), response, in: &turn)
    }
    tally.counters.duplicatesAvoided += 1
    return true
  }

  /// What was published upon the same request before this broker began: the log knows it, and nobody else.
  ///
  /// - Throws: ``ClientError/waits`` where the store has to be asked.
  func published(
    _ request: BrokerRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse? {
    #if MUTATIONS
      if mutation == .ignoresRetries { return nil }
    #endif
    guard let name = request.channel, let origin = requester.origin else { return nil }
    var state: ChannelState?
    do throws(ClientError) { state = try existing(name, in: &turn) } catch {
      if !turn.missing.isEmpty { throw error }
    }
    guard let state, let offset = state.recentOrigins[origin] else { return nil }
    tally.counters.duplicatesAvoided += 1
    return .published(StreamPosition(epoch: state.sequencer.top.epoch, offset: offset))
  }
}
