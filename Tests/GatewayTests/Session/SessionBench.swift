import Auth
import TestSupport
import Wire

@testable import Gateway

/// A session with a clock in hand, and short words for what tests say often.
struct SessionBench {
  /// A session cannot be copied, and a bench can: copies have one session.
  private final class Held {
    var session: Session

    init(_ session: consuming Session) { self.session = session }
  }

  private let held: Held
  var now: Int64 = 1_000_000
  var wall: Int64 = 1_700_000_000

  init(
    _ options: ChannelOptions = .open, namespaces: [String: ChannelOptions] = [:], apps: [String] = [],
    format: WireFormat = .json, proxies: ProxyRules = ProxyRules(), trackSignatures: TrackSignatures? = nil,
    configure: (inout SessionConfiguration) -> Void = { _ in }
  ) {
    var configuration = SessionConfiguration()
    configuration.version = "Fanfare 1.2.3"
    configuration.node = "n1"
    configure(&configuration)
    var table = NamespaceTable(withoutNamespace: options, namespaces: namespaces)
    for app in apps { table.add([:], of: app) }
    held = Held(
      Session(
        rules: SessionRules(
          configuration, namespaces: table, proxies: proxies, trackSignatures: trackSignatures),
        identity: .init(client: "c1", session: "s1"),
        format: format, firstPingDelayMilliseconds: 10_000))
    feed(.opened)
  }

  /// A session that is connected, with the user's id or anonymous.
  static func live(
    _ options: ChannelOptions = .open, user: String = "u", namespaces: [String: ChannelOptions] = [:],
    apps: [String] = [], format: WireFormat = .json, expiresAt: Int64? = nil, proxies: ProxyRules = ProxyRules(),
    trackSignatures: TrackSignatures? = nil, configure: (inout SessionConfiguration) -> Void = { _ in }
  ) -> SessionBench {
    var bench = SessionBench(
      options, namespaces: namespaces, apps: apps, format: format, proxies: proxies, trackSignatures: trackSignatures
    ) {
      $0.allowAnonymous = true
      configure(&$0)
    }
    var connect = ClientCommand.Connect()
    connect.token = user.isEmpty ? "" : "token"
    let tag = bench.feed(.connect(connect), id: 1).checkTag
    if let tag {
      bench.feed(.connectionTokenChecked(tag: tag, .success(ConnectionClaims(user: user, expiresAt: expiresAt))))
    }
    return bench
  }

  var session: Session {
    _read { yield held.session }
    _modify { yield &held.session }
  }

  // For `#expect`, which copies what it looks at.
  var wantsInput: Bool { session.wantsInput }
  var hasWaiting: Bool { session.hasWaiting }
  var isDrained: Bool { session.isDrained }
  var awaitsAnswers: Bool { session.awaitsAnswers }
  var isCheckingPlace: Bool { session.isCheckingPlace }
  func isPending(_ tag: UInt64) -> Bool { session.isPending(tag) }
  func wantsProgress(at now: Int64) -> Bool { session.wantsProgress(at: now) }

  @discardableResult
  mutating func feed(_ input: SessionInput) -> [SessionAction] {
    var actions: [SessionAction] = []
    session.handle(input, at: SessionTime(monotonic: now, wall: wall), into: &actions)
    return actions
  }

  @discardableResult
  mutating func feed(_ body: ClientCommand.Body, id: UInt32 = 7) -> [SessionAction] {
    feed(.command(ClientCommand(id: id, body: body)))
  }

  @discardableResult
  mutating func answer(_ actions: [SessionAction], _ response: BrokerResponse) -> [SessionAction] {
    guard let tag = actions.requestTag else { return [] }
    return feed(.brokerAnswered(tag: tag, response))
  }

  @discardableResult
  mutating func subscribe(
    _ channel: String, id: UInt32 = 7, with change: (inout ClientCommand.Subscribe) -> Void = { _ in }
  ) -> [SessionAction] {
    var ask = ClientCommand.Subscribe()
    ask.channel = channel
    change(&ask)
    return feed(.subscribe(ask), id: id)
  }

  /// Subscribes all the way.
  @discardableResult
  mutating func join(_ channel: String, with change: (inout ClientCommand.Subscribe) -> Void = { _ in })
    -> [SessionAction]
  {
    answer(subscribe(channel, with: change), .at(0))
  }

  /// Subscribes with a token, all the way to the broker's answer.
  mutating func joinWithToken(
    _ channel: String, expiresAt: Int64? = nil, grant: SubscriptionGrant = .init(),
    with change: (inout ClientCommand.Subscribe) -> Void = { _ in }
  ) -> [SessionAction] {
    let asked = subscribe(channel) {
      $0.token = "t"
      change(&$0)
    }
    guard let tag = asked.checkTag else { return asked }
    let claims = SubscriptionClaims(user: session.user, channel: channel, expiresAt: expiresAt, grant: grant)
    return answer(feed(.subscriptionTokenChecked(tag: tag, .success(claims))), .at(0))
  }

  /// Moves both clocks.
  @discardableResult
  mutating func pass(milliseconds: Int64) -> [SessionAction] {
    now += milliseconds
    wall += milliseconds / 1000
    return feed(.deadline)
  }
}

extension ChannelOptions {
  /// Anybody may do anything, and history is kept.
  static var open: ChannelOptions {
    var options = ChannelOptions()
    options.allowSubscribeForClient = true
    options.allowSubscribeForAnonymous = true
    options.allowPublishForClient = true
    options.allowHistoryForClient = true
    options.allowPresenceForClient = true
    options.presence = true
    options.historySize = 10
    options.historyTTLMilliseconds = 60_000
    return options
  }

  /// Nothing is on.
  static var shut: ChannelOptions { ChannelOptions() }

  func with(_ change: (inout ChannelOptions) -> Void) -> ChannelOptions {
    var copy = self
    change(&copy)
    return copy
  }
}

extension BrokerResponse {
  static func at(_ offset: UInt64, recovered: Bool = false, _ publications: [Publication] = []) -> BrokerResponse {
    .subscribed(
      Subscribed(
        position: StreamPosition(epoch: "e", offset: offset), recovered: recovered, publications: publications))
  }
}

extension [SessionAction] {
  var requestTag: UInt64? {
    for case .request(let tag, _) in self { return tag }
    return nil
  }

  var requests: [BrokerRequest] {
    compactMap { if case .request(_, let request) = $0 { request } else { nil } }
  }

  var unsubscribes: [String] {
    requests.compactMap { if case .unsubscribe(let request) = $0 { request.channel.string } else { nil } }
  }

  var checkTag: UInt64? {
    for action in self {
      switch action {
      case .checkConnectionToken(let tag, _), .checkSubscriptionToken(let tag, _), .checkPlaceToken(let tag, _):
        return tag
      default: break
      }
    }
    return nil
  }

  var replies: [ClientReply] {
    compactMap { if case .send(let reply) = $0 { reply } else { nil } }
  }

  var closeCode: UInt16? {
    for case .close(let code) in self { return code.code }
    return nil
  }

  /// The code of the first error reply.
  var errorCode: UInt32? {
    for case .send(.error(_, let error)) in self { return error.code }
    return nil
  }

  var connectResult: ClientReply.ConnectResult? {
    for case .send(.connect(_, let result)) in self { return result }
    return nil
  }

  var subscribeResult: ClientReply.SubscribeResult? {
    for case .send(.subscribe(_, let result)) in self { return result }
    return nil
  }
}

func channel(_ name: String) -> ChannelName {
  guard let channel = try? ChannelName(name) else { preconditionFailure("a test names the channel \(name)") }
  return channel
}
