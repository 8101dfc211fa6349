import Foundation
import TestSupport
import Testing

/// A service subscribes clients, and says when their connections expire: on every gateway.
@Suite("Subscribed and refreshed by a service", .ownThread)
struct SubscribeOrderTests {
  private static let channel = "mem:room"

  /// Publishes without a pause while the body runs.
  private func whilePublishing(_ deployment: Deployment, _ body: () async throws -> Void) async throws {
    let service = try deployment.service()
    let publisher = Task {
      var number = 0
      while !Task.isCancelled {
        number += 1
        _ = try await service.publish("while \(number)", to: Self.channel)
      }
    }
    do { try await body() } catch {
      publisher.cancel()
      throw error
    }
    publisher.cancel()
    _ = try? await publisher.value
  }

  /// Where the peer's subscriptions by the server began, in order.
  private func beginnings(_ peer: Peer) -> [Peer.Position] {
    peer.events(Self.channel).compactMap { if case .subscribed(let position, _) = $0 { position } else { nil } }
  }

  /// Whether the peer gets so many more publications.
  private func hears(_ peer: Peer, more count: Int = 5) async -> Bool {
    let before = peer.publications(Self.channel).count
    return await eventually { peer.publications(Self.channel).count >= before + count }
  }

  /// All that the peer got follows the position, one after another.
  private func expectNoGap(_ peer: Peer, after position: Peer.Position) {
    let offsets = peer.publications(Self.channel).map { $0.offset ?? 0 }
    let expected = (0..<UInt64(offsets.count)).map { position.offset + 1 + $0 }
    #expect(offsets == expected, "from \(position)")
  }

