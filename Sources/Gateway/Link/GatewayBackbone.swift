import Logging
import NIOCore
import Telemetry
import Wire
public import ZeroMQ

#if canImport(Glibc)
  import Glibc
#endif

/// How the gateway reaches its broker.
public struct GatewayEndpoint: Sendable {
  public var address: String
  /// The gateway's side of CURVE; nil on inproc and ipc.
  public var curve: Curve.Role?

  public init(_ address: String, curve: Curve.Role? = nil) {
    self.address = address
    self.curve = curve
  }
}

/// What lies between the gateway and its broker.
public enum BackbonePipe {
  /// The broker is in this process, in the same turn.
  case memory(MemoryPipe)
  /// Brokers in processes of their own, one of which has the channels.
  case sockets([GatewayEndpoint], Context)
}

/// What event loops post to the backbone.
enum UplinkMessage: Sendable {
  case request(GatewayRequest)
  /// The request that this loop posts next is measured. Indirect, so that requests stay small.
  indirect case measured(RequestSource, HopTrace)
  /// A loop has worked off so much that the broker should hear of it soon.
  case workedOff
  /// A loop has carried an order out.
  case obeyed(UInt64)
  /// Nothing is kept any more of the users of an order that came in this session of the link.
  case forgot(UInt64, session: UInt64)
  /// Through which deletion nothing is kept any more of users, as was asked in this session of the link. Indirect, so that
  /// requests stay small.
  indirect case hasForgotten(DeletionMark?, session: UInt64)
  /// All loops have told what they found for a survey that came in this session of the link. Indirect, so that requests
  /// stay small.
  indirect case found(LinkFindings, session: UInt64)
  /// A loop wants to hear that everything it posted before was taken.
  case mark(loop: Int)
}

/// Deletes what is kept of users on a disk, and then calls the second parameter once, on any thread: with false where it
/// was ended before.
typealias ForgetUsers = @Sendable ([String], @escaping @Sendable (Bool) -> Void) -> Void

/// The gateway's part of the backbone: the pipe, ``GatewayLink``, and one hand-over per event loop and round.
final class GatewayBackbone: BackboneParticipant {
  private let link: GatewayLink
  /// One for each broker. Without any, `pipe` is the way to the broker.
  private let dealers: [BackboneDealer]
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
  private var encoder: FrameEncoder
  private var batches: [[Handover]]
  private var batchBytes: [Int]
  /// For each event loop, its share of the bytes: what goes to several loops is divided by their number
  /// (``HandoverAccount``).
  private var batchShares: [Int]
  private var account: HandoverAccount
  /// What the reply at hand counts for in the link's window; 0 where the message at hand is none.
  private var replyBytes = 0
  private var reported = GatewayLinkCounters()
  private let metrics = LinkMetrics()
  /// Nil where a test needs none.
  private var gatewayMetrics: GatewayMetrics?
  private var nextTick: UInt64 = 0
  private let revocations: Revocations
  private let identity: GatewayIdentity
  private let uplink: Mailbox<UplinkMessage>
  private let coverage: CoverageSink?
  /// Event loops that have still to carry an order out, by its number.
  private var obeying: [UInt64: Int] = [:]
  private var lastForgotten: UInt64 = 0

