import Wire

/// Inspections that go through an event loop's sessions and channels: some in each of its passes, as ``SurveyWalks``.
///
/// States of a walk: channels (of `top` alone) → sessions → told. What came or went meanwhile may be missing or counted.
struct InspectionWalks {
  private struct Walk {
    let survey: LoopSurvey
    /// The place of the next channel (``Hub/channel(at:)``); nil: channels are not asked for, or all were looked at.
    var place: Int?
    var sessions: ArraySlice<UInt64> = []
    var found = LoopInspection()
    /// Milliseconds since `top` was asked before, for its rates.
    var elapsed: Int64 = 1
  }

  /// Sessions or channels that are looked at in one pass, which takes less than a tenth of a millisecond: a console that is
  /// open asks every few seconds, so a long pass would show in everybody's p99 (`benchmarks/measure console`).
  static let step = 250
  /// Most connections that one event loop tells of.
  static let mostClients = 50
  /// Most subscriptions of each that are listed: of one client, and of one of a user's clients.
  static let mostSubscriptions = (ofClient: 1000, ofUsers: 50)

  /// Oldest first. No more than the link lets in (``GatewayLink/mostSurveys``).
  private var walks: [Walk] = []
  /// When `top` was asked last, in monotonic milliseconds.
  private var lastLook: Int64?

  var isEmpty: Bool { walks.isEmpty }

  /// - Parameter sessions: the connections of this event loop.
  mutating func begin(
    _ survey: LoopSurvey, sessions: @autoclosure () -> [UInt64], in hub: Hub, at now: Int64, startedAt: Int64
  ) {
    var walk = Walk(survey: survey)
    switch survey.survey {
    case .counts, .channels, .coverage: preconditionFailure("others answer counts, channels and coverage")
    case .inspect(let request):
      if case .channel(let channel) = request.subject {
        walk.found.channel = hub.report(on: channel)
      } else {
        walk.sessions = sessions()[...]
      }
    case .top:
      walk.elapsed = max(1, now - (lastLook ?? startedAt))
      lastLook = now
      walk.place = 0
      walk.sessions = sessions()[...]
    }
    walks.append(walk)
  }

  /// Goes on with the oldest walk.
  ///
  /// - Parameter session: a connection that is still there.
  /// - Returns: whether anything is left to do in the next pass.
  mutating func goOn(
    in hub: Hub, rules: SessionRules, at time: SessionTime, software: (SessionDriver) -> String,
    session: (UInt64) -> SessionDriver?
  ) -> Bool {
    guard !walks.isEmpty else { return false }
    if let place = walks[0].place {
      lookAtChannels(from: place, in: hub)
    } else {
      for id in walks[0].sessions.prefix(Self.step) {
        guard let driver = session(id), driver.isSignedIn else { continue }
        look(at: driver, rules, in: hub, at: time, software)
      }
      walks[0].sessions = walks[0].sessions.dropFirst(Self.step)
    }
    if walks[0].place == nil && walks[0].sessions.isEmpty {
      let walk = walks.removeFirst()
      walk.survey.add(.inspected(walk.found))
    }
    return !walks.isEmpty
  }

  private mutating func lookAtChannels(from place: Int, in hub: Hub) {
    for next in place..<place + Self.step {
      guard let channel = hub.channel(at: next) else {
        walks[0].place = nil
        return
      }
      look(at: channel, in: hub)
    }
    walks[0].place = place + Self.step
  }

  private mutating func look(at channel: ChannelName, in hub: Hub) {
    let (clients, bytes) = hub.takeTraffic(on: channel)
    guard clients > 0 else { return }
    let (perSecond, overflow) = bytes.multipliedReportingOverflow(by: 1000)
    walks[0].found.top.note(
      .init(
        channel, subscribers: UInt64(clients),
        bytesPerSecond: (overflow ? .max : perSecond) / UInt64(walks[0].elapsed)))
  }

  private mutating func look(
    at driver: SessionDriver, _ rules: SessionRules, in hub: Hub, at time: SessionTime,
    _ software: (SessionDriver) -> String
  ) {
    guard case .inspect(let request) = walks[0].survey.survey else { return addToTop(driver) }
    switch request.subject {
    case .channel: break
    case .user(let user):
      if driver.user.hasSameBytes(as: user) {
        add(driver, request, most: Self.mostSubscriptions.ofUsers, in: hub, at: time, software(driver))
      }
    case .client(let client):
      if driver.client.hasSameBytes(as: client) {
        add(driver, request, most: Self.mostSubscriptions.ofClient, in: hub, at: time, software(driver))
      }
    case .access(let user, let action, let channel):
      guard driver.user.hasSameBytes(as: user), let options = rules.namespaces.options(for: channel) else { return }
      let subscriptions = driver.session.subscriptions
      let access = rules.access(to: channel, options, user: user) { subscriptions[$0]?.isLive ?? false }
      walks[0].found.count(
        AccessTally(verdict: access.verdict(on: action), isSubscribed: access.isSubscribed, connections: 1))
    }
  }

  private mutating func add(
    _ driver: SessionDriver, _ request: InspectRequest, most: Int, in hub: Hub, at time: SessionTime, _ software: String
  ) {
    guard walks[0].found.clients.count < Self.mostClients else {
      walks[0].found.leftOut += 1
      return
    }
    walks[0].found.clients.append(driver.report(request, most: most, software: software, in: hub, at: time))
  }

  private mutating func addToTop(_ driver: SessionDriver) {
    let waitingBytes = UInt64(clamping: driver.outlet.unaskedBytes)
    let subscriptions = UInt64(driver.session.subscriptions.count)
    let isSlow = walks[0].found.top.isSlow(waitingBytes, driver.client)
    let isBusy = walks[0].found.top.isBusy(subscriptions, driver.client)
    // Nearly all of ten thousand clients are neither, and their names and addresses are not copied.
    guard isSlow || isBusy else { return }
    let client = TopFindings.Client(
      client: driver.client, user: driver.user, address: driver.address, waitingBytes: waitingBytes,
      subscriptions: subscriptions)
    if isSlow { walks[0].found.top.note(slow: client) }
    if isBusy { walks[0].found.top.note(busy: client) }
  }
}

/// The names and versions that SDKs give themselves, each once for all connections of an event loop that give it.
struct SoftwareNames {
  /// Most different names; connections with others are shown without one.
  private static let most = 256
  /// In bytes: clients choose them.
  private static let longest = 48

  private var names: [String] = [""]
  private var numbers: [String: UInt16] = ["": 0]

  subscript(number: UInt16) -> String { names.indices.contains(Int(number)) ? names[Int(number)] : "" }

  /// The number of a name; 0: it gets none.
  mutating func number(of name: String, _ version: String) -> UInt16 {
    let text = (version.isEmpty ? name : "\(name) \(version)").beginning(bytes: Self.longest)
    if let known = numbers[text] { return known }
    guard names.count < Self.most else { return 0 }
    let number = UInt16(names.count)
    names.append(text)
    numbers[text] = number
    return number
  }
}