  @Test(
    "Whoever is subscribed while somebody publishes gets all from the push's position on, on either gateway",
    arguments: [Deployment.Kind.serve, .ipc])
  func whilePublished(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let service = try deployment.service()
      var meant: [Peer] = []
      for gateway in [deployment.a, deployment.b, deployment.b] {
        meant.append(try await deployment.client("ann", at: gateway))
      }
      let other = try await deployment.client("ben", at: deployment.b)
      let order = #"{"user":"ann","channel":"mem:room","info":{"by":"service"},"data":"welcome"}"#
      try await whilePublishing(deployment) {
        #expect(await service.ask("subscribe", order)?.isError == false)
        for peer in meant {
          #expect(await eventually { self.beginnings(peer).count == 1 })
          #expect(await hears(peer))
        }
        // A second order changes nothing for clients that are subscribed already.
        #expect(await service.ask("subscribe", order)?.isError == false)
        for peer in meant { #expect(await hears(peer)) }
      }
      for peer in meant {
        let start = try #require(beginnings(peer).first)
        #expect(peer.events(Self.channel).contains(.subscribed(start, "welcome")))
        #expect(beginnings(peer) == [start])
        expectNoGap(peer, after: start)
        #expect(try await peer.ask(#""unsubscribe":{"channel":"mem:room"}"#).error?.code == 103)
      }
      #expect(other.events(Self.channel).isEmpty && other.publications(Self.channel).isEmpty)
      #expect(try await other.presentUsers(Self.channel) == ["ann", "ann", "ann"])
      let ended = await service.ask("unsubscribe", #"{"user":"ann","channel":"mem:room"}"#)
      #expect(ended?.isError == false)
      for peer in meant { #expect(await eventually { peer.events(Self.channel).last == .unsubscribed(2000) }) }
      #expect(try await other.presentUsers(Self.channel) == [])
    }
  }

  @Test("With a position, what was published since comes first; after a reconnect the subscription is gone")
  func recovered() async throws {
    try await Deployment.with(.ipc) { deployment in
      let service = try deployment.service()
      let first = try await service.publish("one", to: Self.channel).position
      for text in ["two", "three"] { _ = try await service.publish(text, to: Self.channel) }
      let since = #""recover_since":{"epoch":\#(quoted(first.epoch)),"offset":\#(first.offset)}"#
      let ann = try await deployment.client("ann", at: deployment.a)
      let client = try #require(ann.reply(1)?.connect?.client)
      let order = #"{"client":\#(quoted(client)),"channel":"mem:room",\#(since)}"#
      try await whilePublishing(deployment) {
        #expect(await service.ask("subscribe", order)?.isError == false)
        #expect(await hears(ann, more: 7))
      }
      #expect(beginnings(ann) == [first])
      #expect(ann.data(Self.channel).starts(with: ["two", "three"]))
      expectNoGap(ann, after: first)
      ann.socket.cut()
      let again = try await deployment.client("ann", at: deployment.a)
      #expect(again.reply(1)?.connect?.subs?.isEmpty ?? true)
      let lost = #"{"user":"ann","channel":"mem:room","recover_since":{"epoch":"another","offset":1}}"#
      #expect(await service.ask("subscribe", lost)?.isError == false)
      let answer = await service.ask("history", #"{"channel":"mem:room"}"#)
      let newest = try #require(answer).position
      #expect(await eventually { self.beginnings(again) == [newest] })
      #expect(again.data(Self.channel).isEmpty)
    }
  }

  @Test("What cannot be ordered is refused with a sentence")
  func refused() async throws {
    try await Deployment.with(.serve) { deployment in
      let service = try deployment.service()
      for (parameters, code) in [
        (#"{"user":"ann","channel":"nowhere:1"}"#, 102), (#"{"channel":"mem:room"}"#, 107), (#"{"user":"ann"}"#, 107),
      ] {
        let answer = await service.ask("subscribe", parameters)
        #expect(answer?.isError == true && answer?.code == code, "\(parameters): \(answer?.message ?? "")")
      }
      let unknown = await service.ask("resubscribe", "{}")
      #expect(unknown?.message?.contains("subscribe, unsubscribe, refresh") == true)
    }
  }

  @Test("A connection expires when a service says so, and not when it said before")
  func expiry() async throws {
    try await Deployment.with(.ipc, settings: ["client.token_expiry_grace=0s"]) { deployment in
      let service = try deployment.service()
      func refresh(_ user: String, _ fields: String) async {
        let answer = await service.ask("refresh", #"{"user":"\#(user)"\#(fields)}"#)
        #expect(answer?.isError == false, "\(answer?.message ?? "no answer")")
      }
      let going = try await deployment.client("ann", at: deployment.b)
      let prolonged = try await deployment.client("ben", at: deployment.a)
      let forEver = try await deployment.client("cleo", at: deployment.b)
      let gauge = try await deployment.client("dan", at: deployment.a)
      await refresh("ann", #","expired":true"#)
      #expect(await eventually { going.socket.closing?.code == 3005 })
      // This time is so far ahead that two more orders are carried out before it.
      let soon = Int64(Date().timeIntervalSince1970) + 15
      for user in ["ben", "cleo"] { await refresh(user, #","expire_at":\#(soon)"#) }
      await refresh("ben", #","expire_at":\#(soon + 3600)"#)
      await refresh("cleo", "")
      await refresh("dan", #","expire_at":\#(soon + 1)"#)
      #expect(await eventually { gauge.socket.closing?.code == 3005 })
      for (peer, last) in [(prolonged, true), (forEver, false)] {
        #expect(await eventually { peer.expiries.count == 2 })
        #expect(peer.expiries.map { $0.expires ?? false } == [true, last])
        #expect(peer.expiries.allSatisfy { ($0.expires ?? false) == ($0.ttl ?? 0 > 0) })
        // The time at which it was to expire first has come: that of the one that is closed is later.
        #expect(try await peer.ask(#""ping":{}"#).error == nil)
        #expect(peer.socket.closing == nil)
      }
      await refresh("ben", #","expire_at":1"#)
      #expect(await eventually { prolonged.socket.closing?.code == 3005 })
    }
  }
}
