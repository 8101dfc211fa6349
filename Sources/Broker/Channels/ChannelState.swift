import Log
import Wire

/// Everything the broker holds of one channel that is in use.
final class ChannelState {
  let name: ChannelName
  let options: ChannelOptions
  let store: any LogStore
  var sequencer: Sequencer
  /// Gateways that asked for the channel.
  var interest: [UInt64] = []
  var members = Presence()
  var idempotency = IdempotencyKeys()
  /// Requests before a restart that made it to the log: their gateways may ask again.
  var recentOrigins: [RequestOrigin: UInt64]
  /// Changes that are not on disk yet, the last of each publication by its offset: the next one is made upon it.
  var editsUnderWay: [UInt64: EditUnderWay] = [:]
  /// Since when nobody is subscribed; nil while somebody is.
  var idleSince: Int64?
  /// The channel stands in the queue of those that may be forgotten, where it stands once.
  var isQueuedAsIdle = false
  /// How fast clients publish here.
  var rate = TokenLevel(.unlimited)
  /// Who made the channel, where it is kept in memory.
  var owner: ChannelOwner?
  /// Nil: users may keep as much here as they like.
  let quota: ChannelQuota?
  /// An app's records: neither subscribers nor taps get them.
  let isHidden: Bool
  /// On map channels.
  var map: MapState?

  init(name: ChannelName, options: ChannelOptions, store: any LogStore, opened: OpenedChannel, isHidden: Bool = false) {
    self.name = name
    self.isHidden = isHidden
    self.options = options
    self.store = store
    quota = options.hasUserQuota ? ChannelQuota(of: name, options) : nil
    sequencer = Sequencer(position: opened.position)
    recentOrigins = opened.recentOrigins
  }

  /// Nothing is under way, and nobody is there.
  var isAtRest: Bool {
    interest.isEmpty && members.isEmpty && sequencer.isIdle
  }

  /// Nothing would be lost that the log does not know, or an app cannot work out again.
  var canBeForgotten: Bool {
    isAtRest && (idempotency.isEmpty || options.durability != .memory)
      && (map?.isEmpty ?? true || options.mapMode == .persistent || options.app != nil)
  }
}

/// What a publication will be when an entry is on disk.
struct EditUnderWay {
  var ticket: UInt64
  var replacement: Publication
}
