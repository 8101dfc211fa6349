/// What the broker keeps, for how long, and for whom.
extension SettingTable {
  static let brokerLimits: [SettingKey] = [
    SettingKey(
      "broker.idle_channel_timeout", .duration(seconds(1)...hours(24)), .int(minutes(1)),
      "Time after which a channel without subscribers leaves the memory; one without history is then forgotten."),
    SettingKey(
      "broker.history_meta_ttl", .duration(seconds(1)...hours(24 * 366)), .int(hours(24)),
      "Time after its last publication for which epoch and offset of a channel are known of which nothing is kept any more; in memory at most an hour."
    ),
    SettingKey(
      "broker.idle_map_lifetime", .duration(seconds(1)...hours(24 * 366)), .int(hours(24)),
      "Time after which a map that is in memory alone is forgotten, with its entries, if nobody writes it or is subscribed."
    ),
    SettingKey(
      "broker.memory_bytes", .bytes(0...mebibytes(1024 * 1024)), .int(0),
      "Memory that publications, maps and channels may take before more are refused with error 100; 0 means half of what the machine or its container has."
    ),
    SettingKey(
      "broker.app_cache_bytes", .bytes(mebibytes(1)...mebibytes(65_536)), .int(mebibytes(64)),
      "Memory for records of each app that are on disk as well."),
    SettingKey(
      "broker.max_idempotency_keys", .integer(1...100_000_000), .int(1_000_000),
      "Idempotency keys that are held at a time; a publication with one more is refused with error 111."),
    SettingKey(
      "broker.channel.publications_per_second", .integer(0...10_000_000), .int(10_000),
      "Publications of clients on one channel; 0: no limit; more are refused with error 111."),
    SettingKey(
      "broker.channel.publications_burst", .integer(1...10_000_000), .int(20_000),
      "How many of them at once, after a time of rest."),
    SettingKey(
      "broker.channel.max_members", .integer(1...10_000_000), .int(100_000),
      "Subscribers of one channel with presence or joins; one more is refused with error 106."),
    SettingKey(
      "broker.channel.max_idempotency_keys", .integer(1...65_536), .int(65_536), "Of the keys, those of one channel."),
    SettingKey(
      "broker.user.channels_per_second", .integer(0...1_000_000), .int(100),
      "Channels that come to be through one user's publications and joins; 0: no limit; more are refused with error 111."
    ),
    SettingKey(
      "broker.user.channels_burst", .integer(1...1_000_000), .int(2_000),
      "How many of them at once, after a time of rest."),
    SettingKey(
      "broker.user.max_channels", .integer(1...10_000_000), .int(5_000),
      "Channels with history in memory, or maps, that one user made and that are still kept; one more is refused with error 106."
    ),
    SettingKey(
      "broker.user.memory_bytes", .bytes(kibibytes(64)...mebibytes(1024 * 1024)), .int(mebibytes(64)),
      "Memory that the history of those channels may take before the user adds nothing more; refused with error 111."),
    SettingKey(
      "broker.user.max_idempotency_keys", .integer(1...100_000_000), .int(16_384), "Of the keys, those of one user."),
    SettingKey(
      "broker.user.max_searches", .integer(1...256), .int(8),
      "Searches of one user that wait; one more is refused with error 111."),
  ]
}
