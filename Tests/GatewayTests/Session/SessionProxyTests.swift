import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: the backend decides")
struct SessionProxyTests {
  static func rules(
    _ kinds: ProxyKind..., byToken: Bool = false, withToken: Bool = false, callsPerClient: Int = 16
  ) -> ProxyRules {
    var rules = ProxyRules()
    for kind in kinds { rules.onFailure[kind] = byToken ? .token : .refuse }
    rules.asksWithToken = withToken
    rules.passesMeta = true
    rules.callsPerClient = callsPerClient
    return rules
  }

  static func result(_ change: (inout ProxyResult) -> Void = { _ in }) -> ProxyAnswer {
    var result = ProxyResult()
    change(&result)
    return .result(result)
  }

  static let away: [ProxyFault] = [.timeout, .failed, .breaker]

  // MARK: Connect

  private func connecting(
    _ rules: ProxyRules, token: String = "", configure: (inout SessionConfiguration) -> Void = { _ in }
  ) -> (SessionBench, [SessionAction]) {
    var bench = SessionBench(proxies: rules, configure: configure)
    var connect = ClientCommand.Connect()
    (connect.token, connect.name, connect.data) = (token, "js", Array("1".utf8))
    connect.subs["b"] = ClientCommand.Subscribe()
    return (bench, bench.feed(.connect(connect), id: 1))
  }

