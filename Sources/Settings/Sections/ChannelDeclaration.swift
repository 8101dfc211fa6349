import Wire

/// The section of channels: the options of those without a namespace, and a list of namespaces.
enum ChannelSection {
  static let name = "channel"
  static let withoutNamespace = "without_namespace"
  static let namespaces = "namespaces"

  /// - Parameter namespaces: the names in the file's list.
  static func table(_ declare: inout SettingDeclarations, namespaces names: [String]) -> NamespaceTable {
    declare.section(name) { declare in
      let plain = declare.section(withoutNamespace) { $0.channel() }
      let namespaces = declare.section(namespaces) { declare in
        names.map { name in (name, declare.section(name) { $0.channel() }) }
      }
      return NamespaceTable(
        withoutNamespace: plain, namespaces: Dictionary(namespaces, uniquingKeysWith: { first, _ in first }))
    }
  }
}

/// The options of a namespace, or of channels without one, and where each was given.
///
/// The defaults of options stand in ``ChannelOptions``, which broker and gateway know: they allow nothing.
struct ChannelDeclaration {
  /// Where the options stand: `channel.without_namespace`, or `channel.namespaces.chat`.
  let path: String
  private(set) var options = ChannelOptions()
  private var places: [PartialKeyPath<ChannelOptions>: SettingPlace] = [:]

  init(_ declare: inout SettingDeclarations, at path: String) {
    self.path = path
    keep(&declare)
    allow(&declare)
    ask(&declare)
    form(&declare)
    // A map's options mean nothing on a stream, and are not taken over there.
    let stream = options
    map(&declare)
    if options.kind == .map { settleMap() } else { options = stream }
    let unpolled = options
    poll(&declare)
    if options.kind != .sharedPoll { options = unpolled }
    bound(&declare)
  }

  var isWithoutNamespace: Bool { path == "\(ChannelSection.name).\(ChannelSection.withoutNamespace)" }

  /// Where an option was given. Every field has a place but ``ChannelOptions/app``, which no file says.
  func place(_ field: PartialKeyPath<ChannelOptions>) -> SettingPlace {
    guard let place = places[field] else { preconditionFailure("no key of a namespace is read into this field") }
    return place
  }

  /// Where each option was given.
  var allPlaces: [SettingPlace] { Array(places.values) }

  private mutating func set<Value>(
    _ field: WritableKeyPath<ChannelOptions, Value>, _ declared: (Value) -> Setting<Value>
  ) {
    let setting = declared(options[keyPath: field])
    options[keyPath: field] = setting.wrappedValue
    places[field] = setting.place
  }

  private mutating func keep(_ declare: inout SettingDeclarations) {
    set(\.presence) { declare.flag("presence", $0, "Keep who is subscribed.") }
    set(\.joinLeave) { declare.flag("join_leave", $0, "Tell when somebody joins or leaves.") }
    set(\.forcePushJoinLeave) {
      declare.flag("force_push_join_leave", $0, "Send joins and leaves to every subscriber, asked or not.")
    }
    set(\.historySize) {
      declare.integer("history_size", $0, in: 0...100_000, "Publications kept per channel; goes with history_ttl.")
    }
    set(\.historyTTLMilliseconds) {
      declare.milliseconds(
        "history_ttl", $0, in: .zero ... .hours(24 * 366),
        "Time for which a publication is kept; goes with history_size.")
    }
    set(\.forceRecovery) {
      declare.flag("force_recovery", $0, "Every subscriber recovers what it missed, asked or not.")
    }
    set(\.forcePositioning) {
      declare.flag("force_positioning", $0, "Every subscriber is told when it missed something, asked or not.")
    }
  }

