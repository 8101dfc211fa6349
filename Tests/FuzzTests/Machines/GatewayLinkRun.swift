import Gateway
import TestSupport
import Wire

/// A gateway's end of the link, with sessions that keep to their rules and a broker that keeps to none: it sends what it
/// likes, in the session of the link or in another, in order or not.
final class GatewayLinkRun {
  static func run(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let run = GatewayLinkRun(input)
    try run.perform { link, now, effects in link.start(at: now, into: &effects) }
    while !run.bytes.isAtEnd { try run.step() }
    try run.perform { link, now, effects in link.stop(at: now, into: &effects) }
    return run.wasSubscribed
  }

  private struct Asked {
    var channel: ChannelName
    var isSubscribe: Bool
    var member: ClientInfo?
  }

  private struct Subscriber {
    var channel: ChannelName
    var source: RequestSource
    var member: ClientInfo?
  }

  private var bytes: FuzzBytes
  private let link: GatewayLink
  private var now: Int64 = 1_000
  private var session: UInt64 = 0
  private var nextSent: UInt64 = 0
  private var nextReceived: UInt64 = 0
  private var nextTag: UInt64 = 1
  private var wasSubscribed = false
  /// Requests of sessions that are not answered yet, by their tags.
  private var asked: [UInt64: Asked] = [:]
  /// Who is subscribed as far as the sessions know.
  private var subscribers: [Subscriber] = []
  /// Ids of the requests that the broker has seen and not answered.
  private var requests: [UInt64] = []

  private static let channels = ["a", "b", "c:d"].compactMap { try? ChannelName($0) }

  private init(_ input: [UInt8]) {
    bytes = FuzzBytes(input)
    var configuration = GatewayLinkConfiguration(gateway: 9, loops: 2)
    let choices = bytes.byte()
    configuration.maximumSubscribers = choices & 1 != 0 ? 2 : 0
    configuration.keepsUsers = choices & 2 != 0
    configuration.brokers = choices & 4 != 0 ? 2 : 1
    configuration.uplinkWindowBytes = choices & 8 != 0 ? 500 : 1 << 20
    link = GatewayLink(configuration: configuration)
  }

  private func perform(
    _ input: (GatewayLink, Int64, inout [GatewayLinkEffect]) -> Void
  ) throws(BrokenProperty) {
    var effects: [GatewayLinkEffect] = []
    input(link, now, &effects)
    for effect in effects { try check(effect) }
  }

  // MARK: What happens

  private func step() throws(BrokenProperty) {
    switch bytes.below(16) {
    case 0..<3: try subscribe()
    case 3: try unsubscribe()
    case 4: try ask()
    case 5..<7: try receive(.welcome(LinkWelcome(broker: UInt64(bytes.below(2)), term: bytes.number())))
    case 7..<10: try answer()
    case 10..<12: try publish()
    case 12..<14: try sayAnything()
    case 14: try pass()
    default: try receive(bytes.flag() ? .reset : .brokerHeartbeat)
    }
  }

  private func submit(_ request: BrokerRequest, _ asked: Asked, from source: RequestSource) throws(BrokenProperty) {
    self.asked[source.tag] = asked
    let choices = bytes.byte()
    let request = GatewayRequest(
      source: source, format: Self.format(of: source), request: request, isFiltered: choices & 2 != 0,
      hasDelta: choices & 4 != 0)
    try perform { link, now, effects in link.submit(request, at: now, into: &effects) }
  }

  /// A connection has one format for as long as it lasts.
  private static func format(of source: RequestSource) -> WireFormat { source.connection % 2 == 0 ? .json : .protobuf }

  private func source(loop: Int) -> RequestSource {
    defer { nextTag += 1 }
    return RequestSource(loop: loop, connection: nextTag, tag: nextTag)
  }

  private func subscribe() throws(BrokenProperty) {
    let channel = bytes.pick(Self.channels)
    let source = source(loop: bytes.below(2))
    let member = bytes.flag() ? ClientInfo(user: "u", client: "c\(source.tag)") : nil
    let request = BrokerRequest.SubscribeRequest(channel: channel, recoveryLimit: 10, member: member)
    try submit(.subscribe(request), Asked(channel: channel, isSubscribe: true, member: member), from: source)
  }

  /// A session unsubscribes what it has subscribed, in the same way, and once.
  private func unsubscribe() throws(BrokenProperty) {
    guard !subscribers.isEmpty else { return }
    let gone = subscribers.remove(at: bytes.below(min(subscribers.count, 256)))
    var source = gone.source
    source.tag = nextTag
    nextTag += 1
    let request = BrokerRequest.UnsubscribeRequest(channel: gone.channel, member: gone.member, keepsInterest: false)
    asked[source.tag] = Asked(channel: gone.channel, isSubscribe: false, member: nil)
    let submitted = GatewayRequest(source: source, format: Self.format(of: source), request: .unsubscribe(request))
    try perform { link, now, effects in link.submit(submitted, at: now, into: &effects) }
  }

