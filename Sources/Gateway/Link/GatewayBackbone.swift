import Logging
import NIOCore
import Telemetry
import Wire
import ZeroMQ

#if canImport(Glibc)
  import Glibc
#endif

/// The gateway's part of the backbone: for each partition its pipes and its ``GatewayLink``, and one hand-over per event
/// loop and round.
final class GatewayBackbone: BackboneParticipant {
  /// By partition.
  private let links: [GatewayLink]
  private let partitioning: Partitioning
  private var gathering = RequestGathering()
  /// For each partition one for each broker. Without any, `pipe` is the way to the broker.
  private let dealers: [[BackboneDealer]]
  private let pipe: MemoryPipe?
  private let shards: [ShardMailbox]
  private let discardPictures: ([PictureFate]) -> Void
  /// Deletes the files of users' pictures, and then says so; nil: this gateway takes none in.
  private let forgetPictures: ForgetUsers?
  private let linkOpened: () -> Void
  private let linkIs: (_ isOpen: Bool) -> Void
  private let logger: Logger
  private unowned let loop: BackboneLoop
  private var effects: [GatewayLinkEffect] = []
  /// Parts of requests that are asked once the effects at hand are performed.
  private var toAsk: [(partition: Int, request: GatewayRequest)] = []
  private var encoder: FrameEncoder
  private var batches: [[Handover]]
  private var batchBytes: [Int]
  /// For each event loop, its share of the bytes: what goes to several loops is divided by their number
  /// (``HandoverAccount``).
  private var batchShares: [Int]
  private var account: HandoverAccount
  /// What the reply at hand counts for in the link's window; 0 where the message at hand is none.
  private var replyBytes = 0
  /// By partition.
  private var reported: [GatewayLinkCounters]
  private let metrics = LinkMetrics()
  /// Nil where a test needs none.
  private var gatewayMetrics: GatewayMetrics?
  private var nextTick: UInt64 = 0
  private let revocations: Revocations
  private let identity: GatewayIdentity
  private let uplink: Mailbox<UplinkMessage>
  private let coverage: CoverageSink?
  /// Event loops that have still to carry an order out, by its number.
  private var obeying: [OrderNumber: Int] = [:]
  /// For each event loop that has said so, the request that it posts next, which is measured.
  private var measured: [Int: (source: RequestSource, trace: HopTrace)] = [:]
  /// Partitions whose links have clients read later.
  private var holding: Set<Int> = []
  private var lastForgotten: UInt64 = 0

  init(
    links: [GatewayLink], partitioning: Partitioning = .whole, pipe: BackbonePipe, rules: SessionRules,
    shards: [ShardMailbox], loop: BackboneLoop,
    uplink: Mailbox<UplinkMessage>, identity: GatewayIdentity = GatewayIdentity(), revocations: Revocations,
    discardPictures: @escaping ([PictureFate]) -> Void, forgetPictures: ForgetUsers? = nil,
    linkOpened: @escaping () -> Void,
    linkIs: @escaping (_ isOpen: Bool) -> Void, metrics: GatewayMetrics? = nil, coverage: CoverageSink? = nil,
    logger: Logger
  ) throws {
    precondition(links.count == partitioning.count, "each partition has a link")
    self.links = links
    self.partitioning = partitioning
    reported = links.map { _ in GatewayLinkCounters() }
    self.uplink = uplink
    self.identity = identity
    gatewayMetrics = metrics
    self.coverage = coverage
    self.revocations = revocations
    encoder = FrameEncoder(
      namespaces: rules.namespaces, packedClients: shards.first?.load.packedClients ?? PackedClients())
    self.shards = shards
    self.loop = loop
    self.discardPictures = discardPictures
    self.forgetPictures = forgetPictures
    self.linkOpened = linkOpened
    self.linkIs = linkIs
    self.logger = logger
    batches = Array(repeating: [], count: shards.count)
    batchBytes = Array(repeating: 0, count: shards.count)
    batchShares = batchBytes
    account = HandoverAccount(loops: shards.count)
    switch pipe {
    case .memory(let pipe): (self.pipe, dealers) = (pipe, [])
    case .sockets(let endpoints, let context):
      self.pipe = nil
      dealers = try zip(links, endpoints).enumerated().map { partition, way in
        try way.1.enumerated().map { number, endpoint in
          try BackboneDealer(
            of: way.0.configuration.gateway, to: endpoint, number: "\(partition)-\(number)",
            isAlone: way.1.count == 1, in: context)
        }
      }
    }
    for (partition, brokers) in dealers.enumerated() {
      for (broker, dealer) in brokers.enumerated() {
        loop.watch(dealer.socket, for: self) { gateway, _ in gateway.read(broker, of: partition) }
        _ = dealer.monitor.watch(on: loop, for: self) { gateway, _ in gateway.readMonitor(broker, of: partition) }
      }
    }
    // The dealers' sockets belong to the loop's thread: with dealers, requests are handled there as well.
    loop.receive(from: uplink, for: self, anywhere: { gateway, _ in gateway.dealers.isEmpty }) { gateway, message in
      gateway.receive(message)
    }
    for partition in links.indices {
      links[partition].start(at: Self.now(), into: &effects)
      perform(of: partition)
    }
  }

