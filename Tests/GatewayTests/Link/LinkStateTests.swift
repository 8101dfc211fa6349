import Testing
import Wire

@testable import Gateway

@Suite("GatewayLink: states")
struct LinkStateTests {
  let channel: ChannelName = Fixed.channel

  @Test("requests wait for the welcome, and then leave in order, none of them as a retry")
  func opening() throws {
    let scene = LinkScene()
    #expect(scene.sends() == [.hello])
    scene.submit(.presence(channel), tag: 1)
    scene.submit(.historyRemove(channel), tag: 2)
    #expect(scene.sends() == [])
    scene.welcome()
    let asks = scene.asks()
    #expect(asks.map(\.id) == [1, 2])
    #expect(asks.allSatisfy { !$0.isRetry && !$0.isResync && $0.oldestPending == 1 })
    #expect(scene.link.isOpen)
  }

  @Test("a hello without an answer is said again in a newer session")
  func helloAgain() {
    let scene = LinkScene()
    _ = scene.sends()
    scene.pass(999)
    #expect(scene.sends() == [])
    scene.pass(1)
    #expect(scene.sends() == [.hello])
    #expect(scene.session == 2)
    scene.receive(.welcome(LinkWelcome(broker: 1)), session: 1)
    #expect(!scene.link.isOpen)
    scene.welcome()
    #expect(scene.link.isOpen)
  }

  @Test("a broker that takes long for each welcome is waited for, and one that was lost for no more than half a minute")
  func slowWelcome() {
    let scene = LinkScene()
    var hellos: [(session: UInt64, at: Int64)] = []
    for _ in 0..<600 where !scene.link.isOpen {
      if scene.sends() == [.hello] { hellos.append((scene.session, scene.now)) }
      scene.pass(1000)
      for hello in hellos where hello.at + 20_000 == scene.now {
        scene.receive(.welcome(LinkWelcome(broker: 1)), session: hello.session)
      }
    }
    #expect(scene.link.isOpen)
    scene.receive(.reset)
    var longest: Int64 = 0
    var last = scene.now
    for _ in 0..<1000 {
      scene.pass(1000)
      if scene.sends().contains(.hello) {
        longest = max(longest, scene.now - last)
        last = scene.now
      }
    }
    #expect(longest == 30_000)
  }

  enum Trouble: CaseIterable { case reset, gap, repeated, silence, unreadable, foreignKind, secondWelcome, hole }

  @Test("whatever shows that a message is missing opens a new session", arguments: Trouble.allCases)
  func reopening(trouble: Trouble) {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    switch trouble {
    case .reset: scene.receive(.reset)
    case .gap: scene.receive(.brokerHeartbeat, skipping: 1)
    case .repeated:
      let twice = LinkMessage(session: scene.session, sequence: 0, body: .brokerHeartbeat)
      scene.perform { scene.link.receive(twice, at: scene.now, into: &$0) }
    case .silence: scene.pass(5001)
    case .unreadable: scene.receive(.unreadable(.reply))
    case .foreignKind: scene.receive(.hello(LinkHello(gateway: 9)))
    case .secondWelcome: scene.welcome()
    case .hole: scene.publication(channel, 6)
    }
    #expect(scene.sends() == [.hello])
    #expect(!scene.link.isOpen)
    #expect(scene.session == 2)
    #expect(scene.tells() == [])
  }