  private func ask() throws(BrokenProperty) {
    let channel = bytes.pick(Self.channels)
    let requests: [BrokerRequest] = [
      .publish(.init(channel: channel, data: [0x31])), .history(.init(channel: channel, limit: 1)),
      .presence(channel), .channels(prefix: ""), .report(ClientEvent(.connected, user: "u", client: "c")),
    ]
    let asked = Asked(channel: channel, isSubscribe: false, member: nil)
    try submit(bytes.pick(requests), asked, from: source(loop: 0))
  }

  private func pass() throws(BrokenProperty) {
    now += Int64(bytes.byte()) * 50
    let queued = bytes.number()
    try perform { link, now, effects in link.tick(at: now, queuedBytes: queued, into: &effects) }
    try perform { link, now, effects in link.acknowledge(queuedBytes: 0, at: now, into: &effects) }
  }

  // MARK: What the broker says

  private func receive(_ body: LinkBody) throws(BrokenProperty) {
    let choices = bytes.byte()
    // Now and then the number is not the next, or the session is another.
    let isOrderly = choices & 0xF0 != 0xF0
    let message = LinkMessage(
      session: choices == 0xF1 ? session &+ 1 : session,
      sequence: body == .reset ? 0 : isOrderly ? nextReceived : bytes.number(), body: body)
    if isOrderly, body != .reset { nextReceived += 1 }
    let broker = choices & 1 == 1 ? 1 : 0
    try perform { link, now, effects in link.receive(message, from: broker, at: now, into: &effects) }
  }

  private func answer() throws(BrokenProperty) {
    let id = requests.isEmpty ? bytes.number() : requests.removeFirst()
    let position = StreamPosition(epoch: bytes.flag() ? "e" : "f", offset: bytes.number())
    let response: BrokerResponse =
      switch bytes.below(8) {
      case 0: .failed(.internalError)
      case 1: .done
      case 2: .published(position)
      case 3: .history(.init(position: position, publications: [Publication(offset: bytes.number(), data: [0x31])]))
      case 4: .subscribed(.init(position: position, audience: .exists(key: "k")))
      default: .subscribed(.init(position: position, recovered: bytes.flag()))
      }
    try receive(.reply(LinkReply(id: id, response: response)))
  }

  private func publish() throws(BrokenProperty) {
    let publication = Publication(offset: bytes.number(), data: bytes.piece())
    try receive(.publication(LinkPublication(channel: bytes.pick(Self.channels), publication: publication)))
  }

  private func sayAnything() throws(BrokenProperty) {
    guard let kind = LinkHeader.Kind(rawValue: bytes.byte()) else { return }
    let header = LinkHeader(kind: kind, session: session, sequence: nextReceived)
    try receive(LinkMessage(header: header, bytes: bytes.piece()).body)
  }

  // MARK: What must hold

  private func check(_ effect: GatewayLinkEffect) throws(BrokenProperty) {
    switch effect {
    case .send(let message): try check(message)
    case .answer(let source, let response): try answered(source, isSubscribed: response.isSubscribed)
    case .refusal(let source, _, _): try answered(source, isSubscribed: false)
    default: break
    }
  }

  private func check(_ message: LinkMessage) throws(BrokenProperty) {
    if case .hello = message.body {
      (session, nextSent, nextReceived, requests) = (message.session, 0, 0, [])
    }
    try require(message.session == session, "a message of the session \(message.session) in \(session)")
    try require(message.sequence == nextSent, "message \(message.sequence) is sent, and \(nextSent) is the next")
    nextSent += 1
    if case .request(let request) = message.body { requests.append(request.id) }
    let again = LinkMessage(header: message.header, bytes: message.body.bytes)
    try require(again == message, "\(message) is read as \(again) by the broker")
  }

  private func answered(_ source: RequestSource, isSubscribed: Bool) throws(BrokenProperty) {
    guard let asked = asked.removeValue(forKey: source.tag) else {
      throw BrokenProperty(description: "request \(source.tag) is answered once more")
    }
    guard asked.isSubscribe, isSubscribed else { return }
    wasSubscribed = true
    subscribers.append(Subscriber(channel: asked.channel, source: source, member: asked.member))
  }
}

extension BrokerResponse {
  fileprivate var isSubscribed: Bool { if case .subscribed = self { true } else { false } }
}
