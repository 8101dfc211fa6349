import Testing
import Wire

@testable import Gateway

/// One of several brokers has the channels: the gateway finds out which, and follows.
@Suite("GatewayLink: several brokers")
struct LinkBrokersTests {
  private let channel: ChannelName = Fixed.channel
  private let scene = LinkScene { $0.brokers = 3 }

  private func publication(_ offset: UInt64) -> LinkBody {
    .publication(LinkPublication(channel: channel, publication: LinkScene.publication(offset)))
  }

  /// Open with the broker, with a subscriber that stands at 4.
  private func open(with broker: Int, term: UInt64) {
    scene.welcome(by: broker, term: term)
    scene.submit(.subscribe(.init(channel: channel, member: .init(user: "u", client: "a"))), tag: 1)
    scene.receive(
      .reply(LinkReply(id: 1, response: .subscribed(.init(position: .init(epoch: "e", offset: 4))))), from: broker,
      number: 1)
    _ = scene.sends()
    _ = scene.tells()
  }

  @Test("The session is with the broker that welcomes first; what the others send in it counts for nothing")
  func chosen() {
    #expect(scene.sends() == [.hello])
    open(with: 1, term: 7)
    #expect(scene.link.broker == 1 && scene.link.term == 7)
    scene.welcome(by: 2, term: 7)
    scene.welcome(by: 0, term: 6)
    scene.receive(publication(5), from: 2, number: 2)
    scene.receive(.reset, from: 0, number: 0)
    #expect(scene.link.isOpen && scene.sends() == [] && scene.tells() == [])
    scene.receive(publication(5), from: 1, number: 2)
    #expect(scene.tells().map(\.offset) == [5])
    #expect(scene.link.counters.moves == 0 && scene.link.counters.gaps == 0)
  }

  @Test("A broker that welcomes with a higher term has taken over: it is asked to go on from where the gateway stands")
  func takenOver() {
    open(with: 0, term: 7)
    scene.submit(.publish(.init(channel: channel, data: [0x31])), tag: 2)
    #expect(scene.asks().map(\.isRetry) == [false])
    scene.welcome(by: 2, term: 8)
    #expect(!scene.link.isOpen && scene.sends() == [.hello] && scene.session == 2)
    // The former owner does not know yet that it is none any more.
    scene.welcome(by: 0, term: 7)
    #expect(!scene.link.isOpen)
    scene.receive(.brokerHeartbeat, from: 0, number: 1)
    #expect(scene.session == 2 && scene.link.counters.gaps == 0)
    scene.welcome(by: 2, term: 8)
    let asks = scene.asks()
    #expect(asks.contains { if case .subscribe(let ask) = $0.request { ask.since?.offset == 4 } else { false } })
    #expect(asks.contains { if case .publish = $0.request { $0.isRetry } else { false } })
    #expect(scene.link.broker == 2 && scene.link.counters.moves == 1)
    // What the former owner still sends is of a session that is over, or from the wrong broker.
    scene.receive(publication(5), from: 0, number: 2, session: 1)
    scene.receive(publication(5), from: 0, number: 1)
    #expect(scene.link.isOpen && scene.tells().map(\.offset).allSatisfy { $0 == 0 })
  }

  @Test("Where the connection to the session's broker is lost, all are asked at once; to another one, nobody")
  func vanished() {
    open(with: 1, term: 7)
    scene.vanish(0)
    #expect(scene.link.isOpen && scene.sends() == [])
    scene.vanish(1)
    #expect(!scene.link.isOpen && scene.sends() == [.hello])
    scene.appear(1)
    #expect(scene.sends() == [] && scene.tells() == [], "a hello waits in the pipe already")
    scene.welcome(by: 0, term: 8)
    #expect(scene.link.isOpen && scene.link.broker == 0 && scene.link.counters.moves == 1)
  }

  @Test("A hello that may be lost with a connection is said anew at once, in a newer session, and waits as at first")
  func helloLost() {
    open(with: 1, term: 7)
    scene.vanish(1)
    let first = scene.session
    scene.pass(1000)
    scene.pass(2000)
    #expect(scene.sends() == [.hello, .hello, .hello])
    scene.appear(2)
    let said = scene.session
    // The broker may have welcomed the gateway, and does not do so again in the same session.
    scene.vanish(2)
    #expect(scene.sends() == [.hello] && scene.session == said + 1 && said == first + 2)
    scene.welcome(by: 2, term: 8, session: said)
    #expect(!scene.link.isOpen)
    scene.pass(999)
    #expect(scene.sends() == [])
    scene.pass(1)
    #expect(scene.sends() == [.hello], "no welcome is waited for longer than at first")
    scene.welcome(by: 2, term: 8)
    #expect(scene.link.isOpen && scene.link.broker == 2)
  }

  @Test("A broker whose connection is there now is greeted in the session that there is, but not the session's own")
  func appeared() {
    open(with: 1, term: 7)
    scene.appear(1)
    #expect(scene.tells() == [])
    scene.appear(2)
    let hello = LinkMessage(session: 1, sequence: 0, body: .hello(LinkHello(gateway: 9)))
    #expect(scene.tells() == [.greet(broker: 2, hello)])
    #expect(scene.link.isOpen && scene.sends() == [])
    scene.receive(publication(5), from: 1, number: 2)
    #expect(scene.tells().map(\.offset) == [5], "the session goes on where it stood")
    // It is paused, and another one has taken over.
    scene.welcome(by: 2, term: 8)
    #expect(!scene.link.isOpen && scene.sends() == [.hello])
  }

  @Test("A lower term counts again when the higher one has been silent for as long as a broker may be")
  func goneBack() {
    open(with: 0, term: 7)
    let timeout = scene.link.configuration.brokerTimeout
    scene.vanish(0)
    scene.pass(timeout)
    scene.welcome(by: 1, term: 3)
    #expect(!scene.link.isOpen)
    scene.pass(1)
    scene.welcome(by: 1, term: 3)
    #expect(scene.link.isOpen && scene.link.term == 3 && scene.link.broker == 1)
  }

  @Test("With one broker its terms mean nothing, and it is greeted once for each session")
  func alone() {
    let scene = LinkScene()
    scene.appear(0)
    #expect(scene.sends() == [.hello] && scene.tells() == [])
    scene.welcome(by: 0, term: 7)
    #expect(scene.sends() == [.resynced])
    scene.vanish(0)
    #expect(!scene.link.isOpen && scene.sends() == [.hello])
    scene.appear(0)
    #expect(scene.sends() == [] && scene.tells() == [])
    scene.welcome(by: 0, term: 1)
    #expect(scene.link.isOpen && scene.link.counters.moves == 0)
  }

  @Test("One broker that was given up before its connection was is asked again when the connection is lost, at once")
  func aloneAndSilent() {
    let scene = LinkScene()
    scene.appear(0)
    scene.welcome(by: 0, term: 7)
    _ = scene.sends()
    // Its machine is gone. What is said now is lost with the connection, of which nobody knows yet that it is none.
    scene.pass(5001)
    scene.pass(1000)
    #expect(scene.sends() == [.hello, .hello])
    scene.vanish(0)
    #expect(scene.sends() == [.hello])
    scene.appear(0)
    scene.welcome(by: 0, term: 7)
    #expect(scene.link.isOpen)
  }
}
