import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: pings, tokens and the end")
struct SessionLifeTests {
  @Test(
    "a command with id 0 closes with 3501, but for send and pong",
    arguments: [
      ClientCommand.Body.ping, .rpc(method: "m", data: []), .unknown, .subscribe(.init()), .unsubscribe(channel: "a"),
      .publish(.init()), .history(.init()), .presence(channel: "a"), .refresh(token: "t"),
    ])
  func idZero(_ body: ClientCommand.Body) {
    var bench = SessionBench.live()
    #expect(bench.feed(.send(data: [1]), id: 0).isEmpty)
    #expect(bench.feed(body, id: 0).closeCode == 3501)
  }

  @Test("a ping is answered, an unknown method of rpc is answered with 108, an unknown command with 104")
  func smallCommands() {
    var bench = SessionBench.live()
    #expect(bench.feed(.ping, id: 4) == [.send(.ping(id: 4))])
    #expect(bench.feed(.rpc(method: "m", data: [])).errorCode == 108)
    #expect(bench.feed(.unknown).errorCode == 104)
  }

  @Test("what is no command closes with 3501 and says why")
  func malformed() {
    var bench = SessionBench.live()
    let actions = bench.feed(.malformed("the command is not JSON"))
    #expect(actions == [.close(DisconnectCode(code: 3501, reason: "the command is not JSON"))])
  }

  @Test("the first ping comes after the random delay, the next ones at the interval")
  func pings() {
    var bench = SessionBench.live()
    #expect(bench.pass(milliseconds: 9_999).isEmpty)
    #expect(bench.pass(milliseconds: 1) == [.send(.serverPing)])
    #expect(bench.feed(.pong, id: 0).isEmpty)
    #expect(bench.session.nextDeadline == bench.now + 25_000)
    #expect(bench.pass(milliseconds: 25_000) == [.send(.serverPing)])
  }

  @Test("a ping without a pong closes with 3012 after eight seconds, whatever else the client sends")
  func noPong() {
    var bench = SessionBench.live()
    bench.pass(milliseconds: 10_000)
    bench.feed(.ping)
    #expect(bench.pass(milliseconds: 7_999).isEmpty)
    #expect(bench.pass(milliseconds: 1).closeCode == 3012)
  }

  @Test("a pong that nobody asked for closes with 3501, a second one too")
  func strayPong() {
    var bench = SessionBench.live()
    bench.pass(milliseconds: 10_000)
    #expect(bench.feed(.pong, id: 0).isEmpty)
    #expect(bench.feed(.pong, id: 0).closeCode == 3501)
  }

  @Test("a client whose pong is not read because the broker is behind is not blamed for it")
  func heldInput() {
    var bench = SessionBench.live()
    bench.pass(milliseconds: 10_000)
    bench.feed(.inputHeld(true))
    #expect(bench.pass(milliseconds: 25_000) == [.send(.serverPing)])
    #expect(bench.pass(milliseconds: 8_000).isEmpty)
    bench.feed(.inputHeld(false))
    #expect(bench.pass(milliseconds: 7_999).isEmpty)
    #expect(bench.feed(.pong, id: 0).isEmpty)
    #expect(bench.feed(.pong, id: 0).isEmpty)
    #expect(bench.pass(milliseconds: 8_000).closeCode == nil)
    var late = SessionBench()
    late.feed(.inputHeld(true))
    #expect(late.pass(milliseconds: 20_000).isEmpty)
    late.feed(.inputHeld(false))
    #expect(late.pass(milliseconds: 10_000).closeCode == 3502)
  }

  @Test("an expired connection closes with 3005 after the grace, with nothing left behind")
  func expiry() {
    var bench = SessionBench.live(expiresAt: 1_700_000_005)
    bench.join("a")
    bench.pass(milliseconds: 10_000)
    bench.feed(.pong, id: 0)
    #expect(bench.session.nextDeadline == bench.now + 20_000)
    #expect(bench.pass(milliseconds: 19_999).isEmpty)
    bench.wall += 1
    let actions = bench.pass(milliseconds: 1)
    #expect(actions.closeCode == 3005)
    #expect(actions.unsubscribes == ["a"])
  }

