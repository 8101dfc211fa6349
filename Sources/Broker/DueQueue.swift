import Wire

/// Things in the order in which their time comes, so that looking for what is due never walks all of them.
///
/// Times must be added in rising order, or nearly: one that is out of order only waits for those before it.
struct DueQueue<Element> {
  private var entries: [(time: Int64, element: Element)] = []
  private var head = 0

  var count: Int { entries.count - head }
  var nextTime: Int64? { head < entries.count ? entries[head].time : nil }

  mutating func add(_ element: Element, at time: Int64) { entries.append((time, element)) }

  /// The first, where its time is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Element? {
    guard head < entries.count, entries[head].time <= limit else { return nil }
    let element = entries[head].element
    head += 1
    if head == entries.count {
      entries.removeAll(keepingCapacity: entries.count <= 64)
      head = 0
    } else if head > 1024 && head * 2 > entries.count {
      entries.removeFirst(head)
      entries.giveBackMemory()
      head = 0
    }
    return element
  }

  /// What waits, in order.
  func forEach(_ body: (Element) -> Void) {
    for index in head..<entries.count { body(entries[index].element) }
  }
}