  @Test("a reset of an older session is passed over")
  func olderReset() {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.reset, session: 0)
    #expect(scene.link.isOpen)
  }

  @Test("positions at the end of the numbers do not stop the gateway")
  func lastOffset() {
    let scene = LinkScene()
    scene.subscribed(channel, at: .max)
    scene.publication(channel, 0)
    #expect(scene.sends() == [.hello])
  }

  @Test("a request that was sent is asked again as a retry, one that was not is asked the first time")
  func retry() throws {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(.publish(.init(channel: channel, data: [0x31])), tag: 1)
    _ = scene.sends()
    scene.receive(.reset)
    scene.submit(.publish(.init(channel: channel, data: [0x32])), tag: 2)
    _ = scene.sends()
    scene.welcome()
    let asks = scene.asks()
    #expect(asks.map(\.id) == [1, 2])
    #expect(asks.map(\.isRetry) == [true, false])
  }

  @Test(
    "a resync names each channel's members, asks for what they missed, then asks what was open, and says when it is done"
  )
  func resyncOrder() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.submit(.publish(.init(channel: channel, data: [0x31])), tag: 7)
    scene.reopen()
    #expect(scene.lastSent()?.body == .resynced)
    let asks = scene.asks()
    #expect(asks.map(\.isResync) == [true, true, false])
    #expect(
      asks[1].request
        == .subscribe(.init(channel: channel, since: .init(epoch: "e", offset: 4), recoveryLimit: 10_000)))
    #expect(asks[0].request == .subscribe(.init(channel: channel, member: .init(user: "u", client: "a"))))
    #expect(asks[2].isRetry)
  }

  @Test("what was missed is handed on as if it came live")
  func refill() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.reopen()
    let id = try #require(scene.asks().last?.id)
    let missed = [LinkScene.publication(5), LinkScene.publication(6)]
    scene.answer(
      id, .subscribed(.init(position: .init(epoch: "e", offset: 6), recovered: true, publications: missed)))
    scene.publication(channel, 7)
    let offsets = scene.tells().map(\.offset)
    #expect(offsets == [5, 6, 7])
    #expect(scene.link.counters.channelsRefilled == 1)
  }

  @Test("what cannot be had is said to be lost, and the channel goes on from the new position")
  func lost() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.reopen()
    let id = try #require(scene.asks().last?.id)
    scene.answer(id, .subscribed(.init(position: .init(epoch: "new", offset: 1))))
    guard case .lost(channel, let audience)? = scene.tells().first else {
      Issue.record("nothing lost")
      return
    }
    #expect(audience.includes(loop: 0) && !audience.includes(loop: 1))
    scene.publication(channel, 2)
    #expect(scene.tells().count == 1)
  }

  @Test("a channel that could not be read is asked for again, and nothing comes twice")
  func behind() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.reopen()
    let id = try #require(scene.asks().last?.id)
    scene.answer(id, .failed(.internalError))
    #expect(scene.tells() == [])
    scene.pass(1)
    let again = try #require(scene.asks().last)
    #expect(again.isResync && again.id != id)
    // The first of what was missed came meanwhile, because of another subscriber's interest.
    scene.publication(channel, 5)
    let missed = [LinkScene.publication(5), LinkScene.publication(6)]
    scene.answer(
      again.id, .subscribed(.init(position: .init(epoch: "e", offset: 6), recovered: true, publications: missed)))
    let offsets = scene.tells().map(\.offset)
    #expect(offsets == [5, 6])
  }

  @Test("a channel that stays unreadable is lost as soon as somebody gets a position of it; the link stays open")
  func unreadableChannel() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.reopen()
    let id = try #require(scene.asks().first?.id)
    scene.answer(id, .failed(.internalError))
    scene.submit(.subscribe(.init(channel: channel)), tag: 2, loop: 1)
    let ask = try #require(scene.asks().first)
    scene.answer(ask.id, .subscribed(.init(position: .init(epoch: "e", offset: 9))))
    #expect(scene.link.isOpen)
    let told = scene.tells()
    guard told.count == 2, case .lost(channel, let audience) = told[0], case .answer(let source, _) = told[1] else {
      Issue.record("\(told)")
      return
    }
    #expect(audience.includes(loop: 0) && !audience.includes(loop: 1))
    #expect(source.tag == 2)
    scene.publication(channel, 10)
    #expect(scene.tells().count == 1)
    scene.pass(1)
    #expect(scene.asks().isEmpty)
  }

  @Test("a channel that the broker no longer knows is lost, and not asked for again")
  func unknownChannel() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.reopen()
    let id = try #require(scene.asks().last?.id)
    scene.answer(id, .failed(.unknownChannel))
    guard case .lost(channel, _)? = scene.tells().first else {
      Issue.record("nothing lost")
      return
    }
    scene.pass(1)
    #expect(scene.asks().isEmpty)
  }

  @Test("a subscribe whose position contradicts the others' opens a new session, and is asked again there")
  func contradiction() throws {
    let scene = LinkScene()
    scene.subscribed(channel, at: 4)
    scene.submit(.subscribe(.init(channel: channel)), tag: 2)
    let id = try #require(scene.asks().first?.id)
    scene.answer(id, .subscribed(.init(position: .init(epoch: "e", offset: 5))))
    #expect(scene.sends() == [.hello])
    #expect(scene.tells() == [])
    scene.welcome()
    #expect(scene.asks().last?.id == id)
  }

  @Test("heartbeats go out with what was worked off; a large debt is told at once")
  func acknowledgements() throws {
    let scene = LinkScene { $0.acknowledgeBytes = 100 }
    scene.subscribed(channel)
    scene.pass(1000)
    _ = scene.sends()
    for offset in 1...5 as ClosedRange<UInt64> { scene.publication(channel, offset) }
    scene.perform { scene.link.acknowledge(queuedBytes: .max, at: scene.now, into: &$0) }
    #expect(scene.sends() == [])
    scene.perform { scene.link.acknowledge(queuedBytes: 10, at: scene.now, into: &$0) }
    let consumed = try #require(scene.lastConsumed())
    #expect(consumed > 100)
    _ = scene.sends()
    scene.perform { scene.link.acknowledge(queuedBytes: 0, at: scene.now, into: &$0) }
    #expect(scene.sends() == [])
    scene.pass(1000, queued: .max)
    #expect(scene.lastConsumed() == consumed)
  }

  @Test("a narrow window of the broker's is told of often")
  func narrowWindow() {
    let scene = LinkScene()
    _ = scene.sends()
    scene.receive(.welcome(LinkWelcome(broker: 1, windowBytes: 1600)))
    _ = scene.sends()
    for _ in 0..<6 { scene.receive(.brokerHeartbeat) }
    scene.perform { scene.link.acknowledge(queuedBytes: 0, at: scene.now, into: &$0) }
    #expect(scene.sends() == [.gatewayHeartbeat])
  }

  @Test("the end is said to a broker that is there")
  func goodbye() {
    let scene = LinkScene()
    _ = scene.sends()
    scene.perform { scene.link.stop(at: scene.now, into: &$0) }
    #expect(scene.sends() == [])
    scene.welcome()
    scene.perform { scene.link.stop(at: scene.now, into: &$0) }
    #expect(scene.sends().last == .goodbye)
  }
}

enum Fixed {
  static let channel: ChannelName = {
    guard let name = try? ChannelName("m") else { preconditionFailure("m is a name") }
    return name
  }()
}
