import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: the server asks the backend before something expires")
struct SessionRefreshProxyTests {
  private static let lifetime: Int64 = 100

  private func live(
    byToken: Bool = false, user: String = "u", lifetime: Int64 = lifetime
  ) -> SessionBench {
    let start: Int64 = 1_700_000_000
    return SessionBench.live(
      user: user, expiresAt: start + lifetime, proxies: SessionProxyTests.rules(.refresh, byToken: byToken))
  }

  /// Passes a second at a time, as a driver's timer would, until the backend is asked.
  private func passUntilAsked(_ bench: inout SessionBench, seconds: Int) -> (tag: UInt64, after: Int, [SessionAction])?
  {
    for second in 1...seconds {
      let actions = bench.pass(milliseconds: 1000)
      if actions.replies.contains(.serverPing) { _ = bench.feed(.pong, id: 0) }
      if let tag = actions.backendTag { return (tag, second, actions) }
    }
    return nil
  }

  private func result(_ change: (inout ProxyResult) -> Void) -> ProxyAnswer { SessionProxyTests.result(change) }

  @Test("the client hears of no expiry, because it has nothing to refresh")
  func hidden() throws {
    var bench = SessionBench(proxies: SessionProxyTests.rules(.refresh))
    var connect = ClientCommand.Connect()
    connect.token = "t"
    let tag = try #require(bench.feed(.connect(connect), id: 1).checkTag)
    let claims = ConnectionClaims(user: "u", expiresAt: bench.wall + 100)
    let answer = try #require(bench.feed(.connectionTokenChecked(tag: tag, .success(claims))).connectResult)
    #expect(!answer.expires && answer.ttl == 0)
  }

  @Test("the backend is asked once some seconds before the end, and what it says moves the end")
  func extended() throws {
    var bench = live()
    let asked = try #require(passUntilAsked(&bench, seconds: 100))
    #expect(asked.after == 95 && asked.2.questions == [.refresh])
    #expect(bench.pass(milliseconds: 1000).backendTag == nil)
    let later = bench.wall + 50
    #expect(bench.feed(.backendAnswered(tag: asked.tag, result { $0.expiresAt = later })).isEmpty)
    #expect(try #require(passUntilAsked(&bench, seconds: 60)).after == 45)
  }

  @Test("no later end means none, and nobody is asked any more")
  func forEver() throws {
    var bench = live()
    let asked = try #require(passUntilAsked(&bench, seconds: 100))
    _ = bench.feed(.backendAnswered(tag: asked.tag, result { _ in }))
    #expect(bench.session.timers.expiresAt == .max && bench.session.timers.expiry == .max)
  }

  @Test("a connection that the backend calls expired, or gives an end that has passed, ends with 3005")
  func expired() throws {
    for answer in [result { $0.isExpired = true }, result { $0.expiresAt = 1_600_000_000 }] {
      var bench = live()
      let asked = try #require(passUntilAsked(&bench, seconds: 100))
      #expect(bench.feed(.backendAnswered(tag: asked.tag, answer)).closeCode == 3005)
    }
    var bench = live()
    let asked = try #require(passUntilAsked(&bench, seconds: 100))
    let code = DisconnectCode(code: 4500, reason: "no")
    #expect(bench.feed(.backendAnswered(tag: asked.tag, .disconnect(code))).closeCode == 4500)
  }

  @Test("a backend that is away is asked again every some seconds, until the grace after the end is over")
  func retried() throws {
    var bench = live()
    var answers = 0
    for _ in 0..<200 {
      let actions = bench.pass(milliseconds: 1000)
      if let tag = actions.backendTag {
        answers += 1
        _ = bench.feed(.backendAnswered(tag: tag, .failed(.timeout)))
      }
      if let code = actions.closeCode {
        #expect(code == 3005)
        break
      }
      if actions.replies.contains(.serverPing) { _ = bench.feed(.pong, id: 0) }
    }
    #expect(bench.session.phase == .closed)
    #expect(bench.wall == 1_700_000_000 + Self.lifetime + 25)
    // At 95, 100, 105, 110, 115 and 120 seconds.
    #expect(answers == 6)
  }

  @Test("where the token alone counts, whoever came with one stays a minute at a time; others do not")
  func byToken() throws {
    var bench = SessionBench(proxies: SessionProxyTests.rules(.connect, .refresh, byToken: true)) { _ in }
    var connect = ClientCommand.Connect()
    connect.token = "t"
    let tag = try #require(bench.feed(.connect(connect), id: 1).checkTag)
    var claims = ConnectionClaims(user: "u", expiresAt: bench.wall + 10)
    claims.token = TokenIdentity(id: "one")
    _ = bench.feed(.connectionTokenChecked(tag: tag, .success(claims)))
    let asked = try #require(passUntilAsked(&bench, seconds: 10))
    _ = bench.feed(.backendAnswered(tag: asked.tag, .failed(.breaker)))
    #expect(bench.session.timers.expiresAt == bench.wall + 60)

    var other = live(byToken: true, lifetime: 10)
    let second = try #require(passUntilAsked(&other, seconds: 10))
    _ = other.feed(.backendAnswered(tag: second.tag, .failed(.breaker)))
    #expect(other.session.timers.expiresAt == 1_700_000_010)
  }

