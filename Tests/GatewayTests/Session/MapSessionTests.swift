import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: keys of maps, presence as a map, publish_debounce")
struct MapSessionTests {
  private static let map = ChannelOptions.open.with { $0.kind = .map }

  private func publish(_ key: String?, removes: Bool = false) -> ClientCommand.Body {
    var ask = ClientCommand.Publish()
    ask.channel = "m"
    ask.data = Array("1".utf8)
    if let key { ask.map = MapWrite(key: key, removed: removes) }
    return .publish(ask)
  }

  private func call(_ method: String, _ data: String) -> ClientCommand.Body {
    .rpc(method: method, data: Array(data.utf8))
  }

  private func written(_ actions: [SessionAction]) -> MapWrite? {
    guard case .publish(let request)? = actions.requests.first else { return nil }
    return request.write
  }

  // MARK: Keys

  @Test(
    "the key is the client's or the user's id, whatever the client gives, on every way to write",
    arguments: [(MapClientKey.client, "c1"), (.user, "u")])
  func serverKey(_ from: MapClientKey, _ key: String) {
    var bench = SessionBench.live(Self.map.with { $0.mapClientKey = from })
    for given in [nil, "", "another", key] {
      #expect(written(bench.feed(publish(given))) == MapWrite(key: key))
    }
    #expect(written(bench.feed(publish("another", removes: true))) == MapWrite(key: key, removed: true))
    for data in [#"{"channel":"m","data":1,"key":"another"}"#, #"{"channel":"m","data":1}"#] {
      #expect(written(bench.feed(call("map.set", data))) == MapWrite(key: key))
    }
    #expect(
      written(bench.feed(call("map.remove", #"{"channel":"m","key":"another"}"#)))
        == MapWrite(key: key, removed: true))
  }

  @Test("a key that the client gives is needed where the server gives none")
  func givenKey() {
    var bench = SessionBench.live(Self.map)
    #expect(written(bench.feed(publish("k"))) == MapWrite(key: "k"))
    #expect(bench.feed(publish(nil)).errorCode == 107)
    #expect(bench.feed(call("map.set", #"{"channel":"m","data":1}"#)).errorCode == 107)
  }

  @Test("an anonymous client has no user id to write under, but an id of its own")
  func anonymousKey() {
    let open = Self.map.with { $0.allowPublishForAnonymous = true }
    var bench = SessionBench.live(open.with { $0.mapClientKey = .user }, user: "")
    #expect(bench.feed(publish("k")).errorCode == 103)
    #expect(bench.feed(call("map.remove", #"{"channel":"m","key":"k"}"#)).errorCode == 103)
    bench = SessionBench.live(open.with { $0.mapClientKey = .client }, user: "")
    #expect(written(bench.feed(publish("k"))) == MapWrite(key: "c1"))
  }

  @Test("values under one key are paced together, whatever keys the client gives")
  func pacedKey() {
    var bench = SessionBench.live(
      Self.map.with {
        $0.mapClientKey = .client
        $0.publishIntervalMilliseconds = 1000
      })
    #expect(written(bench.feed(publish("a"))) != nil)
    #expect(written(bench.feed(publish("b"))) == nil)
  }

  // MARK: The hint

  @Test("a subscriber is told the interval of its publications, where anybody may publish")
  func debounce() {
    func told(_ options: ChannelOptions) -> UInt32? {
      var bench = SessionBench.live(options)
      guard case .subscribe(_, let result)? = bench.join("a").replies.first else { return nil }
      return result.publishDebounce
    }
    let paced = ChannelOptions.open.with { $0.publishIntervalMilliseconds = 2000 }
    #expect(told(paced) == 2000)
    #expect(told(paced.with { $0.allowPublishForClient = false }) == 0)
    #expect(told(.open) == 0)
    #expect(told(paced.with { $0.publishIntervalMilliseconds = .max }) == .max)
  }

  // MARK: Presence

  private static let chat = ChannelOptions.open.with {
    $0.allowPresenceForClient = false
    $0.allowPresenceForSubscriber = true
  }

  private static func presence(_ kind: MapPresence) -> ChannelOptions {
    // All of it is said, and none of it counts: the rights are those of the channel that is shown.
    ChannelOptions.open.with {
      $0.kind = .map
      $0.historySize = 0
      $0.historyTTLMilliseconds = 0
      $0.followsChannel = true
      $0.allowPublishForSubscriber = true
      $0.mapPresence = kind
    }
  }

  private func bench(_ chat: ChannelOptions = Self.chat, user: String = "u") -> SessionBench {
    .live(user: user, namespaces: ["chat": chat, "on": Self.presence(.clients), "by": Self.presence(.users)])
  }

  private func watch(_ bench: inout SessionBench, _ channel: String, type: Int32) -> [SessionAction] {
    bench.subscribe(channel) {
      $0.type = type
      $0.phase = 2
    }
  }

  @Test(
    "type 2 shows presence by client and type 3 by user; the answer says the type again", arguments: [2, 3] as [Int32])
  func types(_ type: Int32) {
    var bench = bench()
    bench.join("chat:1")
    let (channel, other) = type == 2 ? ("on:chat:1", "by:chat:1") : ("by:chat:1", "on:chat:1")
    for wrong in [1, 4, 5, -1, .max] as [Int32] {
      #expect(watch(&bench, channel, type: wrong).errorCode == 107)
    }
    #expect(watch(&bench, other, type: type).errorCode == 107)
    #expect(watch(&bench, "chat:1", type: type).errorCode == 107)
    let asked = watch(&bench, channel, type: type)
    guard case .subscribe(let request)? = asked.requests.first else {
      Issue.record("not asked: \(asked)")
      return
    }
    #expect(request.map?.phase == .state)
    guard case .subscribe(_, let result)? = bench.answer(asked, .at(0)).replies.first else {
      Issue.record("no result")
      return
    }
    #expect(result.type == type && result.phase == 0 && !result.recoverable && result.positioned)
  }

  @Test("who may see the presence of a channel may see it as a map, and nobody else, on every way to it")
  func rights() {
    let list = call("map.list", #"{"channel":"on:chat:1"}"#)
    let get = call("map.get", #"{"channel":"on:chat:1","key":"c1"}"#)
    var bench = bench()
    #expect(watch(&bench, "on:chat:1", type: 2).errorCode == 103)
    #expect(bench.subscribe("on:chat:1").errorCode == 103)
    for body in [list, get, .presence(channel: "chat:1")] { #expect(bench.feed(body).errorCode == 103) }
    bench.join("chat:1")
    for body in [list, get, .presence(channel: "chat:1")] { #expect(bench.feed(body).requestTag != nil) }
    #expect(watch(&bench, "on:chat:1", type: 2).requestTag != nil)
    // By name, and for apps, whose users see of each other what the broker says.
    #expect(watch(&bench, "on:$chat:1", type: 2).errorCode == 103)
    var app = self.bench(Self.chat.with { $0.app = "tiny" })
    app.join("chat:1")
    #expect(watch(&app, "on:chat:1", type: 2).errorCode == 103)
  }

  @Test("nobody writes to it, and receipts are none of its business")
  func closed() {
    var bench = bench()
    bench.join("chat:1")
    bench.answer(watch(&bench, "on:chat:1", type: 2), .at(0))
    var ask = ClientCommand.Publish()
    (ask.channel, ask.data, ask.map) = ("on:chat:1", [0x31], MapWrite(key: "c1"))
    #expect(bench.feed(.publish(ask)).errorCode == 103)
    #expect(bench.feed(call("map.remove", #"{"channel":"on:chat:1","key":"c1"}"#)).errorCode == 103)
    #expect(bench.feed(call("receipt.read", #"{"channel":"on:chat:1","offset":1}"#)).errorCode == 103)
    #expect(bench.feed(call("receipt.unread", #"{"channels":["on:chat:1"]}"#)).errorCode == 103)
  }

  @Test("whoever is put out of the channel, or leaves it, hears no more of who is there")
  func losesRight() {
    for isPutOut in [true, false] {
      var bench = bench()
      bench.join("chat:1")
      bench.answer(watch(&bench, "on:chat:1", type: 2), .at(0))
      let actions =
        isPutOut
        ? bench.feed(.removeSubscription(channel("chat:1"), .server)) : bench.feed(.unsubscribe(channel: "chat:1"))
      #expect(Set(actions.unsubscribes) == ["chat:1", "on:chat:1"])
      #expect(actions.replies.contains(.push(.unsubscribe(channel: "on:chat:1", .server))))
    }
  }

  @Test("who may see the presence without being subscribed goes on watching, and so does whoever has to come back")
  func keepsRight() {
    let open = Self.chat.with { $0.allowPresenceForClient = true }
    for (options, input) in [
      (open, SessionInput.removeSubscription(channel("chat:1"), .server)),
      (Self.chat, .removeSubscription(channel("chat:1"), .insufficient)), (Self.chat, .channelLost(channel("chat:1"))),
    ] {
      var bench = bench(options)
      bench.join("chat:1") { $0.positioned = true }
      bench.answer(watch(&bench, "on:chat:1", type: 2), .at(0))
      #expect(bench.feed(input).unsubscribes == ["chat:1"])
    }
  }

  @Test("a subscription by token stays, and one that is under way when the right is lost is refused")
  func tokenAndWay() {
    var bench = bench()
    bench.join("chat:1")
    let checked = bench.subscribe("on:chat:1") { ($0.type, $0.phase, $0.token) = (2, 2, "t") }
    var claims = SubscriptionClaims(user: "u", channel: "on:chat:1")
    claims.token = TokenIdentity(id: "one")
    if let tag = checked.checkTag {
      bench.answer(bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims))), .at(0))
    }
    let asked = watch(&bench, "by:chat:1", type: 3)
    #expect(asked.requestTag != nil)
    let actions = bench.feed(.removeSubscription(channel("chat:1"), .server))
    #expect(actions.unsubscribes == ["chat:1"])
    #expect(actions.errorCode == 103)
    #expect(bench.session.subscriptions[channel("on:chat:1")]?.isLive == true)
    #expect(bench.answer(asked, .at(0)).unsubscribes == ["by:chat:1"])
  }
}
