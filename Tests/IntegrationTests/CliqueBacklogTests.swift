import FanfareClient
import Foundation
import TestSupport
import Testing
import Wire

/// What a phone wrote without a network is sent when it is back, over a network that goes again meanwhile.
@Suite("Clique: a backlog after a tunnel", .ownThread)
struct CliqueBacklogTests {
  private static let count = 1000

  /// Sends a message until it is answered, as `docs/CLIQUE.md` says: again with its key where nothing is known of it.
  ///
  /// - Returns: how often it was sent.
  private func send(_ number: Int, to id: String, by client: RealtimeClient) async throws -> Int {
    let data = #"{"conversation":"\#(id)","text":"m\#(number)","key":"k\#(number)"}"#
    for attempt in 1...20 {
      do {
        _ = try await client.rpc("clique.send", Array(data.utf8))
        return attempt
      } catch {
        switch error {
        case .connectionLost, .timedOut: continue
        case .server(let refusal) where refusal.temporary: continue
        default: throw error
        }
      }
    }
    throw Failure("m\(number) was not taken")
  }

  @Test(
    "1,000 messages are all taken, once and in order, though the connection is cut and answers are lost",
    arguments: HallPlace.here)
  func backlog(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      let (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await ada.call("clique.send", #"{"to":"dan","text":"hello"}"#)
      let id = try #require(try await dan.call("clique.accept", #"{"person":"ada"}"#)["conversation"].string)
      let chat = "clique.chat:\(id)"
      try await dan.subscribe(chat)
      let url = try #require(URL(string: hall.url))
      let tunnel = try Tunnel(to: UInt16(try #require(url.port)))
      defer { tunnel.close() }
      var options = RealtimeClient.Options()
      options.backoff = Backoff(minimum: .milliseconds(20), maximum: .milliseconds(200))
      let client = try RealtimeClient(
        url: "ws://127.0.0.1:\(tunnel.port)\(url.path)", token: hall.token("ada"), options: options)
      try await client.connect()
      var repeated = 0
      for number in 0..<Self.count {
        switch number {
        case 250, 600: tunnel.cut()
        case 400, 800:
          // The server does it, and the phone does not hear of it.
          tunnel.swallowAnswers()
          async let attempts = send(number, to: id, by: client)
          let isThere = await eventually(within: .seconds(60)) {
            dan.publications(chat).last?["data"]["text"].string == "m\(number)"
          }
          #expect(isThere)
          tunnel.cut()
          repeated += try await attempts - 1
          continue
        default: break
        }
        _ = try await send(number, to: id, by: client)
      }
      #expect(repeated >= 2, "two messages were done before they were sent again")
      #expect(tunnel.connections >= 5)
      await client.disconnect()
      let expected = (0..<Self.count).map { "m\($0)" }
      #expect(await eventually(within: .seconds(60)) { dan.publications(chat).count >= Self.count })
      let seen = dan.publications(chat).compactMap { $0["data"]["text"].string }
      #expect(seen == expected)
      let kept = try await dan.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":-1}")["history"]["publications"]
        .array
      let newest = kept.compactMap { $0["data"]["text"].string }.drop { $0 == "hello" }
      #expect(Array(newest) == Array(expected.prefix(newest.count)) && newest.count >= Self.count - 1)
    }
  }
}
