public import Wire

extension Settings {
  /// What the broker keeps, for how long, and for whom.
  public struct Keeping: Sendable, Equatable {
    public var idleChannelTimeout: Duration
    public var historyMetaTTL: Duration
    public var idleMapLifetime: Duration
    /// 0: half of what the machine has.
    public var memoryBytes: Int
    public var appCacheBytes: Int
    public var maxKeys: Int
    public var channelKeys: Int
    public var userKeys: Int
    public var channelRate: RateLimit
    public var channelMembers: Int
    public var userChannelRate: RateLimit
    public var userChannels: Int
    public var userMemoryBytes: Int
    public var userSearches: Int
  }
}

extension SettingsReader {
  var keeping: Settings.Keeping {
    .init(
      idleChannelTimeout: duration("broker.idle_channel_timeout"),
      historyMetaTTL: duration("broker.history_meta_ttl"), idleMapLifetime: duration("broker.idle_map_lifetime"),
      memoryBytes: int("broker.memory_bytes"), appCacheBytes: int("broker.app_cache_bytes"),
      maxKeys: int("broker.max_idempotency_keys"), channelKeys: int("broker.channel.max_idempotency_keys"),
      userKeys: int("broker.user.max_idempotency_keys"),
      channelRate: RateLimit(
        perSecond: int("broker.channel.publications_per_second"), burst: int("broker.channel.publications_burst")),
      channelMembers: int("broker.channel.max_members"),
      userChannelRate: RateLimit(
        perSecond: int("broker.user.channels_per_second"), burst: int("broker.user.channels_burst")),
      userChannels: int("broker.user.max_channels"), userMemoryBytes: int("broker.user.memory_bytes"),
      userSearches: int("broker.user.max_searches"))
  }
}
