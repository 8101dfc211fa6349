import TestSupport
import Testing
import Wire

@testable import Gateway

/// The gateway's end of the link, with a test as its broker and as its sessions.
final class LinkScene {
  let link: GatewayLink
  var now: Int64 = 1000
  /// What the link said to the broker since it was asked last.
  private var sent: [LinkMessage] = []
  private var told: [GatewayLinkEffect] = []
  private var nextSequence: UInt64 = 0
  private(set) var session: UInt64 = 0

  init(_ change: (inout GatewayLinkConfiguration) -> Void = { _ in }) {
    var configuration = GatewayLinkConfiguration(gateway: 9, loops: 2)
    change(&configuration)
    link = GatewayLink(configuration: configuration)
    perform { link.start(at: now, into: &$0) }
  }

  func perform(_ input: (inout [GatewayLinkEffect]) -> Void) {
    var effects: [GatewayLinkEffect] = []
    input(&effects)
    for effect in effects {
      guard case .send(let message) = effect else {
        told.append(effect)
        continue
      }
      if message.body.kind == .hello {
        session = message.session
        nextSequence = 0
      }
      sent.append(message)
    }
  }

  /// The kinds of what was sent since this was asked last.
  func sends() -> [LinkHeader.Kind] {
    defer { sent = [] }
    return sent.map(\.body.kind)
  }

  /// The requests of what was sent since this was asked last.
  func asks() -> [LinkRequest] {
    defer { sent = [] }
    return sent.compactMap { if case .request(let request) = $0.body { request } else { nil } }
  }

  func lastSent() -> LinkMessage? { sent.last }

  /// What the last message, if it is a heartbeat, says was worked off.
  func lastConsumed() -> UInt64? {
    if case .gatewayHeartbeat(let heartbeat)? = sent.last?.body { heartbeat.consumedBytes } else { nil }
  }

  /// What event loops were handed since this was asked last.
  func tells() -> [GatewayLinkEffect] {
    defer { told = [] }
    return told
  }

  // MARK: The broker

  func receive(_ body: LinkBody, session: UInt64? = nil, skipping: UInt64 = 0) {
    nextSequence += skipping
    let isReset = body == .reset
    let message = LinkMessage(session: session ?? self.session, sequence: isReset ? 0 : nextSequence, body: body)
    if !isReset && session == nil { nextSequence += 1 }
    perform { link.receive(message, at: now, into: &$0) }
  }

  /// What one of several brokers sends in the session.
  func receive(_ body: LinkBody, from broker: Int, number: UInt64, session: UInt64? = nil) {
    let message = LinkMessage(session: session ?? self.session, sequence: number, body: body)
    perform { link.receive(message, from: broker, at: now, into: &$0) }
  }

  func appear(_ broker: Int) { perform { link.appeared(broker, at: now, into: &$0) } }
  func vanish(_ broker: Int) { perform { link.vanished(broker, at: now, into: &$0) } }

  func welcome(by broker: Int, term: UInt64, session: UInt64? = nil) {
    receive(
      .welcome(LinkWelcome(broker: UInt64(broker), term: term)), from: broker, number: 0, session: session)
  }

  func welcome() { receive(.welcome(LinkWelcome(broker: 1))) }
  func answer(_ id: UInt64, _ response: BrokerResponse) { receive(.reply(LinkReply(id: id, response: response))) }

  func publication(_ channel: ChannelName, _ offset: UInt64) {
    receive(.publication(LinkPublication(channel: channel, publication: Self.publication(offset))))
  }

  static func publication(_ offset: UInt64) -> Publication { Publication(offset: offset, data: [0x31]) }

  // MARK: Sessions

  /// A session's request; its tag is also the connection's number.
  func submit(
    _ request: BrokerRequest, tag: UInt64, loop: Int = 0, format: WireFormat = .json, isFiltered: Bool = false,
    hasDelta: Bool = false
  ) {
    let source = RequestSource(loop: loop, connection: tag, tag: tag)
    perform {
      link.submit(
        GatewayRequest(source: source, format: format, request: request, isFiltered: isFiltered, hasDelta: hasDelta),
        at: now, into: &$0)
    }
  }

  /// An open link with one subscriber, client "a" on loop 0, standing at `offset`.
  func subscribed(_ channel: ChannelName, at offset: UInt64 = 0) {
    welcome()
    submit(.subscribe(.init(channel: channel, member: .init(user: "u", client: "a"))), tag: 1)
    answer(1, .subscribed(.init(position: .init(epoch: "e", offset: offset))))
    _ = sends()
    _ = tells()
  }

  /// The old session is over; the next one is welcomed. Answers nothing yet.
  func reopen() {
    receive(.reset)
    _ = sends()
    welcome()
  }

  func pass(_ milliseconds: Int64, queued: UInt64 = 0) {
    now += milliseconds
    perform { link.tick(at: now, queuedBytes: queued, into: &$0) }
  }
}

extension GatewayLinkEffect {
  /// The offset of the publication that the effect hands on; 0 where it is none.
  var offset: UInt64 {
    guard case .publication(_, let publication, _) = self else { return 0 }
    return publication.offset
  }

  /// Tag and error code of an answer that says that something failed.
  var failure: (UInt64, UInt32)? {
    guard case .answer(let source, .failed(let error)) = self else { return nil }
    return (source.tag, error.code)
  }
}
