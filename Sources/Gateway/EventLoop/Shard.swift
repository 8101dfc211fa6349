import Auth
import DequeModule
import Metrics
import NIOCore
import Wire
import ZeroMQ

/// One event loop's part of the gateway: its sessions, its part of the hub, and its way to the broker.
final class Shard: SessionHost {
  let loopIndex: Int
  let verifier: any TokenVerifier
  let revocations: Revocations
  let otherVerifier: any TokenVerifier
  /// The accounts of users, shared with the other event loops; nil: users are not counted.
  private let accounts: UserAccounts?
  /// Who is signed in, on all event loops.
  private let census: ClientCensus
  private let refusals: Refusals?
  private let audit: Audit
  let checkExecutor: (any TaskExecutor)?
  let rules: SessionRules
  let proxies: ProxyCalls?
  private let uplink: Mailbox<UplinkMessage>
  let hub: Hub
  let fanOut: FanOut
  private let load: ShardLoad
  /// The budget of all that waits; nil where a test needs none.
  private let egress: EgressShare?
  private let clock: @Sendable () -> SessionTime
  var randomness: any RandomNumberGenerator
  private(set) var sessions: [UInt64: SessionDriver] = [:]
  /// Reads that may be answered with much, and so wait until there is room for the answer.
  var reads: ReadAdmission
  private let costs: ReadCosts
  private let requestTimeout: Int64
  private let signInRefusals = SignInRefusals()
  private let deferredReads = Counter(label: "fanfare_gateway_reads_deferred_total")
  /// Sessions whose commands are read later because the broker is behind, or the backbone thread.
  private var heldDrivers: [UInt64: SessionDriver] = [:]
  private var isHolding = false
  private var account: RequestAccount
  /// Where the backbone hands over. Nil until the gateway is put together, and where a test does without.
  var inbox: ShardMailbox?
  /// Shared polls; nil: there are none.
  var polls: SharedPollService?
  /// Publications of shared polls that some clients have still to be sent.
  var polledPushes: Deque<PolledPush> = []
  /// The gateway's own requests, whose answers come here; set on the first event loop alone.
  var calls: GatewayCalls?
  /// Sessions whose replies wait for the end of the hand-over.
  private var answered: [SessionDriver] = []
  /// Where records for the file of intervals go; nil: none is kept.
  var coverage: CoverageSink?
  var coverageMarks = CoverageMarks()
  /// Surveys for which channels are still to be looked at.
  private var walks = SurveyWalks()
  private var inspections = InspectionWalks()
  /// For those who sign in, and for those who leave.
  let entrance = Turnstile(), exit = Turnstile()
  /// When clients here last got a publication, published, or called an app, in monotonic milliseconds.
  private(set) var servedAt: Int64
  /// What the clients' SDKs call themselves.
  private var softwareNames = SoftwareNames()
  /// When the shard was made, in monotonic milliseconds.
  private let startedAt: Int64
  /// How far the server is with its end.
  var drain = Drain.serving
  var onEmpty: (() -> Void)?
  /// Which publications are measured.
  var hops = ShardHops()
  /// Requests posted since the backbone thread was last woken.
  private var quietRequests = 0
  private var willWake = false
  /// Runs its argument when the event loop has worked off the sockets that it found ready.
  let atTurnsEnd: (@escaping () -> Void) -> Void
  /// After so many requests the backbone thread is woken: a long burst is begun before it is all read.
  private static let mostQuietRequests = 64
  #if MUTATIONS
    var mutation: GatewayMutation? {
      didSet {
        hub.mutation = mutation
        fanOut.mutation = mutation
        reads.mutation = mutation
      }
    }
  #endif

