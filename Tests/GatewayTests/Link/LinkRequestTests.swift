import Testing
import Wire

@testable import Gateway

@Suite("GatewayLink: requests")
struct LinkRequestTests {
  let channel = Fixed.channel

  private func subscribe(_ client: String) -> BrokerRequest {
    .subscribe(.init(channel: channel, member: .init(user: "u", client: client)))
  }

  private func unsubscribe(_ client: String) -> BrokerRequest {
    .unsubscribe(.init(channel: channel, member: .init(user: "u", client: client), keepsInterest: false))
  }

  private let position = BrokerResponse.subscribed(.init(position: .init(epoch: "e", offset: 0)))

  @Test("a publication counts once for each subscriber that it is for")
  func deliveries() {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.publication(channel, 1)
    #expect(scene.link.counters.deliveries == 1)
    scene.submit(subscribe("b"), tag: 2, loop: 1, format: .protobuf)
    scene.answer(2, .subscribed(.init(position: .init(epoch: "e", offset: 1))))
    scene.publication(channel, 2)
    #expect(scene.link.counters.deliveries == 3)
  }

  @Test("loops and encodings of the subscribers are the audience, no more and no less")
  func audience() {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.submit(subscribe("b"), tag: 2, loop: 1, format: .protobuf)
    scene.answer(2, position)
    _ = scene.tells()
    var expected = Audience()
    expected.loops = 3
    expected.json = true
    expected.protobuf = true
    scene.publication(channel, 1)
    #expect(scene.tells() == [.publication(channel, LinkScene.publication(1), audience: expected)])
    scene.submit(unsubscribe("a"), tag: 3)
    expected.loops = 2
    expected.json = false
    scene.publication(channel, 2)
    #expect(scene.tells() == [.publication(channel, LinkScene.publication(2), audience: expected)])
  }

