import Apps
import Log
import Wire

/// Commands for apps, and who may see their channels.
extension BrokerCore {
  func call(
    _ request: BrokerRequest.CallRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    guard let host = hosts.host(of: request.command) else {
      throw .methodNotFound.saying("there is no method \"\(request.command.method.prefix(64))\"")
    }
    guard !request.caller.user.isEmpty else { throw AppCommand.refusal(ofNobody: request.command.method) }
    let call = AppCall(
      request.command, caller: request.caller,
      source: source(of: request, requester), attestedPlace: request.attestedPlace,
      key: requester.key(of: configuration.instance))
    var decision: AppDecision
    do {
      decision = try consult(host, for: requester, in: &turn) { (lens) throws(ClientError) in
        try host.app.call(call, lens)
      }
    } catch {
      if turn.missing.isEmpty { tally.noteLimit(of: error, by: call.user) }
      throw error
    }
    if decision.answer == .later { return try putAside(request, for: requester, of: host) }
    if case .search(var search) = decision.answer {
      search.user = call.user
      decision.answer = .search(search)
    }
    defer { if let limit = decision.reached, turn.missing.isEmpty { tally.note(limit, by: call.user) } }
    try perform(decision, of: host, for: requester, in: &turn)
  }

  private func source(of request: BrokerRequest.CallRequest, _ requester: Requester) -> AppCall.Source {
    if case .service = requester { return .service }
    return request.isGateways ? .gateway : .client
  }

  /// What a command needs is on its way to a disk: it waits, and nobody behind it does.
  private func putAside(
    _ request: BrokerRequest.CallRequest, for requester: Requester, of host: AppHost
  ) throws(ClientError) {
    guard host.putAside.count < Self.callsPutAside else {
      tally.counters.callsOverLimit += 1
      tally.note(.callsPutAside, from: request.caller.user)
      throw .tooManyRequests.saying("the server waits for its disk; try again in a moment")
    }
    host.putAside.append((request, requester))
  }

  static let callsPutAside = 4096

  /// Runs the commands again that an app wanted to have run later (``AppDecision/Answer/later``).
  ///
  /// - Parameter error: why what they wait for will not come; nil: it is there.
  public func resume(
    _ app: String, error: ClientError? = nil, in turn: inout Turn
  ) {
    guard let host = hosts[app] else { return }
    let calls = host.putAside
    host.putAside = []
    for (request, requester) in calls {
      if let error {
        refuse(.call(request), error, for: requester, in: &turn)
      } else {
        perform(.call(request), for: requester, in: &turn)
      }
    }
  }

