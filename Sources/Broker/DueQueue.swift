/// Things in the order in which their time comes, so that looking for what is due never walks all of them.
///
/// Times must be added in rising order, or nearly: one that is out of order only waits for those before it.
struct DueQueue<Element> {
  private var entries: [(time: Int64, element: Element)] = []
  private var head = 0

  mutating func add(_ element: Element, at time: Int64) { entries.append((time, element)) }

  /// The first, where its time is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Element? {
    guard head < entries.count, entries[head].time <= limit else { return nil }
    defer {
      head += 1
      if head > 1024 && head * 2 > entries.count {
        entries.removeFirst(head)
        head = 0
      }
    }
    return entries[head].element
  }
}
