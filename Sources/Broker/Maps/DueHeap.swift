/// Things by the time at which they are due, added in any order: the next is found at once.
struct DueHeap<Element> {
  private var entries: [(time: Int64, element: Element)] = []

  var nextTime: Int64? { entries.first?.time }

  mutating func add(_ element: Element, at time: Int64) {
    entries.append((time, element))
    var index = entries.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].time < entries[parent].time else { return }
      entries.swapAt(index, parent)
      index = parent
    }
  }

  /// The first, where its time is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Element? {
    guard let first = entries.first, first.time <= limit else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      sink()
    }
    return first.element
  }

  private mutating func sink() {
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
        if entries[child].time < entries[least].time { least = child }
      }
      if least == index { return }
      entries.swapAt(index, least)
      index = least
    }
  }
}
