import Wire

extension SettingTable {
  static let client: [SettingKey] = [
    SettingKey(
      "client.max_message_bytes", .bytes(256...mebibytes(16)), .int(kibibytes(64)), "Largest message from a client."),
    SettingKey(
      "client.max_channel_name_bytes", .integer(1...1024), .int(255), "Longest channel name, in bytes of UTF-8."),
    SettingKey("client.max_channels", .integer(1...100_000), .int(128), "Subscriptions of one client."),
    SettingKey(
      "client.connect_timeout", .duration(100...minutes(10)), .int(seconds(10)),
      "Time for a client to sign in after its socket is open."),
    SettingKey(
      "client.ping_interval", .duration(seconds(1)...hours(1)), .int(seconds(25)), "Time between pings to a client."),
    SettingKey(
      "client.pong_timeout", .duration(100...hours(1)), .int(seconds(8)),
      "Time for a client to answer a ping; shorter than client.ping_interval."),
    SettingKey(
      "client.queue_bytes", .bytes(kibibytes(4)...mebibytes(1024)), .int(mebibytes(1)),
      "Bytes of publications that may wait for a slow client before it is disconnected; it reconnects and recovers. While more of what it asked for waits, it is read later."
    ),
    SettingKey(
      "client.slow_close_grace", .duration(50...minutes(10)), .int(seconds(1)),
      "Time for a client that was too slow to read what waits for it, and then the code 3008, before its connection is cut."
    ),
    SettingKey(
      "client.recovery_max_publications", .integer(1...100_000), .int(300), "Publications that one recovery gives."),
    SettingKey(
      "client.history_max_publications", .integer(1...100_000), .int(1000), "Publications that one history call gives."),
    SettingKey(
      "client.history_max_bytes", .bytes(kibibytes(64)...mebibytes(32)), .int(mebibytes(1)),
      "Bytes of one history answer or page of a map, which ends there; ask for the rest from its last publication or cursor."
    ),
    SettingKey(
      "client.recovery_max_bytes", .bytes(kibibytes(64)...mebibytes(32)), .int(mebibytes(16)),
      "Bytes of an answer that comes whole or not at all: a recovery, who is present, an ephemeral map."),
    SettingKey(
      "client.read_window_bytes", .bytes(kibibytes(64)...mebibytes(1024)), .int(mebibytes(2)),
      "Bytes of answers to one client's reads that may be under way; more reads wait, and go one at a time where one alone is larger."
    ),
    SettingKey(
      "client.max_commands_per_message", .integer(128...4096), .int(1000),
      "Commands in one message from a client; SDKs send all their subscribes in one after a reconnect."),
    SettingKey(
      "client.max_pending_requests", .integer(1...100_000), .int(256),
      "Requests of one client that may wait for the broker; while they do, it is read later."),
    SettingKey(
      "client.allow_anonymous_connect_without_token", .bool, .bool(false), "Let clients connect without a token."),
    SettingKey(
      "client.token_expiry_grace", .duration(0...hours(1)), .int(seconds(25)),
      "Time for a client to send a new token after the old one expired."),
    SettingKey(
      "client.request_timeout", .duration(100...minutes(10)), .int(seconds(10)),
      "Time for the broker to answer a client's request."),
    SettingKey(
      "client.user_personal_channel.enabled", .bool, .bool(false),
      "Subscribe every client with a user to a channel of that user's own."),
    SettingKey(
      "client.user_personal_channel.namespace", .string, .string(""), "Namespace of personal channels; empty: none."),
  ]

