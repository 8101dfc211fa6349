/// How well a channel's publications are kept.
public enum Durability: String, Sendable, CaseIterable {
  /// Publications are in the broker's memory only, and gone, with the epoch, when the broker ends.
  case memory
  /// Publications are delivered and acknowledged at once, and on disk within 10 ms.
  case relaxed
  /// Publications are delivered and acknowledged only after the group commit: acknowledged means on disk.
  case durable
}

/// What the `data` of a channel's publications may hold.
public enum DataFormat: String, Sendable, CaseIterable {
  /// Any JSON value; anything else is refused with error 107.
  case json
  /// Any bytes. JSON clients get them as a base64 string.
  case binary
}

/// What a channel is.
public enum ChannelKind: String, Sendable, CaseIterable {
  /// Publications one after another.
  case stream
  /// The last value of each key.
  case map
  /// Keys of which the backend is asked what they are, once for all who track them.
  case sharedPoll = "shared_poll"
}

/// Where the versions of a shared poll's keys come from.
public enum PollMode: String, Sendable, CaseIterable {
  /// The gateway's own: what differs from what was there before is new.
  case versionless
  /// The backend's, which rise with each change.
  case versioned
}

/// The rules of shared polls. Plain numbers, because options of channels are copied for each publish.
public struct PollOptions: Sendable, Equatable {
  public var mode = PollMode.versionless
  /// Milliseconds from one question for a key to the next.
  public var intervalMilliseconds: Int64 = 10_000
  /// Keys that the backend is asked for in one call.
  public var batchSize = 1000
  /// Keys that one subscription may track.
  public var keysPerClient = 1000
  /// Keys of one channel that the clients of a gateway may track together.
  public var keysPerChannel = 100_000

  public init() {}

  public var isVersioned: Bool { mode == .versioned }
}

/// How well a map channel's entries are kept.
public enum MapMode: String, Sendable, CaseIterable {
  /// Entries are in memory, without a stream: a client that was away reads the whole map again.
  case ephemeral
  /// Entries are in memory, with a stream of changes from which subscribers recover.
  case recoverable
  /// Entries and stream are on disk: acknowledged means that a change survives the broker.
  case persistent
}

/// How a map channel's snapshot is ordered, and paged.
public enum MapOrder: String, Sendable, CaseIterable {
  case key
  /// Smallest score first.
  case ascending
  /// Largest score first.
  case descending
}

/// Where the score of an entry comes from that a client writes.
public enum MapScore: String, Sendable, CaseIterable {
  /// The client gives the score.
  case client
  /// The time at which the key was first written, in milliseconds since 1970.
  case created
  /// The time at which the key was last written.
  case updated
}

/// Where the key comes from that a client writes in a map.
public enum MapClientKey: String, Sendable, CaseIterable {
  /// The client gives the key.
  case given
  /// The key is the client's id, whatever the client gives.
  case client = "client_id"
  /// The key is the client's user id, whatever the client gives; anonymous clients write nothing.
  case user = "user_id"
}

/// Whose presence a map shows, on the channel that the map's channel follows.
public enum MapPresence: String, Sendable, CaseIterable {
  /// The map shows what is written to it.
  case none
  /// An entry for each client, under its id.
  case clients
  /// An entry for each user, under the user id, as long as one of the user's clients is there.
  case users

  /// The `type` of a subscription to such a map.
  public var subscriptionType: Int32 {
    switch self {
    case .none: 1
    case .clients: 2
    case .users: 3
    }
  }
}

