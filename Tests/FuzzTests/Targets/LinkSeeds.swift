import Wire

/// Messages between gateway and broker, and replies to clients, with something in every field.
enum LinkSeeds {
  private static let info = ClientInfo(user: "u", client: "c", connectionInfo: Array("{}".utf8), channelInfo: [])
  private static let position = StreamPosition(epoch: "epoch", offset: .max)
  private static let publications = [
    Publication(offset: 1, time: -1, data: [0, 255], info: info, tags: ["a": "", "b": "x"]),
    Publication(offset: 3, data: [1], change: KeyChange(key: "k", score: -5, expires: 1)),
  ]
  private static let filter = TagFilter.all([.not(.exists(key: "only")), .oneOf(key: "user", ["a", "b"])])

  static let messages: [LinkMessage] = bodies.enumerated().map { index, body in
    LinkMessage(session: 1, sequence: UInt64(index), body: body)
  }

  private static let bodies: [LinkBody] = {
    guard let channel = try? ChannelName("chat:é#1,2") else { return [] }
    let target = SessionTarget(user: "u", whitelist: ["c"])
    let subscription = OrderedSubscription(channel: channel, info: [0x31], since: position)
    return [
      .hello(LinkHello(gateway: 9, partition: 0, partitions: 1, hasClients: true)),
      .gatewayHeartbeat(GatewayHeartbeat(consumedBytes: 1 << 33)), .resynced, .goodbye, .brokerHeartbeat, .reset,
      .obeyed(LinkObeyed(id: 7)), .welcome(LinkWelcome(broker: 1, term: 300, windowBytes: 1 << 30)),
      .publication(LinkPublication(channel: channel, publication: publications[0])),
      .publication(LinkPublication(channel: channel, publication: publications[1])),
      .join(LinkPresenceEvent(channel: channel, member: info)),
      .leave(LinkPresenceEvent(channel: channel, member: info)),
      .audience(LinkAudience(channel: channel, user: "u", .admitted, audience: filter)),
      .order(LinkOrder(id: 1, order: .subscribe(target, subscription))),
      .order(LinkOrder(id: 2, order: .refresh(target, .at(1)))),
      .order(LinkOrder(id: 3, order: .forget(["u"]))),
    ] + requests(channel) + responses(channel)
  }()

  private static func requests(_ channel: ChannelName) -> [LinkBody] {
    let requests: [BrokerRequest] = [
      .publish(.init(channel: channel, data: [1, 2], info: info, tags: ["k": "v"], idempotencyKey: "key")),
      .publish(.init(channel: channel, data: [1], write: MapWrite(key: "k", score: .min))),
      .subscribe(.init(channel: channel, since: position, recoveryLimit: .max, member: info)),
      .subscribe(
        .init(
          channel: channel, recoveryLimit: 3, map: MapRead(phase: .state, cursor: "3:k", limit: .max, isReversed: true))
      ),
      .unsubscribe(.init(channel: channel, member: info, keepsInterest: true)),
      .history(.init(channel: channel, limit: 7, since: position, reverse: true)), .historyRemove(channel),
      .presence(channel), .presenceStats(channel), .channels(prefix: "chat:"),
      .edit(.init(channel: channel, offset: .max, data: nil, editor: info)),
      .readMap(.init(channel: channel, key: "k", read: MapRead(phase: .stream), viewer: "u")),
      .receipt(.init(channel: channel, delivered: 7, read: .max, reader: info)), .unread(user: "u", [channel]),
      .call(.init(.other(.init(method: "a.b", data: [0x7B, 0x7D])), caller: info)),
      .call(.init(.clique(.enter(place: "cafe", hasToken: true)), caller: info, attestedPlace: "cafe")),
      .report(ClientEvent(.connected, user: "u", client: "c")), .webhooks(.list),
      .refresh(SessionTarget(client: "c", whitelist: ["d"]), .at(-1)),
    ]
    return requests.enumerated().map { index, request in
      .request(
        LinkRequest(
          id: UInt64(index), oldestPending: 0, isRetry: index % 2 == 0, isResync: index % 3 == 0,
          isService: index % 5 == 0, request: request))
    }
  }

  private static func responses(_ channel: ChannelName) -> [LinkBody] {
    let responses: [BrokerResponse] = [
      .published(position), .subscribed(.init(position: position, recovered: true, publications: publications)),
      .subscribed(.init(position: position, audience: filter, gap: RecoveryGap(1...9, .expired))), .done,
      .history(.init(position: position, publications: publications)), .presence([info]),
      .presenceStats(clients: 2, users: 1), .channels([channel]),
      .mapPage(MapPage(phase: .state, position: position, entries: publications, cursor: "3:k")), .unread([0, .max]),
      .result(Array("{}".utf8)), .tooLarge, .failed(.tooManyRequests),
    ]
    return responses.map { .reply(LinkReply(id: 1, response: $0)) }
  }

  // MARK: Replies

  static let replies: [[ClientReply]] = single.map { [$0] } + [single]

  private static let single: [ClientReply] = {
    var connect = ClientReply.ConnectResult()
    (connect.client, connect.version, connect.ping, connect.pong) = ("c", "Fanfare", 25, true)
    var subscribe = ClientReply.SubscribeResult()
    (subscribe.recoverable, subscribe.epoch, subscribe.offset) = (true, "epoch", 3)
    subscribe.publications = publications
    connect.subs["s"] = subscribe
    return [
      .connect(id: 1, connect), .subscribe(id: 2, subscribe), .unsubscribe(id: 3), .publish(id: 4),
      .presence(id: 5, [info], isPartial: true), .presenceStats(id: 6, clients: 2, users: 1), .ping(id: 7),
      .rpc(id: 8, data: [0x31]), .subRefresh(id: 9, expires: true, ttl: 60),
      .error(id: 10, ClientError(code: 100, message: "no", temporary: true)), .serverPing,
      .push(.publication(channel: "a", publications[0])), .push(.join(channel: "a", info)),
      .push(.leave(channel: "a", info)),
      .push(.unsubscribe(channel: "a", UnsubscribeCode(code: 2_500, reason: "r"))),
      .push(.subscribe(channel: "a", recoverable: true, positioned: true, position, data: [0x31])),
      .push(.disconnect(DisconnectCode(code: 3_000, reason: "r"))), .push(.refresh(expires: true, ttl: 60)),
      .push(.reconnect(afterMilliseconds: 5)),
    ]
  }()
}
