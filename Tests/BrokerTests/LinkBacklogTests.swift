import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore: answers find room on the link, or wait")
struct LinkBacklogTests {
  let channel: ChannelName = "m"
  /// Answers hold 2,000 bytes, and are begun while no more than 2,000 are under way.
  static let window: UInt64 = 8000

  /// A gateway with nothing under way, and a history whose page is cut by its bytes.
  private func filled() -> BrokerScene {
    let scene = BrokerScene { $0.linkWindowBytes = Self.window }
    for _ in 0..<5 { publish(scene) }
    scene.hello(1)
    takeAll(scene)
    _ = scene.hears()
    return scene
  }

  private func publish(_ scene: BrokerScene, bytes: Int = 310) {
    _ = scene.ask(.publish(.init(channel: channel, data: Array(repeating: 0x31, count: bytes))))
  }

  /// The gateway's event loops have worked off all that was sent.
  private func takeAll(_ scene: BrokerScene) {
    scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
  }

  private func ids(_ heard: [Heard]) -> [UInt64] {
    heard.compactMap { if case .reply(let id, _) = $0 { id } else { nil } }
  }

  @Test("reads beyond half of the window wait, all of them are answered in order, and the link is never reset")
  func waits() {
    let scene = filled()
    let asked = 1...50 as ClosedRange<UInt64>
    for id in asked { scene.request(id, .history(.init(channel: channel, limit: 100))) }
    var answered: [UInt64] = []
    var rounds = 0
    while answered.count < 50, rounds < 50 {
      let heard = scene.hears()
      #expect(!heard.contains(.reset))
      let now = ids(heard)
      #expect((1...3).contains(now.count), "\(now.count) at once")
      for case .reply(_, .history(let page)) in heard { #expect(page.publications.count == 4) }
      answered += now
      rounds += 1
      takeAll(scene)
    }
    #expect(answered == Array(asked))
    #expect(scene.core.counters.linkResets == 0)
    #expect(scene.core.counters.requestsDeferred > 40)
  }

  @Test("what comes behind a read that waits keeps its place: subscribe, publish, unsubscribe, the end of a resync")
  func order() {
    let scene = filled()
    let epoch = scene.core.channels[channel]?.sequencer.top.epoch ?? ""
    for id in 1...3 as ClosedRange<UInt64> { scene.request(id, .history(.init(channel: channel, limit: 9))) }
    scene.request(4, .subscribe(channel, member: "a", since: .init(epoch: epoch, offset: 4)))
    scene.publish(5, channel, "mine")
    scene.request(6, .unsubscribe(channel, member: "a", keeps: false))
    scene.publish(7, channel, "no more")
    scene.send(.resynced, from: 1)
    #expect(ids(scene.hears()) == [1, 2])
    #expect(scene.serve(1, .presenceStats(channel)) == .presenceStats(clients: 0, users: 0))
    publish(scene, bytes: 1)
    #expect(scene.hears() == [], "a publication before its subscriber's answer")
    takeAll(scene)
    let heard = scene.hears()
    #expect(ids(heard) == [3, 4, 5, 6, 7])
    guard case .reply(4, .subscribed(let subscribed))? = heard.dropFirst().first else {
      Issue.record("\(heard)")
      return
    }
    #expect(subscribed.recovered && subscribed.publications.map(\.offset) == [5, 6])
    let live = heard.compactMap { if case .publication(_, let offset, _) = $0 { offset } else { nil } }
    #expect(live == [7])
  }

  @Test("a new session forgets what waited: the gateway asks for it again")
  func newSession() {
    let scene = filled()
    for id in 1...4 as ClosedRange<UInt64> { scene.request(id, .history(.init(channel: channel, limit: 9))) }
    scene.publish(5, channel, "waits")
    _ = scene.hears()
    scene.hello(1, session: 2)
    takeAll(scene)
    #expect(scene.hears() == [.welcome])
    scene.publish(5, channel, "waits", isRetry: true)
    #expect(ids(scene.hears()) == [5])
    #expect(scene.core.channels[channel]?.sequencer.top.offset == 6)
  }

  @Test("a retry whose answer came before its turn is not done a second time")
  func answeredRetry() {
    let scene = filled()
    scene.publish(1, "d:1", "once")
    for id in 2...4 as ClosedRange<UInt64> { scene.request(id, .history(.init(channel: channel, limit: 9))) }
    scene.hello(1, session: 2)
    for id in 2...4 as ClosedRange<UInt64> { scene.request(id, .history(.init(channel: channel, limit: 9))) }
    scene.publish(1, "d:1", "once", isRetry: true)
    _ = scene.hears()
    scene.finish()
    #expect(ids(scene.hears()) == [1])
    scene.request(5, .history(.init(channel: channel, limit: 1)), oldest: 2)
    for _ in 0..<5 { takeAll(scene) }
    scene.finish()
    #expect(scene.core.channels["d:1"]?.sequencer.top.offset == 1)
  }

  @Test("answers to what was written wait where live publications fill the window; nothing is lost by them")
  func lateReplies() {
    let scene = BrokerScene { $0.linkWindowBytes = 400 }
    scene.hello(1)
    for id in 1...30 as ClosedRange<UInt64> { scene.publish(id, "d:1", "1") }
    scene.finish(30)
    var answered: [UInt64] = []
    for _ in 0..<30 where answered.count < 30 {
      let heard = scene.hears()
      #expect(!heard.contains(.reset))
      answered += ids(heard)
      takeAll(scene)
    }
    #expect(answered == Array(1...30))
    #expect(scene.core.counters.requestsDeferred > 10)
  }

  @Test("what nobody asked for still overflows the link, and answers that waited are asked for again")
  func overflow() {
    let scene = filled()
    scene.request(1, .subscribe(channel))
    for id in 2...4 as ClosedRange<UInt64> { scene.request(id, .history(.init(channel: channel, limit: 9))) }
    for _ in 0..<30 { publish(scene) }
    #expect(scene.hears().last == .reset)
    #expect(scene.core.links[1]?.isOpen == false, "what waited has gone with its session")
    #expect(scene.core.counters.linkResets == 1)
  }

  @Test("a first try that would hold more does nothing, and the same request without a limit is answered")
  func tries() {
    let scene = filled()
    let epoch = scene.core.channels[channel]?.sequencer.top.epoch ?? ""
    let since = StreamPosition(epoch: epoch, offset: 1)
    let small = AnswerLimit(bytes: 600, isTry: true)
    let member = ClientInfo(user: "u", client: "a")
    scene.request(
      1, .subscribe(.init(channel: channel, since: since, recoveryLimit: 300, member: member, answer: small)))
    scene.request(2, .history(.init(channel: channel, limit: 9, answer: small)))
    scene.request(3, .history(.init(channel: channel, limit: 1, answer: small)))
    #expect(scene.hears().prefix(2) == [.reply(1, .tooLarge), .reply(2, .tooLarge)])
    #expect(scene.core.channels[channel]?.interest == [])
    #expect(scene.core.channels[channel]?.members.isEmpty == true)
    takeAll(scene)
    scene.request(4, .subscribe(.init(channel: channel, since: since, recoveryLimit: 300, member: member)))
    guard case .reply(4, .subscribed(let subscribed))? = scene.hears().first else {
      Issue.record("no answer")
      return
    }
    #expect(subscribed.recovered && subscribed.publications.count == 4)
  }

  @Test("of more members than an answer names the list says that it is a part, and the numbers are those of all")
  func partialPresence() {
    let scene = BrokerScene { $0.maximumPageSize = 3 }
    scene.hello(1)
    for index in 1...3 { scene.request(UInt64(index), .subscribe(channel, member: "c\(index)")) }
    guard case .presence(let whole, isPartial: false)? = scene.ask(.presence(channel)) else {
      Issue.record("three of three are all")
      return
    }
    #expect(whole.count == 3)
    for index in 4...5 { scene.request(UInt64(index), .subscribe(channel, member: "c\(index)")) }
    guard case .presence(let part, isPartial: true)? = scene.ask(.presence(channel)) else {
      Issue.record("three of five are a part")
      return
    }
    #expect(Set(part.map(\.client)).count == 3)
    #expect(scene.ask(.presenceStats(channel)) == .presenceStats(clients: 5, users: 1))
    let answer = ServiceReply.frames(for: .presence(part, isPartial: true), binaryData: false)
    #expect(String(decoding: answer.result, as: UTF8.self).hasSuffix(",\"partial\":true}"))
  }

  @Test("a list of those present that weighs too much is no list")
  func presence() {
    let scene = BrokerScene { $0.maximumPageBytes = 1000 }
    scene.hello(1)
    for index in 1...10 { scene.request(UInt64(index), .subscribe(channel, member: "c\(index)")) }
    let small = AnswerLimit(bytes: 300, isTry: true)
    #expect(scene.ask(.presence(channel, viewer: nil, answer: small)) == .tooLarge)
    guard case .presence(let members, _)? = scene.ask(.presence(channel)) else {
      Issue.record("no list")
      return
    }
    #expect(members.count == 10)
    for index in 11...20 { scene.request(UInt64(index), .subscribe(channel, member: "c\(index)")) }
    #expect(scene.ask(.presence(channel))?.errorCode == 106)
    #expect(scene.ask(.presenceStats(channel)) == .presenceStats(clients: 20, users: 1))
    for index in 1...20 { scene.request(UInt64(30 + index), .unsubscribe(channel, member: "c\(index)", keeps: true)) }
    #expect(scene.core.channels[channel]?.members.bytes == 0)
  }
}