  // MARK: In

  /// Takes what the broker of this process has sent.
  func exchange() -> Bool {
    guard let pipe, !pipe.toGateway.isEmpty else { return false }
    let now = Self.now()
    while let message = pipe.takeForGateway() { receive(message, at: now) }
    return true
  }

  private func receive(
    _ message: LinkMessage, from broker: Int = 0, of partition: Int = Partitioning.home, at now: Int64
  ) {
    if case .reply = message.body { replyBytes = message.cost }
    links[partition].receive(message, from: broker, at: now, into: &effects)
    perform(of: partition)
    replyBytes = 0
  }

  private func read(_ broker: Int, of partition: Int) {
    let now = Self.now()
    do {
      let isRead = try dealers[partition][broker].read(limit: loop.messagesPerRound) { message in
        receive(message, from: broker, of: partition, at: now)
      }
      if isRead { note(.readToEnd, broker, of: partition) }
    } catch {
      loop.fail(error)
    }
  }

  private func readMonitor(_ broker: Int, of partition: Int) {
    let dealer = dealers[partition][broker]
    do {
      while let event = try dealer.monitor.next() {
        switch event {
        case .handshakeSucceeded: note(.came, broker, of: partition)
        case .disconnected: note(.ended, broker, of: partition)
        case .connected, .accepted, .handshakeFailed, .handshakeProtocolFailed, .handshakeRefused, .acceptFailed: break
        }
      }
    } catch {
      return loop.fail(error)
    }
    // Where nothing is left to read, the loop would not have the socket read.
    if dealer.connection.hasRest { read(broker, of: partition) }
  }

  private func note(_ event: BrokerConnection.Event, _ broker: Int, of partition: Int) {
    for news in dealers[partition][broker].connection.note(event) {
      switch news {
      case .appeared: links[partition].appeared(broker, at: Self.now(), into: &effects)
      case .vanished: links[partition].vanished(broker, at: Self.now(), into: &effects)
      }
      perform(of: partition)
    }
  }

  private func receive(_ message: UplinkMessage) {
    switch message {
    case .request(let request): submit(request)
    case .measured(let source, let trace): measured[source.loop] = (source, trace)
    case .workedOff: break  // The round's tick looks at the account.
    case .obeyed(let id): obeyed(id)
    case .forgot(let order, let session):
      links[order.partition].forgot(order.id, session: session, at: Self.now(), into: &effects)
      perform(of: order.partition)
    case .hasForgotten(let mark, let session):
      links[Partitioning.home].hasForgotten(through: mark, session: session, at: Self.now(), into: &effects)
      perform(of: Partitioning.home)
    case .found(let findings, let partition, let session):
      links[partition].found(findings, session: session, at: Self.now(), into: &effects)
      perform(of: partition)
    case .mark(let loop): add(.requestsTaken, bytes: 0, to: loop)
    }
  }

  /// Gives a request to the link of its partition, or to several.
  private func submit(_ request: GatewayRequest) {
    let trace = measured.isEmpty ? nil : takeTrace(of: request.source)
    if let partition = partitioning.onlyPartition(for: request.request) {
      let link = links[partition]
      if let trace { link.hops?.post(trace, of: request.source) }
      var request = request
      if partition != Partitioning.home {
        request.request = partitioning.request(request.request, within: partition)
      }
      link.submit(request, at: Self.now(), into: &effects)
      return perform(of: partition)
    }
    do throws(ClientError) { submit(gathering.begin(request, try partitioning.plan(for: request.request))) } catch {
      answer(request.source, .failed(error))
    }
  }

