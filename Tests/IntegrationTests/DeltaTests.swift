import Foundation
import TestSupport
import Testing

/// Delta compression over real sockets, with a client that rebuilds payloads from patches.
@Suite("Delta compression", .ownThread)
struct DeltaTests {
  private static let settings = ["allow_delta", "allow_edit_for_author"].map { "channel.namespaces.mem.\($0)=true" }

  /// Long, and different in one place from the one before.
  private static func state(_ number: Int) -> String {
    let teams = (0..<30).map { #"{"team":"Équipe 😀 \#($0)","points":\#($0 * 7)}"# }
    return #"{"number":\#(number),"teams":[\#(teams.joined(separator: ","))]}"#
  }

  private static func publish(_ payload: String, by peer: Peer, to channel: String) async throws {
    let reply = try await peer.ask(#""publish":{"channel":\#(quoted(channel)),"data":\#(payload)}"#)
    if let error = reply.error { throw error }
  }

  private static func subscribe(
    _ peer: Peer, _ channel: String, since: Peer.Position? = nil
  ) async throws -> Peer.Subscribed {
    var body = #""subscribe":{"channel":\#(quoted(channel)),"delta":"fossil""#
    if let since { body += #","recover":true,"epoch":\#(quoted(since.epoch)),"offset":\#(since.offset)"# }
    let reply = try await peer.ask(body + "}", subscribingTo: channel)
    if let error = reply.error { throw error }
    return try #require(reply.subscribe)
  }

  /// The payloads as a client makes them of what it was sent, and which of them were patches.
  private static func read(_ publications: [Peer.Publication]) throws -> (payloads: [String], patches: [Bool]) {
    var previous: [UInt8]?
    var payloads: [String] = []
    for publication in publications {
      let data = Array(publication.data.utf8)
      if publication.delta == true {
        previous = try FossilDecoder.apply(data, to: #require(previous))
      } else {
        previous = data
      }
      payloads.append(String(decoding: previous ?? [], as: UTF8.self))
    }
    return (payloads, publications.map { $0.delta == true })
  }

  @Test(
    "The first publication is whole and the next are patches, on both gateways; who comes back gets whole ones first",
    arguments: [Deployment.Kind.serve, .ipc])
  func life(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind, settings: Self.settings) { deployment in
      let channel = "mem:game"
      let publisher = try await deployment.client("ann")
      let here = try await deployment.client("ben", at: deployment.a)
      let there = try await deployment.client("cleo", at: deployment.b)
      let result = try await Self.subscribe(here, channel)
      #expect(result.delta == true)
      for number in 1...3 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      _ = try await Self.subscribe(there, channel)
      for number in 4...6 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      #expect(await eventually { here.publications(channel).count == 6 && there.publications(channel).count == 3 })
      var (payloads, patches) = try Self.read(here.publications(channel))
      #expect(payloads == (1...6).map(Self.state))
      #expect(patches == [false, true, true, true, true, true])
      #expect(here.data(channel)[5].utf8.count * 10 < Self.state(6).utf8.count, "a patch saves most of a payload")
      (payloads, patches) = try Self.read(there.publications(channel))
      #expect(payloads == (4...6).map(Self.state))
      #expect(patches == [false, true, true])

      here.socket.cut()
      for number in 7...9 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      let back = try await deployment.client("ben", at: deployment.b)
      let again = try await Self.subscribe(back, channel, since: .init(epoch: result.position.epoch, offset: 6))
      #expect(again.delta == true && again.recovered == true)
      for number in 10...11 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      #expect(await eventually { back.publications(channel).count == 5 })
      (payloads, patches) = try Self.read(back.publications(channel))
      #expect(payloads == (7...11).map(Self.state))
      #expect(patches == [false, false, false, false, true])
    }
  }

  @Test("An edit of the newest publication, which a client that comes back recovers, breaks no patch")
  func edits() async throws {
    try await Deployment.with(.serve, settings: Self.settings) { deployment in
      let channel = "mem:edited"
      let publisher = try await deployment.client("ann")
      let stays = try await deployment.client("ben")
      let start = try await Self.subscribe(stays, channel)
      for number in 1...2 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      let edited = try await publisher.ask(
        #""rpc":{"method":"publication.edit","data":{"channel":"\#(channel)","offset":2,"data":\#(Self.state(20))}}"#)
      #expect(edited.error == nil)
      let back = try await deployment.client("cleo")
      _ = try await Self.subscribe(back, channel, since: .init(epoch: start.position.epoch, offset: 1))
      for number in 3...4 { try await Self.publish(Self.state(number), by: publisher, to: channel) }
      #expect(await eventually { stays.publications(channel).count == 5 && back.publications(channel).count == 4 })
      #expect(try Self.read(stays.publications(channel)).payloads == [1, 2, 20, 3, 4].map(Self.state))
      #expect(try Self.read(back.publications(channel)).payloads == [20, 20, 3, 4].map(Self.state))
    }
  }

  @Test("Where a namespace has no patches, who asks for them gets publications as they are")
  func off() async throws {
    try await Deployment.with(.serve) { deployment in
      let (publisher, asks) = (try await deployment.client("ann"), try await deployment.client("ben"))
      #expect(try await Self.subscribe(asks, "mem:plain").delta == nil)
      for text in ["one", "two"] { try await publisher.publish(text, to: "mem:plain") }
      #expect(await eventually { asks.data("mem:plain") == ["one", "two"] })
    }
  }
}