  /// - Parameters:
  ///   - checkExecutor: where tokens are checked; nil: on the threads that all tasks share.
  ///   - randomness: for the ids of clients, the delays of their first pings, and their slots when the server ends.
  init(
    loopIndex: Int, verifier: any TokenVerifier, otherVerifier: (any TokenVerifier)? = nil,
    revocations: Revocations = Revocations(), accounts: UserAccounts? = nil, census: ClientCensus = ClientCensus(),
    refusals: Refusals? = nil, audit: Audit = .none, rules: SessionRules, proxies: ProxyCalls? = nil,
    uplink: Mailbox<UplinkMessage>,
    windowBytes: Int,
    reads: ReadAdmission.Limits, requestTimeout: Int64, load: ShardLoad, fanOut: FanOut, egress: EgressShare? = nil,
    checkExecutor: (any TaskExecutor)? = nil,
    randomness: any RandomNumberGenerator = SystemRandomNumberGenerator(),
    clock: @escaping @Sendable () -> SessionTime, atTurnsEnd: @escaping (@escaping () -> Void) -> Void
  ) {
    self.checkExecutor = checkExecutor
    self.audit = audit
    self.randomness = randomness
    self.egress = egress
    self.reads = ReadAdmission(limits: reads)
    self.requestTimeout = requestTimeout
    costs = ReadCosts(rules)
    self.loopIndex = loopIndex
    self.verifier = verifier
    self.revocations = revocations
    self.otherVerifier = otherVerifier ?? verifier
    self.accounts = accounts
    self.census = census
    self.refusals = refusals
    self.rules = rules
    self.proxies = proxies
    self.uplink = uplink
    account = RequestAccount(window: windowBytes)
    self.clock = clock
    startedAt = clock().monotonic
    servedAt = startedAt - Self.rest
    self.load = load
    self.fanOut = fanOut
    self.atTurnsEnd = atTurnsEnd
    hub = Hub(
      fanOut: fanOut, namespaces: rules.namespaces, tallies: load.tallies,
      filters: ChannelFilters(most: rules.configuration.maximumFiltersPerChannel))
  }

  var time: SessionTime { clock() }

  // MARK: Sessions

  /// A client's connection is open: from here on a session decides for it.
  func open(_ transport: any SessionTransport) -> SessionDriver {
    let identity = SessionIdentity(client: randomIdentifier(), session: randomIdentifier())
    let interval = rules.configuration.pingIntervalMilliseconds
    let driver = SessionDriver(
      transport: transport, host: self, rules: rules, identity: identity,
      firstPingDelayMilliseconds: Int64.random(in: (interval / 2)...interval, using: &randomness))
    sessions[driver.id] = driver
    if !driver.form.isPlain { load.packedClients.add(1) }
    driver.opened()
    leaveIfDraining(driver)
    return driver
  }

  func sessionEnded(_ driver: SessionDriver) {
    sessions[driver.id] = nil
    if !driver.form.isPlain { load.packedClients.add(-1) }
    heldDrivers[driver.id] = nil
    _ = reads.ended(driver.id)
    guard sessions.isEmpty else { return }
    endRamp()
    onEmpty?()
  }

  func openAccount(of user: String) -> AccountOpening {
    guard let accounts else { return .none }
    return accounts.open(user).map { .opened($0) } ?? .full
  }

  func closeAccount(_ account: UserAccount) { accounts?.close(account) }

  func signedIn(_ driver: SessionDriver) { census.entered(driver.user) }

  func note(_ cause: RefusalCause, from driver: SessionDriver) {
    refusals?.note(cause, from: driver.user.isEmpty ? driver.address : "\(driver.address) \(driver.user)")
  }

  func signInRefused(_ cause: SignInRefusal?, _ reason: String, user: String, _ driver: SessionDriver) {
    if let cause { signInRefusals.count(cause) }
    var fields = ["cause": reason, "address": driver.address]
    if !user.isEmpty { fields["user"] = user }
    audit.note(.signInRefused, fields)
  }

  // MARK: To the broker

  func request(_ request: BrokerRequest, tag: UInt64, terms: SubscribeTerms?, from driver: SessionDriver) {
    let most = costs.most(for: request)
    if most == nil, !reads.isWaiting(driver.id) || request.neverWaits {
      return post(request, tag: tag, terms: terms, from: driver)
    }
    if most != nil { setPace() }
    var ask = ReadAdmission.Ask(
      request: request, tag: tag, terms: terms, cost: most ?? 0, askedAt: time.monotonic)
    if let most, request.answerLimit != nil {
      let bytes = min(most, reads.limits.small)
      if bytes < most { ask.wholeCost = most }
      ask.cost = bytes
      ask.request = request.limited(to: AnswerLimit(bytes: UInt32(clamping: bytes), isTry: bytes < most))
    }
    guard reads.ask(ask, of: driver.id, isBehind: driver.isBehind) else {
      return driver.brokerAnswered(
        tag: tag, .failed(.tooManyRequests.saying("too many reads wait on this server; try again in a moment")))
    }
    askNext()
    guard reads.isWaiting(driver.id) else { return }
    deferredReads.increment()
    driver.holdInput(true)
  }

