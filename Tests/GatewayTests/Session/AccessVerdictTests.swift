import Auth
import TestSupport
import Testing
import Wire

@testable import Gateway

/// What explain says is what a session does: for every combination of options, names, users and subscriptions.
@Suite("Why somebody may do something with a channel")
struct AccessVerdictTests {
  private struct Said: Equatable {
    var isAllowed: Bool
    var onceSubscribed: Bool
  }

  /// What explain says of a user without a connection.
  private func explained(
    _ user: String, _ action: ChannelAction, _ name: ChannelName, _ rules: SessionRules
  ) throws -> Said {
    let request = InspectRequest(.access(user: user, action, name))
    let known = GatewayCounts(name: "g", version: "v")
    let bytes = Inspector(rules: rules).findings(LoopInspection(), of: request, known)
    let answer = try #require(try JSONValue(parsing: bytes).object)
    let isAllowed = try #require(answer["allowed"]?.bool as Bool?)
    return Said(
      isAllowed: isAllowed, onceSubscribed: answer["once_subscribed"]?.object?["allowed"]?.bool ?? isAllowed)
  }

  /// Whether a session lets a command through to the broker, and with which code it refuses it otherwise.
  private func isDone(_ action: ChannelAction, _ name: String, by bench: inout SessionBench) -> Bool {
    let actions: [SessionAction]
    switch action {
    case .subscribe: actions = bench.subscribe(name)
    case .publish:
      var ask = ClientCommand.Publish()
      ask.channel = name
      ask.data = Array("1".utf8)
      actions = bench.feed(.publish(ask))
    case .history:
      var ask = ClientCommand.History()
      ask.channel = name
      actions = bench.feed(.history(ask))
    case .presence: actions = bench.feed(.presence(channel: name))
    }
    if actions.requestTag != nil { return true }
    #expect([103, 108].contains(actions.errorCode), "\(actions)")
    return false
  }

  /// All values of the options that say something about an action, and of the two that say something about names.
  private func options(about action: ChannelAction) -> [ChannelOptions] {
    (0..<128).compactMap { bits in
      func isOn(_ bit: Int) -> Bool { bits & 1 << bit != 0 }
      if action == .subscribe, isOn(2) { return nil }
      if action == .subscribe || action == .publish, isOn(5) { return nil }
      return ChannelOptions.shut.with { options in
        switch action {
        case .subscribe:
          (options.allowSubscribeForClient, options.allowSubscribeForAnonymous) = (isOn(0), isOn(1))
        case .publish:
          (options.allowPublishForClient, options.allowPublishForAnonymous) = (isOn(0), isOn(1))
          options.allowPublishForSubscriber = isOn(2)
        case .history:
          (options.allowHistoryForClient, options.allowHistoryForAnonymous) = (isOn(0), isOn(1))
          options.allowHistoryForSubscriber = isOn(2)
        case .presence:
          (options.allowPresenceForClient, options.allowPresenceForAnonymous) = (isOn(0), isOn(1))
          options.allowPresenceForSubscriber = isOn(2)
        }
        options.allowUserLimitedChannels = isOn(3)
        options.followsChannel = isOn(4)
        (options.historySize, options.historyTTLMilliseconds) = isOn(5) ? (10, 1000) : (0, 0)
        options.presence = isOn(5)
        if isOn(6) { options.app = "clique" }
      }
    }
  }

  private static let names = [
    "n:room", "$n:room", "n:room#42", "n:room#7,42", "n:#42", "n:open:x", "n:shut:x", "n:n:x",
  ]

