import Testing
@testable import Wire

@Suite("Link messages")
struct LinkMessageTests {
  /// The body of a link message: its name, its bytes, and a function that reads bytes and writes them again.
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var rewrite: @Sendable ([UInt8]) throws(MalformedMessage) -> [UInt8]
    var testDescription: String { name }
  }

  static let examples = makeExamples()

  private static func makeExamples() -> [Example] {
    guard let channel = try? ChannelName("chat:\u{E9}#1,2"), let other = try? ChannelName("$x") else { return [] }
    let full = ClientInfo(user: "u", client: "c", connectionInfo: Array("{}".utf8), channelInfo: [])
    let bare = ClientInfo(user: "", client: "")
    let position = StreamPosition(epoch: "epoch", offset: .max)
    let publications = [
      Publication(offset: 1, time: -1, data: [0, 255], info: full, tags: ["a": "", "b": "\u{1F600}"]),
      Publication(offset: .max, time: .max, data: [], info: bare),
      Publication(offset: 3, data: [1], change: KeyChange(key: "k", score: -5, expires: 1)),
      Publication(offset: 4, data: [], change: KeyChange(key: "\u{1F600}", removed: true)),
    ]
    let filter = TagFilter.all([.not(.exists(key: "only")), .oneOf(key: "user", ["a", "b"])])
    var examples: [Example] = []
    let requests = makeRequests(channel, other, full, bare, position)
    for (index, request) in requests.enumerated() {
      let message = LinkRequest(
        id: UInt64(index) << 40, oldestPending: 3, isRetry: index % 2 == 0, isResync: index % 3 == 0,
        isService: index % 5 == 0, request: request)
      examples.append(
        Example(name: "request \(index)", bytes: message.bytes) { (bytes) throws(MalformedMessage) in
          try LinkRequest(bytes: bytes).bytes
        })
    }
    let responses: [BrokerResponse] = [
      .published(position), .subscribed(.init(position: position, recovered: true, publications: publications)),
      .subscribed(.init(position: .init(epoch: "", offset: 0))), .done,
      .subscribed(.init(position: position, gap: RecoveryGap(1...UInt64.max, .expired))),
      .subscribed(.init(position: position, gap: RecoveryGap(.epoch))),
      .history(.init(position: position, publications: publications)), .presence([full, bare]), .presence([]),
      .presence([full], isPartial: true),
      .presenceStats(clients: .max, users: 0), .channels([channel, other]), .channels([]),
      .subscribed(.init(position: position, entries: publications, audience: filter)),
      .mapPage(MapPage(phase: .state, position: position, entries: publications, cursor: "3:k")),
      .mapPage(MapPage(phase: .stream, position: position, changes: publications)),
      .unread([0, .max]), .unread([]), .result([]), .result(Array("{}".utf8)), .tooLarge,
      .failed(.tooManyRequests), .failed(.badRequest.saying("\u{0}\n")),
    ]
    for (index, response) in responses.enumerated() {
      examples.append(
        Example(name: "reply \(index)", bytes: LinkReply(id: .max, response: response).bytes) {
          (bytes) throws(MalformedMessage) in try LinkReply(bytes: bytes).bytes
        })
    }
    for (index, publication) in publications.enumerated() {
      examples.append(
        Example(
          name: "publication \(index)", bytes: LinkPublication(channel: channel, publication: publication).bytes
        ) { (bytes) throws(MalformedMessage) in try LinkPublication(bytes: bytes).bytes })
    }
    return examples + smallExamples(channel, full) + surveyExamples(channel, other)
  }

  private static func makeRequests(
    _ channel: ChannelName, _ other: ChannelName, _ full: ClientInfo, _ bare: ClientInfo, _ position: StreamPosition
  ) -> [BrokerRequest] {
    [
      .publish(.init(channel: channel, data: [1, 2], info: full, tags: ["k": "v"], idempotencyKey: "key")),
      .publish(.init(channel: channel, data: [])),
      .subscribe(.init(channel: channel, since: position, recoveryLimit: .max, member: full)),
      .subscribe(.init(channel: channel)),
      .unsubscribe(.init(channel: channel, member: bare, keepsInterest: true)),
      .unsubscribe(.init(channel: channel, member: nil, keepsInterest: false)),
      .history(.init(channel: channel, limit: 7, since: position, reverse: true)),
      .history(.init(channel: channel, limit: .max)),
      .historyRemove(channel), .presence(channel), .presenceStats(channel), .channels(prefix: ""),
      .channels(prefix: "chat:"), .presence(channel, viewer: "u"), .presenceStats(channel, viewer: ""),
      .publish(.init(channel: channel, data: [1], write: MapWrite(key: "k", score: .min))),
      .publish(.init(channel: channel, data: [], write: MapWrite(key: "\u{E9}", removed: true))),
      .subscribe(
        .init(
          channel: channel, recoveryLimit: 300, member: full, isPresent: false,
          map: MapRead(phase: .state, cursor: "3:k", limit: .max, isReversed: true))),
      .history(.init(channel: channel, limit: 1, viewer: "u", answer: .init(bytes: 65_536, isTry: true))),
      .presence(channel, viewer: nil, answer: .init(bytes: 0)),
      .subscribe(.init(channel: channel, since: position, recoveryLimit: 1, answer: .init(bytes: 1, isTry: true))),
      .readMap(.init(channel: channel, read: MapRead(phase: .state), answer: .init(bytes: 7, isTry: true))),
      .edit(.init(channel: channel, offset: .max, data: nil, editor: full)),
      .edit(.init(channel: channel, offset: 1, data: [], editor: nil)),
      .readMap(.init(channel: channel, key: "k", read: MapRead(phase: .stream), viewer: "u")),
      .readMap(.init(channel: channel, read: MapRead(phase: .state, limit: 3))),
      .receipt(.init(channel: channel, delivered: 7, read: .max, reader: bare)),
      .unread(user: "u", [channel, other]), .unread(user: "", []),
      .call(.init(.other(.init(method: "a.b", data: [0x7B, 0x7D])), caller: full)),
      .call(.init(.other(.init(method: "", data: [])), caller: bare, isGateways: true)),
      .call(.init(.clique(.enter(place: "caf\u{E9}", hasToken: true)), caller: full, attestedPlace: "caf\u{E9}")),
      .call(.init(.clique(.enter(place: "", hasToken: false)), caller: bare, attestedPlace: "")),
      .beginSubscriptions(SessionTarget(user: "u"), .init(channel: channel, info: [0x31], data: [], since: position)),
      .report(ClientEvent(.connected, user: "", client: "c")),
      .report(ClientEvent(.subscribed, user: "u", client: "c", channel: channel)),
      .report(ClientEvent(.disconnected, user: "u", client: "c", code: .max, reason: "r")),
      .webhooks(.list), .webhooks(.givenUp("w", since: .max, limit: 7)), .webhooks(.resend("w", limit: .max)),
      .push(.init(arguments: [0x7B, 0x7D])),
      .refresh(SessionTarget(client: "c", whitelist: ["d"]), .at(-1)), .refresh(SessionTarget(session: "s"), .never),
    ] + AppCommandExample.all.map { .call(.init($0, caller: bare)) }
  }

  private static func smallExamples(_ channel: ChannelName, _ full: ClientInfo) -> [Example] {
    var examples: [Example] = []
    examples.append(
      Example(name: "presence event", bytes: LinkPresenceEvent(channel: channel, member: full).bytes) {
        (bytes) throws(MalformedMessage) in try LinkPresenceEvent(bytes: bytes).bytes
      })
    let filter = TagFilter.not(.hasPrefix(key: "user", "a"))
    examples.append(
      Example(
        name: "audience",
        bytes: LinkAudience(channel: channel, user: "u", .admitted, audience: filter).bytes
      ) { (bytes) throws(MalformedMessage) in try LinkAudience(bytes: bytes).bytes })
    let target = SessionTarget(user: "u", whitelist: ["c"])
    let subscription = OrderedSubscription(channel: channel, info: [0x31], since: .init(epoch: "e", offset: 300))
    for order: SessionOrder in [.subscribe(target, subscription), .refresh(target, .at(1)), .refresh(target, .now)] {
      examples.append(
        Example(name: "order \(order)", bytes: LinkOrder(id: 7, order: order).bytes) {
          (bytes) throws(MalformedMessage) in try LinkOrder(bytes: bytes).bytes
        })
    }
    examples.append(
      Example(
        name: "hello", bytes: LinkHello(gateway: .max - 1, partition: 300, partitions: .max, hasClients: false).bytes
      ) {
        (bytes) throws(MalformedMessage) in
        try LinkHello(bytes: bytes).bytes
      })
    examples.append(
      Example(name: "welcome", bytes: LinkWelcome(broker: 1, term: 300, windowBytes: 1 << 30).bytes) {
        (bytes) throws(MalformedMessage) in
        try LinkWelcome(bytes: bytes).bytes
      })
    examples.append(
      Example(name: "heartbeat", bytes: GatewayHeartbeat(consumedBytes: 1 << 33).bytes) {
        (bytes) throws(MalformedMessage) in try GatewayHeartbeat(bytes: bytes).bytes
      })
    examples.append(
      Example(name: "header", bytes: LinkHeader(kind: .reset, session: .max, sequence: 1).bytes) {
        (bytes) throws(MalformedMessage) in try LinkHeader(bytes: bytes).bytes
      })
    return examples
  }

  @Test("every message is read as it was written", arguments: examples)
  func roundTrip(example: Example) throws {
    #expect(try example.rewrite(example.bytes) == example.bytes)
  }

  @Test("values survive, not only bytes")
  func values() throws {
    let channel = try ChannelName("a:b")
    let publication = Publication(
      offset: 300, time: 1_700_000_000_000, data: Array("{}".utf8),
      info: ClientInfo(user: "u", client: "c", connectionInfo: [1], channelInfo: nil), tags: ["k": "v"])
    let live = try LinkPublication(bytes: LinkPublication(channel: channel, publication: publication).bytes)
    #expect(live == LinkPublication(channel: channel, publication: publication))
    let reply = LinkReply(id: 5, response: .failed(.init(code: 400, message: "m", temporary: true)))
    #expect(try LinkReply(bytes: reply.bytes) == reply)
    let request = LinkRequest(
      id: 1, oldestPending: 2, isRetry: true, isResync: false,
      request: .subscribe(.init(channel: channel, since: .init(epoch: "e", offset: 1), recoveryLimit: 2)))
    #expect(try LinkRequest(bytes: request.bytes) == request)
    let header = LinkHeader(kind: .publication, session: 1, sequence: 0x0102_0304)
    #expect(header.bytes == [19, 1, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0])
  }

  @Test("a message that is cut short, at any byte, is malformed", arguments: examples)
  func truncation(example: Example) {
    for count in 0..<example.bytes.count {
      #expect(throws: MalformedMessage.self) { try example.rewrite(Array(example.bytes.prefix(count))) }
    }
  }

  @Test("bytes after a message's end are malformed", arguments: examples)
  func surplus(example: Example) {
    #expect(throws: MalformedMessage.self) { try example.rewrite(example.bytes + [0]) }
  }

  @Test("damaged messages are malformed or another message, and never more than that", arguments: examples)
  func damage(example: Example) {
    var random = LinkDamage(seed: UInt64(example.bytes.count) &* 7919 &+ UInt64(example.bytes.first ?? 0))
    for _ in 0..<1500 {
      let bytes = random.damaged(example.bytes)
      guard let rewritten = try? example.rewrite(bytes) else { continue }
      // A message that was understood is written in a form that is understood as the same. (Numbers and tags have
      // longer spellings, so the bytes may differ from the damaged ones.)
      #expect((try? example.rewrite(rewritten)) == rewritten)
    }
  }

  @Test("a count or length that is not there reserves nothing", arguments: [UInt64(1) << 20, .max, 1 << 62])
  func bombs(count: UInt64) {
    var list: [UInt8] = []
    list.write(UInt64(1))
    list.write(byte: 4)
    list.write("e")
    list.write(UInt64(1))
    list.write(count)
    #expect(throws: MalformedMessage.self) { try LinkReply(bytes: list) }
    var text: [UInt8] = []
    text.write(count)
    text.write(byte: 0)
    #expect(throws: MalformedMessage.self) { try LinkPublication(bytes: text) }
  }

  @Test("numbers over 64 bits, flags that are none, broken UTF-8 and names that are none are malformed")
  func values64() {
    let long: [UInt8] = Array(repeating: 0xFF, count: 9)
    #expect(throws: MalformedMessage.self) { try GatewayHeartbeat(bytes: long + [0x02]) }
    #expect(throws: MalformedMessage.self) { try GatewayHeartbeat(bytes: long + [0x81, 0x00]) }
    #expect(throws: Never.self) { try GatewayHeartbeat(bytes: long + [0x01]) }
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: [1, 1, 2, 0, 5, 1, 0x61]) }
    #expect(throws: Never.self) { try LinkRequest(bytes: [1, 1, 1, 0, 0, 5, 1, 0x61]) }
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: [1, 1, 1, 0, 0, 5, 1, 0xC3]) }
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: [1, 1, 1, 0, 0, 5, 1, 0x00]) }
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: [1, 1, 1, 0, 0, 5, 0]) }
    #expect(throws: MalformedMessage.self) { try LinkRequest(bytes: [1, 1, 1, 0, 0, 99, 1, 0x61]) }
  }

  @Test("another version's hello, another length's header and an unknown kind are malformed")
  func foreign() {
    #expect(throws: MalformedMessage.self) { try LinkHello(bytes: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]) }
    #expect(throws: MalformedMessage.self) { try LinkHeader(bytes: Array(repeating: 1, count: 16)) }
    #expect(throws: MalformedMessage.self) { try LinkHeader(bytes: [16] + Array(repeating: 0, count: 16)) }
    #expect(throws: MalformedMessage.self) { try LinkHeader(bytes: []) }
  }

  @Test("an identity is a gateway's, or nobody's")
  func identities() {
    let bytes = LinkIdentity.bytes(of: 0x0102)
    #expect(bytes == [0x67, 2, 1, 0, 0, 0, 0, 0, 0])
    #expect(LinkIdentity.gateway(of: bytes) == 0x0102)
    #expect(LinkIdentity.gateway(of: bytes + [0]) == nil)
    #expect(LinkIdentity.gateway(of: [0] + bytes.dropFirst()) == nil)
    #expect(LinkIdentity.gateway(of: []) == nil)
  }
}

/// Damage under a seed: the same on every machine.
struct LinkDamage {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  private mutating func next(below bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(truncatingIfNeeded: (state >> 33) % UInt64(max(1, bound)))
  }

  mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0...next(below: 3) {
      let place = next(below: bytes.count)
      switch next(below: 5) {
      case 0 where !bytes.isEmpty: bytes[place] = UInt8(next(below: 256))
      case 1 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(next(below: 8))
      case 2 where !bytes.isEmpty: bytes.remove(at: place)
      case 3: bytes.insert(UInt8(next(below: 256)), at: place)
      default: if !bytes.isEmpty { bytes.append(contentsOf: bytes[place...].prefix(4)) }
      }
    }
    return bytes
  }
}
