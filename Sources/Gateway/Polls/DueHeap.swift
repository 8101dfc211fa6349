/// Names by the time at which they are due, the first at hand: a binary heap.
///
/// A name may stand in it several times. Whoever takes one looks whether that time still counts.
struct DueHeap<Name> {
  private var entries: [(at: Int64, name: Name)] = []

  /// When the first is due; nil: there is none.
  var next: Int64? { entries.first?.at }
  var count: Int { entries.count }

  mutating func insert(_ name: Name, at time: Int64) {
    entries.append((time, name))
    var place = entries.count - 1
    while place > 0, entries[place].at < entries[(place - 1) / 2].at {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Takes the first where it is due by now.
  mutating func take(by now: Int64) -> (at: Int64, name: Name)? {
    guard let first = entries.first, first.at <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var place = 0
    while true {
      var least = place
      for child in (2 * place + 1)..<(2 * place + 3) where child < entries.count {
        if entries[child].at < entries[least].at { least = child }
      }
      guard least != place else { return first }
      entries.swapAt(place, least)
      place = least
    }
  }
}
