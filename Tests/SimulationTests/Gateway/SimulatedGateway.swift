import Telemetry
import Wire

@testable import Gateway
@testable import ZeroMQ

/// A gateway without its sockets: the real link and two event loops, and between them the work of the backbone thread.
final class SimulatedGateway {
  struct Publishing {
    var channel: ChannelName
    var payload: [UInt8]
    var key: String?
  }

  let link: GatewayLink
  let loops: [SimulatedLoop]
  var toBroker: [LinkMessage] = []
  var toGateway: [LinkMessage] = []
  /// Changes a message on its way to the broker; as it is, unless a test sets it.
  var carry: (LinkMessage) -> LinkMessage = { $0 }
  /// Publish requests under way. Kept to check the broker's answers, of which clients are told only a part.
  private var publishing: [RequestSource: Publishing] = [:]
  private let uplink: Mailbox<UplinkMessage>
  private var encoder: FrameEncoder
  private var account: HandoverAccount
  /// Publications that event loops were told are measured.
  private(set) var measured = 0

  init(
    configuration: GatewayLinkConfiguration, rules: SessionRules, limits: SimulatedLoop.Limits, clock: SimulatedClock,
    random: inout SeededRandom
  ) {
    let uplink = Mailbox<UplinkMessage>(capacity: 6000)
    self.uplink = uplink
    encoder = FrameEncoder(namespaces: rules.namespaces)
    account = HandoverAccount(loops: configuration.loops)
    link = GatewayLink(configuration: configuration)
    var loops: [SimulatedLoop] = []
    for index in 0..<configuration.loops {
      loops.append(
        SimulatedLoop(
          index: index, rules: rules, uplink: uplink, limits: limits, clock: clock,
          randomness: SeededRandom(seed: random.next())))
    }
    self.loops = loops
    perform { $0.start(at: clock.now, into: &$1) }
  }

  var queuedBytes: UInt64 { account.heldBytes { loops[$0].load.queuedBytes } }

  // MARK: The backbone thread

  /// Takes what the event loops have posted.
  ///
  /// - Returns: false where there was nothing.
  func takeRequests(at now: Int64) -> Bool {
    var messages: [UplinkMessage] = []
    uplink.take(&messages)
    for message in messages {
      switch message {
      case .request(let request):
        if case .publish(let publish) = request.request {
          publishing[request.source] = Publishing(
            channel: publish.channel, payload: publish.data, key: publish.idempotencyKey)
        }
        perform { $0.submit(request, at: now, into: &$1) }
      case .measured(let source, let trace): link.hops?.post(trace, of: source)
      case .mark(let loop): loops[loop].add(.requestsTaken, bytes: 0, share: 0)
      case .workedOff, .obeyed, .forgot, .hasForgotten, .found: break
      }
    }
    return !messages.isEmpty
  }

  func perform(_ input: (GatewayLink, inout [GatewayLinkEffect]) -> Void) {
    var effects: [GatewayLinkEffect] = []
    input(link, &effects)
    for effect in effects { perform(effect) }
  }

  /// The broker's answers to publish requests since they were last looked at.
  var heard: [(Publishing, BrokerResponse)] = []
  var tooLarge = 0

  private func perform(_ effect: GatewayLinkEffect) {
    switch effect {
    case .send(let message): toBroker.append(carry(message))
    case .greet: break  // Only where there are several brokers.
    case .answer(let source, let response):
      if let publishing = publishing.removeValue(forKey: source) { heard.append((publishing, response)) }
      if response == .tooLarge { tooLarge += 1 }
      let answer = Handover.answer(connection: source.connection, tag: source.tag, response)
      loops[source.loop].add(answer, bytes: 64, share: 64)
    case .refusal(let source, let cause, let error):
      publishing[source] = nil
      let refusal = Handover.refusal(connection: source.connection, tag: source.tag, cause, error)
      loops[source.loop].add(refusal, bytes: 64, share: 64)
    case .deltaBase(let base): encoder.base = base
    case .publication(let channel, let publication, let audience):
      guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { return }
      add(.frames(channel, frames), bytes: frames.byteCount, to: audience)
    case .filteredPublication(let channel, let publication, let audience):
      guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { return }
      add(.filteredFrames(channel, frames, of: publication), bytes: frames.byteCount, to: audience)
    case .joined(let channel, let info, let audience):
      addPresence(.join(channel: channel.string, info), channel, info, audience)
    case .left(let channel, let info, let audience):
      addPresence(.leave(channel: channel.string, info), channel, info, audience)
    case .lost(let channel, let audience): add(.lost(channel), bytes: 64, to: audience)
    case .audienceChanged(let change, let audience): add(.audience(change), bytes: 64, to: audience)
    case .holdClients(let holds): for loop in loops { loop.add(.holdClients(holds), bytes: 0, share: 0) }
    case .measured(let channel, let offset, let trace, let audience): mark(channel, offset, trace, audience)
    case .discard, .sessionOrder, .revoked, .forget, .readMark, .forgetMissed, .survey: break
    }
  }

  /// Has every publication of this gateway's clients measured.
  func measure(with recorder: HopRecorder) {
    link.measure(with: recorder)
    for loop in loops {
      loop.shard.hops = ShardHops(recorder: recorder, sampler: HopSampler(measureEvery: 1, traceEvery: 0))
    }
  }

  private func mark(_ channel: ChannelName, _ offset: UInt64, _ trace: HopTrace, _ audience: Audience) {
    guard let recorder = link.hops?.recorder else { return }
    measured += 1
    let attributes = SpanAttributes(channel, offset: offset)
    let mark = HopMark(trace, attributes, loops: audience.loops.nonzeroBitCount, recorder: recorder)
    add(.measured(channel, mark), bytes: 0, to: audience)
  }

  private func addPresence(_ push: ClientPush, _ channel: ChannelName, _ info: ClientInfo, _ audience: Audience) {
    var frames = EncodedFrames(.push(push), for: audience)
    frames.lane = .lowest
    frames.key = ConflationKey(presenceOf: info)
    add(.presenceFrames(channel, frames, of: info), bytes: frames.byteCount, to: audience)
  }

  private func add(_ handover: Handover, bytes: Int, to audience: Audience) {
    let share = bytes / max(1, audience.loops.nonzeroBitCount)
    for index in loops.indices where audience.includes(loop: index) {
      loops[index].add(handover, bytes: bytes, share: share)
    }
  }

  /// Ends a round of the backbone thread: hands over to each event loop what there is for it.
  ///
  /// - Returns: false where there was nothing to hand over.
  @discardableResult
  func handOver(at now: Int64) -> Bool {
    var hasHanded = false
    for index in loops.indices {
      guard let handed = loops[index].handOver() else { continue }
      account.note(bytes: handed.bytes, share: handed.share, to: index)
      hasHanded = true
    }
    let queued = queuedBytes
    perform { $0.acknowledge(queuedBytes: queued, at: now, into: &$1) }
    return hasHanded
  }

  func tick(at now: Int64) {
    let queued = queuedBytes
    perform { $0.tick(at: now, queuedBytes: queued, into: &$1) }
  }
}