  /// Requests that others post in a loop's name come in between.
  private func takeTrace(of source: RequestSource) -> HopTrace? {
    guard measured[source.loop]?.source == source else { return nil }
    return measured.removeValue(forKey: source.loop)?.trace
  }

  private func submit(_ parts: [(partition: Int, request: GatewayRequest)]) {
    for part in parts {
      links[part.partition].submit(part.request, at: Self.now(), into: &effects)
      perform(of: part.partition)
    }
  }

  // MARK: Out

  private func answer(_ source: RequestSource, _ response: BrokerResponse) {
    if source.loop != RequestSource.gathering {
      let answer = Handover.answer(connection: source.connection, tag: source.tag, response)
      return add(answer, bytes: max(64, replyBytes), to: source.loop)
    }
    switch gathering.answered(source, response) {
    case .none: break
    case .ask(let parts): toAsk += parts
    case .answer(let asker, let whole): answer(asker, whole)
    }
  }

  /// - Parameter partition: of the link whose effects these are.
  private func perform(of partition: Int) {
    for effect in effects {
      switch effect {
      case .send(let message): send(message, to: partition)
      case .greet(let broker, let hello): dealers[partition][broker].send(hello)
      case .answer(let source, let response): answer(source, response)
      case .refusal(let source, let cause, let error):
        add(.refusal(connection: source.connection, tag: source.tag, cause, error), bytes: 64, to: source.loop)
      case .deltaBase(let base): encoder.base = base
      case .publication(let channel, let publication, let audience): encode(publication, on: channel, for: audience)
      case .filteredPublication(let channel, let publication, let audience):
        encode(publication, on: channel, filteredFor: audience)
      case .measured(let channel, let offset, let trace, let audience):
        addMark(trace, SpanAttributes(channel, offset: offset), channel, audience)
      case .joined(let channel, let info, let audience):
        addPresence(.join(channel: channel.string, info), channel, info, audience)
      case .left(let channel, let info, let audience):
        addPresence(.leave(channel: channel.string, info), channel, info, audience)
      case .audienceChanged(let change, let audience): add(.audience(change), bytes: 64, to: audience)
      case .discard(let pictures): discardPictures(pictures)
      case .sessionOrder(let id, let order):
        let number = OrderNumber(partition: partition, id: id)
        addToAll(.sessionOrder(number, order), number)
      case .revoked(let id, let news, let all):
        // Before the event loops hear of it, so that no sign-in slips through in between (`Revocations`).
        revocations.replace(with: all, of: partition)
        let number = OrderNumber(partition: partition, id: id)
        addToAll(.revoked(number, news), number)
      case .forget(let id, let users, let session):
        forget(users, order: OrderNumber(partition: partition, id: id), session)
      case .readMark(let session): readMark(session)
      case .forgetMissed(let deletions, let session): forget(missed: deletions, session)
      case .survey(let survey, let session): ask(survey, session, of: partition)
      case .lost(let channel, let audience): add(.lost(channel), bytes: 64, to: audience)
      case .holdClients(let hold): holdClients(hold, of: partition)
      }
    }
    effects.removeAll(keepingCapacity: true)
    if toAsk.isEmpty { return }
    let parts = toAsk
    toAsk = []
    submit(parts)
  }

  private func send(_ message: LinkMessage, to partition: Int) {
    if let pipe { return pipe.sendToBroker(message) }
    if message.body.kind != .hello { return dealers[partition][links[partition].broker].send(message) }
    for dealer in dealers[partition] { dealer.send(message) }
  }

  /// Clients are read later while any partition's link wants that, since nobody knows which one they ask next.
  private func holdClients(_ hold: Bool, of partition: Int) {
    let wereHeld = !holding.isEmpty
    if hold { holding.insert(partition) } else { holding.remove(partition) }
    if wereHeld == !holding.isEmpty { return }
    for shard in shards.indices { add(.holdClients(hold), bytes: 0, to: shard) }
  }

  private func encode(_ publication: Publication, on channel: ChannelName, for audience: Audience) {
    guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { return }
    add(.frames(channel, frames), bytes: frames.byteCount, to: audience)
  }

  /// Encodes a publication once, also where all filters may turn out not to let it through: encoding it costs less than
  /// asking all of them here, in the turn that everything passes through.
  private func encode(_ publication: Publication, on channel: ChannelName, filteredFor audience: Audience) {
    guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { return }
    add(.filteredFrames(channel, frames, of: publication), bytes: frames.byteCount, to: audience)
  }

