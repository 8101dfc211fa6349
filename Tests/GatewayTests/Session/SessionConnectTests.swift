import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: connect")
struct SessionConnectTests {
  static let claims = ConnectionClaims(user: "u")

  func connecting(_ bench: inout SessionBench, subs: [String: ClientCommand.Subscribe] = [:]) -> UInt64 {
    var connect = ClientCommand.Connect()
    connect.token = "t"
    connect.subs = subs
    return bench.feed(.connect(connect), id: 1).checkTag ?? 0
  }

  func claims(_ channels: String..., expiresAt: Int64? = nil) -> ConnectionClaims {
    var claims = ConnectionClaims(user: "u", expiresAt: expiresAt)
    for channel in channels { claims.subscriptions[channel] = SubscriptionGrant() }
    return claims
  }

  @Test(
    "any command before connect closes with 3501",
    arguments: [
      ClientCommand.Body.pong, .ping, .send(data: []), .subscribe(.init()), .unsubscribe(channel: "a"),
      .publish(.init()), .presence(channel: "a"), .presenceStats(channel: "a"), .history(.init()),
      .rpc(method: "m", data: []), .refresh(token: "t"), .subRefresh(channel: "a", token: "t"), .unknown,
    ])
  func connectComesFirst(_ body: ClientCommand.Body) {
    var bench = SessionBench()
    #expect(bench.feed(body).closeCode == 3501)
    #expect(bench.session.phase == .closed)
  }

  @Test("a connect with id 0 closes with 3501")
  func connectNeedsAnID() {
    var bench = SessionBench { $0.allowAnonymous = true }
    #expect(bench.feed(.connect(.init()), id: 0).closeCode == 3501)
  }

  @Test("a second connect closes with 3501, live or while the first is under way")
  func secondConnect() {
    var live = SessionBench.live()
    #expect(live.feed(.connect(.init())).closeCode == 3501)
    var bench = SessionBench()
    _ = connecting(&bench)
    #expect(bench.feed(.connect(.init())).closeCode == 3501)
  }

  @Test("a transport on which nobody connects is closed with 3502 after ten seconds, not before")
  func connectTimeout() {
    var bench = SessionBench()
    #expect(bench.session.nextDeadline == bench.now + 10_000)
    #expect(bench.pass(milliseconds: 9_999).isEmpty)
    #expect(bench.pass(milliseconds: 1).closeCode == 3502)
    #expect(bench.session.nextDeadline == nil)
  }

  @Test("a connect that the server does not answer in time ends with a code after which the client comes back")
  func serverIsLate() {
    var bench = SessionBench()
    bench.now += 9_999
    _ = connecting(&bench)
    #expect(bench.pass(milliseconds: 9_999).isEmpty)
    #expect(bench.pass(milliseconds: 1).closeCode == 3004)
  }

  @Test("a connect without a token is refused with 3500 unless anonymous users are allowed")
  func anonymous() throws {
    var strict = SessionBench()
    #expect(strict.feed(.connect(.init()), id: 1).closeCode == 3500)
    var bench = SessionBench { $0.allowAnonymous = true }
    let result = try #require(bench.feed(.connect(.init()), id: 1).connectResult)
    #expect(result.client == "c1")
    #expect(bench.session.phase == .live)
    #expect(bench.session.user == "")
  }

  @Test("the connect result names client, server, ping and expiry")
  func connectResult() throws {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let expiring = claims(expiresAt: bench.wall + 600)
    let result = try #require(bench.feed(.connectionTokenChecked(tag: tag, .success(expiring))).connectResult)
    var expected = ClientReply.ConnectResult()
    expected.client = "c1"
    expected.session = "s1"
    expected.node = "n1"
    expected.version = "Fanfare 1.2.3"
    expected.ping = 25
    expected.pong = true
    expected.expires = true
    expected.ttl = 600
    #expect(result == expected)
  }

