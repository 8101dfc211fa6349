/// How far a look at all channels in use has come that takes several turns.
///
/// A channel that is in use from the walk's beginning to its end is looked at, whatever comes and goes meanwhile. One
/// that comes later may be left out, and one that stays may be looked at twice.
///
/// Why that holds: channels stand in an array without gaps (``ChannelTable/order``), and a walk goes from its end to
/// its beginning, with ``left`` places still before it. A channel changes its place only when another is forgotten:
/// then the last one takes that place. Where the last one stood at `left` or behind it, it was looked at or has come
/// later, so nothing is lost wherever it goes. Where it stood before `left`, the freed place lies further before, so it
/// is still to be looked at.
struct ChannelWalk: Equatable {
  /// Places that are still to be looked at.
  fileprivate(set) var left: Int

  /// What one turn may spend: a channel costs one, and its entries as much as whoever looks says.
  static let costPerTurn = 1000
}

extension ChannelTable {
  /// Begins to look at all channels in use.
  func beginWalk() -> ChannelWalk { ChannelWalk(left: order.count) }

  /// Looks at the next channels, as many as one turn may.
  ///
  /// - Parameter look: looks at a channel, and may open and forget channels. Returns what that has cost beside the
  ///   channel itself.
  /// - Returns: whether there are more.
  func goOn(_ walk: inout ChannelWalk, _ look: (BrokerChannel) -> Int) -> Bool {
    var cost = 0
    while cost < ChannelWalk.costPerTurn {
      walk.left = min(walk.left, order.count) - 1
      guard walk.left >= 0 else {
        walk.left = 0
        return false
      }
      cost += 1 + look(order[walk.left])
    }
    return walk.left > 0
  }
}
