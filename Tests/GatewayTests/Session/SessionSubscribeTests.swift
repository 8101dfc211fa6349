import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: subscribe and unsubscribe")
struct SessionSubscribeTests {
  @Test("the subscribe result comes before the hub is attached, so nothing overtakes it and nothing is missed")
  func resultThenAttach() {
    var bench = SessionBench.live()
    let missed = Publication(offset: 6, data: [1])
    let asked = bench.subscribe("a") {
      $0.recover = true
      $0.epoch = "e"
      $0.offset = 5
    }
    #expect(asked.count == 1)
    let actions = bench.answer(asked, .at(6, recovered: true, [missed]))
    var result = ClientReply.SubscribeResult()
    result.recoverable = true
    result.positioned = true
    result.epoch = "e"
    result.offset = 6
    result.wasRecovering = true
    result.recovered = true
    result.publications = [missed]
    #expect(actions == [.send(.subscribe(id: 7, result)), .attach(channel("a"), .toldOfLoss)])
  }

  @Test("a filter goes to the link with the request, and to the hub with what the broker lets be seen")
  func filters() {
    var bench = SessionBench.live()
    let (red, users) = (TagFilter.equal(key: "color", "red"), TagFilter.not(.equal(key: "user", "eve")))
    let asked = bench.subscribe("a") { $0.filter = red }
    guard case .subscribe(let tag, let request, SubscribeTerms(filter: red))? = asked.first, asked.count == 1 else {
      Issue.record("\(asked)")
      return
    }
    #expect(request.channel == channel("a"))
    let answer = BrokerResponse.subscribed(.init(position: .init(epoch: "e", offset: 0), audience: users))
    let actions = bench.feed(.brokerAnswered(tag: tag, answer))
    #expect(actions.last == .attach(channel("a"), .toldOfLoss, HubFilters(own: red, audience: users)))
  }

  @Test("a filter that makes no sense is answered with 107, and nothing is subscribed to")
  func badFilter() {
    var bench = SessionBench.live()
    let actions = bench.subscribe("a") { $0.refusal = .badRequest.saying("the filter is odd") }
    #expect(actions == [.send(.error(id: 7, .badRequest.saying("the filter is odd")))])
  }

  @Test("a bad channel name is answered with 107", arguments: ["", "a\u{0}", String(repeating: "x", count: 256)])
  func badNames(_ name: String) {
    var bench = SessionBench.live()
    #expect(bench.subscribe(name).errorCode == 107)
    #expect(bench.feed(.unsubscribe(channel: name)).errorCode == 107)
    #expect(bench.feed(.history(.init())).errorCode == 107)
    #expect(bench.feed(.presence(channel: name)).errorCode == 107)
  }

  @Test("a channel of an unknown namespace is answered with 102")
  func unknownNamespace() {
    var bench = SessionBench.live()
    #expect(bench.subscribe("nope:a").errorCode == 102)
  }

  @Test("a second subscribe is answered with 105: under way, live, checking a token, server-side")
  func alreadySubscribed() {
    var bench = SessionBench.live { $0.personalChannelNamespace = "" }
    #expect(bench.session.phase == .connecting)
    bench.feed(.brokerAnswered(tag: 2, .at(0)))
    #expect(bench.session.phase == .live)
    #expect(bench.subscribe("#u").errorCode == 105)
    let asked = bench.subscribe("a")
    #expect(bench.subscribe("a").errorCode == 105)
    bench.answer(asked, .at(0))
    #expect(bench.subscribe("a").errorCode == 105)
    bench.subscribe("t") { $0.token = "t" }
    #expect(bench.subscribe("t").errorCode == 105)
  }

  @Test("one subscription too many is answered with 106, and one that ended makes room")
  func channelLimit() {
    var bench = SessionBench.live { $0.maximumChannels = 2 }
    bench.join("a")
    bench.subscribe("b")
    let refused = bench.subscribe("c")
    #expect(refused.errorCode == 106)
    #expect(refused.causes == [.clientChannels])
    bench.feed(.unsubscribe(channel: "a"))
    #expect(bench.subscribe("c").errorCode == nil)
  }

