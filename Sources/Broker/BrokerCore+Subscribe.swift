import Log
import Wire

extension BrokerCore {
  /// Adds the gateway to the interest set and answers with the position and what was missed.
  ///
  /// Answer and live publications leave through one pipe in the order of these effects, and nothing is delivered
  /// between reading the top and joining the interest set: no gap and no double, by construction.
  func subscribe(
    _ request: BrokerRequest.SubscribeRequest, for requester: Requester, isResync: Bool, in turn: inout Turn
  ) throws(ClientError) {
    guard case .gateway(let gateway, _) = requester, let link = links[gateway] else { return }
    let options = try options(of: request.channel)
    let audience = try admit(request.member?.user, to: request.channel, options, isThere: isResync, in: &turn)
    _ = try presenceSubject(of: request.channel, options)
    let state: BrokerChannel
    if isResync {
      // Somebody was subscribed before the link broke and still is: no limit is checked again.
      state = try channel(request.channel, in: &turn)
    } else {
      state = try channel(request.channel, options, madeBy: .subscriber(request.member), in: &turn)
      if let member = request.member, request.isPresent { try channels.checkMember(member, of: state) }
    }
    var subscribed: BrokerResponse.Subscribed
    if let map = request.map {
      switch try read(map, for: request, of: state, in: &turn) {
      case .page(var page):
        page.entries = shown(page.entries, of: state.options, to: request.member, audience)
        page.changes = shown(page.changes, of: state.options, to: request.member, audience)
        return answer(requester, .mapPage(page), in: &turn)
      case .live(let live): subscribed = live
      case .tooLarge: return answer(requester, .tooLarge, in: &turn)
      }
    } else {
      guard let recovered = try recover(request, in: state, in: &turn) else {
        return answer(requester, .tooLarge, in: &turn)
      }
      if !isResync && request.since != nil { tally.recovered(isWhole: recovered.recovered) }
      subscribed = recovered
      // A gateway hands what it gets here to all its subscribers alike. Some publications have former versions that
      // only certain users may read: then nothing is recovered in common, and each subscriber asks by itself.
      if request.member == nil, subscribed.publications.contains(where: { $0.tags[FormerVersions.tag] != nil }) {
        subscribed = .init(position: state.sequencer.top)
      }
    }
    subscribed.audience = audience
    if state.options.app != nil {
      subscribed.publications = shown(subscribed.publications, of: state.options, to: request.member, audience)
      subscribed.entries = shown(subscribed.entries, of: state.options, to: request.member, audience)
    }
    // After a reset a gateway first names its members and then asks for what they missed. Live publications must not
    // reach it in between, so a member alone does not add it to the interest set.
    if !isResync || request.member == nil {
      let isFirst = state.interest.isEmpty
      addInterest(of: gateway, in: state, at: turn.time)
      if isFirst { becameOccupied(state, in: &turn) }
    } else {
      links[gateway]?.channels.insert(state.name)
    }
    if isResync && request.member == nil && request.since != nil {
      if subscribed.recovered { tally.counters.channelsRefilled += 1 } else { tally.counters.channelsLost += 1 }
    }
    answer(requester, .subscribed(subscribed), in: &turn)
    guard let member = request.member, request.isPresent else { return }
    let isNew = state.members.enter(.init(info: member, gateway: gateway, session: link.session))
    // After a restart of the broker everybody comes back; nobody joined. A gateway that was given up is different:
    // its members were announced as gone.
    if isNew && state.options.joinLeave && (!isResync || link.lostItsMembers) {
      announce(.join(.init(channel: state.name, member: member)), on: state, in: &turn)
    }
    showPresence(of: member, on: state, in: &turn)
  }

  /// The publications of an app's channel as one member may see them, without the tags that say who may see them. In
  /// other channels, all of them unchanged.
  ///
  /// - Parameter member: nil for a gateway, which gets everything: it needs the tags to choose for its own subscribers.
  func shown(
    _ publications: [Publication], of options: ChannelOptions, to member: ClientInfo?, _ audience: TagFilter?
  ) -> [Publication] {
    guard options.app != nil, let member else { return publications }
    return publications.compactMap { stored in
      let publication = stored.shown(to: member.user)
      if let audience, !audience.matches(publication) { return nil }
      return publication.withoutAudienceTags
    }
  }