  @Test("a backend that grants a second at a time is asked once a second, no more")
  func shortLeases() throws {
    var bench = live(lifetime: 1)
    var asked = 0
    for _ in 0..<10 {
      guard let tag = bench.pass(milliseconds: 1000).backendTag else { continue }
      asked += 1
      let end = bench.wall + 1
      #expect(bench.feed(.backendAnswered(tag: tag, result { $0.expiresAt = end })).backendTag == nil)
    }
    #expect(asked == 10)
  }

  // MARK: Subscriptions

  private func subscribed(byToken: Bool = false, token: TokenIdentity? = nil) throws -> SessionBench {
    var options = ChannelOptions.shut
    (options.subscribeProxy, options.subRefreshProxy) = (true, true)
    var bench = SessionBench.live(
      options, proxies: SessionProxyTests.rules(.subscribe, .subRefresh, byToken: byToken))
    let end = bench.wall + Self.lifetime
    let subscribing: [SessionAction]
    if let token {
      let tag = try #require(bench.subscribe("a") { $0.token = "t" }.checkTag)
      let claims = SubscriptionClaims(user: "u", channel: "a", expiresAt: end, token: token)
      subscribing = bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims)))
    } else {
      let tag = try #require(bench.subscribe("a").backendTag)
      subscribing = bench.feed(.backendAnswered(tag: tag, result { $0.expiresAt = end }))
    }
    let answer = try #require(bench.answer(subscribing, .at(0)).subscribeResult)
    #expect(!answer.expires)
    return bench
  }

  /// As ``passUntilAsked(_:seconds:)``, for a client that answers pings.
  private func pass(_ bench: inout SessionBench, seconds: Int) -> [(Int, SessionAction)] {
    var seen: [(Int, SessionAction)] = []
    for second in 1...seconds {
      let actions = bench.pass(milliseconds: 1000)
      for action in actions {
        if action == .send(.serverPing) { _ = bench.feed(.pong, id: 0) } else { seen.append((second, action)) }
      }
      if actions.backendTag != nil { return seen }
    }
    return seen
  }

  @Test("a subscription that expires is asked about by its channel, and goes on or ends as the backend says")
  func subscription() throws {
    var bench = try subscribed()
    let asked = try #require(pass(&bench, seconds: 100).first)
    guard case .askBackend(let tag, .subRefresh("a")) = asked.1 else {
      Issue.record("\(asked)")
      return
    }
    #expect(asked.0 == 95)
    let later = bench.wall + 50
    #expect(bench.feed(.backendAnswered(tag: tag, result { $0.expiresAt = later })).isEmpty)
    let second = try #require(pass(&bench, seconds: 60).last)
    guard case .askBackend(let again, _) = second.1 else {
      Issue.record("\(second)")
      return
    }
    #expect(second.0 == 45)
    let ended = bench.feed(.backendAnswered(tag: again, result { $0.isExpired = true }))
    #expect(ended.replies == [.push(.unsubscribe(channel: "a", .expired))] && ended.unsubscribes == ["a"])
    #expect(bench.session.phase == .live)
  }

  @Test("an answer about a subscription that has ended says nothing of the next one to its channel")
  func oldSubscription() throws {
    var bench = try subscribed()
    let asked = try #require(pass(&bench, seconds: 100).first)
    guard case .askBackend(let tag, _) = asked.1 else { return }
    _ = bench.feed(.unsubscribe(channel: "a"), id: 8)
    let next = try #require(bench.subscribe("a", id: 9).backendTag)
    _ = bench.answer(bench.feed(.backendAnswered(tag: next, result { _ in })), .at(0))
    #expect(bench.feed(.backendAnswered(tag: tag, result { $0.isExpired = true })).isEmpty)
    #expect(bench.session.subscriptions[channel("a")]?.isLive == true)
  }

  @Test("without the backend a subscription ends when its grace is over, or goes on where a token alone counts")
  func subscriptionAway() throws {
    for (byToken, token) in [(false, TokenIdentity?.none), (true, nil), (true, TokenIdentity(id: "one"))] {
      var bench = try subscribed(byToken: byToken, token: token)
      var ended: Int?
      for second in 1...180 {
        for action in bench.pass(milliseconds: 1000) {
          switch action {
          case .askBackend(let tag, _): _ = bench.feed(.backendAnswered(tag: tag, .failed(.timeout)))
          case .send(.serverPing): _ = bench.feed(.pong, id: 0)
          case .send(.push(.unsubscribe(_, .expired))): ended = ended ?? second
          default: break
          }
        }
      }
      #expect(ended == (token == nil ? 125 : nil))
    }
  }
}