  @Test("a recovery that is not whole says what it lacks, and whoever recovers nothing is told of nothing")
  func gap() {
    let gap = RecoveryGap(3...7, .size)
    let answer = BrokerResponse.subscribed(.init(position: .init(epoch: "e", offset: 9), gap: gap))
    var bench = SessionBench.live()
    let asked = bench.subscribe("a") { ($0.recover, $0.epoch, $0.offset) = (true, "e", 2) }
    let result = bench.answer(asked, answer).subscribeResult
    #expect(result?.gap == gap && result?.recovered == false && result?.wasRecovering == true)
    #expect(bench.answer(bench.subscribe("b"), answer).subscribeResult?.gap == nil)
    let whole = bench.subscribe("c") { ($0.recover, $0.epoch, $0.offset) = (true, "e", 9) }
    #expect(bench.answer(whole, .at(9, recovered: true)).subscribeResult?.gap == nil)
  }

  /// Whether a client without a subscription token gets in, by name, options and user.
  static let permissions: [(String, ChannelOptions, String, Bool)] = [
    ("a", .open, "u", true),
    ("a", .open, "", true),
    ("a", .shut, "u", false),
    ("a", .shut, "", false),
    ("a", .shut.with { $0.allowSubscribeForAnonymous = true }, "u", false),
    ("a", .shut.with { $0.allowSubscribeForClient = true }, "", false),
    ("$a", .open.with { $0.allowUserLimitedChannels = true }, "u", false),
    ("$a#u", .open.with { $0.allowUserLimitedChannels = true }, "u", false),
    ("a#u", .open, "u", false),
    ("a#u", .shut.with { $0.allowUserLimitedChannels = true }, "u", true),
    ("a#v,u", .shut.with { $0.allowUserLimitedChannels = true }, "u", true),
    ("a#v", .open.with { $0.allowUserLimitedChannels = true }, "u", false),
    ("a#uu", .open.with { $0.allowUserLimitedChannels = true }, "u", false),
    ("a#", .open.with { $0.allowUserLimitedChannels = true }, "", false),
    ("a#,v", .open.with { $0.allowUserLimitedChannels = true }, "", false),
    // A precomposed and a decomposed é are equal Strings, and other users.
    ("a#e\u{301}", .open.with { $0.allowUserLimitedChannels = true }, "\u{e9}", false),
  ]

  @Test("who may subscribe without a token", arguments: permissions)
  func permission(name: String, options: ChannelOptions, user: String, allowed: Bool) {
    var bench = SessionBench.live(options, user: user)
    #expect(bench.subscribe(name).errorCode == (allowed ? nil : 103))
  }