  /// What somebody may see of a channel, decided by its name alone: nothing is opened for who is refused. Channels of no
  /// app are their gateways' business.
  ///
  /// - Parameters:
  ///   - user: nil for services, and for gateways about themselves.
  ///   - isThere: is subscribed already, and asks only whether that may go on.
  func admit(
    _ user: String?, to channel: ChannelName, _ options: ChannelOptions, isThere: Bool = false, in turn: inout Turn
  ) throws(ClientError) -> TagFilter? {
    guard let name = options.app, let user else { return nil }
    guard let host = hosts.host(of: options) else {
      throw .notAvailable.saying("the app \"\(name)\" is switched off on this broker")
    }
    let admission = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.admit(user, to: channel, lens)
    }
    let records = host.recordsState.sequencer
    if !records.isIdle { host.doubtfulAdmissions.add(user, to: channel, upon: records) }
    if let refusal = admission.refusal, !isThere { throw refusal }
    return admission.audience
  }

  /// Nobody publishes around an app's rules.
  static func refusal(of channel: ChannelName, _ app: AppName) -> ClientError {
    .permissionDenied.saying("\"\(channel)\" is written by the app alone; call a method of \(app)")
  }

  private func readmit(
    _ user: String, to name: ChannelName, in turn: inout Turn
  ) {
    // Also those that have named their members and are about to ask for what they missed.
    let gateways = links.open.filter { $0.channels.contains(name) }.map(\.gateway)
    guard let state = channels[name], !gateways.isEmpty else { return }
    var change = LinkAudience(channel: name, user: user, .refused, audience: nil)
    do throws(ClientError) {
      change.audience = try admit(user, to: name, state.options, isThere: true, in: &turn)
      change.admission = .admitted
    } catch {
      // Either way nothing more may reach them. Where it cannot be found out now, they subscribe again, and wait for it.
      if error.code == ClientError.internalError.code { change.admission = .unknown }
      turn.missing = []
    }
    links.broadcast(.audience(change), to: gateways, in: &turn)
  }

  // MARK: After a decision

  /// One of a decision's entries came back from the log.
  func advance(
    _ decision: PendingDecision, error: LogError?, in turn: inout Turn
  ) {
    decision.remaining -= 1
    if let error, decision.error == nil || decision.error == .notContiguous { decision.error = error }
    let host = decision.host
    // Decisions upon this one fail too; when the last is back, everything is read anew.
    if host.recordsState.sequencer.isIdle { settled(host, failed: error != nil, in: &turn) }
    guard decision.remaining == 0 else { return }
    if host.lastPending === decision { host.lastPending = nil }
    if let error = decision.error {
      tally.counters.refused += 1
      host.timetable.forget()
      // Some that were marked with it are not: what is touched next is marked again.
      host.marks = StaleMarks()
      host.marks.keepAll(at: turn.time.monotonic)
      host.failures += 1
      host.lastFailure = error
      settle(decision.requester, .failed(error.asClientError), in: &turn)
      return answerWaiting(decision, in: &turn)
    }
    for (key, offset) in decision.records { host.records.settled(key, offset: offset) }
    decision.following.forEach { follow($0, of: host, in: &turn) }
    refresh(host, in: &turn)
    if let answer = decision.answer { settle(decision.requester, answer, in: &turn) }
    answerWaiting(decision, in: &turn)
  }

  /// Those who waited for a decision, and with it for all that were under way when they asked: the log answers for
  /// entries in the order in which it took them.
  private func answerWaiting(
    _ decision: PendingDecision, in turn: inout Turn
  ) {
    let host = decision.host
    for waiting in decision.waiting {
      if waiting.failures != host.failures, let error = host.lastFailure {
        settle(waiting.requester, .failed(error.asClientError), in: &turn)
        continue
      }
      switch waiting.answer {
      case .response(let response): settle(waiting.requester, response, in: &turn)
      case .search(let search): turn.effects.append(.search(search, waiting.requester))
      }
    }
  }

  /// Nothing of the records is on its way to the disk any more.
  private func settled(_ host: AppHost, failed: Bool, in turn: inout Turn) {
    let admissions = host.doubtfulAdmissions.takeAll()
    if failed {
      host.records.forgetAll()
      stores.forgetEntries(of: host.recordsState.name)
      for place in host.doubtful { refreshLater(place, of: host, at: turn.time.monotonic) }
      for admission in admissions {
        readmit(admission.user.string, to: admission.channel, in: &turn)
      }
    }
    host.doubtful = []
  }

  func follow(_ effect: AppEffect, of host: AppHost, in turn: inout Turn) {
    switch effect {
    case .refresh(let channel, let key, .soon):
      refreshLater(.init(channel: channel, key: key), of: host, at: turn.time.monotonic)
    case .touch(let subject):
      host.refreshes.add(
        .init(channel: host.recordsState.name, key: subject), isWatched: true, now: turn.time.monotonic)
    case .readmit(let user, let channel): readmit(user, to: channel, in: &turn)
    case .scrub:
      host.wantsScrub = true
      scrub(host, at: turn.time)
    case .discardPictures(let pictures): discard(pictures, in: &turn)
    case .write, .erase, .publish, .edit, .refresh(_, _, .atomically): break  // In the transaction.
    }
  }

  /// Overwrites what was erased: at once, and where very much is, from time to time, because whoever writes waits while
  /// SQLite's WAL is cut.
  func scrub(_ host: AppHost, at time: BrokerTime) {
    guard host.wantsScrub, host.scrubTime <= time.monotonic else { return }
    host.wantsScrub = false
    host.scrubTime = time.monotonic + Self.scrubInterval
    stores.disk.scrub()
  }

  private static let scrubInterval: Int64 = 1000

  /// Gateways hold the pictures; which of them holds one, nobody needs to know.
  func discard(_ pictures: [String], in turn: inout Turn) {
    let body = LinkBody.discard(LinkDiscard(pictures: pictures))
    for link in links.open {
      links.send(body, to: link.gateway, in: &turn)
    }
  }

  // MARK: Lists

  /// Works out entries that are due. Bounded: the rest comes with the next turn (``wakeApps(in:)``).
  func refresh(_ host: AppHost, in turn: inout Turn) {
    while host.refreshesLeft > 0, let place = host.refreshes.next(upTo: turn.time.monotonic) {
      host.refreshesLeft -= 1
      run(.refresh(host, place), in: &turn)
    }
  }

  func refresh(
    _ place: RefreshQueue.Place, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn
  ) {
    do throws(ClientError) { try refresh(place, of: host, in: &turn) } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .refresh(host, place), in: &turn) }
      tally.counters.refused += 1
      host.marks.keepAll(at: turn.time.monotonic)
      refreshLater(place, of: host, at: turn.time.monotonic + Self.refreshAgain)
    }
  }

  private func refresh(
    _ place: RefreshQueue.Place, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) {
    if place.channel == host.recordsState.name {
      let entries = try consult(host, in: &turn) { (lens) throws(ClientError) in
        try host.app.entries(showing: place.key.string, lens)
      }
      for entry in entries {
        refreshLater(.init(channel: entry.channel, key: entry.key), of: host, at: turn.time.monotonic)
      }
      return
    }
    let state = try channel(place.channel, in: &turn)
    guard let publication = try publication(of: place.key.string, in: state, of: host, in: &turn) else { return }
    let isSettled = host.recordsState.sequencer.isIdle
    if isSettled || state.options.durability != .durable {
      if !isSettled { host.doubtful.insert(place) }
      try append(publication, nil, edit: nil, of: state, for: .broker, in: &turn)
    } else {
      // It shows what is not on disk yet, and must fail with it.
      let decision = AppDecision([.refresh(place.channel, key: place.key.string, .atomically)])
      try perform(decision, of: host, for: .broker, in: &turn)
    }
  }

  func refreshLater(_ place: RefreshQueue.Place, of host: AppHost, at now: Int64) {
    // A list that is in memory alone, and that nobody has opened, is worked out when somebody does.
    if place.channel != host.recordsState.name, channels[place.channel] == nil,
      configuration.namespaces.options(for: place.channel)?.mapMode != .persistent
    {
      return
    }
    host.refreshes.add(place, isWatched: !(channels[place.channel]?.interest.isEmpty ?? true), now: now)
  }

  /// A gateway is the first to ask for a list.
  func watchBegins(_ state: ChannelState, at time: BrokerTime) {
    hosts.host(of: state)?.refreshes.hasten(state.name, now: time.monotonic)
  }

  static let refreshesPerTurn = 8
  /// Milliseconds until an entry is worked out again that could not be.
  static let refreshAgain: Int64 = 1000

  /// A change of a map channel did not get to the disk: what stands there is as it was, and still has to change.
  func changeFailed(_ publication: Publication, of state: ChannelState, at time: BrokerTime) {
    guard let map = state.map, let key = publication.change?.key else { return }
    if let entry = map.entry(key), let expires = entry.change?.expires, expires != .max {
      map.end(key, at: max(expires, time.wall + 1000))
      channels.noteEnds(of: state)
    }
    if let host = hosts.host(of: state) {
      host.marks.keepAll(at: time.monotonic)
      refreshLater(.init(channel: state.name, key: key), of: host, at: time.monotonic + Self.refreshAgain)
    }
  }

  /// A record is on disk that asks for a time.
  func noteDue(_ publication: Publication, of state: ChannelState, _ host: AppHost) {
    guard state === host.recordsState, let change = publication.change, !change.removed else { return }
    if let lane = AppLane(rawValue: change.score) { host.timetable.note(change.expires, in: lane) }
  }

  /// The change of a list that brings an entry up to date; nil where it is. Without its offset where the channel drains.
  func publication(
    of key: String, in state: ChannelState, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) -> Publication? {
    guard let map = state.map else { preconditionFailure("apps refresh map channels alone, not \(state.name)") }
    let entry = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.entry(key, of: state.name, lens)
    }
    let before = map.latest(key)
    // What is on its way to the disk may fail: then this must fail with it, and so is written in any case.
    let isUnderWay = map.isUnderWay(key)
    guard let offset = state.sequencer.peek() else { throw .draining }
    guard let entry else {
      if before == nil && !isUnderWay { return nil }
      return Publication(
        offset: offset, time: turn.time.wall, data: Self.noData, tags: audienceTags(of: before),
        change: KeyChange(key: key, removed: true))
    }
    let change = KeyChange(key: key, score: entry.score, expires: entry.expires, kept: entry.kept)
    if let before, !isUnderWay, before.data == entry.data, before.change == change, before.tags == entry.tags {
      return nil
    }
    return Publication(offset: offset, time: turn.time.wall, data: entry.data, tags: entry.tags, change: change)
  }

  /// Whoever could not see an entry must not hear that it goes.
  func audienceTags(of entry: Publication?) -> [String: String] {
    guard let entry, !entry.tags.isEmpty else { return [:] }
    return entry.tags.filter { Publication.audienceTags.contains($0.key) }
  }

  /// A list that is in memory alone is empty when it is opened. One on disk is as it was left, and what that lacks is
  /// marked (``StaleMarks``).
  func refreshOpened(_ state: ChannelState, in turn: inout Turn) {
    guard let host = hosts.host(of: state), let map = state.map else { return }
    if state.options.mapMode != .persistent { return run(.fill(host, state.name), in: &turn) }
    guard host.distrustsLists else { return }
    for key in map.keys { refreshLater(.init(channel: state.name, key: key), of: host, at: turn.time.monotonic) }
  }

  func fill(_ name: ChannelName, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    do throws(ClientError) {
      let keys = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.keys(of: name, lens) }
      for key in keys { refreshLater(.init(channel: name, key: key), of: host, at: turn.time.monotonic) }
    } catch {
      // What cannot be found out at all is, with the next change.
      if !turn.missing.isEmpty { stores.park(waiting, .fill(host, name), in: &turn) }
    }
  }
}
