public import Wire

/// A filter that some subscribers of a channel have. One object for as long as anybody on this gateway has it there, so
/// that event loops know it again by a look at where it is.
public final class ChannelFilter: Sendable, Equatable {
  public let filter: TagFilter

  init(_ filter: TagFilter) { self.filter = filter }

  public static func == (a: ChannelFilter, b: ChannelFilter) -> Bool { a === b || a.filter == b.filter }
}

/// Where a publication goes on a channel of which some subscribers want, or may see, only a part.
public final class FilteredAudience: Sendable, Equatable {
  /// Loops and encodings of all whom it reaches.
  public let reached: Audience
  /// By event loop: the filters that subscribers there have and that it passes.
  public let filters: [[ChannelFilter]]

  init(reached: Audience, filters: [[ChannelFilter]]) {
    self.reached = reached
    self.filters = filters
  }

  public static func == (a: FilteredAudience, b: FilteredAudience) -> Bool {
    a === b || a.reached == b.reached && a.filters == b.filters
  }
}

/// Subscribers by event loop and encoding.
struct SubscriberCounts {
  /// `counts[loop * 2 + format]`
  private var counts: [Int]
  private(set) var audience = Audience()

  init(loops: Int) { counts = Array(repeating: 0, count: loops * 2) }

  mutating func add(loop: Int, format: WireFormat) {
    counts[loop * 2 + format.rawValue] += 1
    refreshAudience()
  }

  mutating func remove(loop: Int, format: WireFormat) {
    let index = loop * 2 + format.rawValue
    precondition(counts[index] > 0, "an unsubscribe without a subscribe: the session counts wrongly")
    counts[index] -= 1
    refreshAudience()
  }

  private mutating func refreshAudience() {
    audience = Audience()
    for loop in 0..<(counts.count / 2) {
      let json = counts[loop * 2 + WireFormat.json.rawValue] > 0
      let protobuf = counts[loop * 2 + WireFormat.protobuf.rawValue] > 0
      if json || protobuf { audience.loops |= 1 << UInt64(loop) }
      audience.json = audience.json || json
      audience.protobuf = audience.protobuf || protobuf
    }
  }
}

/// The filters of a channel's subscribers on this gateway, each with its own. Every publication is held against each of
/// them once, whatever the number of those who share it.
final class LinkFilters {
  private struct Entry {
    let filter: ChannelFilter
    var counts: SubscriberCounts
  }

  private let loops: Int
  private var entries: [Entry] = []
  private var places: [TagFilter: Int] = [:]

  init(loops: Int) { self.loops = loops }

  var isEmpty: Bool { entries.isEmpty }

  /// Of all who have a filter.
  var audience: Audience { entries.reduce(Audience()) { $0.union($1.counts.audience) } }

  func add(_ filter: TagFilter, loop: Int, format: WireFormat) {
    let place = places[filter] ?? entries.count
    if place == entries.count {
      places[filter] = place
      entries.append(Entry(filter: ChannelFilter(filter), counts: SubscriberCounts(loops: loops)))
    }
    entries[place].counts.add(loop: loop, format: format)
  }

  func remove(_ filter: TagFilter, loop: Int, format: WireFormat) {
    guard let place = places[filter] else { preconditionFailure("a subscriber's filter is among its channel's") }
    entries[place].counts.remove(loop: loop, format: format)
    guard entries[place].counts.audience.loops == 0 else { return }
    places[filter] = nil
    entries.swapAt(place, entries.count - 1)
    entries.removeLast()
    if place < entries.count { places[entries[place].filter.filter] = place }
  }

  /// - Parameter plain: those without a filter.
  /// - Returns: nil where the publication reaches nobody.
  func audience(of publication: Publication, and plain: Audience) -> FilteredAudience? {
    var reached = plain
    var filters: [[ChannelFilter]] = []
    for entry in entries where entry.filter.filter.matches(publication) {
      if filters.isEmpty { filters = Array(repeating: [], count: loops) }
      let audience = entry.counts.audience
      reached = reached.union(audience)
      for loop in 0..<loops where audience.includes(loop: loop) { filters[loop].append(entry.filter) }
    }
    return reached.loops == 0 ? nil : FilteredAudience(reached: reached, filters: filters)
  }
}
