import Apps
import Wire

/// Which of an app's map channels in memory sum up which list (``App/source(of:)``). Only channels that are open count,
/// so a list that nobody sums up costs a look into an empty table when it changes.
struct ListFollowers {
  private var followers: [ChannelName: ChannelName] = [:]
  /// With more lists than this, those are removed whose follower is no longer open.
  private var limit = 1024

  var count: Int { followers.count }

  /// Notes that a channel which sums up a list was opened.
  mutating func add(_ follower: ChannelName, of list: ChannelName, unless isOpen: (ChannelName) -> Bool) {
    followers[list] = follower
    guard followers.count > limit else { return }
    followers = followers.filter { $0.value == follower || isOpen($0.value) }
    limit = max(1024, 2 * followers.count)
  }

  /// The channel that sums up the list; nil: none was opened.
  func follower(of list: ChannelName) -> ChannelName? { followers.isEmpty ? nil : followers[list] }

  mutating func remove(of list: ChannelName) {
    followers[list] = nil
    followers.giveBackMemory()
  }
}

extension BrokerCore {
  /// Called when an entry of a map channel has changed: what sums up the list is worked out again, once for many
  /// changes.
  func refreshFollower(of list: BrokerChannel, at time: BrokerTime) {
    guard list.options.app != nil, let host = hosts.host(of: list),
      let name = host.followers.follower(of: list.name)
    else { return }
    guard let map = channels[name]?.map else { return host.followers.remove(of: list.name) }
    for key in map.keys { refreshLater(.init(channel: name, key: key), of: host, at: time.monotonic) }
  }
}
