import Wire

/// A user who owns channels that are kept in memory: how many, and how much stands in them.
///
/// An object that the user's channels share, so that counting what a publication adds needs no look-up.
public final class ChannelOwner {
  public let user: String
  public internal(set) var channels = 0
  /// Bytes of the publications that are kept in the user's channels, whoever published them.
  public internal(set) var bytes = 0

  init(user: String) { self.user = user }
}

/// The owners of channels, by the bytes of their names. An owner without channels is forgotten.
struct ChannelOwners {
  private var byUser: [[UInt8]: ChannelOwner] = [:]

  var count: Int { byUser.count }

  subscript(user: String) -> ChannelOwner? { byUser[Array(user.utf8)] }

  mutating func adding(_ user: String) -> ChannelOwner {
    let owner = self[user] ?? ChannelOwner(user: user)
    byUser[Array(user.utf8)] = owner
    owner.channels += 1
    return owner
  }

  mutating func remove(_ owner: ChannelOwner) {
    owner.channels -= 1
    if owner.channels == 0 { byUser[Array(owner.user.utf8)] = nil }
    byUser.giveBackMemory()
  }
}
