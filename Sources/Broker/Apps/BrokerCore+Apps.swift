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
    try checkSuspended(request.caller.user)
    if request.isGateways, request.command.addsPicture, deletions?.bars(request.caller.user) == true {
      // Its upload has begun before the user was sent away.
      throw .permissionDenied.saying("the user's data is being deleted; try again when that is done")
    }
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
    try carryOut(decision, of: host, for: requester, in: &turn)
  }

  private func source(of request: BrokerRequest.CallRequest, _ requester: Requester) -> AppCall.Source {
    // Also on the way to what a service asks, where a gateway lends pictures for a send.
    if request.isGateways { return .gateway }
    return requester.isService ? .service : .client
  }

  /// Puts a command aside until what it needs is on the disk. No other command waits for it.
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

  /// Runs the commands again that an app wanted to have run later (``AppDecision/Answer/later``), and the relay.
  ///
  /// - Parameter error: why what the commands wait for will not come; nil: it is there.
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
        handle(.call(request), for: requester, in: &turn)
      }
    }
    takeInLater(of: app, error: error, in: &turn)
  }

  /// What somebody may see of an app's channel. The channel is not opened for it, so nothing is opened for users who
  /// are refused. For channels of no app, gateways decide who may subscribe.
  ///
  /// - Parameters:
  ///   - user: nil for services, and for gateways that ask for themselves.
  ///   - isThere: the user is subscribed already, and it is asked only whether the subscription may stay.
  /// - Returns: the publications that the user may see; nil: all.
  /// - Throws: the app's refusal.
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

  /// The error for anybody but the app who wants to write to an app's channel.
  static func refusal(of channel: ChannelName, _ app: AppName) -> ClientError {
    .permissionDenied.saying("\"\(channel)\" is written by the app alone; call a method of \(app)")
  }

  private func readmit(
    _ user: String, to name: ChannelName, in turn: inout Turn
  ) {
    // The gateways that hold the channel, which includes those that have named their members after a reset and have not
    // asked yet for what they missed.
    let gateways = links.open.filter { $0.channels.contains(name) }.map(\.gateway)
    guard let state = channels[name], !gateways.isEmpty else { return }
    var change = LinkAudience(channel: name, user: user, .refused, audience: nil)
    do throws(ClientError) {
      change.audience = try admit(user, to: name, state.options, isThere: true, in: &turn)
      change.admission = .admitted
    } catch {
      // Refused or not, nothing more may reach the user. Where the store cannot tell now, the user's devices subscribe
      // again, and that waits for the store.
      if error.code == ClientError.internalError.code { change.admission = .unknown }
      turn.missing = []
    }
    links.broadcast(.audience(change), to: gateways, in: &turn)
  }

  // MARK: After a decision

  /// Goes on with a decision because the log has answered for one of its entries.
  func advance(
    _ decision: PendingDecision, error: LogError?, in turn: inout Turn
  ) {
    decision.remaining -= 1
    if let error, decision.error == nil || decision.error == .notContiguous { decision.error = error }
    let host = decision.host
    // If this decision failed, those that were made after it fail too. When the last has come back, records are read
    // anew.
    if host.recordsState.sequencer.isIdle { recordsCameToRest(host, failed: error != nil, in: &turn) }
    guard decision.remaining == 0 else { return }
    if host.lastPending === decision { host.lastPending = nil }
    if let error = decision.error {
      tally.counters.refused += 1
      host.timetable.forget()
      // Marks of the failed decision are not on disk: places are marked again when they are touched next.
      host.marks = StaleMarks()
      host.marks.keepAll(at: turn.time.monotonic)
      host.failures += 1
      host.lastFailure = error
      // A change of a list here is tried again by `changeFailed`. An entry of a list elsewhere has no such change.
      if let place = decision.place { refreshLater(place, of: host, at: turn.time.monotonic + Self.refreshAgain) }
      answerAndRemember(decision.requester, .failed(error.asClientError), in: &turn)
      answerWaiting(decision, in: &turn)
      return goOnWithNotices(after: decision, error: error, in: &turn)
    }
    for (key, offset) in decision.records { host.records.committed(key, offset: offset) }
    tally.counters.relaysSent += decision.relays
    decision.following.forEach { follow($0, of: host, in: &turn) }
    refresh(host, in: &turn)
    if let answer = decision.answer { answerAndRemember(decision.requester, answer, in: &turn) }
    answerWaiting(decision, in: &turn)
    goOnWithNotices(after: decision, error: nil, in: &turn)
  }

  /// Answers the requests that waited for a decision. All decisions that were under way when they came are over by now,
  /// because the log answers for entries in the order in which it took them.
  private func answerWaiting(
    _ decision: PendingDecision, in turn: inout Turn
  ) {
    let host = decision.host
    for waiting in decision.waiting {
      if waiting.failures != host.failures, let error = host.lastFailure {
        answerAndRemember(waiting.requester, .failed(error.asClientError), in: &turn)
        continue
      }
      switch waiting.answer {
      case .response(let response): answerAndRemember(waiting.requester, response, in: &turn)
      case .search(let search): turn.effects.append(.search(search, waiting.requester))
      }
    }
  }

  /// Called when no record is on its way to the disk any more. If records failed, what rested on them is decided again.
  func recordsCameToRest(_ host: AppHost, failed: Bool, in turn: inout Turn) {
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
    case .pictureFates(let fates): tellGateways(fates, in: &turn)
    case .acknowledge(let user, let subject): acknowledge(subject, by: user, at: turn.time)
    case .push(let send): self.send(send, in: &turn)
    case .unsent(let notice): notices?.tally.leaves(notice)
    // Part of the transaction.
    case .write, .erase, .publish, .edit, .refresh(_, _, .atomically), .open, .tell, .notify, .relay: break
    }
  }

  /// Has the store overwrite what was erased: at once, but not more often than every ``scrubInterval``, because writes
  /// wait while SQLite cuts its WAL.
  func scrub(_ host: AppHost, at time: BrokerTime) {
    guard host.wantsScrub, host.scrubTime <= time.monotonic else { return }
    host.wantsScrub = false
    host.scrubTime = time.monotonic + Self.scrubInterval
    stores.disk.scrub()
  }

  private static let scrubInterval: Int64 = 1000

  /// Tells all gateways what becomes of pictures. Gateways keep the pictures, and the broker does not know which of them
  /// has one.
  func tellGateways(_ fates: [PictureFate], in turn: inout Turn) {
    let body = LinkBody.discard(LinkDiscard(pictures: fates))
    for link in links.open {
      links.send(body, to: link.gateway, in: &turn)
    }
  }

  // MARK: Lists

  /// Works out entries that are due, up to ``refreshesPerTurn``; the rest comes with the next turn (``wakeApps(in:)``).
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
    if host.app.tellsOfEntries, isKept(place.channel) {
      // What the entry entails goes into its transaction.
      let decision = AppDecision([.refresh(place.channel, key: place.key.string, .atomically)])
      return try carryOut(decision, of: host, for: .broker, in: &turn)
    }
    let state = try channel(place.channel, in: &turn)
    guard let publication = try publication(of: place.key.string, in: state, of: host, in: &turn) else { return }
    let isSettled = host.recordsState.sequencer.isIdle
    if isSettled || state.options.durability != .durable {
      if !isSettled { host.doubtful.insert(place) }
      try append(publication, nil, edit: nil, of: state, for: .broker, in: &turn)
    } else {
      // The entry shows records that are not on disk yet, and so must fail with them.
      let decision = AppDecision([.refresh(place.channel, key: place.key.string, .atomically)])
      try carryOut(decision, of: host, for: .broker, in: &turn)
    }
  }

  func refreshLater(_ place: RefreshQueue.Place, of host: AppHost, at now: Int64) {
    // A list in memory alone that is not open is worked out when it is opened.
    if place.channel != host.recordsState.name, channels[place.channel] == nil, !isKept(place.channel) { return }
    let isWatched = isElsewhere(place.channel) || !(channels[place.channel]?.interest.isEmpty ?? true)
    host.refreshes.add(place, isWatched: isWatched, now: now)
  }

  /// Whether a list is on disk, here or in another partition.
  private func isKept(_ channel: ChannelName) -> Bool {
    configuration.namespaces.options(for: channel)?.mapMode == .persistent
  }

  /// Called when the first gateway asks for a list: its waiting entries are worked out at once.
  func watchBegins(_ state: BrokerChannel, at time: BrokerTime) {
    hosts.host(of: state)?.refreshes.hasten(state.name, now: time.monotonic)
  }

  static let refreshesPerTurn = 8
  /// Milliseconds until an entry that could not be worked out is tried again.
  static let refreshAgain: Int64 = 1000

  /// Called when a change of a map channel did not get to the disk. The entry is as it was before and still has to be
  /// changed, by its end or by the app.
  func changeFailed(_ publication: Publication, of state: BrokerChannel, at time: BrokerTime) {
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

  /// Notes when a record that has got to the disk is due.
  func noteDue(_ publication: Publication, of state: BrokerChannel, _ host: AppHost) {
    guard state === host.recordsState, let change = publication.change, !change.removed else { return }
    if let lane = AppLane(rawValue: change.score) { host.timetable.note(change.expires, in: lane) }
  }

  /// The change of a list that brings an entry up to date; nil where it is up to date.
  ///
  /// - Throws: ``ClientError/draining`` while the channel drains; what the app throws.
  func publication(
    of key: String, in state: BrokerChannel, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) -> Publication? {
    guard let map = state.map else { preconditionFailure("apps refresh map channels alone, not \(state.name)") }
    let entry = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.entry(key, of: state.name, lens)
    }
    let before = map.latest(key)
    // An earlier change of the entry that is on its way to the disk may fail. This one is written even if it repeats
    // it, so that it fails with it.
    let isUnderWay = map.isUnderWay(key)
    guard let offset = state.sequencer.peek() else { throw .draining }
    guard let entry else {
      if before == nil && !isUnderWay { return nil }
      return Publication(
        offset: offset, time: turn.time.wall, data: Self.noData, info: before?.info, tags: audienceTags(of: before),
        change: KeyChange(key: key, removed: true))
    }
    let change = KeyChange(key: key, score: entry.score, expires: entry.expires, kept: entry.kept)
    if let before, !isUnderWay, before.data == entry.data, before.change == change, before.tags == entry.tags,
      before.info == entry.info
    {
      return nil
    }
    return Publication(
      offset: offset, time: turn.time.wall, data: entry.data, info: entry.info, tags: entry.tags, change: change)
  }

  /// The tags that say who may see an entry, for its removal: whoever could not see it must not learn that it goes.
  /// Whoever has seen it as it was before is told, as without the block.
  func audienceTags(of entry: Publication?) -> [String: String] {
    guard let entry, !entry.tags.isEmpty else { return [:] }
    return entry.audienceTagsOfRemoval
  }

  /// Brings a list up to date that was just opened. One in memory alone is empty and is filled. One on disk is as it
  /// was left, and entries that were not worked out are marked (``StaleMarks``).
  func refreshOpened(_ state: BrokerChannel, in turn: inout Turn) {
    guard let host = hosts.host(of: state), let map = state.map else { return }
    if state.options.mapMode != .persistent {
      if let source = host.app.source(of: state.name) {
        host.followers.add(state.name, of: source) { channels[$0] != nil }
      }
      return run(.fill(host, state.name), in: &turn)
    }
    guard host.distrustsLists else { return }
    for key in map.keys { refreshLater(.init(channel: state.name, key: key), of: host, at: turn.time.monotonic) }
  }

  func fill(_ name: ChannelName, of host: AppHost, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    do throws(ClientError) {
      let keys = try consult(host, in: &turn) { (lens) throws(ClientError) in try host.app.keys(of: name, lens) }
      for key in keys { refreshLater(.init(channel: name, key: key), of: host, at: turn.time.monotonic) }
    } catch {
      // Entries that cannot be worked out now come with the next change of what they show.
      if !turn.missing.isEmpty { stores.park(waiting, .fill(host, name), in: &turn) }
    }
  }
}
