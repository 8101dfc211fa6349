import Log
import Wire

/// Everything the broker holds of one channel that is in use.
final class BrokerChannel {
  let name: ChannelName
  let options: ChannelOptions
  let store: any LogStore
  var sequencer: Sequencer
  /// Gateways that asked for the channel.
  var interest: [UInt64] = []
  var members = Presence()
  var idempotency = IdempotencyKeys()
  /// Offsets of the publications that requests before a restart made: their gateways may repeat the requests.
  var recentOrigins: [RequestOrigin: UInt64]
  /// Edits that are not on disk yet, by the offset of the publication that they change; of each publication the last
  /// edit, upon which the next one is made.
  var editsUnderWay: [UInt64: EditUnderWay] = [:]
  /// Monotonic milliseconds since when nobody is subscribed; nil while somebody is.
  var idleSince: Int64?
  /// True while the channel stands in the queue of idle channels, in which it stands at most once.
  var isQueuedAsIdle = false
  /// The channel's index in ``ChannelTable/order``.
  var place = 0
  /// What is left of the rate at which clients may publish here.
  var rate = TokenLevel(.unlimited)
  /// The user who made the channel, where it is kept in memory; nil: nobody in particular.
  var owner: ChannelOwner?
  /// Nil where the namespace has no quota.
  let quota: ChannelQuota?
  /// Nil on hidden channels, whose publications are not counted.
  let namespace: NamespaceTally?
  /// What webhooks want of the channel; nil: nothing.
  var hooks: ChannelHooks?
  /// The people whom the channel's name names are notified of what is published.
  var tellsUsers = false
  /// True for channels of the broker itself, such as those of apps' records: no subscriber and no tap gets them.
  let isHidden: Bool
  /// What is known of publications that are not kept any more.
  var past = ChannelPast()
  /// The entries of a map channel; nil on others.
  var map: MapEntries?
  /// Channels in use that show who is here as a map. One that is in use no more is taken out when somebody comes or
  /// goes.
  var presenceMaps: [ChannelName] = []

  init(
    name: ChannelName, options: ChannelOptions, store: any LogStore, opened: OpenedChannel,
    namespace: NamespaceTally? = nil, isHidden: Bool = false
  ) {
    self.name = name
    self.namespace = namespace
    self.isHidden = isHidden
    self.options = options
    self.store = store
    quota = options.hasUserQuota ? ChannelQuota(of: name, options) : nil
    sequencer = Sequencer(position: opened.position)
    recentOrigins = opened.recentOrigins
  }

  /// No entry is under way, and nobody is subscribed or present.
  var isAtRest: Bool {
    interest.isEmpty && members.isEmpty && sequencer.isIdle
  }

  /// Whether the channel may be dropped from memory: all that would be lost is in the log, or an app can work it out
  /// again.
  var canBeForgotten: Bool {
    isAtRest && (idempotency.isEmpty || options.durability != .memory)
      && (map?.isEmpty ?? true || options.mapMode == .persistent || options.app != nil || options.mapPresence != .none)
  }
}

/// What a kept publication will be once the entry with the ticket is on disk.
struct EditUnderWay {
  var ticket: UInt64
  var replacement: Publication
}
