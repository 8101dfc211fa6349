public import Auth
public import Logging
import CLinuxIO
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TLS
public import Telemetry
public import Wire
public import ZeroMQ

#if canImport(Glibc)
  import Glibc
#endif

/// What a gateway is told at its start.
public struct GatewayConfiguration: Sendable {
  public var listener: ListenerConfiguration
  public var session: SessionConfiguration
  public var namespaces: NamespaceTable
  /// Nil: no pictures are taken in.
  public var pictures: PictureConfiguration?
  /// Nil: the backend is asked nothing.
  public var proxies: ProxyConfiguration?
  /// Nil: there are no shared polls.
  public var sharedPolls: SharedPollConfiguration?
  /// Seconds since 1970, by which tokens end.
  public var wallClock: @Sendable () -> Int64 = {
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    return Int64(wall.tv_sec)
  }
  /// Threads for clients; 0: one for each core but one, which the backbone thread has.
  public var eventLoops: Int
  /// Milliseconds between two heartbeats to the broker.
  public var heartbeatInterval: Int64
  /// Milliseconds after which a command that the broker did not answer fails.
  public var requestTimeout: Int64
  /// Bytes under way to the broker before client sockets are read later.
  public var uplinkWindowBytes: Int
  /// Bytes of answers to one client's reads that may be under way; more reads wait.
  public var clientReadWindowBytes: Int
  /// Bytes of answers to all clients' reads together that may be under way: each event loop has its part.
  public var readWindowBytes: Int
  /// Subscribers of one channel on this gateway; one more gets error 106. 0: any number.
  public var maximumSubscribersPerChannel: Int
  /// What must be proved later, such as sign-ins that were refused.
  public var audit = Audit.none
  /// Where a setting of a namespace was given, by its key: for whoever asks why somebody may do something.
  public var settingOrigin: @Sendable (_ key: String) -> String = { _ in "" }
  /// Whether sends go through io_uring where the kernel allows it.
  public var usesIOURing: Bool
  /// Where records of subscriptions go; nil: none are kept.
  public var coverage: CoverageSink?
  /// Partitions that the log has: the gateway follows the broker of each.
  public var partitions = 1
  /// The id of two people's conversation of Clique (``Partitioning``); nil: Clique is not shared among partitions.
  public var conversation: (@Sendable (String, String) -> String)?
  /// False where only services ask by way of this gateway, which never listens then.
  public var hasClients = true
  /// Takes note of publications that are measured; nil: none is.
  public var measuring: HopRecorder?
  /// Which publications each event loop has measured.
  public var sampler = HopSampler.off
  /// Nil: the demo is off.
  public var demo: DemoConfiguration?

  public init(
    listener: ListenerConfiguration, session: SessionConfiguration, namespaces: NamespaceTable, eventLoops: Int,
    heartbeatInterval: Int64, requestTimeout: Int64, uplinkWindowBytes: Int, clientReadWindowBytes: Int,
    readWindowBytes: Int, maximumSubscribersPerChannel: Int, usesIOURing: Bool
  ) {
    self.listener = listener
    self.session = session
    self.namespaces = namespaces
    self.eventLoops = eventLoops
    self.heartbeatInterval = heartbeatInterval
    self.requestTimeout = requestTimeout
    self.uplinkWindowBytes = uplinkWindowBytes
    self.clientReadWindowBytes = clientReadWindowBytes
    self.readWindowBytes = readWindowBytes
    self.maximumSubscribersPerChannel = maximumSubscribersPerChannel
    self.usesIOURing = usesIOURing
  }
}

/// A gateway: event loops with their shards, the link to the broker, and the public port.
///
/// Life: make it, give ``makeLink(over:loop:)`` to the backbone thread, ``listen()``, ``stop(_:)``.
public final class GatewayServer: Sendable {
  private let configuration: GatewayConfiguration
  /// The gateway's identity on the link, drawn when it starts.
  public let gateway = UInt64.random(in: .min ... .max)
  private let rules: SessionRules
  private let group: MultiThreadedEventLoopGroup
  private let eventLoops: [any EventLoop]
  private let shards: [NIOLoopBound<Shard>]
  private let mailboxes: [ShardMailbox]
  private let uplink: Mailbox<UplinkMessage>
  private let logger: Logger
  private let listener = NIOLockedValueBox<Listener?>(nil)
  private let egress: EgressBudget
  private let isLinked = NIOLockedValueBox(false)
  private let certificates: CertificateReloader?
  private let pictures: PictureService?
  private let demo: DemoService?
  private let proxies: ProxyCalls?
  private let polls: SharedPollService?
  private let revocations: Revocations
  private let calls: GatewayCalls
  private let end: GatewayEnd
  private let refusals: Refusals
  private let census = ClientCensus()
  private let startedAt = Int64(MonotonicClock.now() / 1_000_000)

