import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: publish, history, presence")
struct SessionContentsTests {
  func publication(_ channel: String, _ text: String = "{}", key: String? = nil) -> ClientCommand.Body {
    var ask = ClientCommand.Publish()
    ask.channel = channel
    ask.data = Array(text.utf8)
    ask.idempotencyKey = key
    return .publish(ask)
  }

  func history(_ channel: String, limit: Int32 = 0) -> ClientCommand.Body {
    var ask = ClientCommand.History()
    ask.channel = channel
    ask.limit = limit
    return .history(ask)
  }

  @Test("a publish goes to the broker with its author, and is answered once")
  func publish() {
    var bench = SessionBench.live()
    let asked = bench.feed(publication("a", key: "k"), id: 3)
    let author = ClientInfo(user: "u", client: "c1")
    #expect(
      asked.requests == [
        .publish(.init(channel: channel("a"), data: Array("{}".utf8), info: author, idempotencyKey: "k"))
      ])
    let done = BrokerResponse.published(.init(epoch: "e", offset: 1))
    #expect(bench.answer(asked, done) == [.send(.publish(id: 3))])
    #expect(bench.answer(asked, done).isEmpty)
  }

  @Test("the broker's refusal of a publish reaches the client")
  func publishRefused() {
    var bench = SessionBench.live()
    let asked = bench.feed(publication("a"))
    #expect(bench.answer(asked, .failed(.idempotencyConflict)).errorCode == 400)
  }

  /// What a subscriber's publications show of them comes from the subscription too.
  @Test("a subscriber's publication carries the info of its subscription")
  func channelInfo() {
    var bench = SessionBench.live()
    var grant = SubscriptionGrant()
    grant.info = [5]
    _ = bench.joinWithToken("a", grant: grant)
    guard case .publish(let request)? = bench.feed(publication("a")).requests.first else {
      Issue.record("nothing was published")
      return
    }
    #expect(request.info?.channelInfo == [5])
  }

  @Test("empty data and an endless key are refused with 107, an empty key is none")
  func publishLimits() {
    var bench = SessionBench.live()
    #expect(bench.feed(publication("a", "")).errorCode == 107)
    #expect(bench.feed(publication("a", key: String(repeating: "k", count: 256))).errorCode == 107)
    guard case .publish(let request)? = bench.feed(publication("a", key: "")).requests.first else {
      Issue.record("nothing was published")
      return
    }
    #expect(request.idempotencyKey == nil)
  }

  /// The channel's data format, the client's wire format, what it sends, and what is published; nil: 107.
  static let payloads: [(DataFormat, WireFormat, String, String?)] = [
    (.json, .json, "{\"a\":1}", "{\"a\":1}"), (.json, .protobuf, "{\"a\":1}", "{\"a\":1}"),
    (.json, .protobuf, "{\"a\":", nil), (.json, .protobuf, "hello", nil),
    (.binary, .protobuf, "hello", "hello"), (.binary, .json, "\"aGVsbG8=\"", "hello"),
    (.binary, .json, "\"aGVsbG8\"", nil), (.binary, .json, "{}", nil), (.binary, .json, "\"\"", nil),
    (.binary, .json, "\"a=Vs\"", nil), (.binary, .json, "\"Pz8\\/\"", "???"),
  ]

  @Test("data has to fit the channel's format in the client's encoding", arguments: payloads)
  func payload(dataFormat: DataFormat, wire: WireFormat, sent: String, published: String?) {
    var bench = SessionBench.live(.open.with { $0.dataFormat = dataFormat }, format: wire)
    let actions = bench.feed(publication("a", sent))
    guard let published else {
      #expect(actions.errorCode == 107)
      return
    }
    guard case .publish(let request)? = actions.requests.first else {
      Issue.record("\(sent) was not published: \(actions)")
      return
    }
    #expect(String(decoding: request.data, as: UTF8.self) == published)
  }

  enum Grant: CaseIterable { case none, subscriber, client, anonymous }

  static func options(_ grant: Grant) -> ChannelOptions {
    .shut.with {
      $0.presence = true
      $0.historySize = 1
      $0.historyTTLMilliseconds = 1
      $0.allowSubscribeForClient = true
      $0.allowSubscribeForAnonymous = true
      $0.allowPublishForSubscriber = grant == .subscriber
      $0.allowHistoryForSubscriber = grant == .subscriber
      $0.allowPresenceForSubscriber = grant == .subscriber
      $0.allowPublishForClient = grant == .client
      $0.allowHistoryForClient = grant == .client
      $0.allowPresenceForClient = grant == .client
      $0.allowPublishForAnonymous = grant == .anonymous
      $0.allowHistoryForAnonymous = grant == .anonymous
      $0.allowPresenceForAnonymous = grant == .anonymous
    }
  }

  @Test("each way to a channel's contents asks for its own grant", arguments: Grant.allCases)
  func permissions(grant: Grant) {
    for user in ["u", ""] {
      for subscribed in [false, true] {
        var bench = SessionBench.live(Self.options(grant), user: user)
        if subscribed { bench.join("a") }
        let allowed =
          switch grant {
          case .none: false
          case .subscriber: subscribed
          case .client: !user.isEmpty
          case .anonymous: user.isEmpty
          }
        for body in [publication("a"), history("a"), .presence(channel: "a"), .presenceStats(channel: "a")] {
          #expect(bench.feed(body).errorCode == (allowed ? nil : 103), "\(user) \(subscribed) \(body)")
        }
      }
    }
  }

  @Test("a subscription that is still under way grants nothing")
  func subscriberNotYet() {
    var bench = SessionBench.live(Self.options(.subscriber))
    bench.subscribe("a")
    #expect(bench.feed(publication("a")).errorCode == 103)
  }

  @Test(
    "what is open to every client does not open channels that the client could not subscribe to",
    arguments: ["$a", "a#v", "#v"])
  func sidePaths(name: String) {
    var bench = SessionBench.live(.open.with { $0.allowUserLimitedChannels = true }) {
      $0.personalChannelNamespace = ""
    }
    bench.feed(.brokerAnswered(tag: 2, .at(0)))
    for body in [publication(name), history(name), .presence(channel: name), .presenceStats(channel: name)] {
      #expect(bench.feed(body).errorCode == 103)
    }
    _ = bench.joinWithToken(name)
    for body in [publication(name), history(name), .presence(channel: name), .presenceStats(channel: name)] {
      #expect(bench.feed(body).errorCode == nil)
    }
  }

  @Test("history and presence that are off are answered with 108")
  func notAvailable() {
    var bench = SessionBench.live(
      .open.with {
        $0.historySize = 0
        $0.presence = false
      })
    for body in [history("a"), .presence(channel: "a"), .presenceStats(channel: "a")] {
      #expect(bench.feed(body).errorCode == 108)
    }
  }

  @Test(
    "a history limit is clamped",
    arguments: [(0, 0), (5, 5), (-1, 300), (.min, 300), (.max, 300)] as [(Int32, UInt32)])
  func historyLimit(asked: Int32, given: UInt32) {
    var bench = SessionBench.live()
    #expect(bench.feed(history("a", limit: asked)).requests == [.history(.init(channel: channel("a"), limit: given))])
  }

  @Test("history and presence are answered with what the broker knows, or its error")
  func answers() {
    var bench = SessionBench.live()
    let publication = Publication(offset: 3, data: [1])
    let page = HistoryPage(position: .init(epoch: "e", offset: 3), publications: [publication])
    var result = ClientReply.HistoryResult()
    result.publications = [publication]
    result.epoch = "e"
    result.offset = 3
    #expect(bench.answer(bench.feed(history("a"), id: 2), .history(page)) == [.send(.history(id: 2, result))])
    let info = ClientInfo(user: "v", client: "x")
    #expect(
      bench.answer(bench.feed(.presence(channel: "a"), id: 3), .presence([info]))
        == [.send(.presence(id: 3, [info]))])
    #expect(
      bench.answer(bench.feed(.presence(channel: "a"), id: 3), .presence([info], isPartial: true))
        == [.send(.presence(id: 3, [info], isPartial: true))])
    #expect(
      bench.answer(bench.feed(.presenceStats(channel: "a"), id: 4), .presenceStats(clients: 2, users: 1))
        == [.send(.presenceStats(id: 4, clients: 2, users: 1))])
    #expect(bench.answer(bench.feed(history("a")), .failed(.unrecoverablePosition)).errorCode == 112)
    #expect(bench.answer(bench.feed(history("a")), .done).errorCode == 100)
  }
}
