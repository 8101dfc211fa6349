import Log
import Testing
import Wire

@testable import Broker

@Suite("A broker of one partition")
struct PartitionTests {
  private let scene = BrokerScene {
    $0.partitioning = Partitioning(count: 4, namespaces: $0.namespaces)
    $0.partition = 2
  }

  private func channel(in partition: Int) throws -> ChannelName {
    let partitioning = scene.core.configuration.partitioning
    return try #require(
      (0..<100).lazy.compactMap { try? ChannelName("c\($0)") }.first { partitioning.partition(of: $0) == partition })
  }

  private func hello(_ gateway: UInt64, partition: UInt64, of partitions: UInt64) {
    let hello = LinkHello(gateway: gateway, partition: partition, partitions: partitions)
    scene.receive(LinkMessage(session: 1, sequence: 0, body: .hello(hello)), from: gateway)
  }

  @Test("A gateway that takes it for another one is not welcome, and that is counted")
  func misplaced() {
    hello(1, partition: 2, of: 3)
    hello(2, partition: 1, of: 4)
    #expect(scene.hears(1) == [] && scene.hears(2) == [] && scene.core.counters.misplacedHellos == 2)
    hello(3, partition: 2, of: 4)
    #expect(scene.hears(3) == [.welcome] && scene.core.counters.misplacedHellos == 2)
  }

  @Test("What belongs to another partition is refused, and nothing of it is opened")
  func elsewhere() throws {
    let (here, there) = (try channel(in: 2), try channel(in: 3))
    guard case .published(let position)? = scene.ask(.publish(.init(channel: here, data: Array("1".utf8)))) else {
      Issue.record("what is here is not published")
      return
    }
    #expect(position.offset == 1)
    for request: BrokerRequest in [
      .publish(.init(channel: there, data: Array("1".utf8))), .history(.init(channel: there, limit: 1)),
      .presence(there), .once(OnceKey(owner: "o", key: "k"), .historyRemove(there)),
    ] {
      #expect(scene.ask(request)?.errorCode == 100)
    }
    #expect(scene.core.channels[there] == nil && scene.core.counters.published == 1)
  }
}

@Suite("Services that ask over a gateway's link")
struct RemoteServiceTests {
  private let scene = BrokerScene()

  private func ask(_ id: UInt64, _ request: BrokerRequest, isRetry: Bool = false) -> [Heard] {
    scene.request(id, request, isRetry: isRetry, isService: true)
    return scene.hears()
  }

  @Test("They are services: their keys count, and what only they may ask is answered")
  func services() {
    scene.hello(1)
    _ = scene.hears()
    let removal = BrokerRequest.once(OnceKey(owner: "o", key: "k"), .historyRemove("c"))
    #expect(ask(1, removal) == [.reply(1, .done)])
    #expect(ask(2, removal) == [.reply(2, .done)] && scene.core.counters.duplicatesAvoided == 1)
    scene.request(3, removal)
    guard case .reply(3, let refusal)? = scene.hears().first else {
      Issue.record("nothing is answered")
      return
    }
    #expect(refusal.errorCode == 107)
  }

  @Test("A request that its link brings again is done once, under way or answered")
  func again() {
    scene.hello(1)
    _ = scene.hears()
    let publish = BrokerRequest.publish(.init(channel: "d:1", data: Array("1".utf8)))
    #expect(ask(1, publish) == [])
    #expect(ask(1, publish, isRetry: true) == [])
    scene.finish()
    let answer = scene.hears()
    #expect(answer.count == 1 && scene.core.counters.published == 1)
    #expect(ask(1, publish, isRetry: true) == answer)
    #expect(scene.core.counters.published == 1)
  }

  @Test("Several with one key get one answer each, whether they come over a link or to the broker itself")
  func together() {
    scene.hello(1)
    _ = scene.hears()
    let order = BrokerRequest.once(
      OnceKey(owner: "o", key: "k"), .disconnect(SessionTarget(user: "ann"), .forceDisconnect))
    guard case .order(let id, _)? = ask(1, order).first else {
      Issue.record("the gateway got no order")
      return
    }
    #expect(scene.serve(7, order) == nil && ask(2, order) == [])
    scene.send(.obeyed(LinkObeyed(id: id)), from: 1)
    #expect(scene.answers[7] == .done)
    #expect(scene.hears() == [.reply(1, .done), .reply(2, .done)] && scene.core.counters.orders == 1)
  }

  @Test("A gateway without clients is asked nothing about them, gets no orders, and nobody waits for it")
  func front() {
    let hello = LinkHello(gateway: 5, hasClients: false)
    scene.receive(LinkMessage(session: 1, sequence: 0, body: .hello(hello)), from: 5)
    #expect(scene.hears(5) == [.welcome])
    #expect(scene.ask(.disconnect(SessionTarget(user: "ann"), .forceDisconnect)) == .done)
    guard case .info(let info)? = scene.ask(.info) else {
      Issue.record("there is no answer")
      return
    }
    #expect(info.gateways.isEmpty && info.unanswered == 0 && scene.hears(5) == [])
  }
}