  private mutating func allow(_ declare: inout SettingDeclarations) {
    set(\.allowSubscribeForClient) {
      declare.flag("allow_subscribe_for_client", $0, "Users may subscribe without a subscription token.")
    }
    set(\.allowSubscribeForAnonymous) {
      declare.flag("allow_subscribe_for_anonymous", $0, "Anonymous clients may subscribe without a subscription token.")
    }
    set(\.allowPublishForSubscriber) { declare.flag("allow_publish_for_subscriber", $0, "Subscribers may publish.") }
    set(\.allowPublishForClient) {
      declare.flag("allow_publish_for_client", $0, "Users may publish, subscribed or not.")
    }
    set(\.allowPublishForAnonymous) {
      declare.flag("allow_publish_for_anonymous", $0, "Anonymous clients may publish, subscribed or not.")
    }
    set(\.allowHistoryForSubscriber) {
      declare.flag("allow_history_for_subscriber", $0, "Subscribers may read the history.")
    }
    set(\.allowHistoryForClient) {
      declare.flag("allow_history_for_client", $0, "Users may read the history, subscribed or not.")
    }
    set(\.allowHistoryForAnonymous) {
      declare.flag("allow_history_for_anonymous", $0, "Anonymous clients may read the history, subscribed or not.")
    }
    set(\.allowPresenceForSubscriber) {
      declare.flag("allow_presence_for_subscriber", $0, "Subscribers may ask who is there.")
    }
    set(\.allowPresenceForClient) {
      declare.flag("allow_presence_for_client", $0, "Users may ask who is there, subscribed or not.")
    }
    set(\.allowPresenceForAnonymous) {
      declare.flag("allow_presence_for_anonymous", $0, "Anonymous clients may ask who is there, subscribed or not.")
    }
    set(\.allowUserLimitedChannels) {
      declare.flag(
        "allow_user_limited_channels", $0, "Allow names such as room#42,43, which only those users may subscribe to.")
    }
  }

  private mutating func ask(_ declare: inout SettingDeclarations) {
    set(\.subscribeProxy) {
      declare.flag(
        "subscribe_proxy_enabled", $0,
        "The backend says who may subscribe without a subscription token (proxies.subscribe), instead of allow_subscribe_for_client and its like."
      )
    }
    set(\.publishProxy) {
      declare.flag(
        "publish_proxy_enabled", $0,
        "The backend says what those who may publish do publish (proxies.publish).")
    }
    set(\.subRefreshProxy) {
      declare.flag(
        "sub_refresh_proxy_enabled", $0,
        "The server asks the backend whether a subscription that expires goes on (proxies.sub_refresh).")
    }
  }

  private mutating func form(_ declare: inout SettingDeclarations) {
    set(\.allowDelta) {
      declare.flag(
        "allow_delta", $0,
        "Subscribers that ask for it get a publication as a patch against the one before, where that is smaller; costs a comparison for each publication, and memory for the newest payload of each such channel."
      )
    }
    set(\.durability) {
      declare.choice(
        "durability", $0,
        "memory: gone with the broker; relaxed: on disk within 10 ms; durable: acknowledged means on disk.")
    }
    set(\.dataFormat) { declare.choice("publication_data_format", $0, "json: data must be JSON; binary: any bytes.") }
    set(\.lane) {
      declare.choice(
        "lane", $0, among: Lane.allCases, named: \.name,
        "publications: nothing is left out for a reader; receipts, then typing: go out later, and a reader that lags gets the newest per key only, so neither goes with history or positioning."
      )
    }
    set(\.publishIntervalMilliseconds) {
      declare.milliseconds(
        "publish_interval", $0, in: .zero ... .minutes(10),
        "Of what one client publishes on a channel, or for a key of a map, sooner than this after its last publication, the last value is published when the interval is over; all are acknowledged at once."
      )
    }
    set(\.allowEditForAuthor) {
      declare.flag(
        "allow_edit_for_author", $0, "Whoever may publish may replace and remove what they published; needs history.")
    }
    set(\.followsChannel) {
      declare.flag(
        "follows_channel", $0,
        "Channels belong to the one named after the namespace, receipts:chat:42 to chat:42: who may subscribe there may subscribe here, and who is subscribed there may publish here where allow_publish_for_subscriber is on."
      )
    }
    set(\.push) {
      declare.flag(
        "push", $0,
        "Whom a channel's name lists (inbox:#ann,bob) is notified of what is published there and no device of theirs has acknowledged; goes with push.notifications."
      )
    }
    set(\.kind) {
      declare.choice(
        "kind", $0,
        "stream: publications one after another; map: the last value of each key; shared_poll: keys of which your backend is asked what they are, once for all clients that track them (proxies.shared_poll_refresh)."
      )
    }
  }