  public init(_ configuration: GatewayConfiguration, verifier: any TokenVerifier, logger: Logger) async throws {
    self.configuration = configuration
    self.logger = logger
    let revocations = Revocations(partitions: configuration.partitions)
    let refusals = Refusals(logger: logger)
    self.refusals = refusals
    let verifier = RevocationVerifier(verifier: verifier, revocations: revocations, refusals: refusals)
    self.revocations = revocations
    let (rules, proxies) = Self.rules(configuration, logger: logger)
    let count = Self.loopCount(configuration.eventLoops)
    // Each event loop posts a window before it stops reading; the rest is for what it has read by then.
    let uplink = Mailbox<UplinkMessage>(capacity: (2 + 2 * count) * configuration.uplinkWindowBytes)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: count)
    let eventLoops = Array(group.makeIterator().map { $0 as any EventLoop })
    let (queueLimit, usesIOURing) = (configuration.listener.queueLimitBytes, configuration.usesIOURing)
    let gate = TokenGate(verifier, width: System.coreCount)
    let (accounts, census) = (Self.accounts(configuration.session), self.census)
    let loads = ShardLoad.loads(of: count, uplink)
    let egress = EgressBudget(
      limitBytes: configuration.listener.egressLimitBytes, eventLoops: eventLoops, refusals: refusals)
    var shards: [NIOLoopBound<Shard>] = []
    var rings = 0
    for (index, eventLoop) in eventLoops.enumerated() {
      let (shard, usesRing) = try await eventLoop.submit {
        let fanOut = FanOut(limits: .init(queueBytes: queueLimit), ring: usesIOURing ? SendRing() : nil)
        let shard = Shard(
          loopIndex: index, verifier: gate.connects, otherVerifier: gate.others, revocations: revocations,
          accounts: accounts, census: census, refusals: refusals, audit: configuration.audit, rules: rules,
          proxies: proxies, uplink: uplink, windowBytes: configuration.uplinkWindowBytes,
          reads: .init(
            connection: configuration.clientReadWindowBytes, loop: configuration.readWindowBytes / count),
          requestTimeout: configuration.requestTimeout, load: loads[index], fanOut: fanOut, egress: egress[index],
          clock: Self.clock(configuration.wallClock), atTurnsEnd: { eventLoop.assumeIsolated().execute($0) })
        let turn = EventLoopPass(on: eventLoop) { [weak shard] in shard?.passed() }
        fanOut.requestTurn = { turn.arm() }
        shard.paceVisitors()
        fanOut.isOtherWorkWaiting = { loads[index].isHandoverWaiting || turn.isOtherWorkWaiting }
        return (NIOLoopBound(shard, eventLoop: eventLoop), fanOut.usesRing)
      }.get()
      shards.append(shard)
      if usesRing { rings += 1 }
    }
    logger.info(
      "fan-out: \(Self.describeSends(rings: rings, of: count, asked: usesIOURing))",
      metadata: ["event_loops": "\(count)"])
    let calls = GatewayCalls(uplink: uplink)
    try await eventLoops[0].submit { [shard = shards[0]] in shard.value.calls = calls }.get()
    pictures = try configuration.pictures.map { (pictures) throws(ListenerError) in
      try PictureService(pictures, verifier: gate.others, broker: calls.pictureBroker) { logger.warning("\($0)") }
    }
    demo = try Self.demo(configuration.demo, calls, revocations, on: eventLoops, shards)
    (self.rules, self.proxies, self.calls) = (rules, proxies, calls)
    (self.egress, self.group, self.uplink) = (egress, group, uplink)
    (self.eventLoops, self.shards) = (eventLoops, shards)
    end = GatewayEnd(shards, on: eventLoops, logger: logger)
    mailboxes = eventLoops.indices.map {
      ShardMailbox(eventLoop: eventLoops[$0], shard: shards[$0], load: loads[$0])
    }
    polls = Self.polls(configuration, proxies, logger: logger)
    certificates = configuration.listener.tls.map { CertificateReloader($0, logger: logger) }
    try await startUp()
  }

  /// What sessions go by, and their way to the backend where there is one.
  private static func rules(_ configuration: GatewayConfiguration, logger: Logger) -> (SessionRules, ProxyCalls?) {
    var session = configuration.session
    session.keepsCoverage = configuration.coverage != nil
    // A number of its own: that by which the link knows the gateway is none of the clients' business.
    if session.node.isEmpty { session.node = String(UInt64.random(in: .min ... .max), radix: 16) }
    let rules = SessionRules(
      session, namespaces: configuration.namespaces,
      proxies: configuration.proxies.map(ProxyRules.init) ?? ProxyRules(),
      trackSignatures: configuration.sharedPolls?.signatures)
    let proxies = configuration.proxies.map {
      ProxyCalls($0, userAgent: configuration.session.version, logger: logger)
    }
    return (rules, proxies)
  }

  /// Shared polls, where they are configured and the backend can be asked.
  private static func polls(
    _ configuration: GatewayConfiguration, _ proxies: ProxyCalls?, logger: Logger
  ) -> SharedPollService? {
    guard let polls = configuration.sharedPolls, let proxies else { return nil }
    let limits = SharedPoll.Limits(
      trackings: polls.maximumTrackings, dataBytes: polls.dataBytes, calls: polls.maximumCalls,
      answerBytes: configuration.session.historyBytes, graceSeconds: configuration.session.expiryGraceSeconds)
    return SharedPollService(
      limits, proxies: proxies, namespaces: configuration.namespaces, logger: logger,
      clock: clock(configuration.wallClock))
  }

  /// The demo's answers, and its busy channel where that is configured.
  private static func demo(
    _ configuration: DemoConfiguration?, _ calls: GatewayCalls, _ revocations: Revocations,
    on eventLoops: [any EventLoop], _ shards: [NIOLoopBound<Shard>]
  ) throws -> DemoService? {
    guard let configuration else { return nil }
    if configuration.apps.contains(BusyChannel.namespace) {
      try BusyChannel(calls).start(on: eventLoops, shards)
    }
    return DemoService(configuration) { revocations.refuses($0) }
  }

  /// Begins what needs all parts: watching the certificate files, mailboxes from which each event loop takes by itself
  /// what a turn that it has run brings it, and the records of subscriptions.
  private func startUp() async throws {
    _ = certificates?.watch(on: eventLoops[0])
    polls?.start(mailboxes)
    let (measuring, sampler) = (configuration.measuring, configuration.sampler)
    for (mailbox, shard) in zip(mailboxes, shards) {
      try await mailbox.eventLoop.submit { [coverage = configuration.coverage, polls] in
        // Where an event loop shares a core with other threads of ours or the kernel's, clients would wait for a whole turn of
        // theirs, which is milliseconds.
        _ = linuxio_take_short_turns()
        shard.value.inbox = mailbox
        shard.value.polls = polls
        shard.value.hops = ShardHops(recorder: measuring, sampler: sampler)
        shard.value.coverage = coverage
        guard coverage != nil else { return }
        // This task ends with the event loop.
        let pause = TimeAmount.milliseconds(CoverageMarks.pause)
        mailbox.eventLoop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in shard.value.markCoverage() }
      }.get()
    }
  }

  /// The accounts of users; nil where the configuration limits no user.
  private static func accounts(_ session: SessionConfiguration) -> UserAccounts? {
    if session.userRates.isUnlimited && session.maximumConnectionsPerUser == 0 { return nil }
    return UserAccounts(session.userRates, mostConnections: session.maximumConnectionsPerUser)
  }

  /// Reads the certificate again, as a SIGHUP asks. Connections that exist keep theirs; a broken file changes nothing
  /// and is logged. Changed files are also found without being asked, within half a minute.
  public func reloadCertificates() { _ = certificates?.reload() }

  /// The gateway's part of the backbone thread; call it there.
  public func makeLink(over pipe: BackbonePipe, loop: BackboneLoop) throws -> any BackboneParticipant {
    // Each message crosses this thread, for microseconds. Where it shares a core with an event loop that is busy, the
    // scheduler would keep it waiting for a whole turn of that loop's, which is milliseconds.
    _ = linuxio_take_short_turns()
    let identity = GatewayIdentity(
      name: GatewayIdentity.name(of: gateway), version: configuration.session.version, census: census,
      startedAt: startedAt, inspector: Inspector(rules: rules, settingOrigin: configuration.settingOrigin))
    let links = links(over: pipe)
    let partitioning = Partitioning(
      count: links.count, namespaces: configuration.namespaces, conversation: configuration.conversation)
    var forgetPictures: ForgetUsers?
    if let pictures { forgetPictures = { pictures.forget($0, then: $1) } }
    return try GatewayBackbone(
      links: links, partitioning: partitioning, pipe: pipe, rules: rules, shards: mailboxes, loop: loop, uplink: uplink,
      identity: identity, revocations: revocations,
      discardPictures: { [pictures] in pictures?.decide($0) },
      forgetPictures: forgetPictures,
      linkOpened: { [pictures] in pictures?.reconcile() },
      linkIs: { [isLinked] isOpen in isLinked.withLockedValue { $0 = isOpen } },
      metrics: GatewayMetrics(
        shards: mailboxes, egress: egress, listener: { [listener] in listener.withLockedValue { $0?.counters } }),
      coverage: configuration.coverage, logger: logger)
  }

  private func links(over pipe: BackbonePipe) -> [GatewayLink] {
    (0..<configuration.partitions).map { partition in
      var link = GatewayLinkConfiguration(
        gateway: gateway, loops: eventLoops.count, heartbeatInterval: configuration.heartbeatInterval,
        requestTimeout: configuration.requestTimeout, uplinkWindowBytes: configuration.uplinkWindowBytes,
        maximumSubscribers: configuration.maximumSubscribersPerChannel)
      if case .sockets(let endpoints, _) = pipe { link.brokers = endpoints[partition].count }
      (link.partition, link.partitions) = (partition, configuration.partitions)
      link.hasClients = configuration.hasClients
      // What is kept here is of users, whose deletions home numbers.
      link.keepsUsers = partition == Partitioning.home && configuration.coverage?.missed != nil
      let made = GatewayLink(configuration: link)
      if let measuring = configuration.measuring { made.measure(with: measuring) }
      return made
    }
  }

  /// Asks the broker that has what a service's request is about, or several of them. What the service may ask has been
  /// checked.
  ///
  /// - Parameter answer: called once, on any thread, when they have answered or have taken too long.
  public func serve(_ request: BrokerRequest, answer: @escaping @Sendable (BrokerResponse) -> Void) {
    calls.call(request, isService: true, answer)
  }

  /// Whether the link to the broker was open when it was looked at last, some milliseconds ago.
  public var hasLink: Bool { isLinked.withLockedValue { $0 } }

  /// Opens the public port.
  ///
  /// - Returns: the address for clients, with the port that the system chose where the configuration says 0.
  public func listen() throws(ListenerError) -> String {
    let shards = shards
    var listening = configuration.listener
    listening.pictures = pictures
    listening.demo = demo
    listening.node = rules.configuration.node
    listening.egress = egress
    listening.refusals = refusals
    listening.forwardedHeaders = proxies?.forwardedHeaders ?? []
    let listener = try Listener.start(
      listening, on: eventLoops, logger: logger, isAtRest: { loop in shards[loop].value.isAtRest },
      sessionFactory: { connection in shards[connection.loopIndex].value.open(connection) })
    self.listener.withLockedValue { $0 = listener }
    let scheme = configuration.listener.tls == nil ? "ws" : "wss"
    let host = ["0.0.0.0", "::", ""].contains(configuration.listener.host) ? "127.0.0.1" : configuration.listener.host
    return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(listener.boundPort)\(configuration.listener.path)"
  }

  /// Whether the gateway has been told to end: it takes no new clients.
  public var isEnding: Bool { end.isBegun }

  /// Takes no more clients, sends those that are there away, one after another where there is time for that, with 3001,
  /// and waits for their last answers, no longer than the deadline. The backbone must still run: clients are served until
  /// their turn comes, and leaving a channel is a request.
  public func stop(_ ending: GatewayEnding) async {
    end.begin()
    listener.withLockedValue { $0 }?.beginDraining()
    await end.ramp(ending)
    listener.withLockedValue { $0 }?.stopAccepting()
    await end.endSessions(within: TimeAmount(ending.deadline))
    listener.withLockedValue { $0 = nil }
    polls?.close()
    for mailbox in mailboxes { mailbox.close() }
    await pictures?.stop()
    // Before the event loops end, for answers come back on them.
    proxies?.close()
    try? await group.shutdownGracefully()
  }

  /// Ends the ramp of ``stop(_:)``: all clients are sent away now. Nothing more where it has none, or is not called yet.
  public func hurry() { end.hurry() }

  /// For the start-up log: operators compare machines by it.
  private static func describeSends(rings: Int, of loops: Int, asked: Bool) -> String {
    if rings == loops { return "batches of sends through io_uring" }
    return asked
      ? "one send call per frame, because this kernel or sandbox does not allow io_uring"
      : "one send call per frame, as gateway.io_uring says"
  }

  private static func loopCount(_ configured: Int) -> Int {
    if configured > 0 { return min(configured, 64) }
    return min(max(1, System.coreCount - 1), 64)
  }

  private static func clock(_ wall: @escaping @Sendable () -> Int64) -> @Sendable () -> SessionTime {
    { SessionTime(monotonic: Int64(MonotonicClock.now() / 1_000_000), wall: wall()) }
  }
}
