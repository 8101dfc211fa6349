import Apps
import Log
import Wire

/// Commands for apps, and who may see their channels.
extension BrokerCore {
  func call(
    _ request: BrokerRequest.CallRequest, for requester: Requester, at time: BrokerTime,
    into effects: inout [BrokerEffect]
  ) throws(ClientError) {
    guard let host = host(of: request.method) else {
      throw .methodNotFound.saying("there is no method \"\(request.method.prefix(64))\"")
    }
    guard !request.caller.user.isEmpty else {
      throw .permissionDenied.saying("\(request.method) is for people; connect with a token that names a user")
    }
    let call = AppCall(
      method: request.method, data: request.data, caller: request.caller,
      source: source(of: request, requester), attestedPlace: request.attestedPlace,
      key: requester.key(of: configuration.instance))
    var decision: AppDecision
    do {
      decision = try host.app.call(call, AppLens(core: self, host: host, time: time, requester: requester))
    } catch {
      noteLimit(of: error, by: call.user)
      throw error
    }
    if let limit = decision.reached { note(limit, by: call.user) }
    if decision.answer == .later { return try putAside(request, for: requester, of: host) }
    if case .search(var search) = decision.answer {
      search.user = call.user
      decision.answer = .search(search)
    }
    try perform(decision, of: host, for: requester, at: time, into: &effects)
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
      counters.callsOverLimit += 1
      note(.callsPutAside, from: request.caller.user)
      throw .tooManyRequests.saying("the server waits for its disk; try again in a moment")
    }
    host.putAside.append((request, requester))
  }

  static let callsPutAside = 4096

  /// Runs the commands again that an app wanted to have run later (``AppDecision/Answer/later``).
  ///
  /// - Parameter error: why what they wait for will not come; nil: it is there.
  public func resume(
    _ app: String, error: ClientError? = nil, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    guard let host = apps[app] else { return }
    let calls = host.putAside
    host.putAside = []
    for (request, requester) in calls {
      do throws(ClientError) {
        if let error { throw error }
        try call(request, for: requester, at: time, into: &effects)
      } catch {
        refuse(.call(request), error, for: requester, isResync: false, at: time, into: &effects)
      }
    }
  }

  /// The app whose name stands before the method's first dot. ASCII, where equal text is equal bytes.
  func host(of method: String) -> AppHost? {
    hosts.first { method.hasPrefix($0.methodPrefix) }
  }

  /// The app that a channel belongs to, where it is switched on.
  func host(of options: ChannelOptions) -> AppHost? { options.app.flatMap { apps[$0.description] } }

  func host(of state: ChannelState) -> AppHost? { host(of: state.options) }

  /// What somebody may see of a channel, decided by its name alone: nothing is opened for who is refused. Channels of no
  /// app are their gateways' business.
  ///
  /// - Parameters:
  ///   - user: nil for services, and for gateways about themselves.
  ///   - isThere: is subscribed already, and asks only whether that may go on.
  func admit(
    _ user: String?, to channel: ChannelName, _ options: ChannelOptions, isThere: Bool = false, at time: BrokerTime
  ) throws(ClientError) -> TagFilter? {
    guard let name = options.app, let user else { return nil }
    guard let host = host(of: options) else {
      throw .notAvailable.saying("the app \"\(name)\" is switched off on this broker")
    }
    let admission = try host.app.admit(user, to: channel, AppLens(core: self, host: host, time: time))
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
    _ user: String, to name: ChannelName, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    // Also those that have named their members and are about to ask for what they missed.
    let gateways = links.sorted.filter { $0.state == .open && $0.channels.contains(name) }.map(\.gateway)
    guard let state = channels[name], !gateways.isEmpty else { return }
    var change = LinkAudience(channel: name, user: user, isAdmitted: false, audience: nil)
    do throws(ClientError) {
      change.audience = try admit(user, to: name, state.options, isThere: true, at: time)
      change.isAdmitted = true
    } catch {
      // Refused, or not to be found out now: either way nothing more may reach them.
    }
    broadcast(.audience(change), to: gateways, at: time, into: &effects)
  }

  // MARK: After a decision

  /// One of a decision's entries came back from the log.
  func advance(
    _ decision: PendingDecision, error: LogError?, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    decision.remaining -= 1
    if let error, decision.error == nil || decision.error == .notContiguous { decision.error = error }
    let host = decision.host
    // Decisions upon this one fail too; when the last is back, everything is read anew.
    if host.recordsState.sequencer.isIdle { settled(host, failed: error != nil, at: time, into: &effects) }
    guard decision.remaining == 0 else { return }
    if host.lastPending === decision { host.lastPending = nil }
    if let error = decision.error {
      counters.refused += 1
      host.timetable.forget()
      host.failures += 1
      host.lastFailure = error
      settle(decision.requester, .failed(clientError(for: error)), at: time, into: &effects)
      return answerWaiting(decision, at: time, into: &effects)
    }
    for (key, offset) in decision.records { host.records.settled(key, offset: offset) }
    decision.following.forEach { follow($0, of: host, at: time, into: &effects) }
    refresh(host, at: time, into: &effects)
    if let answer = decision.answer { settle(decision.requester, answer, at: time, into: &effects) }
    answerWaiting(decision, at: time, into: &effects)
  }

  /// Those who waited for a decision, and with it for all that were under way when they asked: the log answers for
  /// entries in the order in which it took them.
  private func answerWaiting(
    _ decision: PendingDecision, at time: BrokerTime, into effects: inout [BrokerEffect]
  ) {
    let host = decision.host
    for waiting in decision.waiting {
      if waiting.failures != host.failures, let error = host.lastFailure {
        settle(waiting.requester, .failed(clientError(for: error)), at: time, into: &effects)
        continue
      }
      switch waiting.answer {
      case .response(let response): settle(waiting.requester, response, at: time, into: &effects)
      case .search(let search): effects.append(.search(search, waiting.requester))
      }
    }
  }

  /// Nothing of the records is on its way to the disk any more.
  private func settled(_ host: AppHost, failed: Bool, at time: BrokerTime, into effects: inout [BrokerEffect]) {
    let admissions = host.doubtfulAdmissions.takeAll()
    if failed {
      host.records.forgetAll()
      for place in host.doubtful { refreshLater(place, of: host, at: time.monotonic) }
      for admission in admissions {
        readmit(admission.user.string, to: admission.channel, at: time, into: &effects)
      }
    }
    host.doubtful = []
  }

  func follow(_ effect: AppEffect, of host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]) {
    switch effect {
    case .refresh(let channel, let key, .soon):
      refreshLater(.init(channel: channel, key: key), of: host, at: time.monotonic)
    case .touch(let subject):
      host.refreshes.add(.init(channel: host.recordsState.name, key: subject), isWatched: true, now: time.monotonic)
    case .readmit(let user, let channel): readmit(user, to: channel, at: time, into: &effects)
    case .scrub:
      host.wantsScrub = true
      scrub(host, at: time)
    case .discardPictures(let pictures): discard(pictures, at: time, into: &effects)
    case .write, .erase, .publish, .edit, .refresh(_, _, .atomically): break  // In the transaction.
    }
  }

  /// Overwrites what was erased: at once, and where very much is, from time to time, because whoever writes or reads waits
  /// while the journal is cut.
  func scrub(_ host: AppHost, at time: BrokerTime) {
    guard host.wantsScrub, host.scrubTime <= time.monotonic else { return }
    host.wantsScrub = false
    host.scrubTime = time.monotonic + Self.scrubInterval
    disk.scrub()
  }

  private static let scrubInterval: Int64 = 1000

  /// Gateways hold the pictures; which of them holds one, nobody needs to know.
  func discard(_ pictures: [String], at time: BrokerTime, into effects: inout [BrokerEffect]) {
    let body = LinkBody.discard(LinkDiscard(pictures: pictures))
    for link in links.sorted where link.state == .open {
      send(body, to: link.gateway, at: time, into: &effects)
    }
  }

  // MARK: Lists

  /// Works out entries that are due. Bounded: the rest comes with the next turn (``wakeApps(at:into:)``).
  func refresh(_ host: AppHost, at time: BrokerTime, into effects: inout [BrokerEffect]) {
    while host.refreshesLeft > 0 {
      guard let place = host.refreshes.next(upTo: time.monotonic) else { return }
      host.refreshesLeft -= 1
      do throws(ClientError) {
        if place.channel == host.recordsState.name {
          let entries = try host.app.entries(
            showing: place.key.string, AppLens(core: self, host: host, time: time))
          for entry in entries {
            refreshLater(.init(channel: entry.channel, key: entry.key), of: host, at: time.monotonic)
          }
          continue
        }
        let state = try channel(place.channel, at: time)
        guard let publication = try publication(of: place.key.string, in: state, of: host, at: time) else { continue }
        let isSettled = host.recordsState.sequencer.isIdle
        if isSettled || state.options.durability != .durable {
          if !isSettled { host.doubtful.insert(place) }
          try append(publication, nil, edit: nil, of: state, for: .broker, at: time, into: &effects)
        } else {
          // It shows what is not on disk yet, and must fail with it.
          let decision = AppDecision([.refresh(place.channel, key: place.key.string, .atomically)])
          try perform(decision, of: host, for: .broker, at: time, into: &effects)
        }
      } catch {
        counters.refused += 1
        refreshLater(place, of: host, at: time.monotonic + Self.refreshAgain)
      }
    }
  }

  private func refreshLater(_ place: RefreshQueue.Place, of host: AppHost, at now: Int64) {
    // A list that is in memory alone, and that nobody has opened, is worked out when somebody does.
    if channels[place.channel] == nil, configuration.namespaces.options(for: place.channel)?.mapMode != .persistent {
      return
    }
    host.refreshes.add(place, isWatched: !(channels[place.channel]?.interest.isEmpty ?? true), now: now)
  }

  /// A gateway is the first to ask for a list.
  func watchBegins(_ state: ChannelState, at time: BrokerTime) {
    host(of: state)?.refreshes.hasten(state.name, now: time.monotonic)
  }

  static let refreshesPerTurn = 8
  /// Milliseconds until an entry is worked out again that could not be.
  static let refreshAgain: Int64 = 1000

  /// A change of a map channel did not get to the disk: what stands there is as it was, and still has to change.
  func changeFailed(_ publication: Publication, of state: ChannelState, at time: BrokerTime) {
    guard let map = state.map, let key = publication.change?.key else { return }
    if let entry = map.entry(key), let expires = entry.change?.expires, expires != .max {
      map.end(key, at: max(expires, time.wall + 1000))
      noteEnds(of: state)
    }
    if let host = host(of: state) {
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
    of key: String, in state: ChannelState, of host: AppHost, at time: BrokerTime
  ) throws(ClientError) -> Publication? {
    guard let map = state.map else { preconditionFailure("apps refresh map channels alone, not \(state.name)") }
    let entry = try host.app.entry(key, of: state.name, AppLens(core: self, host: host, time: time))
    let before = map.latest(key)
    // What is on its way to the disk may fail: then this must fail with it, and so is written in any case.
    let isUnderWay = map.isUnderWay(key)
    guard let offset = state.sequencer.peek() else { throw .draining }
    guard let entry else {
      if before == nil && !isUnderWay { return nil }
      return Publication(
        offset: offset, time: time.wall, data: Self.noData, tags: audienceTags(of: before),
        change: KeyChange(key: key, removed: true))
    }
    let change = KeyChange(key: key, score: entry.score, expires: entry.expires, kept: entry.kept)
    if let before, !isUnderWay, before.data == entry.data, before.change == change, before.tags == entry.tags {
      return nil
    }
    return Publication(offset: offset, time: time.wall, data: entry.data, tags: entry.tags, change: change)
  }

  /// Whoever could not see an entry must not hear that it goes.
  func audienceTags(of entry: Publication?) -> [String: String] {
    guard let entry, !entry.tags.isEmpty else { return [:] }
    return entry.tags.filter { Publication.audienceTags.contains($0.key) }
  }

  /// A list that the broker opens for the first time may have missed what was to be worked out when the last broker
  /// was killed; one that is in memory alone is empty each time.
  func refreshOpened(_ state: ChannelState, at time: BrokerTime) {
    guard let host = host(of: state), let map = state.map else { return }
    var keys: [String] = []
    if state.options.mapMode != .persistent {
      // What cannot be found out now is, with the next change.
      keys = (try? host.app.keys(of: state.name, AppLens(core: self, host: host, time: time))) ?? []
    } else if refreshedLists.insert(state.name) {
      keys = Array(map.keys)
    }
    for key in keys { refreshLater(.init(channel: state.name, key: key), of: host, at: time.monotonic) }
  }
}
