import Testing
import Wire

@testable import FanfareClient

@Suite("The client's codec")
struct ReplyDecoderTests {
  private static let info = ClientInfo(user: "u", client: "c", connectionInfo: [0x7B, 0x7D], channelInfo: [0x31])
  private static let publication = Publication(offset: 9, time: 5, data: [1, 0, 255], info: info, tags: ["a": "b"])

  private static var replies: [ClientReply] {
    var subscribe = ClientReply.SubscribeResult()
    subscribe.expires = true
    subscribe.ttl = 7
    subscribe.recoverable = true
    subscribe.positioned = true
    subscribe.epoch = "e"
    subscribe.offset = .max
    subscribe.publications = [publication]
    subscribe.recovered = true
    subscribe.wasRecovering = true
    subscribe.data = [1]
    var connect = ClientReply.ConnectResult()
    connect.client = "c"
    connect.version = "v"
    connect.expires = true
    connect.ttl = 60
    connect.data = [2]
    connect.subs = ["s": subscribe]
    connect.ping = 25
    connect.pong = true
    connect.session = "se"
    connect.node = "n"
    var history = ClientReply.HistoryResult()
    history.publications = [publication, publication]
    history.epoch = "e"
    history.offset = 9
    var refresh = ClientReply.RefreshResult()
    refresh.client = "c"
    refresh.version = "v"
    refresh.expires = true
    refresh.ttl = 3
    var (lacking, renewed) = (ClientReply.SubscribeResult(), ClientReply.SubscribeResult())
    lacking.gap = RecoveryGap(42...57, .expired)
    renewed.gap = RecoveryGap(.epoch)
    return [
      .connect(id: 1, connect), .subscribe(id: 2, subscribe), .subscribe(id: 2, lacking), .subscribe(id: 2, renewed),
      .unsubscribe(id: 3), .publish(id: 4),
      .presence(id: 5, [info]), .presence(id: 5, [info], isPartial: true),
      .presenceStats(id: 6, clients: 2, users: 1), .history(id: 7, history),
      .ping(id: 8), .rpc(id: 9, data: [3]), .refresh(id: 10, refresh), .subRefresh(id: 11, expires: true, ttl: 4),
      .error(id: 12, .internalError), .serverPing, .push(.publication(channel: "ch", publication)),
      .push(.join(channel: "ch", info)), .push(.leave(channel: "ch", info)),
      .push(.unsubscribe(channel: "ch", .insufficient)), .push(.message(data: [4])),
      .push(
        .subscribe(
          channel: "ch", recoverable: true, positioned: true, StreamPosition(epoch: "e", offset: 1), data: [5])),
      .push(.disconnect(.shutdown)), .push(.refresh(expires: true, ttl: 8)),
      .push(.reconnect(afterMilliseconds: 2500)),
    ]
  }

  @Test("Every reply that the server can write is read as it was", arguments: replies)
  func roundTrip(reply: ClientReply) throws {
    #expect(try ReplyDecoder.decode(ClientCodec.encode([reply], format: .protobuf)) == [reply])
  }

  @Test("Several replies in one message come in order")
  func several() throws {
    let bytes = ClientCodec.encode(Self.replies, format: .protobuf)
    #expect(try ReplyDecoder.decode(bytes) == Self.replies)
  }

  @Test("A message cut at any byte is whole replies or an error, never a trap")
  func cut() {
    let bytes = ClientCodec.encode(Self.replies, format: .protobuf)
    var errors = 0
    for length in 0..<bytes.count {
      do {
        let replies = try ReplyDecoder.decode(Array(bytes[..<length]))
        #expect(replies == Array(Self.replies.prefix(replies.count)))
      } catch { errors += 1 }
    }
    #expect(errors > bytes.count / 2)
  }

  private static var commands: [ClientCommand.Body] {
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = "ch"
    subscribe.token = "t"
    subscribe.recover = true
    subscribe.epoch = "e"
    subscribe.offset = 3
    subscribe.data = [1]
    subscribe.positioned = true
    subscribe.recoverable = true
    subscribe.joinLeave = true
    subscribe.flag = 2
    var connect = ClientCommand.Connect()
    connect.token = "t"
    connect.data = [1]
    connect.subs = ["ch": subscribe]
    connect.name = "n"
    connect.version = "v"
    var publish = ClientCommand.Publish()
    publish.channel = "ch"
    publish.data = [1, 0]
    publish.idempotencyKey = "k"
    var history = ClientCommand.History()
    history.channel = "ch"
    history.limit = -1
    history.since = StreamPosition(epoch: "e", offset: 1)
    history.reverse = true
    return [
      .connect(connect), .subscribe(subscribe), .unsubscribe(channel: "ch"), .publish(publish),
      .presence(channel: "ch"), .presenceStats(channel: "ch"), .history(history), .ping, .rpc(method: "m", data: [1]),
      .refresh(token: "t"), .subRefresh(channel: "ch", token: "t"),
    ]
  }

  @Test("Every command is read by the server as it was", arguments: commands)
  func commandRoundTrip(body: ClientCommand.Body) throws {
    let command = ClientCommand(id: 5, body: body)
    #expect(try ClientCodec.decode(CommandEncoder.encode(command), format: .protobuf) == [command])
  }

  @Test("A pong is an empty message")
  func pong() {
    #expect(CommandEncoder.encode(ClientCommand(id: 0, body: .pong)) == [0])
  }
}