  /// Sends the reads for which there is room to the broker.
  func askNext() {
    while let (connection, ask) = reads.next() {
      guard let driver = sessions[connection], driver.phase != .closed else {
        reads.answered(ask.tag, of: connection, isBehind: false)
        sessions[connection]?.brokerAnswered(tag: ask.tag, .failed(.internalError))
        continue
      }
      post(ask.request, tag: ask.tag, terms: ask.terms, from: driver)
      if !reads.isWaiting(connection) { driver.holdInput(heldDrivers[connection] != nil) }
    }
    if reads.awaitsLook { fanOut.requestTurn() }
  }

  /// Answers reads that have waited here longer than `requestTimeout` with an error. They are looked for when answers
  /// come, because a read that waits, waits for the answer to another.
  private func giveUpReads() {
    guard reads.waitingCount > 0 else { return }
    for (connection, ask) in reads.expired(before: time.monotonic - requestTimeout) {
      let error = ClientError.internalError.saying("other reads of this connection took too long; try again later")
      guard let driver = sessions[connection] else { continue }
      driver.brokerAnswered(tag: ask.tag, .failed(error))
      if !reads.isWaiting(connection) { driver.holdInput(heldDrivers[connection] != nil) }
    }
  }

  private func answer(_ connection: UInt64, _ tag: UInt64, _ response: BrokerResponse) {
    if connection == GatewayCalls.connection {
      calls?.answered(tag: tag, response)
      return
    }
    if case .tooLarge = response, reads.isTooLarge(tag, of: connection) {
      hub.filters.end(connection: connection, tag: tag)
      return
    }
    let driver = sessions[connection]
    if let driver, driver.takeAnswer(tag: tag, response) { answered.append(driver) }
    // After the session took the answer: by now it has its seat on the channel, or never will.
    hub.filters.end(connection: connection, tag: tag)
    reads.answered(tag, of: connection, isBehind: driver?.isBehind ?? false)
  }

  private func post(_ request: BrokerRequest, tag: UInt64, terms: SubscribeTerms?, from driver: SessionDriver) {
    let source = RequestSource(loop: loopIndex, connection: driver.id, tag: tag)
    if let filter = terms?.filter, case .subscribe(let subscribe) = request {
      guard hub.filters.begin(source, subscribe.channel, filter) else {
        note(.channelFilters, from: driver)
        reads.answered(tag, of: driver.id, isBehind: false)
        return driver.brokerAnswered(tag: tag, .failed(hub.filters.refusal))
      }
    }
    if request.isMeasured {
      servedAt = time.monotonic
      if hops.isDue(), let trace = hops.begin(request) {
        // Refused only where the backbone thread has ended: then it is not measured.
        _ = uplink.post(.measured(source, trace), cost: 0, wakes: false)
      }
    }
    let message = UplinkMessage.request(
      GatewayRequest(
        source: source, format: driver.format, request: request, isFiltered: terms?.filter != nil,
        hasDelta: terms?.hasDelta ?? false))
    var cost = 256 + request.payloadBytes
    if request.neverWaits {
      // Always taken: a broker that is never told of an unsubscribe believes in a subscriber who is gone.
      cost = 0
    } else if isHolding || account.isOverdrawn {
      pauseInput(of: driver)
    }
    if uplink.post(message, cost: cost, wakes: false) {
      if account.post(cost) { mark(wakes: false) }
    } else {
      // The backbone thread is behind by more than all windows together. What was read is taken all the same: it is one
      // request of each client at most, for whoever asks now is read later.
      guard uplink.post(message, cost: 0, wakes: true) else {
        hub.filters.end(connection: driver.id, tag: tag)
        reads.answered(tag, of: driver.id, isBehind: false)
        return driver.brokerAnswered(tag: tag, .failed(.internalError.saying("the server ends; connect again")))
      }
      pauseInput(of: driver)
      if account.refused() { mark(wakes: true) }
    }
    quietRequests += 1
    if quietRequests >= Self.mostQuietRequests { wakeBackbone() }
  }

