import Wire

/// The different filters that clients of one event loop have on each channel, or are about to have.
///
/// Every publication of a channel is held against each of them, so their number is bounded, and that of all their
/// conditions; a client with a filter that is there already, as most of an app's clients have, is always let in. What
/// the server lets somebody see (the audience) is not counted: no client makes that.
struct ChannelFilters {
  private struct UnderWay: Hashable {
    let connection: UInt64
    let tag: UInt64
  }

  private struct Place {
    let channel: ChannelName
    let filter: FilterKey
  }

  private struct OfChannel {
    /// How many clients have each filter.
    var counts: [FilterKey: Int] = [:]
    var conditions = 0
  }

  let most: Int
  /// Conditions that the channel's filters may have on average, before the conditions limit it and not the filters.
  static let conditionsPerFilter = 16
  private var channels: [ChannelName: OfChannel] = [:]
  /// Filters of subscribes that are not answered yet.
  private var underWay: [UnderWay: Place] = [:]

  init(most: Int) { self.most = most }

  /// How many channels have filters.
  var channelCount: Int { channels.count }

  var refusal: ClientError {
    .limitExceeded.saying(
      "the channel's subscribers have as many different filters and conditions as are allowed; subscribe with a filter that "
        + "others use, with a shorter one, or with none")
  }

  /// Counts the filter of a subscribe that goes to the broker. Followed by ``end(connection:tag:)``, once.
  ///
  /// - Returns: false where the filter would be one too many.
  mutating func begin(_ source: RequestSource, _ channel: ChannelName, _ asked: TagFilter) -> Bool {
    let filter = FilterKey(asked)
    if let there = channels[channel], there.counts[filter] == nil, isFull(there, with: filter) { return false }
    add(filter, to: channel)
    underWay[UnderWay(connection: source.connection, tag: source.tag)] = Place(channel: channel, filter: filter)
    return true
  }

  private func isFull(_ there: OfChannel, with filter: FilterKey) -> Bool {
    there.counts.count >= most || (there.conditions + filter.conditions) / Self.conditionsPerFilter >= most
  }

  mutating func end(connection: UInt64, tag: UInt64) {
    guard !underWay.isEmpty, let place = underWay.removeValue(forKey: UnderWay(connection: connection, tag: tag))
    else { return }
    remove(place.filter, from: place.channel)
  }

  /// Counts the filter of a subscriber that sits on the channel.
  mutating func add(_ filter: FilterKey, to channel: ChannelName) {
    if channels[channel]?.counts[filter] == nil {
      channels[channel, default: OfChannel()].conditions += filter.conditions
    }
    channels[channel]?.counts[filter, default: 0] += 1
  }

  mutating func remove(_ filter: FilterKey, from channel: ChannelName) {
    guard let count = channels[channel]?.counts[filter] else { return }
    channels[channel]?.counts[filter] = count > 1 ? count - 1 : nil
    if count == 1 { channels[channel]?.conditions -= filter.conditions }
    if channels[channel]?.counts.isEmpty == true { channels[channel] = nil }
  }
}
