import Wire

/// The different filters that clients of one event loop have on each channel, or are about to have.
///
/// Every publication of a channel is held against each of them, so their number is bounded; a client with one that is
/// there already, as most of an app's clients, is always let in. What the server lets somebody see is not counted: no
/// client makes that.
struct ChannelFilters {
  private struct UnderWay: Hashable {
    let connection: UInt64
    let tag: UInt64
  }

  private struct Place {
    let channel: ChannelName
    let filter: FilterKey
  }

  let most: Int
  /// By channel: how many have each filter.
  private var counts: [ChannelName: [FilterKey: Int]] = [:]
  /// Of subscribes that are not answered yet.
  private var underWay: [UnderWay: Place] = [:]

  init(most: Int) { self.most = most }

  /// On channels that have any.
  var channelCount: Int { counts.count }

  var refusal: ClientError {
    .limitExceeded.saying(
      "the channel has \(most) different filters already; subscribe with one that others use, or with none")
  }

  /// A subscribe is on its way to the broker. Followed by ``end(connection:tag:)``, once.
  ///
  /// - Returns: false where the filter would be one too many.
  mutating func begin(_ source: RequestSource, _ channel: ChannelName, _ asked: TagFilter) -> Bool {
    let filter = FilterKey(asked)
    if let filters = counts[channel], filters.count >= most, filters[filter] == nil { return false }
    add(filter, to: channel)
    underWay[UnderWay(connection: source.connection, tag: source.tag)] = Place(channel: channel, filter: filter)
    return true
  }

  mutating func end(connection: UInt64, tag: UInt64) {
    guard !underWay.isEmpty, let place = underWay.removeValue(forKey: UnderWay(connection: connection, tag: tag))
    else { return }
    remove(place.filter, from: place.channel)
  }

  /// A subscriber sits on the channel.
  mutating func add(_ filter: FilterKey, to channel: ChannelName) {
    counts[channel, default: [:]][filter, default: 0] += 1
  }

  mutating func remove(_ filter: FilterKey, from channel: ChannelName) {
    guard let count = counts[channel]?[filter] else { return }
    counts[channel]?[filter] = count > 1 ? count - 1 : nil
    if counts[channel]?.isEmpty == true { counts[channel] = nil }
  }
}