  @Test("a connect without a token is the backend's, whose user, channels, data and expiry count")
  func connect() throws {
    var (bench, asked) = connecting(Self.rules(.connect))
    let tag = try #require(asked.backendTag)
    #expect(
      asked == [
        .introduced("js", version: ""),
        .askBackend(
          tag: tag,
          .connect(.init(user: nil, name: "js", version: "", data: Array("1".utf8), channels: ["b"]))),
      ])
    let subscribing = bench.feed(
      .backendAnswered(
        tag: tag,
        Self.result {
          $0.user = "56"
          $0.expiresAt = bench.wall + 60
          $0.data = Array("{}".utf8)
          $0.meta = Array("[]".utf8)
          $0.subscriptions = ["a": SubscriptionGrant()]
        }))
    let result = try #require(bench.answer(subscribing, .at(3)).connectResult)
    #expect(bench.session.user == "56" && Array(result.subs.keys) == ["a"])
    #expect(result.data == Array("{}".utf8) && result.expires && result.ttl == 60)
    #expect(bench.session.ties?.meta == Array("[]".utf8))
    #expect(bench.session.phase == .live)
  }

  @Test("a connect with a token is not the backend's, unless that is asked for, and then the token comes first")
  func connectWithToken() throws {
    let claims = ConnectionClaims(user: "ada", expiresAt: 1_700_000_500)
    var (plain, checked) = connecting(Self.rules(.connect), token: "t")
    let check = try #require(checked.checkTag)
    _ = plain.feed(.connectionTokenChecked(tag: check, .success(claims)))
    #expect(plain.session.phase == .live)

    var (bench, first) = connecting(Self.rules(.connect, withToken: true), token: "t")
    #expect(first.backendTag == nil)
    let asked = bench.feed(.connectionTokenChecked(tag: try #require(first.checkTag), .success(claims)))
    let tag = try #require(asked.backendTag)
    guard case .askBackend(_, .connect(let question))? = asked.first else {
      Issue.record("\(asked)")
      return
    }
    #expect(question.user == "ada")
    let result = bench.feed(.backendAnswered(tag: tag, Self.result { $0.expiresAt = 1_700_000_100 })).connectResult
    #expect(result?.ttl == 100)
    #expect(bench.session.user == "ada")
  }

  @Test("a backend that names another user than the token's ends the connection")
  func otherUser() throws {
    var (bench, first) = connecting(Self.rules(.connect, withToken: true), token: "t")
    let asked = bench.feed(
      .connectionTokenChecked(tag: try #require(first.checkTag), .success(ConnectionClaims(user: "ada"))))
    let answered = bench.feed(
      .backendAnswered(tag: try #require(asked.backendTag), Self.result { $0.user = "eve" }))
    #expect(answered.closeCode == 3500)
  }

  @Test("an error of the backend's answers the connect, a disconnect ends it")
  func connectRefused() throws {
    let error = ClientError(code: 1000, message: "custom error")
    var (bench, asked) = connecting(Self.rules(.connect))
    let actions = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), .error(error)))
    #expect(actions.replies == [.error(id: 1, error)] && bench.session.phase == .refused)
    #expect(actions.contains(.signInRefused(.backend, "the backend answers with error 1000")))
    var (other, second) = connecting(Self.rules(.connect))
    let code = DisconnectCode(code: 4501, reason: "unauthorized")
    #expect(
      other.feed(.backendAnswered(tag: try #require(second.backendTag), .disconnect(code)))
        == [.signInRefused(.backend, "the backend ends it with code 4501"), .close(code)])
  }

  @Test("without the backend a connect is refused for now, and a valid token alone counts where that is configured")
  func connectAway() throws {
    for fault in Self.away {
      var (bench, asked) = connecting(Self.rules(.connect, byToken: true)) { $0.allowAnonymous = true }
      let actions = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), .failed(fault)))
      #expect(actions.errorCode == 100 && actions.contains(.note(.backend)) && bench.session.phase == .refused)
      #expect(actions.contains { if case .signInRefused(.backend, _) = $0 { true } else { false } })
    }
    for (byToken, phase) in [(true, Session.Phase.live), (false, .refused)] {
      var (bench, first) = connecting(Self.rules(.connect, byToken: byToken, withToken: true), token: "t")
      let asked = bench.feed(
        .connectionTokenChecked(tag: try #require(first.checkTag), .success(ConnectionClaims(user: "ada"))))
      _ = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), .failed(.timeout)))
      #expect(bench.session.phase == phase)
    }
  }

  @Test("a bound that is reached refuses with error 111, and is noted as what it is")
  func connectBound() throws {
    var (bench, asked) = connecting(Self.rules(.connect))
    let actions = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), .failed(.bound)))
    #expect(actions.errorCode == 111 && actions.contains(.note(.backendCalls)))
  }

  @Test("a backend that is later than the time for a connect is not waited for, and its answer counts for nothing")
  func connectLate() throws {
    var (bench, asked) = connecting(Self.rules(.connect))
    #expect(bench.pass(milliseconds: 10_000).closeCode == 3004)
    let late = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), Self.result { $0.user = "56" }))
    #expect(late.isEmpty && bench.isDrained && bench.session.user == "")
  }

  @Test("a connect that has expired already, and data that would break a JSON client's frame, are refused")
  func connectUnusable() throws {
    var (bench, asked) = connecting(Self.rules(.connect))
    let wall = bench.wall
    let expired = bench.feed(
      .backendAnswered(tag: try #require(asked.backendTag), Self.result { $0.expiresAt = wall }))
    #expect(expired.errorCode == 110)
    var (other, second) = connecting(Self.rules(.connect))
    let broken = other.feed(.backendAnswered(tag: try #require(second.backendTag), Self.result { $0.data = [0xFF] }))
    #expect(broken.errorCode == 100)
  }

  @Test("commands behind a connect wait for the backend, and are done in their order")
  func heldCommands() throws {
    var (bench, asked) = connecting(Self.rules(.connect))
    #expect(!bench.wantsInput)
    #expect(bench.feed(.ping, id: 2).isEmpty)
    let actions = bench.feed(.backendAnswered(tag: try #require(asked.backendTag), Self.result { $0.user = "56" }))
    #expect(actions.replies.count == 2 && actions.replies.last == .ping(id: 2))
  }

  // MARK: Subscribe

  private func shut(_ change: (inout ChannelOptions) -> Void) -> ChannelOptions { ChannelOptions.shut.with(change) }

  @Test("in such a namespace the backend says who may subscribe, and what is told to the subscriber")
  func subscribe() throws {
    var bench = SessionBench.live(shut { $0.subscribeProxy = true }, proxies: Self.rules(.subscribe))
    let asked = bench.subscribe("a") { $0.data = [0x31] }
    let tag = try #require(asked.backendTag)
    #expect(asked == [.askBackend(tag: tag, .subscribe(channel: "a", data: [0x31]))])
    let subscribing = bench.feed(
      .backendAnswered(
        tag: tag,
        Self.result {
          $0.grant.data = [0x32]
          $0.expiresAt = bench.wall + 30
        }))
    let result = try #require(bench.answer(subscribing, .at(0)).subscribeResult)
    #expect(result.data == [0x32] && result.expires && result.ttl == 30)
  }

  @Test("private channels, those with users in their name and other namespaces are not the backend's")
  func notItsChannels() {
    let options = shut {
      $0.subscribeProxy = true
      $0.allowUserLimitedChannels = true
    }
    var bench = SessionBench.live(options, namespaces: ["x": .shut], proxies: Self.rules(.subscribe))
    #expect(bench.subscribe("$a").errorCode == 103)
    #expect(bench.subscribe("a#v").errorCode == 103)
    #expect(bench.subscribe("x:a").errorCode == 103)
    #expect(bench.subscribe("a#u").requests.count == 1)
    #expect(bench.subscribe("b") { $0.token = "t" }.checkTag != nil)
  }

  @Test("where the backend decides, allow_subscribe_for_client opens no way around it")
  func sideDoors() {
    let options = shut {
      $0.subscribeProxy = true
      $0.allowSubscribeForClient = true
      $0.kind = .map
    }
    var bench = SessionBench.live(options, proxies: Self.rules(.subscribe))
    let list = Array(#"{"channel":"a"}"#.utf8)
    #expect(bench.feed(.rpc(method: "map.list", data: list)).errorCode == 103)
  }

  @Test("an error of the backend's answers the subscribe, a disconnect ends the connection")
  func subscribeRefused() throws {
    let error = ClientError(code: 403, message: "permission denied")
    var bench = SessionBench.live(shut { $0.subscribeProxy = true }, proxies: Self.rules(.subscribe))
    var tag = try #require(bench.subscribe("a").backendTag)
    #expect(bench.feed(.backendAnswered(tag: tag, .error(error))).replies == [.error(id: 7, error)])
    tag = try #require(bench.subscribe("a").backendTag)
    let code = DisconnectCode(code: 4000, reason: "")
    #expect(bench.feed(.backendAnswered(tag: tag, .disconnect(code))).closeCode == 4000)
  }

  @Test(
    "without the backend a subscribe is refused for now, or goes by the namespace's options",
    arguments: SessionProxyTests.away)
  func subscribeAway(_ fault: ProxyFault) throws {
    let options = shut {
      $0.subscribeProxy = true
      $0.allowSubscribeForClient = true
    }
    var strict = SessionBench.live(options, proxies: Self.rules(.subscribe))
    let refused = strict.feed(.backendAnswered(tag: try #require(strict.subscribe("a").backendTag), .failed(fault)))
    #expect(refused.errorCode == 100)
    var lenient = SessionBench.live(options, proxies: Self.rules(.subscribe, byToken: true))
    let allowed = lenient.feed(.backendAnswered(tag: try #require(lenient.subscribe("a").backendTag), .failed(fault)))
    #expect(allowed.requests.count == 1)
    var shut = SessionBench.live(
      options.with { $0.allowSubscribeForClient = false }, proxies: Self.rules(.subscribe, byToken: true))
    let denied = shut.feed(.backendAnswered(tag: try #require(shut.subscribe("a").backendTag), .failed(fault)))
    #expect(denied.errorCode == 100)
  }

  @Test("a client that unsubscribes while the backend is asked is not subscribed by its answer")
  func unsubscribedMeanwhile() throws {
    var bench = SessionBench.live(shut { $0.subscribeProxy = true }, proxies: Self.rules(.subscribe))
    let tag = try #require(bench.subscribe("a").backendTag)
    #expect(bench.feed(.unsubscribe(channel: "a"), id: 8).errorCode == 100)
    #expect(bench.feed(.backendAnswered(tag: tag, Self.result())).isEmpty)
    // The subscription that the client makes then is a new one, and the backend is asked anew.
    let second = try #require(bench.subscribe("a", id: 9).backendTag)
    #expect(bench.feed(.backendAnswered(tag: second, Self.result())).requests.count == 1)
  }

  @Test("a client has so many calls under way, and what is beyond them waits in its order")
  func callsOfAClient() throws {
    var bench = SessionBench.live(
      shut { $0.subscribeProxy = true }, proxies: Self.rules(.subscribe, callsPerClient: 2))
    let tags = (0..<4).map { bench.subscribe("c\($0)", id: UInt32($0 + 2)).backendTag }
    #expect(tags[2] == nil && tags[3] == nil && bench.hasWaiting && !bench.wantsInput)
    let actions = bench.feed(.backendAnswered(tag: try #require(tags[0]), Self.result()))
    #expect(actions.questions == [.subscribe(channel: "c2", data: [])] && bench.hasWaiting)
  }

  // MARK: Publish

  private var publishing: ChannelOptions {
    shut {
      $0.publishProxy = true
      $0.allowPublishForClient = true
    }
  }

  private func publish(_ bench: inout SessionBench, _ data: String = "1", id: UInt32 = 7) -> [SessionAction] {
    var ask = ClientCommand.Publish()
    (ask.channel, ask.data) = ("a", Array(data.utf8))
    return bench.feed(.publish(ask), id: id)
  }

  private func published(_ actions: [SessionAction]) -> [String] {
    actions.requests.compactMap {
      if case .publish(let request) = $0 { String(decoding: request.data, as: UTF8.self) } else { nil }
    }
  }

  @Test("a publication goes out when the backend agrees, as the client wrote it or as the backend did")
  func agreed() throws {
    var bench = SessionBench.live(publishing, proxies: Self.rules(.publish))
    var tag = try #require(publish(&bench).backendTag)
    #expect(published(bench.feed(.backendAnswered(tag: tag, Self.result()))) == ["1"])
    tag = try #require(publish(&bench).backendTag)
    #expect(
      published(bench.feed(.backendAnswered(tag: tag, Self.result { $0.data = Array("[2]".utf8) }))) == ["[2]"])
  }

  @Test("the backend is asked only about what the namespace allows")
  func publishDenied() {
    var bench = SessionBench.live(
      publishing.with { $0.allowPublishForClient = false }, proxies: Self.rules(.publish))
    #expect(publish(&bench).errorCode == 103)
  }

  @Test("a refusal, a broken replacement or a wish that is not done here publishes nothing")
  func publishRefused() throws {
    let answers: [(ProxyAnswer, UInt32)] = [
      (.error(ClientError(code: 401, message: "no")), 401), (Self.result { $0.data = [0xFF] }, 100),
      (Self.result { $0.data = [] }, 100), (Self.result { $0.skipsHistory = true }, 108), (.failed(.timeout), 100),
    ]
    var bench = SessionBench.live(publishing, proxies: Self.rules(.publish))
    for (answer, code) in answers {
      let actions = bench.feed(.backendAnswered(tag: try #require(publish(&bench).backendTag), answer))
      #expect(actions.errorCode == code && actions.requests.isEmpty)
    }
    var lenient = SessionBench.live(publishing, proxies: Self.rules(.publish, byToken: true))
    let tag = try #require(publish(&lenient).backendTag)
    #expect(published(lenient.feed(.backendAnswered(tag: tag, .failed(.breaker)))) == ["1"])
  }

  @Test("publishes and calls of a client go to the backend one after another, and keep their order")
  func order() throws {
    var bench = SessionBench.live(publishing, proxies: Self.rules(.publish, .rpc))
    let first = try #require(publish(&bench, "1", id: 2).backendTag)
    #expect(publish(&bench, "2", id: 3).isEmpty)
    #expect(bench.feed(.rpc(method: "m", data: []), id: 4).isEmpty && !bench.wantsInput)
    let then = bench.feed(.backendAnswered(tag: first, Self.result()))
    #expect(published(then) == ["1"])
    let last = bench.feed(.backendAnswered(tag: try #require(then.backendTag), Self.result()))
    #expect(published(last) == ["2"])
    guard case .askBackend(_, .rpc("m", _))? = last.last else {
      Issue.record("\(last)")
      return
    }
    #expect(bench.wantsInput)
  }

  @Test("a client that lost its right to publish while the backend was asked publishes nothing")
  func lostRight() throws {
    let options = shut {
      $0.publishProxy = true
      $0.allowPublishForSubscriber = true
      $0.allowSubscribeForClient = true
    }
    var bench = SessionBench.live(options, proxies: Self.rules(.publish))
    bench.join("a")
    let tag = try #require(publish(&bench).backendTag)
    _ = bench.feed(.removeSubscription(channel("a"), .server))
    let actions = bench.feed(.backendAnswered(tag: tag, Self.result()))
    #expect(actions.errorCode == 103 && published(actions).isEmpty)
  }

  @Test("edits and keys of maps are no way around the backend")
  func sideWrites() throws {
    var maps = SessionBench.live(publishing.with { $0.kind = .map }, proxies: Self.rules(.publish))
    let set = Array(#"{"channel":"a","key":"k","data":1}"#.utf8)
    var tag = try #require(maps.feed(.rpc(method: "map.set", data: set)).backendTag)
    let written = maps.feed(.backendAnswered(tag: tag, Self.result { $0.data = [0x32] }))
    #expect(published(written) == ["2"])
    #expect(maps.answer(written, .published(StreamPosition(epoch: "e", offset: 4))).replies.count == 1)
    var streams = SessionBench.live(
      publishing.with { $0.allowEditForAuthor = true }, proxies: Self.rules(.publish))
    let edit = Array(#"{"channel":"a","offset":3,"data":1}"#.utf8)
    tag = try #require(streams.feed(.rpc(method: "publication.edit", data: edit)).backendTag)
    #expect(streams.feed(.backendAnswered(tag: tag, .error(.permissionDenied))).requests.isEmpty)
    let removal = Array(#"{"channel":"a","offset":3}"#.utf8)
    #expect(streams.feed(.rpc(method: "publication.delete", data: removal)).requests.count == 1)
  }

  @Test("a disconnect while a publish is asked about leaves nothing behind, and the answer comes to nothing")
  func goneMeanwhile() throws {
    var bench = SessionBench.live(publishing, proxies: Self.rules(.publish))
    let tag = try #require(publish(&bench).backendTag)
    #expect(bench.awaitsAnswers)
    _ = bench.feed(.transportClosed)
    #expect(bench.isDrained)
    #expect(bench.feed(.backendAnswered(tag: tag, Self.result())).isEmpty)
  }

  // MARK: Calls

  @Test("calls that are not the server's own go to the backend, which answers them")
  func calls() throws {
    var bench = SessionBench.live(apps: ["clique"], proxies: Self.rules(.rpc))
    let data = Array(#"{"id":12}"#.utf8)
    let asked = bench.feed(.rpc(method: "getCurrentPrice", data: data))
    let tag = try #require(asked.backendTag)
    #expect(asked == [.askBackend(tag: tag, .rpc(method: "getCurrentPrice", data: data))])
    let answer = Array(#"{"answer":"2019"}"#.utf8)
    #expect(
      bench.feed(.backendAnswered(tag: tag, Self.result { $0.data = answer })).replies == [.rpc(id: 7, data: answer)])
    for own in ["clique.crossings", "map.list", "state.send", "fanfare.x"] {
      #expect(bench.feed(.rpc(method: own, data: [])).backendTag == nil)
    }
    #expect(bench.feed(.rpc(method: "cliques", data: [])).backendTag != nil)
  }

  @Test("without such a proxy there is no such method, and without the backend the call fails for now")
  func callsAway() throws {
    var plain = SessionBench.live()
    #expect(plain.feed(.rpc(method: "m", data: [])).errorCode == 108)
    var bench = SessionBench.live(proxies: Self.rules(.rpc))
    let tag = try #require(bench.feed(.rpc(method: "m", data: [])).backendTag)
    let actions = bench.feed(.backendAnswered(tag: tag, .failed(.timeout)))
    #expect(actions.errorCode == 100 && actions.contains(.note(.backend)))
  }
}

extension [SessionAction] {
  /// The tag of the first question to the backend.
  var backendTag: UInt64? {
    for case .askBackend(let tag, _) in self { return tag }
    return nil
  }

  var questions: [ProxyQuestion] {
    compactMap { if case .askBackend(_, let question) = $0 { question } else { nil } }
  }
}
