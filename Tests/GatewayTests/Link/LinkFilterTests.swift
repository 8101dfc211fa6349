import Testing
import Wire

@testable import Gateway

@Suite("GatewayLink: filters")
struct LinkFilterTests {
  let channel = Fixed.channel
  let red = TagFilter.equal(key: "color", "red")

  private func subscribe(_ user: String) -> BrokerRequest {
    .subscribe(.init(channel: channel, member: .init(user: user, client: user)))
  }

  private func unsubscribe(_ user: String) -> BrokerRequest {
    .unsubscribe(.init(channel: channel, member: .init(user: user, client: user), keepsInterest: false))
  }

  private func subscribed(_ audience: TagFilter? = nil) -> BrokerResponse {
    .subscribed(.init(position: .init(epoch: "e", offset: 0), audience: audience))
  }

  private func publication(_ offset: UInt64, _ color: String, user: String = "x") -> Publication {
    Publication(offset: offset, data: [0x31], info: ClientInfo(user: user, client: user), tags: ["color": color])
  }

  private func receive(_ publication: Publication, _ scene: LinkScene) {
    scene.receive(.publication(LinkPublication(channel: channel, publication: publication)))
  }

  private func audience(loops: UInt64, json: Bool = false, protobuf: Bool = false) -> Audience {
    var audience = Audience()
    (audience.loops, audience.json, audience.protobuf) = (loops, json, protobuf)
    return audience
  }

