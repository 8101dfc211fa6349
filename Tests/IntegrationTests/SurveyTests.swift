import Foundation
import TestSupport
import Testing

/// What the server carries, which the gateways know and the broker has to ask them.
@Suite("How many clients there are, and where", .ownThread)
struct SurveyTests {
  /// Two connections of ann's and one of ben's on one gateway, one each of ann's and cleo's on the other, all of them
  /// on `mem:room`; ben and cleo on a room of their own besides.
  private func connect(_ deployment: Deployment) async throws -> [Peer] {
    var peers: [Peer] = []
    for (user, gateway) in [
      ("ann", deployment.a), ("ann", deployment.a), ("ben", deployment.a), ("ann", deployment.b),
      ("cleo", deployment.b),
    ] {
      let peer = try await deployment.client(user, at: gateway)
      try await peer.subscribe("mem:room")
      if user != "ann" { try await peer.subscribe("mem:\(user)") }
      peers.append(peer)
    }
    return peers
  }

  @Test(
    "A service hears what each gateway carries, and how many clients are on the channels of both",
    arguments: [Deployment.Kind.serve, .inproc, .ipc])
  func surveys(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind) { deployment in
      let service = try deployment.service()
      let peers = try await connect(deployment)
      _ = try await service.publish("1", to: "mem:room")
      let info = try #require(await service.ask("info", ""))
      let nodes = try #require(info.nodes)
      func sorted(_ count: (Service.Answer.Node) -> Int) -> [Int] { nodes.map(count).sorted() }
      if kind == .ipc {
        #expect(sorted(\.num_clients) == [2, 3] && sorted(\.num_users) == [2, 2])
        #expect(sorted(\.num_subs) == [3, 4] && sorted(\.num_channels) == [2, 2])
      } else {
        #expect(sorted(\.num_clients) == [5] && sorted(\.num_users) == [3])
        #expect(sorted(\.num_subs) == [7] && sorted(\.num_channels) == [3])
      }
      #expect(nodes.allSatisfy { $0.version.hasPrefix("Fanfare ") && $0.name.hasSuffix($0.uid) })
      #expect(info.broker.map { $0.num_channels >= 3 } == true && info.broker?.num_publications == 1)
      #expect(info.broker?.version == nodes.first?.version)
      #expect(info.partial == nil && info.unanswered == nil)

      let all = try #require(await service.ask("channels", #"{"pattern":"mem:*"}"#))
      #expect(all.counts == ["mem:room": 5, "mem:ben": 1, "mem:cleo": 1])
      #expect(all.channels == ["mem:ben", "mem:cleo", "mem:room"] && all.partial == nil)
      let some = try #require(await service.ask("channels", #"{"pattern":"*:?en"}"#))
      #expect(some.counts == ["mem:ben": 1])
      let names = try #require(await service.ask("channels", #"{"prefix":"mem:r"}"#))
      #expect(names.channels == ["mem:room"] && names.counts == nil)

      // Clients whose connections end are counted no more.
      for peer in peers.prefix(3) { peer.socket.cut() }
      #expect(
        await eventually {
          let info = await service.ask("info", "")
          return info?.nodes?.reduce(0) { $0 + $1.num_clients + $1.num_users + $1.num_subs } == 2 + 2 + 3
        })
      let left = try #require(await service.ask("channels", #"{"pattern":""}"#))
      #expect(left.counts == ["mem:room": 2, "mem:cleo": 1])
    }
  }

  @Test("A gateway that stands still is missing from the answer, which comes all the same and says so")
  func partial() async throws {
    try await Deployment.with(.ipc) { deployment in
      let service = try deployment.service()
      let peers = try await connect(deployment)
      await deployment.gateway("b").standStill()
      let info = try #require(await service.ask("info", ""))
      #expect(info.partial == true && info.unanswered == 1)
      #expect(info.nodes?.map(\.num_clients) == [3])
      let counts = try #require(await service.ask("channels", #"{"pattern":"mem:*"}"#))
      #expect(counts.partial == true && counts.unanswered == 1)
      #expect(counts.counts == ["mem:room": 3, "mem:ben": 1])
      deployment.gateway("b").signal(SIGCONT)
      #expect(await eventually { await service.ask("info", "")?.nodes?.count == 2 })
      for peer in peers { #expect(peer.socket.closing == nil) }
    }
  }
}
