import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: what services order, subscriptions and expiry")
struct OrderedSubscriptionTests {
  private static func order(
    _ name: String = "a", info: [UInt8]? = nil, data: [UInt8]? = nil, since: UInt64? = nil
  ) -> SessionInput {
    let position = since.map { StreamPosition(epoch: "e", offset: $0) }
    return .addSubscription(OrderedSubscription(channel: channel(name), info: info, data: data, since: position))
  }

  private static func push(
    _ name: String = "a", recoverable: Bool = false, positioned: Bool = false, _ offset: UInt64? = nil,
    data: [UInt8] = []
  ) -> SessionAction {
    let position = StreamPosition(epoch: offset == nil ? "" : "e", offset: offset ?? 0)
    return .send(
      .push(.subscribe(channel: name, recoverable: recoverable, positioned: positioned, position, data: data)))
  }

  private static func claims(_ names: String..., expiresAt: Int64? = nil) -> ConnectionClaims {
    var claims = ConnectionClaims(user: "u", expiresAt: expiresAt)
    for name in names { claims.subscriptions[name] = SubscriptionGrant() }
    return claims
  }

  /// A session whose token is being checked, and the tag of the check.
  private static func checking() -> (bench: SessionBench, tag: UInt64) {
    var bench = SessionBench()
    var connect = ClientCommand.Connect()
    connect.token = "t"
    let tag = bench.feed(.connect(connect), id: 1).checkTag ?? 0
    return (bench, tag)
  }

