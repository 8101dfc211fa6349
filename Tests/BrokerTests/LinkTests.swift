import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore: links and presence")
struct LinkTests {
  let channel: ChannelName = "m"

  @Test("joins and leaves reach those who are on the channel, the newcomer after its answer")
  func announcements() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.hello(2)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    _ = scene.hears(1)
    scene.request(1, .subscribe(channel, member: "b"), from: 2)
    #expect(scene.hears(1) == [.join("b")])
    #expect(scene.hears(2).last == .join("b"))
    scene.request(2, .unsubscribe(channel, member: "b", keeps: false), from: 2)
    #expect(scene.hears(1) == [.leave("b")])
    #expect(scene.hears(2) == [.reply(2, .done)])
    #expect(scene.serve(1, .presenceStats(channel)) == .presenceStats(clients: 1, users: 1))
  }

  @Test("a gateway of another version is not taken in, and that is counted")
  func otherVersion() {
    let scene = BrokerScene()
    var hello = LinkHello(gateway: 1).bytes
    hello[0] += 1
    let header = LinkHeader(kind: .hello, session: 1, sequence: 0)
    scene.receive(LinkMessage(header: header, bytes: hello), from: 1)
    #expect(scene.hears(1).isEmpty)
    #expect(scene.core.counters.unreadableHellos == 1)
    scene.hello(1)
    #expect(!scene.hears(1).isEmpty)
  }

  @Test("a gateway cannot end the presence of another's client")
  func foreignLeave() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.hello(2)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    scene.request(1, .unsubscribe(channel, member: "a", keeps: false), from: 2)
    #expect(scene.serve(1, .presenceStats(channel)) == .presenceStats(clients: 1, users: 1))
  }

  @Test("a resync announces nobody who stayed, and the leaving of those who are not named again")
  func resync() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.hello(2)
    scene.request(1, .subscribe(channel), from: 2)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    scene.request(2, .subscribe(channel, member: "b"), from: 1)
    _ = scene.hears(2)
    scene.hello(1, session: 2)
    scene.request(3, .subscribe(channel, member: "a"), from: 1, isResync: true)
    scene.send(.resynced, from: 1)
    #expect(scene.hears(2) == [.leave("b")])
  }

  @Test("a silent gateway is forgotten with leaves; its members join again when it comes back")
  func timeout() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    scene.pass(9000)
    scene.hello(2)
    scene.request(1, .subscribe(channel), from: 2)
    scene.pass(1001)
    #expect(scene.hears(2).filter { $0 != .heartbeat }.last == .leave("a"))
    #expect(scene.core.counters.gatewaysForgotten == 1)
    scene.hello(1, session: 2)
    scene.request(2, .subscribe(channel, member: "a"), from: 1, isResync: true)
    scene.send(.resynced, from: 1)
    #expect(scene.hears(2) == [.join("a")])
    scene.hello(1, session: 3)
    scene.request(3, .subscribe(channel, member: "a"), from: 1, isResync: true)
    scene.send(.resynced, from: 1)
    #expect(scene.hears(2) == [])
  }

  @Test("silence proves nothing while requests are not read")
  func pausedSilence() {
    let scene = BrokerScene()
    scene.hello(1)
    for _ in 0..<5 { scene.pass(9000, ingressPaused: true) }
    scene.pass(9000)
    #expect(scene.core.counters.gatewaysForgotten == 0)
    scene.pass(2000)
    #expect(scene.core.counters.gatewaysForgotten == 1)
  }

  @Test("a goodbye ends presence at once, and a departed gateway is forgotten in the end")
  func goodbye() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    scene.send(.goodbye, from: 1)
    #expect(scene.serve(1, .presence(channel)) == .presence([]))
    #expect(scene.serve(2, .channels(prefix: "")) == .channels([]))
    scene.pass(20_001)
    #expect(scene.core.links.isEmpty)
  }

  @Test("a missing number resets the link; a new session catches up")
  func gap() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe(channel), from: 1)
    _ = scene.hears()
    let heartbeat = GatewayHeartbeat(consumedBytes: 0)
    scene.receive(LinkMessage(session: 1, sequence: 9, body: .gatewayHeartbeat(heartbeat)), from: 1)
    #expect(scene.hears() == [.reset])
    _ = scene.serve(1, .publish(.init(channel: channel, data: [0x31])))
    #expect(scene.hears() == [])
    scene.hello(1, session: 2)
    let epoch = scene.core.channels[channel]?.sequencer.top.epoch ?? ""
    scene.request(2, .subscribe(channel, since: .init(epoch: epoch, offset: 0)), from: 1, isResync: true)
    guard case .reply(2, .subscribed(let subscribed)) = scene.hears().last else {
      Issue.record("no answer")
      return
    }
    #expect(subscribed.recovered && subscribed.publications.map(\.offset) == [1])
    #expect(scene.core.counters.channelsRefilled == 1)
  }

  @Test("a window that closes resets the link, tells it once and again with each tick")
  func overflow() {
    let scene = BrokerScene { $0.linkWindowBytes = 1000 }
    scene.hello(1)
    scene.request(1, .subscribe(channel), from: 1)
    _ = scene.hears()
    for number in 1...9 as ClosedRange<UInt64> {
      _ = scene.serve(number, .publish(.init(channel: channel, data: Array(repeating: 0x31, count: 60))))
    }
    let heard = scene.hears()
    #expect(heard.last == .reset)
    #expect(heard.filter { $0 == .reset }.count == 1)
    #expect((2...4).contains(heard.count))
    scene.pass(1)
    #expect(scene.hears() == [.reset])
    #expect(scene.core.counters.linkResets == 1)
  }

  @Test("what was acknowledged opens the window again")
  func acknowledgement() {
    let scene = BrokerScene { $0.linkWindowBytes = 1000 }
    scene.hello(1)
    scene.request(1, .subscribe(channel), from: 1)
    for number in 1...20 as ClosedRange<UInt64> {
      _ = scene.serve(number, .publish(.init(channel: channel, data: Array(repeating: 0x31, count: 60))))
      scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
    }
    #expect(!scene.hears().contains(.reset))
  }

  @Test("a pipe that refused a message resets the link, once")
  func fullPipe() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    for _ in 0..<2 { scene.perform { scene.core.sendFailed(to: 1, in: &$0) } }
    scene.perform { scene.core.sendFailed(to: 99, in: &$0) }
    #expect(scene.hears() == [.reset])
  }

  @Test("what is left over from an older session is passed over")
  func olderSession() {
    let scene = BrokerScene()
    scene.hello(1, session: 5)
    _ = scene.hears()
    scene.receive(LinkMessage(session: 4, sequence: 1, body: .goodbye), from: 1)
    scene.receive(LinkMessage(session: 5, sequence: 0, body: .hello(LinkHello(gateway: 1))), from: 1)
    #expect(scene.hears() == [])
    #expect(scene.core.links[1]?.isOpen == true)
  }

  @Test("whoever says no hello is told to, and a hello under another's name is none")
  func noHello() {
    let scene = BrokerScene()
    scene.receive(LinkMessage(session: 3, sequence: 4, body: .unreadable(.request)), from: 8)
    #expect(scene.hears(8) == [.reset])
    scene.receive(LinkMessage(session: 1, sequence: 0, body: .hello(LinkHello(gateway: 9))), from: 8)
    #expect(scene.hears(8) == [])
    #expect(scene.core.links.isEmpty)
  }

  @Test("a message that cannot be read resets the link and hurts nobody else")
  func malformed() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.hello(2)
    _ = scene.hears()
    _ = scene.hears(2)
    scene.send(.unreadable(.request), from: 1)
    #expect(scene.hears(1) == [.reset])
    scene.send(.welcome(LinkWelcome(broker: 1)), from: 2)
    #expect(scene.hears(2) == [.reset])
    scene.hello(1, session: 2)
    #expect(scene.hears(1) == [.welcome])
  }

  @Test("an answer that overflows the link leaves a state from which a new session comes back")
  func overflowingAnswer() {
    let scene = BrokerScene { $0.linkWindowBytes = 60 }
    scene.hello(1)
    scene.request(1, .subscribe(channel, member: "a"), from: 1)
    scene.request(2, .subscribe(channel, member: "b"), from: 1)
    #expect(scene.hears().last == .reset)
    _ = scene.serve(1, .publish(.init(channel: channel, data: [0x31])))
    #expect(scene.hears() == [])
    scene.hello(1, session: 2)
    scene.send(.resynced, from: 1)
    #expect(scene.serve(2, .presence(channel)) == .presence([]))
    #expect(scene.core.links[1]?.channels == [])
  }
}