  @Test("a publication of a channel with filters goes to all loops with subscribers, which hold it against them")
  func filtered() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, isFiltered: true)
    scene.submit(subscribe("b"), tag: 2, loop: 1, format: .protobuf)
    for id in 1...2 { scene.answer(UInt64(id), subscribed()) }
    _ = scene.tells()
    receive(publication(1, "green"), scene)
    let everybody = audience(loops: 3, json: true, protobuf: true)
    #expect(scene.tells() == [.filteredPublication(channel, publication(1, "green"), audience: everybody)])
    #expect(scene.link.channels[channel]?.position?.offset == 1)
    scene.submit(unsubscribe("a"), tag: 1)
    receive(publication(2, "red"), scene)
    // No subscriber is left that filters, so the publication goes the short way.
    let rest = audience(loops: 2, protobuf: true)
    #expect(scene.tells() == [.publication(channel, publication(2, "red"), audience: rest)])
    scene.submit(unsubscribe("b"), tag: 2, loop: 1, format: .protobuf)
    #expect(scene.link.channels[channel] == nil)
  }

  @Test("what the broker lets see changes at its place in the stream, and what changes nothing is not said")
  func allowed() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, isFiltered: true)
    scene.submit(subscribe("b"), tag: 2)
    scene.answer(1, subscribed(.not(.equal(key: "user", "eve"))))
    scene.answer(2, subscribed())
    _ = scene.tells()
    receive(publication(1, "red", user: "eve"), scene)
    let change = LinkAudience(channel: channel, user: "a", .admitted, audience: .not(.equal(key: "user", "bob")))
    scene.receive(.audience(change))
    scene.receive(.audience(change))
    receive(publication(2, "red", user: "bob"), scene)
    let here = audience(loops: 1, json: true)
    let expected: [GatewayLinkEffect] = [
      .filteredPublication(channel, publication(1, "red", user: "eve"), audience: here),
      .audienceChanged(change, audience: here),
      .filteredPublication(channel, publication(2, "red", user: "bob"), audience: here),
    ]
    #expect(scene.tells() == expected)
  }

  @Test("a user without a filter can be given one, and lose it again")
  func givenLater() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.audience(LinkAudience(channel: channel, user: "u", .admitted, audience: red)))
    receive(publication(1, "blue"), scene)
    scene.receive(.audience(LinkAudience(channel: channel, user: "u", .admitted, audience: nil)))
    receive(publication(2, "blue"), scene)
    let told = scene.tells()
    let here = audience(loops: 1, json: true)
    try #require(told.count == 4)
    #expect(told[1] == .filteredPublication(channel, publication(1, "blue"), audience: here))
    #expect(told.last == .publication(channel, publication(2, "blue"), audience: here))
  }

  @Test("who is no longer admitted is told so, and so are those who could not be told while the link was down")
  func noLongerAdmitted() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.audience(LinkAudience(channel: channel, user: "u", .refused, audience: nil)))
    let refused = GatewayLinkEffect.audienceChanged(
      LinkAudience(channel: channel, user: "u", .refused, audience: nil),
      audience: audience(loops: 1, json: true))
    #expect(scene.tells() == [refused])
    scene.reopen()
    let asks = scene.asks()
    let (member, stream) = (try #require(asks.first), try #require(asks.last))
    scene.answer(member.id, subscribed(red))
    scene.answer(stream.id, subscribed())
    guard case .audienceChanged(let change, _)? = scene.tells().last else {
      Issue.record("nobody was told")
      return
    }
    #expect(change.admission == .admitted && change.audience == red)
    scene.reopen()
    let again = try #require(scene.asks().first)
    scene.answer(again.id, .failed(.permissionDenied))
    #expect(scene.tells().last == refused)
  }

  @Test("who is shown to nobody is no member in the next session either, and is asked for again all the same")
  func unseen() throws {
    let scene = LinkScene()
    scene.welcome()
    for (tag, user) in [(UInt64(1), "u"), (2, "u"), (3, "v")] {
      let member = ClientInfo(user: user, client: "c\(tag)")
      scene.submit(.subscribe(.init(channel: channel, member: member, isPresent: false)), tag: tag)
      scene.answer(tag, subscribed())
    }
    _ = scene.tells()
    scene.reopen()
    let asks = scene.asks()
    let asked = asks.compactMap { ask -> String? in
      guard case .subscribe(let subscribe) = ask.request, !subscribe.isPresent else { return nil }
      return subscribe.member?.user
    }
    #expect(asks.count == 3 && asked == ["u", "v"])
    for ask in asks { scene.answer(ask.id, subscribed(red)) }
    receive(publication(1, "blue"), scene)
    let told = scene.tells()
    #expect(told.count == 3)
    #expect(
      told.last == .filteredPublication(channel, publication(1, "blue"), audience: audience(loops: 1, json: true)))
    for tag in UInt64(1)...3 {
      scene.submit(.unsubscribe(.init(channel: channel, member: nil, keepsInterest: false)), tag: tag)
    }
    #expect(scene.link.channels[channel] == nil)
  }

  @Test("what was missed is handed on when it is known again who may see it, and to nobody where that is not known")
  func membersFirst() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.reopen()
    let asks = scene.asks()
    guard case .subscribe(let first)? = asks.first?.request, case .subscribe(let last)? = asks.last?.request else {
      Issue.record("\(asks)")
      return
    }
    #expect(first.member != nil && last.member == nil)
    scene.answer(try #require(asks.first).id, .failed(.internalError))
    scene.answer(
      try #require(asks.last).id,
      .subscribed(
        .init(position: .init(epoch: "e", offset: 1), recovered: true, publications: [publication(1, "red")])))
    #expect(scene.tells() == [])
    scene.pass(1)
    #expect(scene.asks().count == 2)
  }

  @Test("a filter of a request that was given up is forgotten")
  func givenUp() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, isFiltered: true)
    #expect(scene.link.filteredUnderWay.count == 1)
    scene.pass(20_000)
    #expect(scene.link.filteredUnderWay.isEmpty)
    scene.answer(1, subscribed())
    #expect(scene.link.channels[channel]?.isFiltered != true)
  }

  @Test("publications that are brought up to date are held against filters too")
  func refilled() throws {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, isFiltered: true)
    scene.answer(1, subscribed())
    _ = scene.tells()
    scene.reopen()
    let ask = try #require(scene.asks().last)
    scene.answer(
      ask.id,
      .subscribed(
        .init(position: .init(epoch: "e", offset: 1), recovered: true, publications: [publication(1, "red")])))
    let here = audience(loops: 1, json: true)
    #expect(scene.tells() == [.filteredPublication(channel, publication(1, "red"), audience: here)])
  }
}