  /// A session whose server-side subscription to `own` the broker has still to answer, and the tag of that.
  private static func connecting(expiresAt: Int64? = nil) -> (bench: SessionBench, tag: UInt64) {
    var (bench, tag) = checking()
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("own", expiresAt: expiresAt))))
    return (bench, asked.requestTag ?? 0)
  }

  // MARK: A subscription begins

  @Test("the push comes first and then the hub, with nothing held: no gap and no double")
  func begins() {
    var bench = SessionBench.live(.open.with { $0.forceRecovery = true })
    let asked = bench.feed(Self.order(info: [0x31], data: [0x32]))
    guard case .subscribe(let request)? = asked.requests.first, asked.count == 1 else {
      Issue.record("\(asked)")
      return
    }
    #expect(request.channel == channel("a") && request.since == nil)
    #expect(request.member == ClientInfo(user: "u", client: "c1", channelInfo: [0x31]))
    let actions = bench.answer(asked, .at(4))
    #expect(
      actions == [
        Self.push(recoverable: true, positioned: true, 4, data: [0x32]), .attach(channel("a"), .toldOfLoss),
      ])
  }

  @Test("without positions the push has none; joins are pushed where the namespace forces them on all")
  func unpositioned() {
    var bench = SessionBench.live(
      .open.with {
        $0.joinLeave = true
        $0.forcePushJoinLeave = true
      })
    #expect(
      bench.answer(bench.feed(Self.order()), .at(4))
        == [Self.push(), .attach(channel("a"), [.joinLeave, .toldOfLoss])])
  }

  @Test("what was missed follows the push, which then has the position before it")
  func recovered() {
    var bench = SessionBench.live()
    let asked = bench.feed(Self.order(since: 2))
    #expect(asked.requests.first?.since == StreamPosition(epoch: "e", offset: 2))
    let missed = [Publication(offset: 3, data: [0x33]), Publication(offset: 4, data: [0x34])]
    let expected: [SessionAction] = [
      Self.push(recoverable: true, positioned: true, 2), .send(.push(.publication(channel: "a", missed[0]))),
      .send(.push(.publication(channel: "a", missed[1]))), .attach(channel("a"), .toldOfLoss),
    ]
    #expect(bench.answer(asked, .at(4, recovered: true, missed)) == expected)
  }

  @Test("what cannot be had is left out, and the push has the newest position")
  func unrecovered() {
    var bench = SessionBench.live()
    #expect(
      bench.answer(bench.feed(Self.order(since: 2)), .at(9)).first
        == Self.push(recoverable: true, positioned: true, 9))
    var other = SessionBench.live(.open.with { $0.historySize = 0 })
    #expect(other.feed(Self.order(since: 2)).requests.first?.since == nil)
  }

  // MARK: None begins

  @Test("who is subscribed already, by whichever side, or is about to be, stays so")
  func already() {
    var bench = SessionBench.live()
    bench.join("a")
    bench.subscribe("b")
    bench.subscribe("c") { $0.token = "t" }
    bench.feed(Self.order("d"))
    for name in ["a", "b", "c", "d"] { #expect(bench.feed(Self.order(name)).isEmpty, "\(name)") }
  }

  @Test("who has as many subscriptions as allowed is passed over, and that is noted")
  func limit() {
    var bench = SessionBench.live { $0.maximumChannels = 1 }
    bench.join("a")
    #expect(bench.feed(Self.order("b")) == [.note(.clientChannels)])
    #expect(bench.session.subscriptions.count == 1)
  }

  @Test("what cannot be done is noted, the client hears nothing, and it may be ordered again")
  func failure() {
    var bench = SessionBench.live()
    #expect(bench.feed(Self.order("nope:a")) == [.note(.orderedSubscriptions)])
    #expect(bench.answer(bench.feed(Self.order()), .failed(.limitExceeded)) == [.note(.orderedSubscriptions)])
    #expect(bench.answer(bench.feed(Self.order()), .at(0)).first == Self.push())
  }

  @Test("before it is known who a client is, and after it was refused, nothing is begun for it")
  func strangers() {
    var (bench, tag) = Self.checking()
    #expect(bench.feed(Self.order()).isEmpty)
    #expect(bench.feed(.connectionTokenChecked(tag: tag, .success(Self.claims()))).connectResult?.subs.isEmpty == true)
    (bench, tag) = Self.checking()
    bench.feed(.connectionTokenChecked(tag: tag, .failure(.expired)))
    #expect(bench.session.phase == .refused)
    #expect(bench.feed(Self.order()).isEmpty)
    var fresh = SessionBench()
    #expect(fresh.feed(Self.order()).isEmpty)
  }

  // MARK: While the client connects

  @Test("a client that is still connecting finds it in its connect result, in whatever order the broker answers")
  func whileConnecting() {
    for isFirst in [true, false] {
      var (bench, tag) = Self.connecting()
      let asked = bench.feed(Self.order(data: [0x31]))
      let first = isFirst ? bench.answer(asked, .at(2)) : bench.feed(.brokerAnswered(tag: tag, .at(1)))
      #expect(first.count == 1 && first.replies.isEmpty)
      let last = isFirst ? bench.feed(.brokerAnswered(tag: tag, .at(1))) : bench.answer(asked, .at(2))
      #expect(last.connectResult?.subs.keys.sorted() == ["a", "own"])
      #expect(last.connectResult?.subs["a"]?.data == [0x31])
      #expect(last.last == .releaseHeld)
      #expect((first + last).contains(.attach(channel("a"), [.held, .toldOfLoss])))
    }
  }

  @Test("one that fails lets the client in without it; one of the token's does not")
  func failureWhileConnecting() {
    var (bench, tag) = Self.connecting()
    var asked = bench.feed(Self.order())
    #expect(bench.answer(asked, .failed(.internalError)) == [.note(.orderedSubscriptions)])
    #expect(bench.feed(.brokerAnswered(tag: tag, .at(1))).connectResult?.subs.keys.sorted() == ["own"])
    (bench, tag) = Self.connecting()
    asked = bench.feed(Self.order())
    #expect(bench.feed(.brokerAnswered(tag: tag, .failed(.internalError))).errorCode == 100)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["a"])
  }

  // MARK: The end

  @Test("the client cannot end it, a service can, and a loss ends the connection with 3010")
  func ends() {
    var bench = SessionBench.live()
    bench.answer(bench.feed(Self.order()), .at(0))
    #expect(bench.feed(.unsubscribe(channel: "a")).errorCode == 103)
    #expect(bench.subscribe("a").errorCode == 105)
    let removed = bench.feed(.removeSubscription(channel("a"), .server))
    #expect(removed.first == .detach(channel("a")) && removed.unsubscribes == ["a"])
    #expect(removed.last == .send(.push(.unsubscribe(channel: "a", .server))))
    bench.answer(bench.feed(Self.order()), .at(0))
    #expect(bench.feed(.channelLost(channel("a"))).closeCode == 3010)
  }

  @Test("a refreshed token that does not name the channel leaves it")
  func refreshedToken() throws {
    var (bench, tag) = Self.connecting()
    bench.feed(.brokerAnswered(tag: tag, .at(0)))
    bench.answer(bench.feed(Self.order()), .at(0))
    let check = try #require(bench.feed(.refresh(token: "newer"), id: 2).checkTag)
    bench.feed(.connectionTokenChecked(tag: check, .success(Self.claims())))
    #expect(bench.session.subscriptions.keys.map(\.string) == ["a"])
  }

  @Test("one that is taken away before the broker has answered is undone, and was never told")
  func removedUnderWay() {
    var bench = SessionBench.live()
    let asked = bench.feed(Self.order())
    #expect(bench.feed(.removeSubscription(channel("a"), .server)).isEmpty)
    // The client may subscribe by itself now, which waits for the broker's answer.
    #expect(bench.subscribe("a", id: 5).isEmpty)
    let between = bench.answer(asked, .at(0))
    #expect(between.unsubscribes == ["a"] && between.replies.isEmpty)
    guard case .request(let tag, .subscribe)? = between.last else {
      Issue.record("the client's subscribe was not sent")
      return
    }
    #expect(bench.feed(.brokerAnswered(tag: tag, .at(0))).subscribeResult != nil)
    #expect(bench.feed(.unsubscribe(channel: "a")).errorCode == nil)
  }

  @Test("an order while the client's former subscription still ends is carried out behind it")
  func behindAnother() {
    var bench = SessionBench.live()
    let first = bench.subscribe("a", id: 2)
    bench.feed(.unsubscribe(channel: "a"), id: 3)
    #expect(bench.feed(Self.order(data: [0x31])).isEmpty)
    #expect(bench.feed(.unsubscribe(channel: "a"), id: 4).errorCode == 103)
    #expect(bench.subscribe("a", id: 5).errorCode == 105)
    let between = bench.answer(first, .at(0))
    #expect(between.requests.map { if case .unsubscribe = $0 { true } else { false } } == [true, false])
    guard case .request(let tag, .subscribe)? = between.last else {
      Issue.record("the order was not carried out")
      return
    }
    #expect(bench.feed(.brokerAnswered(tag: tag, .at(0))).first == Self.push(data: [0x31]))
  }

  @Test("a client that goes away meanwhile leaves no subscriber behind")
  func gone() {
    var bench = SessionBench.live()
    let asked = bench.feed(Self.order())
    #expect(bench.feed(.transportClosed).isEmpty)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["a"])
    #expect(bench.isDrained)
  }

  // MARK: Expiry

  @Test("an expiry is moved ahead, brought forward or taken away, and the client is told each time")
  func expiry() {
    var bench = SessionBench.live(expiresAt: 1_700_000_100) { $0.expiryGraceSeconds = 0 }
    #expect(bench.feed(.changeExpiry(.at(bench.wall + 600))) == [.send(.push(.refresh(expires: true, ttl: 600)))])
    bench.now += 599_000
    bench.wall += 599
    #expect(bench.feed(.deadline).closeCode == nil)
    #expect(bench.feed(.changeExpiry(.never)) == [.send(.push(.refresh(expires: false, ttl: 0)))])
    bench.wall += 10_000
    #expect(bench.feed(.deadline).closeCode == nil)
    bench.feed(.changeExpiry(.at(bench.wall + 5)))
    #expect(bench.session.nextDeadline.map { $0 <= bench.now + 5_000 } == true)
    bench.wall += 5
    #expect(bench.feed(.deadline).closeCode == 3005)
  }

  @Test("what is over is over at once, without the grace for a new token")
  func over() {
    for expiry: ConnectionExpiry in [.now, .at(1_700_000_000), .at(-1), .at(.min)] {
      var bench = SessionBench.live()
      bench.join("a")
      let actions = bench.feed(.changeExpiry(expiry))
      #expect(actions.closeCode == 3005 && actions.unsubscribes == ["a"], "\(expiry)")
    }
    var (bench, _) = Self.connecting()
    #expect(bench.feed(.changeExpiry(.now)).closeCode == 3005)
  }

  @Test("a client that is still connecting finds its expiry in the connect result")
  func expiryWhileConnecting() throws {
    let cases: [(ConnectionExpiry, UInt32)] = [(.at(1_700_000_600), 600), (.never, 0)]
    for (expiry, ttl) in cases {
      var (bench, tag) = Self.connecting(expiresAt: 1_700_000_100)
      #expect(bench.feed(.changeExpiry(expiry)).isEmpty)
      let result = try #require(bench.feed(.brokerAnswered(tag: tag, .at(0))).connectResult)
      #expect(result.expires == (ttl > 0) && result.ttl == ttl)
    }
  }

  @Test("a token that the client sends later sets the expiry again")
  func laterToken() throws {
    var bench = SessionBench.live()
    bench.feed(.changeExpiry(.never))
    let check = try #require(bench.feed(.refresh(token: "newer"), id: 2).checkTag)
    bench.feed(.connectionTokenChecked(tag: check, .success(Self.claims(expiresAt: bench.wall + 60))))
    bench.wall += 60 + bench.session.configuration.expiryGraceSeconds
    #expect(bench.feed(.deadline).closeCode == 3005)
  }

  // MARK: The link

  @Test("the link hands these orders to every event loop, as it does the others")
  func link() {
    let scene = LinkScene()
    scene.welcome()
    let target = SessionTarget(user: "ann")
    let orders: [SessionOrder] = [
      .subscribe(target, OrderedSubscription(channel: channel("a"))), .refresh(target, .never),
    ]
    for (number, order) in orders.enumerated() {
      scene.receive(.order(LinkOrder(id: UInt64(number), order: order)))
      #expect(scene.tells() == [.sessionOrder(UInt64(number), order)])
    }
  }
}
