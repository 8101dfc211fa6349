/// What a client may want to do with a channel, as far as the namespace's options decide about it.
public enum ChannelAction: String, Sendable, CaseIterable {
  case subscribe
  case publish
  case history
  case presence
}

/// What an operator wants to know more about.
public enum Inspection: Sendable, Equatable {
  case channel(ChannelName)
  case user(String)
  /// By its client id, as presence and publications show it.
  case client(String)
  /// Whether a user (empty: an anonymous client) may do something with a channel, and why.
  case access(user: String, ChannelAction, ChannelName)
}

/// A question about one channel, user or client, for the broker and for all gateways.
public struct InspectRequest: Sendable, Equatable {
  public var subject: Inspection
  /// The channels that an answer may name; nil: all. A grant of everything on `*` does not mean the apps' channels, so
  /// that a key without them does not learn who talks to whom.
  public var visible: [NamePattern]?

  public init(_ subject: Inspection, visible: [NamePattern]? = nil) {
    self.subject = subject
    self.visible = visible
  }

  /// The channel that the question is about; nil: it is about none.
  public var channel: ChannelName? {
    switch subject {
    case .channel(let channel), .access(_, _, let channel): channel
    case .user, .client: nil
    }
  }

  public func mayName(_ channel: ChannelName) -> Bool { visible?.match(channel) ?? true }

  /// Most bytes of one gateway's answer, and of the broker's: what does not fit is left out and counted.
  public static let answerBytes = 256 << 10

  /// What the question takes in memory, roughly and in bytes.
  var cost: Int {
    let name =
      switch subject {
      case .channel(let channel): channel.string.utf8.count
      case .user(let text), .client(let text): text.utf8.count
      case .access(let user, _, let channel): user.utf8.count + channel.string.utf8.count
      }
    return 64 + name + (visible ?? []).reduce(0) { $0 + 32 + $1.text.utf8.count }
  }
}

/// By what a repeated request is known: who asked, and the key that they gave it.
public struct OnceKey: Sendable, Hashable {
  /// The name of the API key or of the service's key; empty: a service without a key.
  public var owner: String
  public var key: String

  public init(owner: String, key: String) {
    self.owner = owner
    self.key = key
  }

  /// Most bytes of a key.
  public static let longest = 255

  var cost: Int { 64 + owner.utf8.count + key.utf8.count }

  public static func == (a: OnceKey, b: OnceKey) -> Bool {
    a.owner.hasSameBytes(as: b.owner) && a.key.hasSameBytes(as: b.key)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(IdentifierKey(owner))
    hasher.combine(IdentifierKey(key))
  }
}

/// The channels and clients of one gateway, or of all, on which most goes on.
public struct TopFindings: Sendable, Equatable {
  public struct Channel: Sendable, Equatable {
    public var channel: ChannelName
    public var subscribers: UInt64
    /// Bytes per second that went to the subscribers since somebody looked last.
    public var bytesPerSecond: UInt64
    /// The offset of the newest publication: two looks make a rate. The broker fills it in; nil: not known.
    public var offset: UInt64?

    public init(_ channel: ChannelName, subscribers: UInt64, bytesPerSecond: UInt64, offset: UInt64? = nil) {
      self.channel = channel
      self.subscribers = subscribers
      self.bytesPerSecond = bytesPerSecond
      self.offset = offset
    }
  }

  public struct Client: Sendable, Equatable {
    public var client: String
    public var user: String
    public var address: String
    /// Bytes that wait for the client to take them, and that it did not ask for.
    public var waitingBytes: UInt64
    public var subscriptions: UInt64

    public init(client: String, user: String, address: String, waitingBytes: UInt64, subscriptions: UInt64) {
      self.client = client
      self.user = user
      self.address = address
      self.waitingBytes = waitingBytes
      self.subscriptions = subscriptions
    }
  }

  /// Most channels, most slow clients and most busy clients in one answer.
  public static let most = 50