  /// Tells event loops that the frames which they were handed last on the channel are measured.
  private func addMark(_ trace: HopTrace, _ attributes: SpanAttributes, _ channel: ChannelName, _ audience: Audience) {
    guard let recorder = links[Partitioning.home].hops?.recorder else { return }
    let mark = HopMark(trace, attributes, loops: audience.loops.nonzeroBitCount, recorder: recorder)
    add(.measured(channel, mark), bytes: 0, to: audience)
  }

  private func addPresence(_ push: ClientPush, _ channel: ChannelName, _ info: ClientInfo, _ audience: Audience) {
    var frames = EncodedFrames(.push(push), for: audience.withoutDelta)
    frames.lane = .lowest
    frames.key = ConflationKey(presenceOf: info)
    add(.presenceFrames(channel, frames, of: info), bytes: frames.byteCount, to: audience)
  }

  /// Hands something to every event loop, and counts how many have to confirm it. An order that is repeated in a new
  /// session counts again: it is carried out when the last of all loops says so.
  private func addToAll(_ handover: Handover, _ order: OrderNumber) {
    if order.id != 0 { obeying[order, default: 0] += shards.count }
    for shard in shards.indices { add(handover, bytes: 64, to: shard) }
  }

  /// Hands a survey to every event loop. What they find comes back through the mailbox.
  private func ask(_ survey: LinkSurvey, _ session: UInt64, of partition: Int) {
    let (identity, uplink, now, channels) = (identity, uplink, Self.now(), channels)
    let asked = LoopSurvey(
      survey.survey, loops: shards.count, inspector: identity.inspector,
      known: { identity.counts(channels: channels, at: now) }, coverage: coverage,
      answer: { findings in
        // Without cost: the mailbox refuses it only where the backbone thread has ended, and the link with it.
        _ = uplink.post(
          .found(LinkFindings(id: survey.id, findings), partition: partition, session: session), cost: 0, wakes: true)
      })
    for shard in shards.indices { add(.survey(asked), bytes: 64, to: shard) }
  }

  /// Deletes the intervals of users and the files of their pictures. What is closed before it could do that leaves the
  /// order unconfirmed: this process ends.
  private func forget(_ users: [String], order: OrderNumber, _ session: UInt64) {
    let uplink = uplink
    let confirm: @Sendable (Bool) -> Void = { isDone in
      if isDone { _ = uplink.post(.forgot(order, session: session), cost: 0, wakes: true) }
    }
    let forgetPictures = forgetPictures
    let goOn: @Sendable (Bool) -> Void = { isDone in
      guard isDone, let forgetPictures else { return confirm(isDone) }
      forgetPictures(users, confirm)
    }
    if let coverage { coverage.forget(users, goOn) } else { goOn(true) }
  }

  private func readMark(_ session: UInt64) {
    let uplink = uplink
    coverage?.missed?.readMark { mark in
      _ = uplink.post(.hasForgotten(mark, session: session), cost: 0, wakes: true)
    }
  }

  private func forget(missed deletions: LinkDeletions, _ session: UInt64) {
    let uplink = uplink
    coverage?.missed?.forget(deletions) { isDone in
      if isDone { _ = uplink.post(.hasForgotten(deletions.through, session: session), cost: 0, wakes: true) }
    }
  }

  private func obeyed(_ order: OrderNumber) {
    guard let left = obeying[order] else { return }
    obeying[order] = left > 1 ? left - 1 : nil
    guard left == 1 else { return }
    links[order.partition].obeyed(order.id, at: Self.now(), into: &effects)
    perform(of: order.partition)
  }

  private func add(_ handover: Handover, bytes: Int, to audience: Audience) {
    if audience.loops == 0 { return }
    let share = bytes / audience.loops.nonzeroBitCount
    for shard in shards.indices where audience.includes(loop: shard) {
      add(handover, bytes: bytes, share: share, to: shard)
    }
  }

  private func add(_ handover: Handover, bytes: Int, to shard: Int) {
    add(handover, bytes: bytes, share: bytes, to: shard)
  }

  private func add(_ handover: Handover, bytes: Int, share: Int, to shard: Int) {
    batches[shard].append(handover)
    batchBytes[shard] += bytes
    batchShares[shard] += share
  }