  private mutating func map(_ declare: inout SettingDeclarations) {
    set(\.mapMode) {
      declare.choice(
        "map_mode", $0,
        "ephemeral: in memory, read anew by whoever was away; recoverable: in memory, with changes to recover from; persistent: the same on disk, and acknowledged means on disk."
      )
    }
    set(\.mapOrder) {
      declare.choice("map_order", $0, "Order of a map's entries: by key, or by score, ascending or descending.")
    }
    set(\.mapScore) {
      declare.choice(
        "map_score", $0,
        "Where an entry's score comes from: the client, or the time at which its key was created or updated.")
    }
    set(\.mapTTLMilliseconds) {
      declare.milliseconds(
        "map_ttl", $0, in: .zero ... .hours(24 * 366),
        "Time after which an entry goes that nobody writes again; 0: never.")
    }
    set(\.mapMaximumEntries) {
      declare.integer("map_max_entries", $0, in: 1...100_000, "Entries of one map; a new key beyond it is refused.")
    }
    set(\.mapKeyIsUser) { declare.flag("map_key_is_user", $0, "Clients write the key of their own user id alone.") }
    set(\.mapClientKey) {
      declare.choice(
        "map_client_key", $0,
        "Which key clients write. given: the one that they give; client_id: their client id, whatever they give, for which map_ttl must be set; user_id: their user id, whatever they give."
      )
    }
    set(\.mapPresence) {
      declare.choice(
        "map_presence", $0,
        "clients or users: who is on the channel named after the namespace, clients:chat:42 for chat:42, as a map by client id or user id; goes with follows_channel. none: a map that is written to."
      )
    }
  }

  private mutating func poll(_ declare: inout SettingDeclarations) {
    set(\.poll.mode) {
      declare.choice(
        "poll_mode", $0,
        "versionless: data that differs from what was there before is new; versioned: your backend gives each key a version that rises with each change."
      )
    }
    set(\.poll.intervalMilliseconds) {
      declare.milliseconds(
        "poll_interval", $0, in: .milliseconds(100) ... .hours(24),
        "Time from one question for a key of a shared poll to the next.")
    }
    set(\.poll.batchSize) {
      declare.integer(
        "poll_batch_size", $0, in: 1...10_000,
        "Keys in one call; what your backend answers has to fit into proxies.max_reply_bytes.")
    }
    set(\.poll.keysPerClient) {
      declare.integer(
        "poll_max_keys_per_client", $0, in: 1...100_000, "Keys that one subscription may track; more: error 106.")
    }
    set(\.poll.keysPerChannel) {
      declare.integer(
        "poll_max_keys", $0, in: 1...10_000_000,
        "Keys of one channel that all clients of a gateway may track together; more: error 106.")
    }
  }

  /// Fills in what a map's mode implies: how the map is kept, and a history of its changes for those who were away for a
  /// while.
  private mutating func settleMap() {
    guard options.mapMode != .ephemeral else { return }
    if options.mapMode == .persistent { options.durability = .durable }
    if options.historySize == 0 && options.historyTTLMilliseconds == 0 {
      options.historySize = 100
      options.historyTTLMilliseconds = 10 * 60 * 1000
    }
    options.forceRecovery = true
  }

  /// Reads the quotas of users. A persistent map has quotas where none is given, because its entries have no end of their
  /// own, as publications do: so somebody who means ill is bounded though the operator has not thought of it.
  private mutating func bound(_ declare: inout SettingDeclarations) {
    set(\.userQuotaBytes) {
      declare.bytes(
        "user_quota_bytes", $0, in: 0...mebibytes(1024 * 1024),
        "Bytes that one user may keep in the namespace: publications in histories and entries of maps, with 128 for each; what stands in a user's own channel, journal:#ada, is that user's, all else is its publisher's; more is refused with error 106. 0: no limit; where it is left out, 256MiB in persistent maps and no limit elsewhere."
      )
    }
    set(\.userQuotaEntries) {
      declare.integer(
        "user_quota_entries", $0, in: 0...1_000_000_000,
        "Publications in histories of streams and entries of maps that one user may keep in the namespace; more are refused with error 106. 0: no limit; where it is left out, 100000 in persistent maps and no limit elsewhere."
      )
    }
    guard options.kind == .map, options.mapMode == .persistent else { return }
    if place(\.userQuotaBytes).source == .standard { options.userQuotaBytes = mebibytes(256) }
    if place(\.userQuotaEntries).source == .standard { options.userQuotaEntries = 100_000 }
  }
}