  @Test(
    "a token that never expires or expires in aeons sets no deadline that could trap",
    arguments: [
      Int64.max, Int64.max - 1, 4_000_000_000_000,
    ])
  func farExpiry(_ expiry: Int64) {
    var bench = SessionBench.live(expiresAt: expiry)
    #expect(bench.session.phase == .live)
    #expect(bench.pass(milliseconds: 10_000) == [.send(.serverPing)])
  }

  @Test("a refresh with a token of the same user moves the expiry")
  func refresh() throws {
    var bench = SessionBench.live(expiresAt: 1_700_000_005)
    let tag = try #require(bench.feed(.refresh(token: "t"), id: 3).checkTag)
    let claims = ConnectionClaims(user: "u", expiresAt: bench.wall + 600)
    var result = ClientReply.RefreshResult()
    result.client = "c1"
    result.version = "Fanfare 1.2.3"
    result.expires = true
    result.ttl = 600
    #expect(
      bench.feed(.connectionTokenChecked(tag: tag, .success(claims))) == [.send(.refresh(id: 3, result))])
    #expect(bench.pass(milliseconds: 31_000).closeCode == nil)
  }

  static let badRefreshes: [(Result<ConnectionClaims, TokenError>, UInt32?, UInt16?)] = [
    (.failure(.expired), 109, nil), (.failure(.unavailable(reason: "")), 100, nil),
    (.failure(.invalid(reason: "")), nil, 3500), (.success(.init(user: "v")), nil, 3500),
    (.success(.init(user: "u", expiresAt: 1_600_000_000)), 109, nil),
  ]

  @Test("a refresh that does not fit is refused", arguments: badRefreshes)
  func badRefresh(result: Result<ConnectionClaims, TokenError>, error: UInt32?, close: UInt16?) throws {
    var bench = SessionBench.live(expiresAt: 1_700_000_005)
    let tag = try #require(bench.feed(.refresh(token: "t")).checkTag)
    let actions = bench.feed(.connectionTokenChecked(tag: tag, result))
    #expect(actions.errorCode == error)
    #expect(actions.closeCode == close)
  }

  @Test("a refresh without a token is answered with 107")
  func emptyRefresh() {
    var bench = SessionBench.live()
    bench.join("a")
    #expect(bench.feed(.refresh(token: "")).errorCode == 107)
    #expect(bench.feed(.subRefresh(channel: "a", token: "")).errorCode == 107)
  }

  @Test("an expired subscription ends with 2501 after the grace, others live on")
  func subscriptionExpiry() {
    var bench = SessionBench.live { $0.pingIntervalMilliseconds = 1_000_000_000 }
    _ = bench.joinWithToken("a", expiresAt: bench.wall + 5)
    _ = bench.joinWithToken("b", expiresAt: bench.wall + 50)
    bench.pass(milliseconds: 10_000)
    bench.feed(.pong, id: 0)
    let actions = bench.pass(milliseconds: 20_000)
    #expect(actions.first == .detach(channel("a")))
    #expect(actions.unsubscribes == ["a"])
    #expect(actions.last == .send(.push(.unsubscribe(channel: "a", .expired))))
    #expect(bench.session.nextDeadline == bench.now + 45_000)
    #expect(bench.pass(milliseconds: 45_000).unsubscribes == ["b"])
  }

  @Test("a sub_refresh moves the expiry of its subscription")
  func subRefresh() throws {
    var bench = SessionBench.live()
    _ = bench.joinWithToken("a", expiresAt: bench.wall + 5)
    let tag = try #require(bench.feed(.subRefresh(channel: "a", token: "t"), id: 3).checkTag)
    let claims = SubscriptionClaims(user: "u", channel: "a", expiresAt: bench.wall + 600)
    let actions = bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims)))
    #expect(actions == [.send(.subRefresh(id: 3, expires: true, ttl: 600))])
    #expect(bench.pass(milliseconds: 31_000).unsubscribes.isEmpty)
  }

  static let badSubRefreshes: [(Result<SubscriptionClaims, TokenError>, UInt32?, UInt16?)] = [
    (.failure(.expired), 109, nil), (.failure(.unavailable(reason: "")), 100, nil),
    (.failure(.invalid(reason: "")), nil, 3500), (.success(.init(user: "v", channel: "a")), nil, 3500),
    (.success(.init(user: "u", channel: "b")), nil, 3500),
  ]

  @Test("a sub_refresh that does not fit is refused", arguments: badSubRefreshes)
  func badSubRefresh(result: Result<SubscriptionClaims, TokenError>, error: UInt32?, close: UInt16?) throws {
    var bench = SessionBench.live()
    bench.join("a")
    let tag = try #require(bench.feed(.subRefresh(channel: "a", token: "t")).checkTag)
    let actions = bench.feed(.subscriptionTokenChecked(tag: tag, result))
    #expect(actions.errorCode == error)
    #expect(actions.closeCode == close)
  }

  @Test("a sub_refresh of what the client is not subscribed to is answered with 103, also if it ended meanwhile")
  func subRefreshOfNothing() throws {
    var bench = SessionBench.live()
    #expect(bench.feed(.subRefresh(channel: "a", token: "t")).errorCode == 103)
    bench.join("a")
    let tag = try #require(bench.feed(.subRefresh(channel: "a", token: "t")).checkTag)
    bench.feed(.unsubscribe(channel: "a"))
    let claims = SubscriptionClaims(user: "u", channel: "a")
    #expect(bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims))).errorCode == 103)
  }

  @Test(
    "shutdown and kicks close with their code after hub and broker are left",
    arguments: [
      (SessionInput.shutdown, UInt16(3001)), (.kick(.forceDisconnect), 3503),
    ])
  func endings(input: SessionInput, code: UInt16) {
    var bench = SessionBench.live()
    bench.join("a")
    bench.join("b")
    let actions = bench.feed(input)
    #expect(actions.closeCode == code)
    #expect(actions.unsubscribes == ["a", "b"])
    #expect(actions.contains(.detach(channel("a"))) && actions.contains(.detach(channel("b"))))
    guard case .close? = actions.last else {
      Issue.record("something comes after the close")
      return
    }
    #expect(bench.isDrained)
    #expect(bench.feed(.ping).isEmpty && bench.feed(.transportClosed).isEmpty && bench.feed(.shutdown).isEmpty)
  }

  @Test("a client that leaves by itself is told its slot, and served until then; nobody else is told")
  func slot() throws {
    var ignorant = SessionBench.live()
    #expect(ignorant.feed(.slot(afterMilliseconds: 100)).isEmpty)
    var connect = ClientCommand.Connect()
    (connect.token, connect.reconnects) = ("token", true)
    var bench = SessionBench()
    #expect(bench.feed(.slot(afterMilliseconds: 100)).isEmpty, "it has not said who it is")
    let tag = try #require(bench.feed(.connect(connect), id: 1).checkTag)
    #expect(bench.feed(.slot(afterMilliseconds: 100)).isEmpty, "its connect is under way")
    bench.feed(.connectionTokenChecked(tag: tag, .success(ConnectionClaims(user: "u"))))
    #expect(bench.feed(.slot(afterMilliseconds: 100)) == [.send(.push(.reconnect(afterMilliseconds: 100)))])
    #expect(bench.feed(.slot(afterMilliseconds: .max)) == [.send(.push(.reconnect(afterMilliseconds: .max)))])
    #expect(bench.feed(.ping).replies == [.ping(id: 7)])
    #expect(bench.wantsInput)
    bench.feed(.draining)
    #expect(bench.feed(.slot(afterMilliseconds: 100)).isEmpty && !bench.wantsInput)
  }

  /// A million idle connections pay for each byte a million times. What only a few need is allocated when it is needed.
  @Test("a session is small")
  func size() {
    #expect(MemoryLayout<Session>.size <= 320)
    #expect(MemoryLayout<SessionSubscription>.size <= 40)
  }

  @Test("a client that goes away while it subscribes leaves no subscriber behind")
  func goneWhileSubscribing() {
    var bench = SessionBench.live()
    let asked = bench.subscribe("a")
    #expect(bench.feed(.transportClosed).isEmpty)
    #expect(!bench.isDrained)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["a"])
    #expect(bench.isDrained)
    #expect(bench.answer(asked, .at(0)).isEmpty)
  }
}