  // MARK: Time

  func tick(now: UInt64) -> UInt64? {
    for shard in shards.indices where !batches[shard].isEmpty {
      account.note(bytes: batchBytes[shard], share: batchShares[shard], to: shard)
      shards[shard].hand(over: batches[shard], bytes: batchBytes[shard])
      batches[shard].removeAll(keepingCapacity: true)
      batchBytes[shard] = 0
      batchShares[shard] = 0
    }
    let milliseconds = Int64(now / 1_000_000)
    let queued = account.heldBytes { shards[$0].queuedBytes }
    // Timeouts and heartbeats are due by time alone, so the loop's thread looks after them.
    let isDue = loop.isOnThread && now >= nextTick
    for (partition, link) in links.enumerated() {
      if dealers.isEmpty || loop.isOnThread {
        link.acknowledge(queuedBytes: queued, at: milliseconds, into: &effects)
      } else if link.owesAcknowledgement(queuedBytes: queued) {
        // The dealers' sockets are the loop's thread's alone, which may be asking them for news at this moment.
        loop.wake()
      }
      if isDue { link.tick(at: milliseconds, queuedBytes: queued, into: &effects) }
      perform(of: partition)
    }
    if isDue {
      nextTick = now + UInt64(max(20, links[0].configuration.heartbeatInterval / 4)) * 1_000_000
      if now - lastForgotten >= 60_000_000_000 {
        lastForgotten = now
        for (partition, link) in links.enumerated() {
          link.forgetRevocations(expiredBy: Self.wall())
          revocations.replace(with: link.revocations, of: partition)
        }
      }
      report()
    }
    // What a tick produces for event loops, a timeout for example, goes out with the next round at once.
    return batches.allSatisfy { $0.isEmpty } ? nextTick : now
  }

  /// Channels that somebody is subscribed to on this gateway, or about to be.
  private var channels: Int { links.reduce(0) { $0 + $1.channels.count } }

  private func report() {
    let counters = links.map(\.counters)
    let total = counters.reduce(GatewayLinkCounters(), +)
    let isOpen = links.allSatisfy(\.isOpen)
    metrics.update(from: reported.reduce(GatewayLinkCounters(), +), to: total)
    metrics.update(isOpen: isOpen, channels: channels, pendingBytes: links.reduce(0) { $0 + $1.pending.bytes })
    gatewayMetrics?.update()
    for (partition, counted) in counters.enumerated() { tell(counted, since: reported[partition], of: partition) }
    // Which of the pictures here are gone, the partitions know that have pictures: those of Clique are all at home.
    let knowing = partitioning.sharesState ? counters.indices : 0..<1
    if knowing.contains(where: { counters[$0].sessions > reported[$0].sessions }) { linkOpened() }
    linkIs(isOpen)
    reported = counters
  }

  private func tell(_ counters: GatewayLinkCounters, since reported: GatewayLinkCounters, of partition: Int) {
    let place: Logger.Metadata = links.count > 1 ? ["partition": "\(partition)"] : [:]
    if counters.sessions > reported.sessions || counters.channelsLost > reported.channelsLost {
      var metadata: Logger.Metadata = [
        "sessions": "\(counters.sessions)", "gaps": "\(counters.gaps)", "resets": "\(counters.resets)",
        "refilled": "\(counters.channelsRefilled)", "lost": "\(counters.channelsLost)",
      ]
      if let brokers = dealers.isEmpty ? nil : dealers[partition], brokers.count > 1 {
        let link = links[partition]
        (metadata["broker"], metadata["term"]) = ("\(brokers[link.broker].address)", "\(link.term)")
      }
      logger.notice("the link to the broker is open", metadata: metadata.merging(place) { $1 })
    }
    if counters.requestsTimedOut > reported.requestsTimedOut {
      let requests: Logger.Metadata = ["requests": "\(counters.requestsTimedOut - reported.requestsTimedOut)"]
      logger.warning(
        "the broker did not answer in time; is it running, and is the backbone endpoint the same on both sides?",
        metadata: requests.merging(place) { $1 })
    }
  }

  func close() {
    for (partition, link) in links.enumerated() {
      link.stop(at: Self.now(), into: &effects)
      perform(of: partition)
    }
  }

  /// Seconds since 1970.
  private static func wall() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec)
  }

  private static func now() -> Int64 { Int64(MonotonicClock.now() / 1_000_000) }
}
