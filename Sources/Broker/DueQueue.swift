import DequeModule

/// A queue of elements with their times, so that looking for what is due never walks all of them.
///
/// Elements must be added in the order of their times, or nearly so: one with an earlier time than its predecessor
/// comes out only after it.
struct DueQueue<Element> {
  private var entries: Deque<(time: Int64, element: Element)> = []
  /// Most elements that stood in the queue since its memory was last given back.
  private var largest = 0

  var count: Int { entries.count }
  var nextTime: Int64? { entries.first?.time }

  mutating func add(_ element: Element, at time: Int64) {
    entries.append((time, element))
    largest = max(largest, entries.count)
  }

  /// Takes out the first element, if its time is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Element? {
    guard let first = entries.first, first.time <= limit else { return nil }
    entries.removeFirst()
    // The memory of a flood is given back once three quarters of its elements are gone.
    if largest > 1024 && entries.count < largest / 4 {
      entries = Deque(entries)
      largest = entries.count
    }
    return first.element
  }

  /// Calls `body` for each element, first to last, and takes none out.
  func forEach(_ body: (Element) -> Void) { for entry in entries { body(entry.element) } }
}