  /// The options of a namespace. Their defaults allow nothing.
  static let channelOptions: [SettingKey] = [
    SettingKey("presence", .bool, .bool(false), "Keep who is subscribed."),
    SettingKey("join_leave", .bool, .bool(false), "Tell when somebody joins or leaves."),
    SettingKey(
      "force_push_join_leave", .bool, .bool(false), "Send joins and leaves to every subscriber, asked or not."),
    SettingKey(
      "history_size", .integer(0...100_000), .int(0), "Publications kept per channel; goes with history_ttl."),
    SettingKey(
      "history_ttl", .duration(0...hours(24 * 366)), .int(0),
      "Time for which a publication is kept; goes with history_size."),
    SettingKey("force_recovery", .bool, .bool(false), "Every subscriber recovers what it missed, asked or not."),
    SettingKey(
      "force_positioning", .bool, .bool(false), "Every subscriber is told when it missed something, asked or not."),
    SettingKey("allow_subscribe_for_client", .bool, .bool(false), "Users may subscribe without a subscription token."),
    SettingKey(
      "allow_subscribe_for_anonymous", .bool, .bool(false),
      "Anonymous clients may subscribe without a subscription token."),
    SettingKey("allow_publish_for_subscriber", .bool, .bool(false), "Subscribers may publish."),
    SettingKey("allow_publish_for_client", .bool, .bool(false), "Users may publish, subscribed or not."),
    SettingKey(
      "allow_publish_for_anonymous", .bool, .bool(false),
      "Anonymous clients may publish, subscribed or not."),
    SettingKey("allow_history_for_subscriber", .bool, .bool(false), "Subscribers may read the history."),
    SettingKey("allow_history_for_client", .bool, .bool(false), "Users may read the history, subscribed or not."),
    SettingKey(
      "allow_history_for_anonymous", .bool, .bool(false),
      "Anonymous clients may read the history, subscribed or not."),
    SettingKey("allow_presence_for_subscriber", .bool, .bool(false), "Subscribers may ask who is there."),
    SettingKey("allow_presence_for_client", .bool, .bool(false), "Users may ask who is there, subscribed or not."),
    SettingKey(
      "allow_presence_for_anonymous", .bool, .bool(false),
      "Anonymous clients may ask who is there, subscribed or not."),
    SettingKey(
      "allow_user_limited_channels", .bool, .bool(false),
      "Allow names such as room#42,43, which only those users may subscribe to."),
    SettingKey(
      "durability", .choice(["memory", "relaxed", "durable"]), .string("memory"),
      "memory: gone with the broker; relaxed: on disk within 10 ms; durable: acknowledged means on disk."),
    SettingKey(
      "publication_data_format", .choice(["json", "binary"]), .string("json"),
      "json: data must be JSON; binary: any bytes."),
    SettingKey(
      "lane", .choice(Lane.allCases.map(\.name)), .string(Lane.publications.name),
      "publications: nothing is left out for a reader; receipts, then typing: go out later, and a reader that lags gets the newest per key only, so neither goes with history or positioning."
    ),
    SettingKey(
      "publish_interval", .duration(0...minutes(10)), .int(0),
      "Of what one client publishes on a channel, or for a key of a map, sooner than this after its last publication, the last value is published when the interval is over; all are acknowledged at once."
    ),
    SettingKey(
      "allow_edit_for_author", .bool, .bool(false),
      "Whoever may publish may replace and remove what they published; needs history."),
    SettingKey(
      "follows_channel", .bool, .bool(false),
      "Channels belong to the one named after the namespace, receipts:chat:42 to chat:42: who may subscribe there may subscribe here, and who is subscribed there may publish here where allow_publish_for_subscriber is on."
    ),
    SettingKey(
      "kind", .choice(ChannelKind.allCases.map(\.rawValue)), .string(ChannelKind.stream.rawValue),
      "stream: publications one after another; map: the last value of each key."),
    SettingKey(
      "map_mode", .choice(MapMode.allCases.map(\.rawValue)), .string(MapMode.ephemeral.rawValue),
      "ephemeral: in memory, read anew by whoever was away; recoverable: in memory, with changes to recover from; persistent: the same on disk, and acknowledged means on disk."
    ),
    SettingKey(
      "map_order", .choice(MapOrder.allCases.map(\.rawValue)), .string(MapOrder.key.rawValue),
      "Order of a map's entries: by key, or by score, ascending or descending."),
    SettingKey(
      "map_score", .choice(MapScore.allCases.map(\.rawValue)), .string(MapScore.client.rawValue),
      "Where an entry's score comes from: the client, or the time at which its key was created or updated."),
    SettingKey(
      "map_ttl", .duration(0...hours(24 * 366)), .int(0),
      "Time after which an entry goes that nobody writes again; 0: never."),
    SettingKey(
      "map_max_entries", .integer(1...100_000), .int(1000), "Entries of one map; a new key beyond it is refused."),
    SettingKey("map_key_is_user", .bool, .bool(false), "Clients write the key of their own user id alone."),
    SettingKey(
      "user_quota_bytes", .bytes(0...mebibytes(1024 * 1024)), .int(0),
      "Bytes that one user may keep in the namespace: publications in histories and entries of maps, with 128 for each; what stands in a user's own channel, journal:#ada, is that user's, all else is its publisher's; more is refused with error 106. 0: no limit; where it is left out, 256MiB in persistent maps and no limit elsewhere."
    ),
    SettingKey(
      "user_quota_entries", .integer(0...1_000_000_000), .int(0),
      "Publications in histories of streams and entries of maps that one user may keep in the namespace; more are refused with error 106. 0: no limit; where it is left out, 100000 in persistent maps and no limit elsewhere."
    ),
  ]
}
