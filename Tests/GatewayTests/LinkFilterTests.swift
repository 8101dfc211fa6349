import Testing
import Wire

@testable import Gateway

@Suite("GatewayLink: filters")
struct LinkFilterTests {
  let channel = Fixed.channel
  let red = TagFilter.equal(key: "color", "red")
  let blue = TagFilter.equal(key: "color", "blue")

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
    scene.receive(.publication, LinkPublication(channel: channel, publication: publication).bytes)
  }

  private func audience(loops: UInt64, json: Bool = false, protobuf: Bool = false) -> Audience {
    var audience = Audience()
    (audience.loops, audience.json, audience.protobuf) = (loops, json, protobuf)
    return audience
  }

  @Test("what passes no filter goes nowhere, and what passes goes to the loops and in the encodings that want it")
  func filtered() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, filter: red)
    scene.submit(subscribe("b"), tag: 2, loop: 1, format: .protobuf, filter: blue)
    for id in 1...2 { scene.answer(UInt64(id), subscribed()) }
    _ = scene.tells()
    let publications = ["red", "green", "blue"].enumerated().map { publication(UInt64($0 + 1), $1) }
    for publication in publications { receive(publication, scene) }
    let expected: [GatewayLinkEffect] = [
      .filteredPublication(
        channel, publications[0],
        audience: .init(reached: audience(loops: 1, json: true), filters: [[ChannelFilter(red)], []])),
      .filteredPublication(
        channel, publications[2],
        audience: .init(reached: audience(loops: 2, protobuf: true), filters: [[], [ChannelFilter(blue)]])),
    ]
    #expect(scene.tells() == expected)
    #expect(scene.link.channels[channel]?.position?.offset == 3)
  }

  @Test("a filter keeps its object while somebody has it, and is forgotten with the last")
  func shared() throws {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, filter: red)
    scene.submit(subscribe("b"), tag: 2, loop: 1, filter: .equal(key: "color", "red"))
    scene.submit(subscribe("c"), tag: 3)
    for id in 1...3 { scene.answer(UInt64(id), subscribed()) }
    _ = scene.tells()
    func filters(_ offset: UInt64) throws -> [[ChannelFilter]] {
      receive(publication(offset, "red"), scene)
      guard case .filteredPublication(_, _, let audience)? = scene.tells().first else { return [] }
      return audience.filters
    }
    let both = try filters(1)
    #expect(both.map(\.count) == [1, 1] && both[0][0] === both[1][0])
    scene.submit(unsubscribe("a"), tag: 1)
    let one = try filters(2)
    #expect(one.map(\.count) == [0, 1] && one[1][0] === both[0][0])
    scene.submit(unsubscribe("b"), tag: 2, loop: 1)
    receive(publication(3, "red"), scene)
    // Nobody filters any more: the short way.
    #expect(scene.tells() == [.publication(channel, publication(3, "red"), audience: audience(loops: 1, json: true))])
    scene.submit(unsubscribe("c"), tag: 3)
    #expect(scene.link.channels[channel] == nil)
  }

  @Test("what the broker lets see is put together with what the client wants, and changes at its place in the stream")
  func allowed() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, filter: red)
    scene.submit(subscribe("b"), tag: 2)
    scene.answer(1, subscribed(.not(.equal(key: "user", "eve"))))
    scene.answer(2, subscribed())
    _ = scene.tells()
    receive(publication(1, "red", user: "eve"), scene)
    receive(publication(2, "red", user: "bob"), scene)
    let change = LinkAudience(channel: channel, user: "a", isAdmitted: true, audience: .not(.equal(key: "user", "bob")))
    scene.receive(.audience, change.bytes)
    scene.receive(.audience, change.bytes)
    receive(publication(3, "red", user: "bob"), scene)
    receive(publication(4, "red", user: "eve"), scene)
    let told = scene.tells()
    let matched = told.map { effect -> Int? in
      guard case .filteredPublication(_, _, let audience) = effect else { return nil }
      return audience.filters.first?.count ?? 0
    }
    #expect(matched == [0, 1, nil, 0, 1])
    #expect(told[2] == .audienceChanged(change, audience: audience(loops: 1, json: true)))
  }

  @Test("a user without a filter can be given one, and lose it again")
  func givenLater() {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.audience, LinkAudience(channel: channel, user: "u", isAdmitted: true, audience: red).bytes)
    receive(publication(1, "blue"), scene)
    scene.receive(.audience, LinkAudience(channel: channel, user: "u", isAdmitted: true, audience: nil).bytes)
    receive(publication(2, "blue"), scene)
    let told = scene.tells()
    #expect(told.count == 3)
    #expect(told.last == .publication(channel, publication(2, "blue"), audience: audience(loops: 1, json: true)))
  }

  @Test("who is no longer admitted is told so, and so are those who could not be told while the link was down")
  func noLongerAdmitted() throws {
    let scene = LinkScene()
    scene.subscribed(channel)
    scene.receive(.audience, LinkAudience(channel: channel, user: "u", isAdmitted: false, audience: nil).bytes)
    let refused = GatewayLinkEffect.audienceChanged(
      LinkAudience(channel: channel, user: "u", isAdmitted: false, audience: nil),
      audience: audience(loops: 1, json: true))
    #expect(scene.tells() == [refused])
    scene.reopen()
    let asks = try scene.asks()
    let (member, stream) = (try #require(asks.first), try #require(asks.last))
    scene.answer(member.id, subscribed(red))
    scene.answer(stream.id, subscribed())
    guard case .audienceChanged(let change, _)? = scene.tells().last else {
      Issue.record("nobody was told")
      return
    }
    #expect(change.isAdmitted && change.audience == red)
    scene.reopen()
    let again = try #require(try scene.asks().first)
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
    let asks = try scene.asks()
    let asked = asks.compactMap { ask -> String? in
      guard case .subscribe(let subscribe) = ask.request, !subscribe.isPresent else { return nil }
      return subscribe.member?.user
    }
    #expect(asks.count == 3 && asked == ["u", "v"])
    for ask in asks { scene.answer(ask.id, subscribed(red)) }
    receive(publication(1, "blue"), scene)
    #expect(scene.tells().count == 2)
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
    let asks = try scene.asks()
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
    #expect(try scene.asks().count == 2)
  }

  @Test("a filter of a request that was given up is forgotten")
  func givenUp() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, filter: red)
    #expect(scene.link.filtersUnderWay.count == 1)
    scene.pass(20_000)
    #expect(scene.link.filtersUnderWay.isEmpty)
    scene.answer(1, subscribed())
    #expect(scene.link.channels[channel]?.isFiltered != true)
  }

  @Test("publications that are brought up to date pass the same filters")
  func refilled() throws {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(subscribe("a"), tag: 1, filter: red)
    scene.answer(1, subscribed())
    _ = scene.tells()
    scene.reopen()
    let ask = try #require(try scene.asks().last)
    scene.answer(
      ask.id,
      .subscribed(
        .init(
          position: .init(epoch: "e", offset: 2), recovered: true,
          publications: [publication(1, "red"), publication(2, "blue")])))
    let told = scene.tells()
    guard told.count == 1, case .filteredPublication(_, let first, _) = told[0] else {
      Issue.record("\(told)")
      return
    }
    #expect(first.offset == 1)
  }
}