  @Test("explain's verdict is what a real session does", arguments: ChannelAction.allCases)
  func sameVerdict(_ action: ChannelAction) throws {
    var checked = 0
    for options in options(about: action) {
      let namespaces = ["n": options, "open": ChannelOptions.open, "shut": .shut]
      func configure(_ configuration: inout SessionConfiguration) {
        configuration.allowAnonymous = true
        configuration.personalChannelNamespace = "n"
      }
      var configuration = SessionConfiguration()
      configure(&configuration)
      let rules = SessionRules(
        configuration, namespaces: NamespaceTable(withoutNamespace: .open, namespaces: namespaces))
      for name in Self.names {
        for user in ["", "42", "8"] {
          let said = try explained(user, action, channel(name), rules)
          var stranger = connected(user, namespaces, configure)
          #expect(isDone(action, name, by: &stranger) == said.isAllowed, "\(action) \(name) by \(user): \(options)")
          checked += 1
          // An app's channel is opened by no token, and a subscriber has no reason to subscribe.
          if options.app != nil || action == .subscribe { continue }
          var subscriber = connected(user, namespaces, configure)
          #expect(subscriber.joinWithToken(name).errorCode == nil)
          #expect(
            isDone(action, name, by: &subscriber) == said.onceSubscribed,
            "\(action) \(name) by the subscriber \(user): \(options)")
        }
      }
    }
    #expect(checked >= 32 * Self.names.count * 3)
  }

  /// A connected session that has left the personal channel to which the server subscribes it: what is tried here is what
  /// the name alone allows.
  private func connected(
    _ user: String, _ namespaces: [String: ChannelOptions], _ configure: (inout SessionConfiguration) -> Void
  ) -> SessionBench {
    let bench = SessionBench(.open, namespaces: namespaces, configure: configure)
    return bench.signedIn(user)
  }

  @Test("a verdict says which setting decided and where it stands, and what a token would have to grant")
  func words() throws {
    let rules = SessionRules(SessionConfiguration(), namespaces: NamespaceTable(namespaces: ["chat": .shut]))
    let inspector = Inspector(rules: rules, settingOrigin: { "fanfare.json:7 of \($0)" })
    let request = InspectRequest(.access(user: "42", .publish, channel("chat:7")))
    var found = LoopInspection()
    found.count(AccessTally(verdict: .allowed(.option(.publishForSubscriber)), isSubscribed: true, connections: 2))
    let text = String(
      decoding: inspector.findings(found, of: request, GatewayCounts(name: "g", version: "v")), as: UTF8.self)
    let key = "channel.namespaces.chat.allow_publish_for_client"
    #expect(
      text.contains(
        #""allowed":false,"code":103,"reason":"allow_publish_for_client is off in the namespace","setting":"\#(key)","#
          + #""set_at":"fanfare.json:7 of \#(key)""#), "\(text)")
    #expect(text.contains(#""connections":[{"count":2,"subscribed":true,"allowed":true"#), "\(text)")
    let subscribe = InspectRequest(.access(user: "42", .subscribe, channel("chat:7")))
    let how = String(
      decoding: inspector.findings(LoopInspection(), of: subscribe, GatewayCounts(name: "g", version: "v")),
      as: UTF8.self)
    #expect(how.contains(#""token":"opens it: a subscription token with sub \"42\" and channel \"chat:7\""#), "\(how)")
  }

  @Test("a namespace that is not configured is the refusal that a client gets")
  func unknown() throws {
    let rules = SessionRules(SessionConfiguration(), namespaces: NamespaceTable())
    let request = InspectRequest(.access(user: "42", .publish, channel("nowhere:7")))
    let bytes = Inspector(rules: rules).findings(LoopInspection(), of: request, GatewayCounts(name: "g", version: "v"))
    let answer = try #require(try JSONValue(parsing: bytes).object)
    #expect(answer["allowed"]?.bool == false && answer["code"]?.text == "102")
  }
}

extension SessionBench {
  /// Signs in, and answers the subscription to the personal channel with an error if there is one, so that the user is
  /// on no channel.
  fileprivate func signedIn(_ user: String) -> SessionBench {
    var bench = self
    var connect = ClientCommand.Connect()
    connect.token = user.isEmpty ? "" : "token"
    guard let tag = bench.feed(.connect(connect), id: 1).checkTag else { return bench }
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(ConnectionClaims(user: user))))
    bench.answer(asked, .at(0))
    bench.feed(.removeSubscription(channel("n:#\(user)"), .server))
    return bench
  }
}
