import Testing
import Wire

@testable import Gateway
@testable import ZeroMQ

@Suite("Those who come to an event loop, and who leave it")
struct ShardVisitorsTests {
  @Test("of many who leave at once a few end their sessions between two looks at the sockets")
  func manyLeave() throws {
    let scene = try ShardScene(members: 0)
    scene.shard.paceVisitors()
    let drivers = (1...20).map { scene.signIn($0) }
    #expect(scene.shard.sessions.count == 20)
    for driver in drivers { driver.closed() }
    #expect(drivers.allSatisfy { $0.isGone })
    #expect(scene.shard.sessions.count == 12)
    #expect(scene.census.numbers.clients == 12)
    #expect(scene.egress.turns > 0)
    // What is handed over meanwhile is no look at the sockets.
    scene.take([1])
    #expect(scene.shard.sessions.count == 12)
    scene.shard.passed()
    #expect(scene.shard.sessions.count == 4)
    scene.shard.passed()
    #expect(scene.shard.sessions.isEmpty)
  }

  @Test("whoever has not signed in leaves at once, and so do all while the server ends")
  func leaveAtOnce() throws {
    let scene = try ShardScene(members: 0)
    scene.shard.paceVisitors()
    let strangers = (1...20).map { scene.shard.open(RecordingTransport(eventLoop: scene.egress.loop, id: $0)) }
    #expect(scene.shard.sessions.count == 20)
    for driver in strangers { driver.closed() }
    #expect(scene.shard.sessions.isEmpty)
    let drivers = (1...20).map { scene.signIn($0) }
    for driver in drivers { driver.closed() }
    #expect(scene.shard.sessions.count == 12)
    for driver in drivers { driver.shutDownNow() }
    #expect(scene.shard.sessions.isEmpty)
    for _ in 0..<3 { scene.shard.passed() }
    #expect(scene.census.numbers.clients == 0)
  }

  @Test("few are let in between two looks at the sockets while something is published, and many where nothing is")
  func manyEnter() throws {
    let scene = try ShardScene(members: 1)
    scene.shard.paceVisitors()
    var entered = 0
    #expect(scene.shard.isAtRest)
    for _ in 0..<20 { scene.shard.admit { entered += 1 } }
    #expect(entered == 20)
    scene.take([1])
    #expect(!scene.shard.isAtRest)
    scene.shard.passed()
    for _ in 0..<20 { scene.shard.admit { entered += 1 } }
    #expect(entered == 22)
    scene.shard.passed()
    #expect(entered == 24)
    for _ in 0..<8 { scene.shard.passed() }
    #expect(entered == 40)
  }

  @Test("few reads go between two looks at the sockets while something is published, and many where nothing is")
  func manyRead() throws {
    let scene = try ShardScene(members: 1)
    scene.shard.paceVisitors()
    let drivers = (1...10).map { scene.signIn($0) }
    func read(_ tag: UInt64) {
      for driver in drivers {
        scene.shard.request(.history(.init(channel: Fixed.channel, limit: 1)), tag: tag, terms: nil, from: driver)
      }
    }
    _ = scene.posted()
    read(1)
    #expect(scene.posted().count == 10)
    let page = BrokerResponse.history(.init(position: .init(epoch: "e", offset: 0)))
    for driver in drivers { scene.shard.carryOut([.answer(connection: driver.id, tag: 1, page)]) }
    scene.take([1])
    scene.shard.passed()
    let turns = scene.egress.turns
    read(2)
    #expect(scene.posted().count == 4)
    #expect(scene.egress.turns > turns)
    scene.shard.passed()
    #expect(scene.posted().count == 4)
    scene.shard.passed()
    #expect(scene.posted().count == 2)
    // The backbone runs what a look lets go, without another request to make it.
    #expect(!scene.endsOfTurn.isEmpty)
  }
}
