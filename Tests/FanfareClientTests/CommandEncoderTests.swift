import Testing
import Wire

@testable import FanfareClient

@Suite("What the client writes, the server reads")
struct CommandEncoderTests {
  private func read(_ body: ClientCommand.Body) throws -> ClientCommand.Body {
    let commands = try ClientCodec.decode(CommandEncoder.encode(ClientCommand(id: 7, body: body)), format: .protobuf)
    return try #require(commands.first).body
  }

  @Test("Filters of every kind arrive as they were")
  func filters() throws {
    let filter = TagFilter.all([
      .equal(key: "user", "ada"), .not(.equal(key: "a", "b")), .oneOf(key: "c", ["d", "e"]), .exists(key: "f"),
      .any([.hasPrefix(key: "g", "h"), .hasSuffix(key: "i", "j"), .contains(key: "k", "l")]),
      .number(key: "m", .greater, "1"), .number(key: "m", .greaterOrEqual, "1.5"), .number(key: "m", .less, "-2"),
      .number(key: "m", .lessOrEqual, "3"),
    ])
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = "c"
    subscribe.filter = filter
    guard case .subscribe(let got) = try read(.subscribe(subscribe)) else {
      Issue.record("another command arrived")
      return
    }
    #expect(got.filter == filter && got.refusal == nil)
  }

  @Test("A connect arrives with all that it says")
  func connects() throws {
    var connect = ClientCommand.Connect()
    (connect.token, connect.data, connect.name, connect.version) = ("t", [0x31], "n", "v")
    connect.reconnects = true
    #expect(try read(.connect(connect)) == .connect(connect))
  }

  @Test("The fields of a map arrive")
  func maps() throws {
    var subscribe = ClientCommand.Subscribe()
    (subscribe.channel, subscribe.type, subscribe.phase) = ("m", 1, 2)
    (subscribe.cursor, subscribe.limit, subscribe.asc) = ("c", 10, true)
    (subscribe.recover, subscribe.epoch, subscribe.offset) = (true, "e", 3)
    #expect(try read(.subscribe(subscribe)) == .subscribe(subscribe))
    var publish = ClientCommand.Publish()
    (publish.channel, publish.data) = ("m", [0x31])
    publish.map = MapWrite(key: "k", score: -5)
    #expect(try read(.publish(publish)) == .publish(publish))
  }

  @Test("An entry of a map is read with its key, score and removal")
  func entries() throws {
    let publications = [
      Publication(offset: 1, data: [0x31], change: KeyChange(key: "k", score: -5)),
      Publication(offset: 2, data: [], change: KeyChange(key: "k", removed: true)),
    ]
    let bytes = ClientCodec.encode(
      publications.map { .push(.publication(channel: "m", $0)) }, format: .protobuf)
    let changes = try ReplyDecoder.decode(bytes).map { reply -> KeyChange? in
      if case .push(.publication(_, let publication, _)) = reply { publication.change } else { nil }
    }
    #expect(changes == publications.map(\.change))
  }
}