  func frameRead() { hops.frameRead() }
  func beginBackendCall(_ question: ProxyQuestion) -> BackendCallTrace? { hops.askBackend(question) }

  func resume(_ call: BackendCallTrace, _ goOn: () -> Void) {
    hops.resume(call)
    goOn()
    hops.endResumed()
  }

  /// Posts a mark, without cost: the mailbox refuses it only where the backbone thread has ended, and then everything
  /// that is held ends as well.
  private func mark(wakes: Bool) { _ = uplink.post(.mark(loop: loopIndex), cost: 0, wakes: wakes) }

  /// Sockets that became readable together are all read first: where the backbone thread has to share a processor with
  /// this one, each wake-up stops the reading.
  func requestsComplete() {
    guard quietRequests > 0 && !willWake else { return }
    willWake = true
    atTurnsEnd { [self] in
      willWake = false
      runBackbone()
    }
  }

  /// Runs what was posted: where the broker is in this process and its turn is free, requests go there and answers come
  /// back on this very thread.
  private func runBackbone() {
    guard quietRequests > 0 else { return }
    quietRequests = 0
    inbox?.willTake()
    uplink.run()
    inbox?.take()
  }

  private func wakeBackbone() {
    guard quietRequests > 0 else { return }
    quietRequests = 0
    uplink.wake()
  }

  /// Backpressure reaches the client that asks: its socket is read later, so its own sends begin to wait.
  private func pauseInput(of driver: SessionDriver) {
    guard heldDrivers.updateValue(driver, forKey: driver.id) == nil else { return }
    driver.holdInput(true)
  }

  // MARK: From the broker

  /// Carries out what the backbone thread has handed over, in order.
  func carryOut(_ batch: [Handover]) {
    if batch.contains(where: \.isPublication) { servedAt = time.monotonic }
    for handover in batch {
      switch handover {
      case .frames(let channel, let frames): hub.deliver(frames, on: channel)
      case .answer(let connection, let tag, let response): answer(connection, tag, response)
      case .refusal(let connection, let tag, let cause, let error):
        if let driver = sessions[connection] { note(cause, from: driver) }
        answer(connection, tag, .failed(error))
      case .filteredFrames(let channel, let frames, let publication):
        hub.deliver(frames, of: publication, on: channel)
      case .presenceFrames(let channel, let frames, let member):
        hub.deliverPresence(frames, of: member, on: channel)
      case .measured(let channel, let mark): hub.watch(mark, on: channel)
      case .audience(let change): changeAudience(change)
      case .lost(let channel): hub.lose(channel)
      case .polled(let push): self.push(push)
      case .pollRestarted(let channel, let subscribers): restartPolls(channel, of: subscribers)
      case .sessionOrder(let id, let order):
        carryOut(order)
        confirm(id)
      case .revoked(let id, let tokens):
        if !tokens.isEmpty { for driver in Array(sessions.values) { driver.revoke(tokens) } }
        confirm(id)
      case .survey(let survey): begin(survey)
      case .holdClients(let hold):
        isHolding = hold
        releaseClients()
      case .requestsTaken:
        // The mark wakes the backbone thread: all clients may be held, so that nothing else would.
        if account.taken() { mark(wakes: true) }
        releaseClients()
      }
    }
    giveUpReads()
    askNext()
    // A slice for each hand-over would let those that wait in line have all of the event loop between two looks at its
    // sockets, and would send each alone what could go out together.
    if !fanOut.awaitsTurn { runSlice() }
    // Publications first: who published waits for an answer, others wait for what was published.
    for driver in answered { driver.flushReplies() }
    answered.removeAll(keepingCapacity: true)
  }

