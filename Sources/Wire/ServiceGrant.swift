/// Names of channels or methods that a grant speaks of: one, or all that begin alike.
public struct NamePattern: Sendable, Hashable, CustomStringConvertible {
  /// The pattern without its `*`.
  public let text: String
  public let isPrefix: Bool

  /// Reads a pattern: `news` is that name alone, `chat:*` all names that begin with `chat:`, `*` all names.
  public init(_ pattern: String) {
    isPrefix = pattern.hasSuffix("*")
    text = isPrefix ? String(pattern.dropLast()) : pattern
  }

  public var description: String { isPrefix ? text + "*" : text }

  /// Whether the pattern names an app: only such patterns mean the app's channels.
  var namesApp: Bool { AppChannels.contains(text) }

  func matches(_ name: String) -> Bool {
    isPrefix ? name.utf8.starts(with: text.utf8) : name.hasSameBytes(as: text)
  }
}

extension [NamePattern] {
  /// Whether one of the patterns means the channel. `*` never means the apps' channels: a pattern has to name them.
  public func match(_ channel: ChannelName) -> Bool {
    let isApps = AppChannels.contains(channel.string)
    return contains { (!isApps || $0.namesApp) && $0.matches(channel.string) }
  }
}

/// Channels of the built-in apps, by their names alone: private chats, sealed pictures.
public enum AppChannels {
  /// The beginnings of the apps' channel names. They are reserved for the apps, switched on or not.
  public static let prefixes = ["clique.", "state.", "$clique.", "$state."]

  public static func contains(_ name: String) -> Bool {
    prefixes.contains { name.utf8.starts(with: $0.utf8) }
  }

  /// How the methods of the channel's app begin: `clique.`; nil where no app has the channel.
  static func app(of name: String) -> String? {
    guard let prefix = prefixes.first(where: { name.utf8.starts(with: $0.utf8) }) else { return nil }
    return prefix.hasPrefix("$") ? String(prefix.dropFirst()) : prefix
  }
}

/// What a backend service may do at the broker's endpoints.
///
/// `*` never means the apps' channels: a grant has to name them (`clique.*`).
public struct ServiceGrant: Sendable, Equatable {
  /// Channels to write to: publish, edit, delete, set and remove a map's keys, remove a history.
  public var publish: [NamePattern] = []
  /// Channels to ask about: history, presence, a map's entries, which channels there are and how many are on them. Any
  /// of them lets a service ask what the server carries.
  public var read: [NamePattern] = []
  /// Channels to listen to.
  public var tap: [NamePattern] = []
  /// Channels to subscribe clients to.
  public var subscribe: [NamePattern] = []
  /// Methods of apps to call, in any user's name.
  public var call: [NamePattern] = []
  /// What a service may see and do of users' data: `user_data`, `user_export`, `user_delete`, `user_pair`.
  public var privacy: [NamePattern] = []
  public var mayDisconnect = false
  public var mayRevoke = false
  /// To see how webhooks are doing and what they gave up, and to have it sent again.
  public var mayUseWebhooks = false
  /// To have notifications sent to devices.
  public var mayPush = false
  /// Whoever reaches the endpoint may do everything: it is an `ipc://` file in a folder that nobody else can enter.
  public let isEverything: Bool

  public init() { isEverything = false }

  private init(everything: Bool) { isEverything = everything }

  public static let everything = ServiceGrant(everything: true)

  /// The grant for an endpoint that every process on the machine reaches, where the operator wants that.
  public static let everyoneOnThisMachine: ServiceGrant = {
    var grant = ServiceGrant()
    let all = [NamePattern("*")]
    (grant.publish, grant.read, grant.tap, grant.subscribe) = (all, all, all, all)
    (grant.mayDisconnect, grant.mayRevoke) = (true, true)
    return grant
  }()

