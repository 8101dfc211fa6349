import Auth
import Foundation
import TestSupport
import Testing

/// What a client sees must not depend on how the server is put together.
@Suite("End to end", .ownThread)
struct EndToEndTests {
  @Test(
    "What is published on one gateway arrives on both, in order, and stays in the history",
    arguments: Deployment.Kind.allCases)
  func order(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      for namespace in ["mem", "rel", "dur"] {
        let channel = "\(namespace):order"
        let publisher = try await deployment.client("ann", at: deployment.a)
        let here = try await deployment.client("ben", at: deployment.a)
        let there = try await deployment.client("cleo", at: deployment.b)
        try await here.subscribe(channel)
        try await there.subscribe(channel)
        let expected = (1...200).map { "m\($0)" }
        let asked = expected.map { publisher.sendPublish($0, to: channel) }
        #expect(await eventually { here.data(channel).count >= 200 && there.data(channel).count >= 200 })
        #expect(here.data(channel) == expected)
        #expect(there.data(channel) == expected)
        #expect(there.publications(channel).compactMap(\.offset) == (1...200).map { UInt64($0) })
        #expect(there.publications(channel).first?.info?.user == "ann")
        #expect(await eventually { asked.allSatisfy { publisher.reply($0) != nil } })
        #expect(asked.allSatisfy { publisher.reply($0)?.error == nil })

        let newest = try await there.history(channel, limit: 2, reverse: true)
        #expect(newest.publications?.map(\.data) == ["m200", "m199"])
        let since = Peer.Position(epoch: newest.position.epoch, offset: 197)
        #expect(
          try await here.history(channel, limit: 10, since: since).publications?.map(\.data) == [
            "m198", "m199", "m200",
          ])
      }
    }
  }

  @Test(
    "Presence names the members of all gateways, and joins and leaves reach all", arguments: Deployment.Kind.allCases)
  func presence(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      try await ann.subscribe("mem:room")
      try await ben.subscribe("mem:room")
      #expect(try await ann.presentUsers("mem:room") == ["ann", "ben"])
      #expect(try await ben.presentUsers("mem:room") == ["ann", "ben"])
      let stats = try await ann.ask(#""presence_stats":{"channel":"mem:room"}"#).presence_stats
      #expect(stats?.num_clients == 2)
      #expect(stats?.num_users == 2)
      #expect(await eventually { ann.events("mem:room").contains(.join("ben")) })
      ben.socket.cut()
      #expect(await eventually { ann.events("mem:room").contains(.leave("ben")) })
      #expect(try await ann.presentUsers("mem:room") == ["ann"])
    }
  }

  @Test(
    "A client whose connection was cut recovers by its position, on the other gateway too",
    arguments: Deployment.Kind.allCases)
  func recovery(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      for namespace in ["mem", "rel", "dur"] {
        let channel = "\(namespace):missed"
        let publisher = try await deployment.client("ann")
        let before = try await deployment.client("ben", at: deployment.a)
        let start = try await before.subscribe(channel).position
        try await publisher.publish("seen", to: channel)
        #expect(await eventually { before.data(channel) == ["seen"] })
        before.socket.cut()
        for number in 1...50 { try await publisher.publish("missed \(number)", to: channel) }
        let after = try await deployment.client("ben", at: deployment.b)
        let result = try await after.subscribe(channel, since: .init(epoch: start.epoch, offset: start.offset + 1))
        #expect(result.was_recovering == true)
        #expect(result.recovered == true)
        #expect(result.publications?.map(\.data) == (1...50).map { "missed \($0)" })
        try await publisher.publish("live", to: channel)
        #expect(await eventually { after.data(channel).last == "live" })
        #expect(after.data(channel).count == 51)

        let stranger = try await deployment.client("cleo", at: deployment.b)
        let refused = try await stranger.subscribe(channel, since: .init(epoch: "another", offset: 1))
        #expect(refused.recovered != true)
        #expect(refused.publications?.isEmpty ?? true)
      }
    }
  }

  @Test(
    "Channels in the token are subscribed by the server and recovered in connect", arguments: Deployment.Kind.allCases)
  func serverSide(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let service = try deployment.service()
      let ann = try Peer(deployment.a)
      let first = try await ann.connect(token: deployment.token("ann", channels: ["dur:inbox"]))
      let position = try #require(first.subs?["dur:inbox"]?.position)
      #expect(try await service.publish("one", to: "dur:inbox").isError == false)
      #expect(await eventually { ann.data("dur:inbox") == ["one"] })
      ann.socket.cut()
      _ = try await service.publish("two", to: "dur:inbox")
      _ = try await service.publish("three", to: "dur:inbox")
      let again = try Peer(deployment.b)
      let second = try await again.connect(
        token: deployment.token("ann", channels: ["dur:inbox"]),
        subs: ["dur:inbox": .init(epoch: position.epoch, offset: position.offset + 1)])
      #expect(second.subs?["dur:inbox"]?.recovered == true)
      #expect(again.data("dur:inbox") == ["two", "three"])
      _ = try await service.publish("four", to: "dur:inbox")
      #expect(await eventually { again.data("dur:inbox") == ["two", "three", "four"] })
    }
  }

  @Test(
    "A private channel needs a subscription token, a user-limited one the right user",
    arguments: Deployment.Kind.allCases)
  func access(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let ann = try await deployment.client("ann", at: deployment.b)
      await #expect(throws: Peer.Reply.Fault.self) { try await ann.subscribe("$mem:secret") }
      let wrong = try deployment.minter.subscriptionToken(user: "ben", channel: "$mem:secret", expiresIn: 3600)
      await #expect(throws: (any Error).self) { try await ann.subscribe("$mem:secret", token: wrong) }

      let cleo = try await deployment.client("cleo", at: deployment.b)
      let right = try deployment.minter.subscriptionToken(user: "cleo", channel: "$mem:secret", expiresIn: 3600)
      try await cleo.subscribe("$mem:secret", token: right)
      try await cleo.publish("hush", to: "$mem:secret")
      #expect(await eventually { cleo.data("$mem:secret") == ["hush"] })

      let ben = try await deployment.client("ben", at: deployment.a)
      try await ben.subscribe("dur:pair#ben,cleo")
      let refused = try await cleo.ask(#""history":{"channel":"dur:pair#ann,ben","limit":1}"#)
      #expect(refused.error?.code == 103)
      let dora = try await deployment.client("dora", at: deployment.a)
      let denied = try await dora.ask(#""subscribe":{"channel":"dur:pair#ben,cleo"}"#)
      #expect(denied.error?.code == 103)
    }
  }

  @Test(
    "Services publish over ZeroMQ, read history and presence, and listen on the tap",
    arguments: Deployment.Kind.allCases)
  func services(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let service = try deployment.service()
      let tap = Tap(deployment.tap, prefix: "mem:tapped\0")
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      try await ann.subscribe("mem:tapped")
      try await ben.subscribe("mem:tapped")
      // A subscription takes its time to arrive: publish until the tap hears it.
      #expect(
        await eventually {
          _ = service.sendPublish("warm up", to: "mem:tapped")
          return !tap.heard.isEmpty
        })
      #expect(try await service.publish("by a service", to: "mem:tapped").isError == false)
      try await ann.publish("by a client", to: "mem:tapped")
      for peer in [ann, ben] {
        #expect(await eventually { peer.data("mem:tapped").suffix(2) == ["by a service", "by a client"] })
      }
      #expect(await eventually { tap.heard.suffix(2) == [#""by a service""#, #""by a client""#] })
      let members = await service.ask("presence", #"{"channel":"mem:tapped"}"#)
      #expect(members?.isError == false)
      let unknown = await service.ask("dance", "{}")
      #expect(unknown?.code == 104)
    }
  }

  @Test(
    "An idempotency key publishes once, whoever repeats it, and refuses other data", arguments: Deployment.Kind.allCases
  )
  func idempotency(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      for channel in ["mem:once", "dur:once"] {
        let (first, second) = (try deployment.service(), try deployment.service())
        let ann = try await deployment.client("ann", at: deployment.b)
        try await ann.subscribe(channel)
        let position = try await first.publish("paid", to: channel, key: "k1").position
        #expect(try await second.publish("paid", to: channel, key: "k1").position == position)
        try await ann.publish("paid", to: channel, key: "k1")
        let conflict = try await second.publish("paid twice", to: channel, key: "k1")
        #expect(conflict.isError)
        #expect(conflict.code == 400)
        await #expect(throws: Peer.Reply.Fault.self) { try await ann.publish("other", to: channel, key: "k1") }
        _ = try await first.publish("end", to: channel)
        #expect(await eventually { ann.data(channel).last == "end" })
        #expect(ann.data(channel) == ["paid", "end"])
      }
    }
  }
}
