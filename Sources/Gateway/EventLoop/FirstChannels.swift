import Wire

/// The first channels by name of those that it is shown in any order, no more than are wanted.
///
/// A heap with the last of them on top: a hundred thousand channels are shown to it for the ten thousand that an answer
/// may name, and most are passed over after one comparison.
struct FirstChannels: Sendable {
  private let most: Int
  /// No entry comes behind the one that stands at half its place.
  private var heap: [ChannelCounts.Entry] = []
  private var hasMore = false

  init(_ most: UInt32) { self.most = Int(max(1, most)) }

  var counts: ChannelCounts { ChannelCounts(heap, hasMore: hasMore) }

  /// - Parameter entry: of a channel that was not shown before.
  mutating func add(_ entry: ChannelCounts.Entry) {
    if heap.count < most {
      heap.append(entry)
      return rise(from: heap.count - 1)
    }
    hasMore = true
    guard entry.channel < heap[0].channel else { return }
    heap[0] = entry
    sink()
  }

  private mutating func rise(from place: Int) {
    var place = place
    while place > 0 {
      let above = (place - 1) / 2
      guard heap[above].channel < heap[place].channel else { return }
      heap.swapAt(above, place)
      place = above
    }
  }

  private mutating func sink() {
    var place = 0
    while true {
      var last = place
      for below in [2 * place + 1, 2 * place + 2]
      where below < heap.count && heap[last].channel < heap[below].channel { last = below }
      if last == place { return }
      heap.swapAt(last, place)
      place = last
    }
  }
}
