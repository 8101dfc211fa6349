/// What a webhook can tell of. The names stand in the settings and in each event's `type`.
public struct WebhookEvents: OptionSet, Sendable, Hashable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A client has signed in.
  public static let connect = WebhookEvents(rawValue: 1 << 0)
  /// A client that had signed in is gone.
  public static let disconnect = WebhookEvents(rawValue: 1 << 1)
  /// A client's subscription to a channel has begun.
  public static let subscribe = WebhookEvents(rawValue: 1 << 2)
  /// Somebody is subscribed to a channel to which nobody was.
  public static let channelOccupied = WebhookEvents(rawValue: 1 << 3)
  /// Nobody has been subscribed to the channel for `broker.vacated_after`.
  public static let channelVacated = WebhookEvents(rawValue: 1 << 4)
  /// A publication on a channel, with its data.
  public static let publication = WebhookEvents(rawValue: 1 << 5)
  /// Somebody asks somebody else for a conversation in Clique. Without what they write.
  public static let cliqueRequest = WebhookEvents(rawValue: 1 << 6)
  /// A request in Clique is accepted or declined.
  public static let cliqueAnswer = WebhookEvents(rawValue: 1 << 7)
  /// Somebody has sent pictures in State, which are sealed. The pictures and captions are told to nobody.
  public static let stateSent = WebhookEvents(rawValue: 1 << 8)
  /// Both have sent, and see what the other sent.
  public static let stateRevealed = WebhookEvents(rawValue: 1 << 9)
  /// Nobody answered in time: what was sent is destroyed.
  public static let stateExpired = WebhookEvents(rawValue: 1 << 10)

  /// Each event with its name, in the order of the documents.
  public static let names: [(event: WebhookEvents, name: String)] = [
    (.connect, "connect"), (.disconnect, "disconnect"), (.subscribe, "subscribe"),
    (.channelOccupied, "channel_occupied"), (.channelVacated, "channel_vacated"), (.publication, "publication"),
    (.cliqueRequest, "clique_request"), (.cliqueAnswer, "clique_answer"), (.stateSent, "state_sent"),
    (.stateRevealed, "state_revealed"), (.stateExpired, "state_expired"),
  ]

  /// The event of a name; nil: there is none.
  public init?(named name: String) {
    guard let known = Self.names.first(where: { $0.name == name }) else { return nil }
    self = known.event
  }

  /// The name of a single event; empty for any other set.
  public var name: String { Self.names.first { $0.event == self }?.name ?? "" }
}

/// The events of clients that some webhook wants: what a gateway tells the broker of.
public struct ClientEventInterest: Sendable, Equatable {
  public var connect = false
  public var disconnect = false
  /// The namespaces whose subscriptions are wanted, the empty name for channels without one; nil: those of all.
  public var subscribe: Set<String>? = []

  public init() {}

  /// Adds what one webhook wants.
  ///
  /// - Parameter namespaces: nil: all.
  public mutating func add(_ events: WebhookEvents, in namespaces: Set<String>?) {
    if events.contains(.connect) { connect = true }
    if events.contains(.disconnect) { disconnect = true }
    guard events.contains(.subscribe) else { return }
    if let wanted = subscribe, let namespaces { subscribe = wanted.union(namespaces) } else { subscribe = nil }
  }

  /// Whether subscriptions to the channel are wanted. Channels of apps are told of to nobody.
  public func wantsSubscriptions(to channel: ChannelName, _ options: ChannelOptions) -> Bool {
    guard options.app == nil else { return false }
    guard let subscribe else { return true }
    return !subscribe.isEmpty && subscribe.contains(channel.namespace.map(String.init) ?? "")
  }
}

/// Something that has happened to a client, as its gateway tells the broker for webhooks.
public struct ClientEvent: Sendable, Equatable {
  public enum Kind: UInt8, Sendable {
    case connected = 1
    case subscribed = 2
    case disconnected = 3
  }

  public var kind: Kind
  /// Empty: anonymous.
  public var user: String
  public var client: String
  /// Of a subscription.
  public var channel: ChannelName?
  /// Why the connection ended, with the code of its Close frame; 0 where the client left by itself, or was lost.
  public var code: UInt16
  public var reason: String

  public init(
    _ kind: Kind, user: String, client: String, channel: ChannelName? = nil, code: UInt16 = 0, reason: String = ""
  ) {
    self.kind = kind
    self.user = user
    self.client = client
    self.channel = channel
    self.code = code
    self.reason = reason
  }

  /// The event as webhooks name it.
  public var event: WebhookEvents {
    switch kind {
    case .connected: .connect
    case .subscribed: .subscribe
    case .disconnected: .disconnect
    }
  }

  /// Bytes of the texts.
  var payloadBytes: Int { user.utf8.count + client.utf8.count + reason.utf8.count }
}

/// What an operator or a backend asks about webhooks.
public enum WebhookRequest: Sendable, Equatable {
  /// How each webhook is doing.
  case list
  /// A page of the events that a webhook has given up.
  ///
  /// - since: the position after which the page begins; 0: from the oldest.
  case givenUp(String, since: UInt64, limit: UInt32)
  /// Puts the oldest given-up events of a webhook back among those that are to be sent.
  case resend(String, limit: UInt32)
}