  init(
    link: GatewayLink, pipe: BackbonePipe, rules: SessionRules, shards: [ShardMailbox], loop: BackboneLoop,
    uplink: Mailbox<UplinkMessage>, identity: GatewayIdentity = GatewayIdentity(), revocations: Revocations,
    discardPictures: @escaping ([PictureFate]) -> Void, forgetPictures: ForgetUsers? = nil,
    linkOpened: @escaping () -> Void,
    linkIs: @escaping (_ isOpen: Bool) -> Void, metrics: GatewayMetrics? = nil, coverage: CoverageSink? = nil,
    logger: Logger
  ) throws {
    self.link = link
    self.uplink = uplink
    self.identity = identity
    gatewayMetrics = metrics
    self.coverage = coverage
    self.revocations = revocations
    encoder = FrameEncoder(namespaces: rules.namespaces)
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
      dealers = try endpoints.enumerated().map { number, endpoint in
        try BackboneDealer(
          of: link.configuration.gateway, to: endpoint, number: number, isAlone: endpoints.count == 1, in: context)
      }
    }
    for (broker, dealer) in dealers.enumerated() {
      loop.watch(dealer.socket, for: self) { gateway, _ in gateway.read(broker) }
      _ = dealer.monitor.watch(on: loop, for: self) { gateway, _ in gateway.readMonitor(broker) }
    }
    // The dealers' sockets belong to the loop's thread: with dealers, requests are handled there as well.
    loop.receive(from: uplink, for: self, anywhere: { gateway, _ in gateway.dealers.isEmpty }) { gateway, message in
      gateway.receive(message)
    }
    link.start(at: Self.now(), into: &effects)
    perform()
  }

  // MARK: In

  /// Takes what the broker of this process has sent.
  func exchange() -> Bool {
    guard let pipe, !pipe.toGateway.isEmpty else { return false }
    let now = Self.now()
    while let message = pipe.takeForGateway() { receive(message, at: now) }
    return true
  }

  private func receive(_ message: LinkMessage, from broker: Int = 0, at now: Int64) {
    if case .reply = message.body { replyBytes = message.cost }
    link.receive(message, from: broker, at: now, into: &effects)
    perform()
    replyBytes = 0
  }

  private func read(_ broker: Int) {
    let now = Self.now()
    do {
      try dealers[broker].read(limit: loop.messagesPerRound) { message in receive(message, from: broker, at: now) }
    } catch {
      loop.fail(error)
    }
  }

  private func readMonitor(_ broker: Int) {
    do {
      while let event = try dealers[broker].monitor.next() {
        switch event {
        case .handshakeSucceeded: link.appeared(broker, at: Self.now(), into: &effects)
        case .disconnected: link.vanished(broker, at: Self.now(), into: &effects)
        case .connected, .accepted, .handshakeFailed, .handshakeProtocolFailed, .handshakeRefused, .acceptFailed: break
        }
        perform()
      }
    } catch {
      loop.fail(error)
    }
  }

  private func receive(_ message: UplinkMessage) {
    switch message {
    case .request(let request):
      link.submit(request, at: Self.now(), into: &effects)
      perform()
    case .measured(let source, let trace): link.hops?.post(trace, of: source)
    case .workedOff: break  // The round's tick looks at the account.
    case .obeyed(let id): obeyed(id)
    case .forgot(let id, let session):
      link.forgot(id, session: session, at: Self.now(), into: &effects)
      perform()
    case .hasForgotten(let mark, let session):
      link.hasForgotten(through: mark, session: session, at: Self.now(), into: &effects)
      perform()
    case .found(let findings, let session):
      link.found(findings, session: session, at: Self.now(), into: &effects)
      perform()
    case .mark(let loop): add(.requestsTaken, bytes: 0, to: loop)
    }
  }

  // MARK: Out

  private func perform() {
    for effect in effects {
      switch effect {
      case .send(let message): send(message)
      case .greet(let broker, let hello): dealers[broker].send(hello)
      case .answer(let source, let response):
        add(
          .answer(connection: source.connection, tag: source.tag, response), bytes: max(64, replyBytes), to: source.loop
        )
      case .refusal(let source, let cause, let error):
        add(.refusal(connection: source.connection, tag: source.tag, cause, error), bytes: 64, to: source.loop)
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
      case .sessionOrder(let id, let order): addToAll(.sessionOrder(id, order), id)
      case .revoked(let id, let news, let all):
        // Before the event loops hear of it, so that no sign-in slips through in between (`Revocations`).
        revocations.replace(with: all)
        addToAll(.revoked(id, news), id)
      case .forget(let id, let users, let session): forget(users, order: id, session)
      case .readMark(let session): readMark(session)
      case .forgetMissed(let deletions, let session): forget(missed: deletions, session)
      case .survey(let survey, let session, let channels): ask(survey, session, channels: channels)
      case .lost(let channel, let audience): add(.lost(channel), bytes: 64, to: audience)
      case .holdClients(let hold):
        for shard in shards.indices { add(.holdClients(hold), bytes: 0, to: shard) }
      }
    }
    effects.removeAll(keepingCapacity: true)
  }

  private func send(_ message: LinkMessage) {
    if let pipe { return pipe.sendToBroker(message) }
    if message.body.kind != .hello { return dealers[link.broker].send(message) }
    for dealer in dealers { dealer.send(message) }
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
    guard let recorder = link.hops?.recorder else { return }
    let mark = HopMark(trace, attributes, loops: audience.loops.nonzeroBitCount, recorder: recorder)
    add(.measured(channel, mark), bytes: 0, to: audience)
  }

  private func addPresence(_ push: ClientPush, _ channel: ChannelName, _ info: ClientInfo, _ audience: Audience) {
    var frames = EncodedFrames(.push(push), for: audience)
    frames.lane = .lowest
    frames.key = ConflationKey(presenceOf: info)
    add(.presenceFrames(channel, frames, of: info), bytes: frames.byteCount, to: audience)
  }

  /// Hands something to every event loop, and counts how many have to confirm it. An order that is repeated in a new
  /// session counts again: it is carried out when the last of all loops says so.
  private func addToAll(_ handover: Handover, _ order: UInt64) {
    if order != 0 { obeying[order, default: 0] += shards.count }
    for shard in shards.indices { add(handover, bytes: 64, to: shard) }
  }

  /// Hands a survey to every event loop. What they find comes back through the mailbox.
  private func ask(_ survey: LinkSurvey, _ session: UInt64, channels: Int) {
    let (identity, uplink, now) = (identity, uplink, Self.now())
    let asked = LoopSurvey(
      survey.survey, loops: shards.count, inspector: identity.inspector,
      known: { identity.counts(channels: channels, at: now) }, coverage: coverage,
      answer: { findings in
        // Without cost: the mailbox refuses it only where the backbone thread has ended, and the link with it.
        _ = uplink.post(.found(LinkFindings(id: survey.id, findings), session: session), cost: 0, wakes: true)
      })
    for shard in shards.indices { add(.survey(asked), bytes: 64, to: shard) }
  }

  /// Deletes the intervals of users and the files of their pictures. What is closed before it could do that leaves the
  /// order unconfirmed: this process ends.
  private func forget(_ users: [String], order: UInt64, _ session: UInt64) {
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

  private func obeyed(_ order: UInt64) {
    guard let left = obeying[order] else { return }
    obeying[order] = left > 1 ? left - 1 : nil
    guard left == 1 else { return }
    link.obeyed(order, at: Self.now(), into: &effects)
    perform()
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
    link.acknowledge(queuedBytes: queued, at: milliseconds, into: &effects)
    // Timeouts and heartbeats are due by time alone, so the loop's thread looks after them.
    if loop.isOnThread && now >= nextTick {
      nextTick = now + UInt64(max(20, link.configuration.heartbeatInterval / 4)) * 1_000_000
      link.tick(at: milliseconds, queuedBytes: queued, into: &effects)
      if now - lastForgotten >= 60_000_000_000 {
        lastForgotten = now
        link.forgetRevocations(expiredBy: Self.wall())
        revocations.replace(with: link.revocations)
      }
      report()
    }
    perform()
    // What a tick produces for event loops, a timeout for example, goes out with the next round at once.
    return batches.allSatisfy { $0.isEmpty } ? nextTick : now
  }

  private func report() {
    let counters = link.counters
    metrics.update(from: reported, to: counters)
    metrics.update(isOpen: link.isOpen, channels: link.channels.count, pendingBytes: link.pending.bytes)
    gatewayMetrics?.update()
    if counters.sessions > reported.sessions || counters.channelsLost > reported.channelsLost {
      var broker: Logger.Metadata = [:]
      if dealers.count > 1 { broker = ["broker": "\(dealers[link.broker].address)", "term": "\(link.term)"] }
      logger.notice(
        "the link to the broker is open",
        metadata: broker.merging([
          "sessions": "\(counters.sessions)", "gaps": "\(counters.gaps)", "resets": "\(counters.resets)",
          "refilled": "\(counters.channelsRefilled)", "lost": "\(counters.channelsLost)",
        ]) { own, _ in own })
    }
    if counters.sessions > reported.sessions { linkOpened() }
    linkIs(link.isOpen)
    if counters.requestsTimedOut > reported.requestsTimedOut {
      logger.warning(
        "the broker did not answer in time; is it running, and is the backbone endpoint the same on both sides?",
        metadata: ["requests": "\(counters.requestsTimedOut - reported.requestsTimedOut)"])
    }
    reported = counters
  }

  func close() {
    link.stop(at: Self.now(), into: &effects)
    perform()
  }

  /// Seconds since 1970.
  private static func wall() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec)
  }

  private static func now() -> Int64 { Int64(MonotonicClock.now() / 1_000_000) }
}
