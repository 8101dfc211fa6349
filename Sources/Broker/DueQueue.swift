import DequeModule

/// Things in the order in which their time comes, so that looking for what is due never walks all of them.
///
/// Times must be added in rising order, or nearly: one that is out of order only waits for those before it.
struct DueQueue<Element> {
  private var entries: Deque<(time: Int64, element: Element)> = []
  /// Most that stood in it since its memory was last given back.
  private var largest = 0

  var count: Int { entries.count }
  var nextTime: Int64? { entries.first?.time }

  mutating func add(_ element: Element, at time: Int64) {
    entries.append((time, element))
    largest = max(largest, entries.count)
  }

  /// The first, where its time is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Element? {
    guard let first = entries.first, first.time <= limit else { return nil }
    entries.removeFirst()
    // What a flood took is given back when most of it is over.
    if largest > 1024 && entries.count < largest / 4 {
      entries = Deque(entries)
      largest = entries.count
    }
    return first.element
  }

  /// What waits, in order.
  func forEach(_ body: (Element) -> Void) { for entry in entries { body(entry.element) } }
}