  /// Reads what a subscriber missed.
  ///
  /// - Returns: nil where it is more than the first try of an answer may hold (``AnswerLimit/isTry``).
  private func recover(
    _ request: BrokerRequest.SubscribeRequest, in state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse.Subscribed? {
    let top = state.sequencer.top
    guard var since = request.since, !isBeforeOpening(since, of: state) else { return .init(position: top) }
    #if MUTATIONS
      if mutation == .ignoresEpochs { since.epoch = top.epoch }
    #endif
    let limit = min(request.recoveryLimit, configuration.maximumPublications)
    switch decideRecovery(since: since, top: top, keepsHistory: state.options.keepsHistory, limit: limit) {
    case .upToDate: return .init(position: top, recovered: true)
    case .impossible(let gap): return .init(position: top, gap: gap)
    case .read(let offset, _):
      let found = try readUpToNow(
        since: offset, limit: Int(limit), within: request.answer, of: state, in: &turn)
      if found.isCut && request.answer.isTry { return nil }
      guard isWhole(found.publications, after: offset, through: top.offset) else {
        return .init(position: top, gap: gap(in: found, after: offset, of: state, at: turn.time))
      }
      return .init(position: top, recovered: true, publications: found.publications)
    }
  }

  /// What a recovery lacks that is not whole, and why.
  private func gap(
    in found: BoundedRead, after offset: UInt64, of state: BrokerChannel, at time: BrokerTime
  ) -> RecoveryGap {
    let top = state.sequencer.top.offset
    let missing = missingOffsets(in: found.publications, after: offset, through: top, isCut: found.isCut)
    guard let missing else { return RecoveryGap((offset + 1)...top, .bytes) }
    let reason = state.past.reason(
      forMissing: missing.upperBound, newest: state.sequencer.newest, state.options, oldest: oldest(in: state, at: time)
    )
    return RecoveryGap(missing, reason)
  }

  func unsubscribe(
    _ request: BrokerRequest.UnsubscribeRequest, for requester: Requester, in turn: inout Turn
  ) -> BrokerResponse {
    guard case .gateway(let gateway, _) = requester, let state = channels[request.channel] else { return .done }
    var gone: ClientInfo?
    // Only the gateway that the member is connected to now may end it: a late unsubscribe from the gateway it was
    // connected to before must not.
    if let member = request.member, state.members[member.client]?.gateway == gateway {
      gone = state.members.leave(client: member.client)
    }
    if !request.keepsInterest { state.interest.removeAll { $0 == gateway } }
    if !state.interest.contains(gateway) && !state.members.hasMembers(of: gateway) {
      links[gateway]?.channels.remove(state.name)
    }
    if let gone, state.options.joinLeave {
      announce(.leave(.init(channel: state.name, member: gone)), on: state, in: &turn)
    }
    if let gone { showPresence(of: gone, on: state, in: &turn) }
    channels.noteIdle(state, at: turn.time)
    return .done
  }

  func addInterest(of gateway: UInt64, in state: BrokerChannel, at time: BrokerTime) {
    state.idleSince = nil
    if state.interest.isEmpty { watchBegins(state, at: time) }
    if !state.interest.contains(gateway) { state.interest.append(gateway) }
    links[gateway]?.channels.insert(state.name)
  }

  /// Tells the channel's gateways that a member joined or left.
  func announce(
    _ event: LinkBody, on state: BrokerChannel, in turn: inout Turn
  ) {
    if !state.interest.isEmpty { links.broadcast(event, to: state.interest, in: &turn) }
  }

  // MARK: History

  func page(_ request: BrokerRequest.HistoryRequest, in turn: inout Turn) throws(ClientError) -> BrokerResponse {
    let options = try options(of: request.channel)
    let audience = try admit(request.viewer, to: request.channel, options, in: &turn)
    var (opened, top) = try existing(request.channel, options, in: &turn)
    if let since = request.since, !since.epoch.isEmpty, !since.epoch.hasSameBytes(as: top.epoch) {
      throw .unrecoverablePosition.saying("the channel's epoch is \"\(top.epoch)\" now; read its history anew")
    }
    guard let state = opened, request.limit > 0, options.keepsHistory else {
      return .history(HistoryPage(position: top))
    }
    let range = LogRange(
      since: request.since?.offset, through: top.offset,
      limit: Int(min(request.limit, configuration.maximumPublications)), reverse: request.reverse,
      notBefore: oldest(in: state, at: turn.time))
    let found = try read(range, within: request.answer, of: state, in: &turn)
    if found.isCut && request.answer.isTry { return .tooLarge }
    top.offset = found.through
    var publications = found.publications
    if options.app != nil, let viewer = request.viewer {
      publications = shown(publications, of: options, to: ClientInfo(user: viewer, client: ""), audience)
    }
    return .history(HistoryPage(position: top, publications: publications))
  }

  func removeHistory(of name: ChannelName, in turn: inout Turn) throws(ClientError) -> BrokerResponse {
    let options = try options(of: name)
    if let app = options.app { throw Self.refusal(of: name, app) }
    guard let state = try existing(name, options, in: &turn).state else { return .done }
    // The store is asked once, on the first run: what was published while it worked stays.
    if try isHistoryRemoved(of: name, in: turn) { return .done }
    try removeHistory(of: state, in: &turn)
    return .done
  }

  /// Whether the store was asked for it on an earlier run of the input, and has done it.
  ///
  /// - Throws: what the store answered where it has not.
  func isHistoryRemoved(of name: ChannelName, in turn: Turn) throws(ClientError) -> Bool {
    for reply in turn.known {
      guard case .removeHistory(name, let through) = reply.question else { continue }
      for reply in turn.known { if case .failed(let error) = reply.answer { throw error.asClientError } }
      channels[name]?.past.removed(through: through)
      return true
    }
    return false
  }

  /// Has the store delete the history through the channel's top.
  ///
  /// - Throws: ``ClientError/waits`` where that takes a while.
  func removeHistory(of state: BrokerChannel, in turn: inout Turn) throws(ClientError) {
    let top = state.sequencer.top.offset
    state.past.removalIsAsked(through: top)
    _ = try stores.ask(.removeHistory(state.name, through: top), of: state.store, in: &turn)
    state.past.removed(through: top)
  }

  func oldest(in state: BrokerChannel, at time: BrokerTime) -> Int64 {
    time.wall - state.options.historyTTLMilliseconds
  }
}