  @Test("an expired token is answered with 109, and the connection ignores what comes after it")
  func expiredToken() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    #expect(bench.subscribe("early").isEmpty)
    let actions = bench.feed(.connectionTokenChecked(tag: tag, .failure(.expired)))
    #expect(actions == [.send(.error(id: 1, .tokenExpired))])
    #expect(bench.session.phase == .refused)
    #expect(bench.subscribe("late").isEmpty)
    #expect(bench.feed(.connect(.init())).closeCode == 3501)
  }

  @Test("a refused client that stays is closed with 3502")
  func refusedClientThatStays() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    bench.feed(.connectionTokenChecked(tag: tag, .failure(.expired)))
    #expect(bench.pass(milliseconds: 10_000).closeCode == 3502)
  }

  @Test("a token whose expiry has come is as expired as one that the check calls so")
  func expiryAtConnect() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let actions = bench.feed(.connectionTokenChecked(tag: tag, .success(claims(expiresAt: bench.wall))))
    #expect(actions.errorCode == 109)
  }

  @Test("an invalid token closes with 3500, unavailable keys are a temporary error")
  func refusedTokens() {
    var invalid = SessionBench()
    let first = connecting(&invalid)
    #expect(invalid.feed(.connectionTokenChecked(tag: first, .failure(.invalid(reason: "")))).closeCode == 3500)
    var bench = SessionBench()
    let second = connecting(&bench)
    let actions = bench.feed(.connectionTokenChecked(tag: second, .failure(.unavailable(reason: ""))))
    #expect(actions == [.send(.error(id: 1, .internalError))])
  }

  @Test("commands that come along with the connect are performed after its answer, in order")
  func heldCommands() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    #expect(!bench.wantsInput)
    #expect(bench.feed(.ping, id: 2).isEmpty)
    #expect(bench.feed(.ping, id: 3).isEmpty)
    let replies = bench.feed(.connectionTokenChecked(tag: tag, .success(Self.claims))).replies
    #expect(replies.dropFirst() == [.ping(id: 2), .ping(id: 3)])
    #expect(bench.wantsInput)
  }

  @Test("all that an SDK sends along with its connect is done, however much may be under way at a time")
  func manyHeld() {
    var bench = SessionBench { $0.maximumPendingCommands = 2 }
    let tag = connecting(&bench)
    for id in UInt32(2)...41 { #expect(bench.subscribe("c\(id)", id: id).isEmpty) }
    var asked = bench.feed(.connectionTokenChecked(tag: tag, .success(Self.claims)))
    var next = 0
    var answered = 0
    while next < asked.count {
      defer { next += 1 }
      guard case .request(let tag, .subscribe) = asked[next] else { continue }
      let actions = bench.feed(.brokerAnswered(tag: tag, .at(0)))
      answered += actions.replies.count
      #expect(actions.errorCode == nil)
      asked += actions
    }
    #expect(answered == 40 && bench.wantsInput)
  }

  @Test("a flood of commands along with the connect closes with 3501")
  func heldFlood() {
    var bench = SessionBench { $0.maximumCommandsPerMessage = 2 }
    _ = connecting(&bench)
    #expect(bench.feed(.ping).isEmpty)
    #expect(bench.feed(.ping).isEmpty)
    #expect(bench.feed(.ping).closeCode == 3501)
  }

  @Test("server-side subscriptions are asked at once, held from each answer, and released after the connect result")
  func serverSideSubscriptions() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a", "b"))))
    let tags = asked.compactMap { if case .request(let tag, _) = $0 { tag } else { nil } }
    #expect(asked.requests.map(\.channel) == [channel("a"), channel("b")])
    #expect(asked.replies.isEmpty)
    #expect(bench.feed(.brokerAnswered(tag: tags[1], .at(4))) == [.attach(channel("b"), [.held, .toldOfLoss])])
    let last = bench.feed(.brokerAnswered(tag: tags[0], .at(2)))
    #expect(last.first == .attach(channel("a"), [.held, .toldOfLoss]))
    #expect(last.dropFirst().first == .send(last.replies[0]))
    #expect(last.last == .releaseHeld)
    #expect(last.connectResult?.subs.keys.sorted() == ["a", "b"])
  }

  @Test("a server-side subscription recovers from the position in connect, and only what the token grants")
  func serverSideRecovery() throws {
    var bench = SessionBench()
    var ask = ClientCommand.Subscribe()
    ask.recover = true
    ask.epoch = "e"
    ask.offset = 5
    let tag = connecting(&bench, subs: ["a": ask, "secret": ask])
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a"))))
    guard case .subscribe(let request)? = asked.requests.first else {
      Issue.record("nothing was asked")
      return
    }
    #expect(asked.requests.count == 1)
    #expect(request.since == StreamPosition(epoch: "e", offset: 5))
    let missed = Publication(offset: 6, data: [1])
    let sub = try #require(bench.answer(asked, .at(6, recovered: true, [missed])).connectResult?.subs["a"])
    #expect(sub.wasRecovering && sub.recovered && sub.recoverable && sub.positioned)
    #expect(sub.publications == [missed])
    #expect(sub.epoch == "e" && sub.offset == 6)
  }

  @Test("one server-side subscription that fails fails the connect, and leaves nothing behind")
  func serverSideFailure() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a", "b", "c"))))
    let tags = asked.compactMap { if case .request(let tag, _) = $0 { tag } else { nil } }
    bench.feed(.brokerAnswered(tag: tags[0], .at(0)))
    let failed = bench.feed(.brokerAnswered(tag: tags[1], .failed(.notAvailable)))
    #expect(failed.first == .send(.error(id: 1, .internalError)))
    #expect(failed.contains(.detach(channel("a"))))
    #expect(failed.unsubscribes == ["a"])
    #expect(failed.last == .discardHeld)
    #expect(bench.feed(.brokerAnswered(tag: tags[2], .at(0))).unsubscribes == ["c"])
  }

  @Test("a token that names a channel of an unknown namespace, or a bad name, fails the connect")
  func badGrants() {
    for (name, code) in [("nope:x", UInt32(102)), ("a\u{1}", 107)] {
      var bench = SessionBench()
      let tag = connecting(&bench)
      #expect(bench.feed(.connectionTokenChecked(tag: tag, .success(claims(name)))).errorCode == code)
    }
  }

  @Test("a token that names too many channels closes with 3505")
  func tooManyGrants() {
    var bench = SessionBench { $0.maximumChannels = 1 }
    let tag = connecting(&bench)
    #expect(bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a", "b")))).closeCode == 3505)
  }

  @Test(
    "each user is subscribed to their personal channel where it is on",
    arguments: [("", "#u"), ("p", "p:#u")])
  func personalChannel(namespace: String, expected: String) {
    var bench = SessionBench(namespaces: ["p": .shut]) { $0.personalChannelNamespace = namespace }
    let tag = connecting(&bench)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(Self.claims)))
    #expect(asked.requests.map(\.channel) == [channel(expected)])
  }

  @Test("an anonymous connection has no personal channel")
  func noPersonalChannelForNobody() {
    let bench = SessionBench.live(user: "") { $0.personalChannelNamespace = "" }
    #expect(bench.session.phase == .live)
    #expect(bench.session.subscriptions.isEmpty)
  }

  @Test("a client that leaves while frames are held for it leaves no frames behind")
  func leavingWhileHeld() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a", "b"))))
    bench.answer(asked, .at(0))
    let actions = bench.feed(.transportClosed)
    #expect(actions.first == .detach(channel("a")))
    #expect(actions.unsubscribes == ["a"])
    #expect(actions.last == .discardHeld)
  }

  @Test("a client that leaves while its server-side subscriptions are under way leaves nothing behind")
  func leavingWhileConnecting() {
    var bench = SessionBench()
    let tag = connecting(&bench)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims("a"))))
    #expect(bench.feed(.transportClosed).isEmpty)
    #expect(!bench.isDrained)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["a"])
    #expect(bench.isDrained)
  }
}