  /// Those with most bytes first.
  public var channels: [Channel]
  /// Those for whom most waits first.
  public var slowest: [Client]
  /// Those with most subscriptions first.
  public var busiest: [Client]

  public init(channels: [Channel] = [], slowest: [Client] = [], busiest: [Client] = []) {
    self.channels = channels
    self.slowest = slowest
    self.busiest = busiest
  }

  /// Adds what another event loop or gateway found. A channel's numbers are added up as far as it was named: one that
  /// is among the first of no gateway, though it would be of all together, is missing.
  public mutating func add(_ other: TopFindings) {
    var places = Dictionary(
      channels.enumerated().map { ($1.channel, $0) }, uniquingKeysWith: { first, _ in first })
    for channel in other.channels {
      if let place = places[channel.channel] {
        channels[place].subscribers &+= channel.subscribers
        channels[place].bytesPerSecond &+= channel.bytesPerSecond
      } else {
        places[channel.channel] = channels.count
        channels.append(channel)
      }
    }
    slowest += other.slowest
    busiest += other.busiest
    cut()
  }

  // MARK: Making the lists

  /// Puts a channel in its place, if it is among the first. The lists must be in order, as they always are here.
  public mutating func note(_ channel: Channel) { Self.note(channel, in: &channels, Self.isBefore) }

  public mutating func note(slow client: Client) { Self.note(client, in: &slowest, Self.isSlower) }

  public mutating func note(busy client: Client) { Self.note(client, in: &busiest, Self.isBusier) }

  /// Whether a client for whom so much waits belongs among the slowest: all others need not be looked at further.
  public func isSlow(_ waitingBytes: UInt64, _ client: String) -> Bool {
    guard waitingBytes > 0 else { return false }
    guard slowest.count >= Self.most, let last = slowest.last else { return true }
    return waitingBytes == last.waitingBytes ? client < last.client : waitingBytes > last.waitingBytes
  }

  /// Whether a client with so many subscriptions belongs among the busiest.
  public func isBusy(_ subscriptions: UInt64, _ client: String) -> Bool {
    guard busiest.count >= Self.most, let last = busiest.last else { return true }
    return subscriptions == last.subscriptions ? client < last.client : subscriptions > last.subscriptions
  }

  private static func note<One>(_ one: One, in list: inout [One], _ isBefore: (One, One) -> Bool) {
    if list.count >= most, let last = list.last, !isBefore(one, last) { return }
    let place = list.firstIndex { isBefore(one, $0) } ?? list.count
    list.insert(one, at: place)
    if list.count > most { list.removeLast() }
  }

  private static func isBefore(_ a: Channel, _ b: Channel) -> Bool {
    if a.bytesPerSecond != b.bytesPerSecond { return a.bytesPerSecond > b.bytesPerSecond }
    if a.subscribers != b.subscribers { return a.subscribers > b.subscribers }
    return a.channel.string < b.channel.string
  }

  private static func isSlower(_ a: Client, _ b: Client) -> Bool {
    a.waitingBytes == b.waitingBytes ? a.client < b.client : a.waitingBytes > b.waitingBytes
  }

  private static func isBusier(_ a: Client, _ b: Client) -> Bool {
    a.subscriptions == b.subscriptions ? a.client < b.client : a.subscriptions > b.subscriptions
  }

  /// Sorts, and keeps the first.
  public mutating func cut() {
    channels.sort(by: Self.isBefore)
    slowest.sort(by: Self.isSlower)
    busiest.sort(by: Self.isBusier)
    if channels.count > Self.most { channels.removeLast(channels.count - Self.most) }
    if slowest.count > Self.most { slowest.removeLast(slowest.count - Self.most) }
    if busiest.count > Self.most { busiest.removeLast(busiest.count - Self.most) }
  }

  /// What the findings take in memory, roughly and in bytes.
  var cost: Int {
    let clients = (slowest + busiest).reduce(0) { $0 + 96 + $1.client.utf8.count + $1.user.utf8.count }
    return channels.reduce(64 + clients) { $0 + 64 + $1.channel.string.utf8.count }
  }
}