  /// The grant that a request would need, as the configuration writes it; nil where the request is allowed.
  public func refusal(of request: BrokerRequest) -> String? {
    if isEverything { return nil }
    switch request {
    case .publish(let publish): return missing(publish.channel, self.publish, "publish")
    case .edit(let edit): return missing(edit.channel, publish, "publish")
    case .historyRemove(let channel): return missing(channel, publish, "publish")
    case .history(let history): return missing(history.channel, read, "read")
    case .presence(let channel, _, _), .presenceStats(let channel, _): return missing(channel, read, "read")
    case .readMap(let map): return missing(map.channel, read, "read")
    case .why(let why): return missing(why.channel, read, "read")
    // Channels that the service may not read are left out of the answer.
    case .channels, .channelCounts, .info: return read.isEmpty ? "read=*" : nil
    case .inspect(let request):
      if let channel = request.channel { return missing(channel, read, "read") }
      return readsEverything ? nil : "read=*"
    case .top: return readsEverything ? nil : "read=*"
    case .once(_, let request): return refusal(of: request)
    case .call(let call):
      let method = call.command.method
      return self.call.contains { $0.matches(method) } ? nil : "call=\(method.prefix(64))"
    case .beginSubscriptions(_, let subscription): return missing(subscription.channel, subscribe, "subscribe")
    case .disconnect, .endSubscriptions, .refresh: return mayDisconnect ? nil : "disconnect"
    case .revoke: return mayRevoke ? nil : "revoke"
    case .webhooks: return mayUseWebhooks ? nil : "webhooks"
    case .push: return mayPush ? nil : "push"
    case .user(let request):
      return privacy.contains { $0.matches(request.grant) } ? nil : "privacy=\(request.grant)"
    case .subscribe, .unsubscribe, .receipt, .unread, .report: return "a gateway's link"
    }
  }

  /// Whether the service may know why an app keeps a channel from somebody, such as that they are blocked: only one that
  /// may call all of the app in anybody's name.
  public func mayKnowExclusions(of channel: ChannelName) -> Bool {
    if isEverything { return true }
    guard let app = AppChannels.app(of: channel.string) else { return true }
    return call.contains { $0.isPrefix && app.utf8.starts(with: $0.text.utf8) }
  }

  /// Whether the grant is to read whatever channel there is. What is known of users and clients, their addresses for one,
  /// is for such services alone.
  private var readsEverything: Bool { read.contains { $0.isPrefix && $0.text.isEmpty } }

  public func mayRead(_ channel: ChannelName) -> Bool { isEverything || read.match(channel) }

  private func missing(_ channel: ChannelName, _ patterns: [NamePattern], _ word: String) -> String? {
    patterns.match(channel) ? nil : "\(word)=\(channel.string.prefix(64))"
  }
}

/// The topics of the tap that a service is given.
extension ServiceGrant {
  /// The prefixes that take the place of a subscription to all topics that begin with `prefix`: that prefix where all
  /// of them are allowed, or as many as it takes to leave the apps' channels out. Nil where not all of the others are
  /// allowed.
  ///
  /// XPUB knows prefixes only. Topics that begin with one prefix but not with another are written as prefixes, too: for
  /// each byte on the way to the other, all the bytes that lead elsewhere.
  public func topics(beginningWith prefix: [UInt8]) -> [[UInt8]]? {
    if isEverything { return [prefix] }
    let covering = tap.filter { $0.covers(prefix) }
    if covering.isEmpty { return nil }
    if covering.contains(where: \.namesApp) { return [prefix] }
    let apps = AppChannels.prefixes.map { Array($0.utf8) }
    if apps.contains(where: { prefix.starts(with: $0) }) { return nil }
    let within = apps.filter { $0.starts(with: prefix) }
    let granted = tap.filter(\.namesApp).map(\.topic).filter { $0.starts(with: prefix) }
    return Self.topics(beginningWith: prefix, butNotWith: within) + granted
  }

  /// Whether the end of a subscription can be passed on. A subscription that was made into several prefixes, or that is
  /// one of those, stays until the service goes: other topics of the same service may rest on it, and the service's own
  /// socket passes over messages that it does not want any more.
  public func mayRelease(_ prefix: [UInt8]) -> Bool {
    if isEverything { return true }
    if tap.contains(where: { $0.namesApp && $0.topic == prefix }) { return false }
    return !AppChannels.prefixes.contains { app in
      let app = Array(app.utf8)
      return app.starts(with: prefix) || app.starts(with: prefix.dropLast())
    }
  }

  private static func topics(beginningWith prefix: [UInt8], butNotWith others: [[UInt8]]) -> [[UInt8]] {
    let within = others.filter { $0.starts(with: prefix) }
    if within.isEmpty { return [prefix] }
    if within.contains(prefix) { return [] }
    return (UInt8.min...UInt8.max).flatMap { topics(beginningWith: prefix + [$0], butNotWith: within) }
  }
}

extension NamePattern {
  /// The beginning of the topics that the pattern means.
  fileprivate var topic: [UInt8] { Array(text.utf8) + (isPrefix ? [] : [ChannelName.topicTerminator]) }

  fileprivate func covers(_ prefix: [UInt8]) -> Bool { prefix.starts(with: topic) }
}