  @Test("the interest ends with the last subscriber, and not while a subscribe is under way")
  func interest() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.submit(subscribe("b"), tag: 2)
    scene.submit(unsubscribe("a"), tag: 3)
    scene.answer(2, position)
    scene.submit(unsubscribe("b"), tag: 4)
    let keeps = scene.asks().compactMap { ask -> Bool? in
      if case .unsubscribe(let it) = ask.request { it.keepsInterest } else { nil }
    }
    #expect(keeps == [true, false])
    scene.publication(channel, 1)
    #expect(scene.tells().allSatisfy { if case .publication = $0 { false } else { true } })
  }

  @Test("a channel has as many subscribers as may be, on all event loops, seen by others or not; more are refused")
  func subscribers() throws {
    let scene = LinkScene { $0.maximumSubscribers = 3 }
    scene.welcome()
    let unseen = BrokerRequest.subscribe(.init(channel: channel))
    scene.submit(unseen, tag: 1)
    scene.submit(unseen, tag: 2, loop: 1, format: .protobuf)
    scene.answer(1, position)
    // The third is under way, and counts.
    scene.submit(subscribe("a"), tag: 3)
    _ = (scene.sends(), scene.tells())
    for tag in 4...9 as ClosedRange<UInt64> { scene.submit(unseen, tag: tag, loop: 1, isFiltered: tag == 4) }
    let refused = scene.tells().compactMap { effect -> UInt64? in
      guard case .refusal(let source, .channelSubscribers, let error) = effect, error.code == 106 else { return nil }
      return source.tag
    }
    #expect(refused == [4, 5, 6, 7, 8, 9])
    #expect(scene.sends() == [], "the broker is not asked")
    // Another channel has places of its own; and subscribers who were refused, failed or left make room for the next.
    scene.submit(.subscribe(.init(channel: try ChannelName("other"))), tag: 10)
    #expect(scene.sends() == [.request])
    scene.answer(2, position)
    scene.answer(3, .failed(.internalError))
    scene.submit(unseen, tag: 11)
    #expect(scene.sends() == [.request])
    scene.answer(5, position)
    scene.submit(.unsubscribe(.init(channel: channel, member: nil, keepsInterest: false)), tag: 1)
    scene.submit(unseen, tag: 12)
    #expect(scene.sends() == [.request, .request])
    scene.submit(unseen, tag: 13)
    #expect(scene.sends() == [])
  }

  @Test("joins and leaves go to the loops that have subscribers, or nowhere")
  func presence() {
    let scene = LinkScene()
    scene.subscribed(channel)
    let member = ClientInfo(user: "u", client: "b")
    scene.receive(.join(LinkPresenceEvent(channel: channel, member: member)))
    scene.submit(unsubscribe("a"), tag: 3)
    scene.receive(.leave(LinkPresenceEvent(channel: channel, member: member)))
    let told = scene.tells()
    guard told.count == 1, case .joined(channel, member, let audience) = told[0] else {
      Issue.record("\(told)")
      return
    }
    #expect(audience.loops == 1)
  }

  @Test("a session whose request takes too long is told so, once, and whether it may have been done")
  func timeout() {
    let scene = LinkScene()
    scene.submit(.presence(channel), tag: 1)
    scene.pass(9999)
    #expect(scene.tells().isEmpty)
    scene.pass(1)
    let told = scene.tells()
    #expect(told.count == 1)
    #expect(told.first?.failure.map { $0 == (1, 100) } == true)
    scene.pass(1)
    #expect(scene.tells().isEmpty)
    #expect(scene.link.counters.requestsTimedOut == 1)
  }

  @Test("an outage does not pile up what was never sent")
  func outage() throws {
    let scene = LinkScene()
    for tag in 1...50 as ClosedRange<UInt64> {
      scene.submit(subscribe("c\(tag)"), tag: tag)
      scene.pass(10_000)
      #expect(scene.tells().count == 1)
    }
    _ = scene.sends()
    scene.welcome()
    #expect(scene.asks().isEmpty)
    // The next subscriber finds a channel on which no subscribe is counted as under way.
    scene.submit(subscribe("z"), tag: 99)
    scene.answer(51, position)
    scene.submit(unsubscribe("z"), tag: 100)
    guard case .unsubscribe(let last)? = scene.asks().last?.request else {
      Issue.record("no unsubscribe")
      return
    }
    #expect(!last.keepsInterest)
  }

  /// A client's subscribe was given up, and its answer is still to come.
  private func sceneAfterGivenUp() -> LinkScene {
    let scene = LinkScene { $0.brokerTimeout = 60_000 }
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1)
    scene.pass(10_000)
    return scene
  }

  @Test("a subscribe that comes too late is undone")
  func lateSubscribe() throws {
    let scene = sceneAfterGivenUp()
    #expect(scene.tells().first?.failure.map { $0 == (1, 100) } == true)
    _ = scene.sends()
    scene.answer(1, position)
    #expect(scene.tells().isEmpty)
    #expect(scene.asks().map(\.request) == [unsubscribe("a")])
  }

  @Test("undoing a late subscribe does not end the presence of the same client's second try")
  func lateSubscribeOfAClientThatTriedAgain() throws {
    let scene = sceneAfterGivenUp()
    scene.submit(subscribe("a"), tag: 2)
    _ = scene.sends()
    scene.answer(1, position)
    #expect(scene.asks().isEmpty)
    scene.answer(2, position)
    scene.submit(unsubscribe("a"), tag: 3)
    #expect(scene.asks().map(\.request) == [unsubscribe("a")])
  }

  @Test("a second try that fails takes the late first one along")
  func secondTryFails() throws {
    let scene = sceneAfterGivenUp()
    scene.submit(subscribe("a"), tag: 2)
    _ = scene.sends()
    scene.answer(1, position)
    scene.answer(2, .failed(.internalError))
    #expect(scene.asks().map(\.request) == [unsubscribe("a")])
  }

  @Test("an unsubscribe is never given up, and names its member to a broker that may not know it")
  func unsubscribeSurvives() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.reset)
    scene.submit(unsubscribe("a"), tag: 2)
    scene.pass(60_000)
    _ = scene.sends()
    #expect(scene.tells().isEmpty)
    scene.welcome()
    #expect(scene.asks().map(\.request) == [subscribe("a"), unsubscribe("a")])
  }

  @Test("publishers are held while too much is under way, and let go at half of it")
  func holding() {
    let scene = LinkScene { $0.uplinkWindowBytes = 1000 }
    scene.welcome()
    for tag in 1...9 as ClosedRange<UInt64> {
      scene.submit(.publish(.init(channel: channel, data: [0x31])), tag: tag)
    }
    #expect(scene.tells() == [.holdClients(true)])
    for id in 1...9 as ClosedRange<UInt64> { scene.answer(id, .published(.init(epoch: "e", offset: id))) }
    let told = scene.tells()
    #expect(told.filter { $0 == .holdClients(false) }.count == 1)
    #expect(told.firstIndex(of: .holdClients(false)) == 6)
  }

  @Test("what a call and an edit carry counts as much as what a publication does")
  func holdingForCalls() {
    let data = [UInt8](repeating: 0x31, count: 400)
    let caller = ClientInfo(user: "u", client: "c")
    for request in [
      BrokerRequest.call(.init(.other(.init(method: "a.b", data: data)), caller: caller)),
      .edit(.init(channel: channel, offset: 1, data: data, editor: caller)),
      .publish(.init(channel: channel, data: data)),
    ] {
      let scene = LinkScene { $0.uplinkWindowBytes = 1000 }
      scene.welcome()
      scene.submit(request, tag: 1)
      #expect(scene.tells() == [])
      scene.submit(request, tag: 2)
      #expect(scene.tells() == [.holdClients(true)])
    }
  }

  @Test("an answer that nobody waits for is passed over")
  func unknownAnswer() {
    let scene = LinkScene()
    scene.welcome()
    scene.answer(77, .done)
    #expect(scene.tells().isEmpty)
    #expect(scene.link.isOpen)
  }
}

@Suite("PendingRequests")
struct PendingRequestsTests {
  @Test("the oldest without an answer is known, whatever is answered first")
  func oldest() {
    var pending = PendingRequests()
    for _ in 0..<3 { _ = pending.add(.channels(prefix: ""), .resync, deadline: 0) }
    #expect(pending.oldest == 1)
    #expect(pending.bytes == 3 * 128)
    _ = pending.remove(2)
    #expect(pending.oldest == 1)
    _ = pending.remove(1)
    #expect(pending.oldest == 3)
    _ = pending.remove(3)
    #expect(pending.oldest == 4)
    #expect(pending.isEmpty && pending.bytes == 0)
    #expect(pending.remove(3) == nil)
  }

  @Test("one that is never answered does not keep the places of those after it")
  func compaction() {
    var pending = PendingRequests()
    _ = pending.add(.channels(prefix: ""), .abandoned, deadline: 0)
    for id in 2...10_000 as ClosedRange<UInt64> {
      _ = pending.add(.channels(prefix: ""), .resync, deadline: 0)
      _ = pending.remove(id)
    }
    #expect(pending.places < 3000)
    #expect(pending.oldest == 1)
    #expect(pending.all.map(\.id) == [1])
  }
}