  /// Sends what stands on the tapes, for as long as a slice lasts.
  func runSlice() {
    wakeBackbone()
    fanOut.runSlice()
    load.report(backlogBytes: fanOut.backlogBytes)
    egress?.tapesKeep(fanOut.keptBytes)
    if walks.goOn(in: hub) { fanOut.requestTurn() }
    if inspections.isEmpty { return }
    let isInspecting = inspections.goOn(
      in: hub, rules: rules, at: time, software: { softwareNames[$0.software] }, session: { sessions[$0] })
    if isInspecting { fanOut.requestTurn() }
  }

  private func begin(_ survey: LoopSurvey) {
    switch survey.survey {
    case .counts, .channels: walks.begin(survey, in: hub)
    case .coverage(let query): survey.add(.coverage(liveCoverage(of: query)))
    case .inspect, .top:
      inspections.begin(
        survey, sessions: Array(sessions.keys), in: hub, at: time.monotonic, startedAt: startedAt)
    }
  }

  func softwareNumber(of name: String, _ version: String) -> UInt16 { softwareNames.number(of: name, version) }

  /// The connection took what had waited for it: what waits on tapes goes out now.
  func drained(_ driver: SessionDriver) {
    fanOut.catchUp(driver.outlet)
    egress?.tapesKeep(fanOut.keptBytes)
    relieved(driver)
  }

  /// The connection has taken most of the answers that it got, so it may have more: its reads that wait may go.
  func relieved(_ driver: SessionDriver) {
    reads.drained(driver.id)
    askNext()
    wakeBackbone()
  }

  /// The connection is gone: its requests that still wait here are answered with an error, because nobody waits for
  /// them.
  func closed(_ driver: SessionDriver) {
    if driver.isSignedIn { census.left(driver.user) }
    for ask in reads.ended(driver.id) { driver.brokerAnswered(tag: ask.tag, .failed(.internalError)) }
  }

  private func releaseClients() {
    guard !isHolding && account.mayGoOn else { return }
    let held = heldDrivers
    heldDrivers = [:]
    // In the order of their connections, so that a simulation can be replayed.
    for (id, driver) in held.sorted(by: { $0.key < $1.key }) { driver.holdInput(reads.isWaiting(id)) }
  }

  // MARK: Orders

  /// Confirms an order, without cost: the mailbox refuses it only where the backbone thread has ended, and whoever
  /// waits for it as well.
  private func confirm(_ order: OrderNumber) {
    if order.id != 0 { _ = uplink.post(.obeyed(order), cost: 0, wakes: true) }
  }

  // MARK: The hub

  func attach(_ driver: SessionDriver, to channel: ChannelName, _ flags: HubFlags, _ filters: HubFilters) {
    hub.attach(driver, to: channel, flags, filter: filters.own, audience: filters.audience)
  }

  func detach(_ driver: SessionDriver, from channel: ChannelName) {
    hub.detach(driver, from: channel)
    egress?.tapesKeep(fanOut.keptBytes)
  }
  func releaseHeld(for driver: SessionDriver) { hub.releaseHeld(for: driver) }
  func discardHeld(for driver: SessionDriver) { hub.discardHeld(for: driver) }

  /// 128 random bits as a UUID's text: unique over all gateways without asking any.
  private func randomIdentifier() -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for word in 0..<2 {
      var bits = randomness.next()
      for place in 0..<16 {
        if [(0, 8), (0, 12), (1, 0), (1, 4)].contains(where: { $0 == (word, place) }) {
          text.append(UInt8(ascii: "-"))
        }
        text.append(digits[Int(bits & 15)])
        bits >>= 4
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension BrokerRequest {
  /// Whether this is an unsubscribe, which never waits: a broker that is not told believes in a subscriber who is gone.
  /// Nothing of the same subscription can be waiting, for a session ends no subscription before its answer. What is
  /// told for webhooks does not wait either: the session may end before a read is answered.
  fileprivate var neverWaits: Bool {
    switch self {
    case .unsubscribe, .report: true
    default: false
    }
  }
}

extension SessionDriver {
  /// Whether so much of what the client asked for waits for its socket that it gets no more answers for now.
  fileprivate var isBehind: Bool { outlet.isFull }
}