  @Test("nobody subscribes to a personal channel, neither to another's nor to one that a user id imitates")
  func personalChannels() {
    for user in ["u", "a,u", ""] {
      var bench = SessionBench.live(.open.with { $0.allowUserLimitedChannels = true }, user: user) {
        $0.personalChannelNamespace = ""
      }
      bench.feed(.brokerAnswered(tag: 2, .at(0)))
      for name in ["#v", "#v,u", "#x#u"] { #expect(bench.subscribe(name).errorCode == 103) }
    }
  }

  @Test("a valid token opens a channel that the namespace keeps shut, private or not", arguments: ["a", "$a", "a#v"])
  func tokenOpens(name: String) {
    var bench = SessionBench.live(.shut)
    let actions = bench.joinWithToken(name)
    #expect(actions.subscribeResult != nil)
    #expect(actions.last == .attach(channel(name), .toldOfLoss))
  }

  static let refusals: [(Result<SubscriptionClaims, TokenError>, UInt32)] = [
    (.failure(.expired), 109), (.failure(.invalid(reason: "r")), 103), (.failure(.unavailable(reason: "r")), 100),
    (.success(.init(user: "v", channel: "a")), 103), (.success(.init(user: "u", channel: "b")), 103),
    (.success(.init(user: "", channel: "a")), 103),
    (.success(.init(user: "u", channel: "a", expiresAt: 1_700_000_000)), 109),
  ]

  @Test("a token that does not fit is refused, and the channel is free to be asked for again", arguments: refusals)
  func tokenRefused(result: Result<SubscriptionClaims, TokenError>, code: UInt32) throws {
    var bench = SessionBench.live()
    let tag = try #require(bench.subscribe("a") { $0.token = "t" }.checkTag)
    let actions = bench.feed(.subscriptionTokenChecked(tag: tag, result))
    #expect(actions.errorCode == code)
    #expect(actions.requests.isEmpty)
    #expect(bench.subscribe("a").requests.count == 1)
  }

  /// A precomposed and a decomposed é are equal Strings. Whoever may choose a user id must not become another user.
  @Test("a token for a canonically equal user or channel is a token for another")
  func canonicalEquivalence() throws {
    var bench = SessionBench.live(user: "\u{e9}")
    for claims in [
      SubscriptionClaims(user: "e\u{301}", channel: "\u{e9}"), .init(user: "\u{e9}", channel: "e\u{301}"),
    ] {
      let tag = try #require(bench.subscribe("\u{e9}") { $0.token = "t" }.checkTag)
      #expect(bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims))).errorCode == 103)
    }
    let tag = try #require(bench.feed(.refresh(token: "t")).checkTag)
    #expect(bench.feed(.connectionTokenChecked(tag: tag, .success(.init(user: "e\u{301}")))).closeCode == 3500)
  }

  @Test("the token's data, info and expiry reach the subscriber, the broker and the result")
  func tokenContents() throws {
    var bench = SessionBench.live(.shut.with { $0.presence = true })
    let tag = try #require(bench.subscribe("a") { $0.token = "t" }.checkTag)
    var grant = SubscriptionGrant()
    grant.data = [1]
    grant.info = [2]
    let claims = SubscriptionClaims(user: "u", channel: "a", expiresAt: bench.wall + 60, grant: grant)
    let asked = bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims)))
    let member = ClientInfo(user: "u", client: "c1", channelInfo: [2])
    #expect(asked.requests == [.subscribe(.init(channel: channel("a"), recoveryLimit: 300, member: member))])
    let result = try #require(bench.answer(asked, .at(0)).subscribeResult)
    #expect(result.data == [1])
    #expect(result.expires && result.ttl == 60)
    let left = bench.feed(.unsubscribe(channel: "a"))
    #expect(left.requests == [.unsubscribe(.init(channel: channel("a"), member: member, keepsInterest: false))])
  }

  /// Options, what the client asks, and what it gets: recoverable, positioned.
  static let traits: [(ChannelOptions, ClientCommand.Subscribe, Bool, Bool)] = {
    func ask(_ change: (inout ClientCommand.Subscribe) -> Void) -> ClientCommand.Subscribe {
      var ask = ClientCommand.Subscribe()
      change(&ask)
      return ask
    }
    let bare = ChannelOptions.open.with { $0.historySize = 0 }
    return [
      (.open, .init(), false, false),
      (.open, ask { $0.recoverable = true }, true, true),
      (.open, ask { $0.recover = true }, true, true),
      (.open, ask { $0.positioned = true }, false, true),
      (.open.with { $0.forceRecovery = true }, .init(), true, true),
      (.open.with { $0.forcePositioning = true }, .init(), false, true),
      (bare, ask { $0.recoverable = true }, false, false),
      (bare, ask { $0.recover = true }, false, false),
      (bare.with { $0.forceRecovery = true }, .init(), false, false),
      (bare, ask { $0.positioned = true }, false, true),
      (bare.with { $0.lane = .receipts }, ask { $0.positioned = true }, false, false),
      (bare.with { $0.lane = .typing }, .init(), false, false),
      (.open.with { $0.lane = .typing }, ask { $0.recover = true }, false, false),
    ]
  }()

  @Test("a subscription is recoverable where history is kept and positioned where asked or forced", arguments: traits)
  func positioning(options: ChannelOptions, ask: ClientCommand.Subscribe, recoverable: Bool, positioned: Bool) throws {
    var bench = SessionBench.live(options)
    let actions = bench.join("a") {
      let name = $0.channel
      $0 = ask
      $0.channel = name
    }
    let result = try #require(actions.subscribeResult)
    #expect(result.recoverable == recoverable)
    #expect(result.positioned == positioned)
    #expect(result.epoch == (positioned ? "e" : ""))
    // Losses are told in the lane of publications, with a position or without: in low lanes gaps are meant.
    #expect(actions.contains(.attach(channel("a"), options.lane == .publications ? .toldOfLoss : [])))
  }

  @Test("nobody counts offsets in a low lane, whatever their token says")
  func lowLane() {
    var bench = SessionBench.live(.open.with { $0.lane = .receipts })
    var grant = SubscriptionGrant()
    grant.forceRecovery = true
    grant.forcePositioning = true
    let actions = bench.joinWithToken("a", grant: grant)
    #expect(actions.subscribeResult?.positioned == false)
    #expect(actions.contains(.attach(channel("a"), [])))
  }

  @Test("a grant's override goes before the namespace's option")
  func grantOverrides() {
    var bench = SessionBench.live(.open.with { $0.forceRecovery = true })
    var grant = SubscriptionGrant()
    grant.forceRecovery = false
    grant.presence = false
    #expect(bench.joinWithToken("a", grant: grant).subscribeResult?.recoverable == false)
    grant.forceRecovery = true
    #expect(bench.joinWithToken("b", grant: grant).subscribeResult?.recoverable == true)
    #expect(
      bench.feed(.unsubscribe(channel: "a")).requests == [
        .unsubscribe(.init(channel: channel("a"), member: nil, keepsInterest: false))
      ])
  }

  @Test("a recovery that is not whole gives no publications, and one without history asks for none")
  func partialRecovery() throws {
    var bench = SessionBench.live()
    let recovering: (inout ClientCommand.Subscribe) -> Void = {
      $0.recover = true
      $0.offset = 1
    }
    let asked = bench.subscribe("a", with: recovering)
    #expect(asked.requests.first?.since == StreamPosition(epoch: "", offset: 1))
    let part = try #require(bench.answer(asked, .at(9, [Publication(offset: 9, data: [1])])).subscribeResult)
    #expect(part.wasRecovering && !part.recovered && part.publications.isEmpty)
    var bare = SessionBench.live(.open.with { $0.historySize = 0 })
    #expect(bare.subscribe("a", with: recovering).requests.first?.since == nil)
  }

  @Test("a client that rejects what cannot be recovered gets 112, and the broker its unsubscribe")
  func rejectUnrecovered() {
    var bench = SessionBench.live()
    let rejecting: (inout ClientCommand.Subscribe) -> Void = {
      $0.recover = true
      $0.flag = ClientCommand.Subscribe.rejectUnrecovered
    }
    let refused = bench.join("a", with: rejecting)
    #expect(refused.errorCode == 112)
    #expect(refused.unsubscribes == ["a"])
    #expect(bench.answer(bench.subscribe("a", with: rejecting), .at(1, recovered: true)).subscribeResult != nil)
    var bare = SessionBench.live(.open.with { $0.historySize = 0 })
    let actions = bare.subscribe("a", with: rejecting)
    #expect(actions.errorCode == 112 && actions.requests.isEmpty)
  }

  /// Options, whether the client asks for joins, and whether it gets them.
  static let joins: [(Bool, Bool, Bool, Bool)] = [
    (false, false, true, false), (true, false, true, true), (true, false, false, false), (true, true, false, true),
    (false, true, false, false),
  ]

  @Test("joins are pushed where the namespace has them and the client asks or the namespace insists", arguments: joins)
  func joinLeave(has: Bool, forces: Bool, asks: Bool, gets: Bool) {
    let options = ChannelOptions.open.with {
      $0.joinLeave = has
      $0.forcePushJoinLeave = forces
    }
    var bench = SessionBench.live(options)
    #expect(
      bench.join("a") { $0.joinLeave = asks }.last
        == .attach(channel("a"), gets ? [.joinLeave, .toldOfLoss] : .toldOfLoss))
  }

  @Test("who subscribes is told to the broker only where presence or joins are on")
  func member() {
    for (presence, joinLeave, told) in [(false, false, false), (true, false, true), (false, true, true)] {
      let options = ChannelOptions.open.with {
        $0.presence = presence
        $0.joinLeave = joinLeave
      }
      var bench = SessionBench.live(options)
      guard case .subscribe(let request)? = bench.subscribe("a").requests.first else {
        Issue.record("nothing was asked")
        continue
      }
      #expect((request.member != nil) == told)
    }
  }

  @Test("a subscribe that the broker refuses is answered with its error, and can be tried again")
  func brokerRefuses() {
    var bench = SessionBench.live()
    let actions = bench.answer(bench.subscribe("a"), .failed(.internalError))
    #expect(actions == [.send(.error(id: 7, .internalError))])
    #expect(bench.join("a").subscribeResult != nil)
  }

  @Test("an unsubscribe leaves hub and broker, and one of nothing succeeds")
  func unsubscribe() {
    var bench = SessionBench.live()
    bench.join("a")
    let actions = bench.feed(.unsubscribe(channel: "a"), id: 8)
    #expect(actions.first == .detach(channel("a")))
    #expect(actions.unsubscribes == ["a"])
    #expect(actions.last == .send(.unsubscribe(id: 8)))
    #expect(bench.feed(.unsubscribe(channel: "a"), id: 9) == [.send(.unsubscribe(id: 9))])
  }

  @Test("a client cannot end a server-side subscription")
  func serverSideUnsubscribe() {
    var bench = SessionBench.live { $0.personalChannelNamespace = "" }
    bench.feed(.brokerAnswered(tag: 2, .at(0)))
    #expect(bench.feed(.unsubscribe(channel: "#u")).errorCode == 103)
  }

  @Test("an unsubscribe while the subscribe is under way answers both, and unsubscribes once the broker has answered")
  func unsubscribeUnderWay() {
    var bench = SessionBench.live()
    let asked = bench.subscribe("a", id: 2)
    let actions = bench.feed(.unsubscribe(channel: "a"), id: 3)
    #expect(actions == [.send(.error(id: 2, .endedWhileSubscribing)), .send(.unsubscribe(id: 3))])
    let late = bench.answer(asked, .at(0))
    #expect(late.unsubscribes == ["a"] && late.replies.isEmpty && late.count == 1)
  }

  @Test("a late answer that is a failure needs no unsubscribe")
  func lateFailure() {
    var bench = SessionBench.live()
    let asked = bench.subscribe("a")
    bench.feed(.unsubscribe(channel: "a"))
    #expect(bench.answer(asked, .failed(.internalError)).isEmpty)
  }

  /// Subscribe, unsubscribe, subscribe in one burst, as a component that is mounted twice does it. If the second
  /// subscribe went to the broker at once, the first one's unsubscribe would arrive behind it and end its presence.
  @Test("a new subscribe waits until the old one is unsubscribed")
  func resubscribeUnderWay() {
    var bench = SessionBench.live()
    let first = bench.subscribe("a", id: 2)
    bench.feed(.unsubscribe(channel: "a"), id: 3)
    #expect(bench.subscribe("a", id: 4).isEmpty)
    #expect(bench.subscribe("a", id: 5).errorCode == 105)
    let between = bench.answer(first, .at(0))
    #expect(between.requests.map { if case .unsubscribe = $0 { true } else { false } } == [true, false])
    guard case .request(let tag, .subscribe)? = between.last else {
      Issue.record("the second subscribe was not sent")
      return
    }
    let actions = bench.feed(.brokerAnswered(tag: tag, .at(0)))
    #expect(actions.first.map { if case .send(.subscribe(4, _)) = $0 { true } else { false } } == true)
  }

  @Test("an unsubscribe while the token is checked answers both, and the check's result is ignored")
  func unsubscribeWhileChecking() throws {
    var bench = SessionBench.live()
    let tag = try #require(bench.subscribe("a", id: 2) { $0.token = "t" }.checkTag)
    let actions = bench.feed(.unsubscribe(channel: "a"), id: 3)
    #expect(actions == [.send(.error(id: 2, .endedWhileSubscribing)), .send(.unsubscribe(id: 3))])
    #expect(bench.feed(.subscriptionTokenChecked(tag: tag, .success(.init(user: "u", channel: "a")))).isEmpty)
  }

  @Test("a server-side removal tells the client, whichever side subscribed")
  func removal() {
    var bench = SessionBench.live { $0.personalChannelNamespace = "" }
    bench.feed(.brokerAnswered(tag: 2, .at(0)))
    bench.join("a")
    for name in ["#u", "a"] {
      let actions = bench.feed(.removeSubscription(channel(name), .server))
      #expect(actions.first == .detach(channel(name)))
      #expect(actions.unsubscribes == [name])
      #expect(actions.last == .send(.push(.unsubscribe(channel: name, .server))))
    }
    let asked = bench.subscribe("b")
    #expect(bench.feed(.removeSubscription(channel("b"), .server)).errorCode == 103)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["b"])
  }

  @Test("a lost channel ends each subscription with 2500, with a position or without, but in low lanes")
  func channelLost() {
    let low = ChannelOptions.open.with { $0.lane = .typing }
    var bench = SessionBench.live(namespaces: ["low": low])
    bench.join("a") { $0.positioned = true }
    bench.join("b")
    bench.join("low:c")
    for name in ["a", "b"] {
      let actions = bench.feed(.channelLost(channel(name)))
      #expect(actions.first == .detach(channel(name)))
      #expect(actions.unsubscribes == [name])
      #expect(actions.last == .send(.push(.unsubscribe(channel: name, .insufficient))))
    }
    #expect(bench.feed(.channelLost(channel("low:c"))).isEmpty)
    #expect(bench.feed(.channelLost(channel("nobody"))).isEmpty)
  }

  @Test("a lost server-side channel closes with 3010")
  func serverSideChannelLost() {
    var bench = SessionBench.live(.open.with { $0.forcePositioning = true }) { $0.personalChannelNamespace = "" }
    bench.feed(.brokerAnswered(tag: 2, .at(0)))
    #expect(bench.feed(.channelLost(channel("#u"))).closeCode == 3010)
  }
}

extension BrokerRequest {
  var since: StreamPosition? { if case .subscribe(let request) = self { request.since } else { nil } }
}