/// The name of an app, stored in place: the options of channels are copied for each publish, and a string would have
/// its references counted each time.
public struct AppName: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  private let bytes: UInt64

  /// - Parameter name: 1 to 8 bytes of UTF-8.
  public init(_ name: String) {
    precondition((1...8).contains(name.utf8.count), "the name of an app has 1 to 8 bytes")
    bytes = name.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  public init(stringLiteral name: String) { self.init(name) }

  public var description: String {
    var utf8: [UInt8] = []
    var rest = bytes
    while rest != 0 {
      utf8.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
    return String(decoding: utf8, as: UTF8.self)
  }
}

/// The rules of one namespace. Names are Centrifugo's where the meaning is the same, in camel case.
public struct ChannelOptions: Sendable, Equatable {
  public var presence = false
  public var joinLeave = false
  public var forcePushJoinLeave = false
  /// Publications kept per channel; 0 keeps none.
  public var historySize = 0
  /// How long a publication is kept, in milliseconds; 0 keeps none.
  public var historyTTLMilliseconds: Int64 = 0
  /// Every subscriber recovers, whether it asked for that or not.
  public var forceRecovery = false
  /// Every subscriber is told its position, and when it has lost it, whether it asked for that or not.
  public var forcePositioning = false
  public var allowSubscribeForClient = false
  public var allowSubscribeForAnonymous = false
  public var allowPublishForSubscriber = false
  public var allowPublishForClient = false
  public var allowPublishForAnonymous = false
  public var allowHistoryForSubscriber = false
  public var allowHistoryForClient = false
  public var allowHistoryForAnonymous = false
  public var allowPresenceForSubscriber = false
  public var allowPresenceForClient = false
  public var allowPresenceForAnonymous = false
  public var allowUserLimitedChannels = false
  /// Subscribers who ask for it get publications as patches against the one before. Off unless somebody wants it: each
  /// channel then keeps a payload, and each publication is compared with the one before.
  public var allowDelta = false
  public var durability = Durability.memory
  public var dataFormat = DataFormat.json
  /// The lane of the channel's publications. Only ``Lane/publications`` goes with history and positions: publications
  /// that are left out in the others would look like loss.
  public var lane = Lane.publications
  /// Milliseconds after a client's publication in which its further ones wait: the last of them is published when the
  /// interval is over, and the others are left out; 0: none waits.
  public var publishIntervalMilliseconds: Int64 = 0
  public var kind = ChannelKind.stream
  public var mapMode = MapMode.ephemeral
  public var mapOrder = MapOrder.key
  public var mapScore = MapScore.client
  /// How long an entry stays that nobody writes again, in milliseconds; 0: until it is removed.
  public var mapTTLMilliseconds: Int64 = 0
  /// Entries that a channel may have; a new key beyond them is refused.
  public var mapMaximumEntries = 1000
  /// A client writes the key of its own user id alone.
  public var mapKeyIsUser = false
  public var mapClientKey = MapClientKey.given
  /// The broker writes the map's entries and nobody else: who is on the channel that this one follows.
  public var mapPresence = MapPresence.none
  public var poll = PollOptions()
  /// The author of a publication may replace and remove it.
  public var allowEditForAuthor = false
  /// The channel belongs to the one that its name names after the namespace: `receipts:chat:42` to `chat:42`. Whoever
  /// may subscribe to that one may subscribe to this one.
  public var followsChannel = false
  /// The backend is asked who may subscribe, what may be published, and whether a subscription that expires goes on.
  public var subscribeProxy = false
  public var publishProxy = false
  public var subRefreshProxy = false
  /// Bytes that one user may keep in the namespace's channels, on disk or in memory; 0: no limit.
  public var userQuotaBytes = 0
  /// Publications in histories, and entries of maps, that one user may keep in the namespace's channels; 0: no limit.
  public var userQuotaEntries = 0
  /// On channels whose names say who may subscribe (`inbox:#ann,bob`), those people are notified of what they have not
  /// acknowledged.
  public var push = false
  /// The app that alone writes to the channel and says who may see it; nil: none.
  public var app: AppName?
  /// How channels of an app are shared among partitions.
  public var sharing = Sharing.home

  /// Where a channel of an app is, of which its name says behind the namespace whose it is.
  public enum Sharing: Sendable, Equatable {
    /// At home, as all of the app's.
    case home
    /// Where the user is whom the name says (``Partitioning/place(ofUser:)``).
    case user
    /// Where the conversation is whose id the name says (``Partitioning/place(ofConversation:)``).
    case conversation
  }

  public init() {}

  /// Whether channels of the namespace are in several partitions, though an app has them.
  public var isShared: Bool { sharing != .home }

  /// Milliseconds that clients are told to leave between their publications; 0: none, or no client publishes.
  public var publishDebounceMilliseconds: UInt32 {
    let isPublishedTo = allowPublishForSubscriber || allowPublishForClient || allowPublishForAnonymous
    return isPublishedTo ? UInt32(clamping: publishIntervalMilliseconds) : 0
  }

  /// Whether publications are kept: both limits must be set.
  public var keepsHistory: Bool { historySize > 0 && historyTTLMilliseconds > 0 }

  /// Whether subscribers may have patches: where all of them get the same publications, one after another.
  public var allowsDelta: Bool { allowDelta && kind == .stream && app == nil && !lane.isConflated }

  /// Whether the amount that each user keeps is counted, and bounded.
  public var hasUserQuota: Bool { userQuotaBytes > 0 || userQuotaEntries > 0 }
}

/// The rules of every channel: broker and gateway look them up by name and must be given the same ones.
public struct NamespaceTable: Sendable, Equatable {
  private struct Entry: Sendable, Equatable {
    var name: [UInt8]
    var options: ChannelOptions
  }

  /// The tables in one object, so that a look-up counts one reference and not one for each of them.
  private final class Contents: Sendable, Equatable {
    let withoutNamespace: ChannelOptions
    let namespaces: [String: ChannelOptions]
    /// The namespaces of a table that is small enough to be looked through, which is quicker than to make a string and
    /// hash it.
    let entries: [Entry]
    let apps: [String]
    let presenceMaps: [String]

    init(_ withoutNamespace: ChannelOptions, _ namespaces: [String: ChannelOptions], apps: [String]) {
      self.withoutNamespace = withoutNamespace
      self.namespaces = namespaces
      self.apps = apps
      presenceMaps = namespaces.filter { $0.value.mapPresence != .none }.keys.sorted()
      entries =
        namespaces.count > 32
        ? [] : namespaces.sorted { $0.key < $1.key }.map { Entry(name: Array($0.key.utf8), options: $0.value) }
    }

    static func == (a: Contents, b: Contents) -> Bool {
      a === b || a.withoutNamespace == b.withoutNamespace && a.namespaces == b.namespaces && a.apps == b.apps
    }
  }

  private var contents: Contents

  public init(withoutNamespace: ChannelOptions = .init(), namespaces: [String: ChannelOptions] = [:]) {
    contents = Contents(withoutNamespace, namespaces, apps: [])
  }

  /// The options of channels whose name has no namespace.
  public var withoutNamespace: ChannelOptions {
    get { contents.withoutNamespace }
    set { contents = Contents(newValue, namespaces, apps: apps) }
  }

  public var namespaces: [String: ChannelOptions] {
    get { contents.namespaces }
    set { contents = Contents(withoutNamespace, newValue, apps: apps) }
  }

  /// The namespaces in which the amount that each user keeps is bounded; the empty name: channels without a namespace.
  public var namespacesWithQuota: Set<String> {
    Set(namespaces.filter { $0.value.hasUserQuota }.keys).union(withoutNamespace.hasUserQuota ? [""] : [])
  }

  /// The apps that have a namespace here, in order of their names.
  public var apps: [String] { contents.apps }

  /// The namespaces whose channels show the presence of others as maps, in order of their names.
  public var presenceMaps: [String] { contents.presenceMaps }

  /// Adds the namespaces of an app.
  public mutating func add(_ namespaces: [String: ChannelOptions], of app: String) {
    contents = Contents(
      withoutNamespace, self.namespaces.merging(namespaces) { _, apps in apps }, apps: apps + [app])
  }

  /// The rules of a channel; nil where its namespace is not configured, which is error 102 for whoever asked.
  public func options(for channel: ChannelName) -> ChannelOptions? {
    let contents = contents
    return unsafe channel.withNamespace { namespace in
      guard let namespace = unsafe namespace else { return contents.withoutNamespace }
      for index in contents.entries.indices where unsafe contents.entries[index].name.hasSameBytes(as: namespace) {
        return contents.entries[index].options
      }
      return contents.namespaces[unsafe String(bytes: namespace)]
    }
  }
}

extension [UInt8] {
  fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    return unsafe withUnsafeBytes { unsafe $0.hasSameBytes(as: other) }
  }
}
