import Wire

/// Keys, each with one time; the key with the earliest time is found at once.
///
/// A key stands in the index once, however often its time changes. A queue that took a new entry for each change would
/// grow with every write of a map's key and with every opening of a channel.
struct DueIndex<Key: Hashable> {
  /// A heap: no entry is due before its parent, which is the one at `(index - 1) / 2`.
  private var heap: [(time: Int64, key: Key)] = []
  /// The index of each key's entry in the heap.
  private var places: [Key: Int] = [:]

  var count: Int { heap.count }
  var nextTime: Int64? { heap.first?.time }

  subscript(key: Key) -> Int64? { places[key].map { heap[$0].time } }

  mutating func set(_ key: Key, at time: Int64) {
    guard let place = places[key] else {
      heap.append((time, key))
      return rise(from: heap.count - 1)
    }
    let before = heap[place].time
    if before == time { return }
    heap[place].time = time
    if time < before { rise(from: place) } else { sink(from: place) }
  }

  mutating func remove(_ key: Key) {
    guard let place = places.removeValue(forKey: key) else { return }
    let last = heap.removeLast()
    guard place < heap.count else { return giveBack() }
    let before = heap[place].time
    heap[place] = last
    places[last.key] = place
    if last.time < before { rise(from: place) } else { sink(from: place) }
    giveBack()
  }

  /// Takes out the key with the earliest time, if that is `limit` or earlier.
  mutating func next(upTo limit: Int64) -> Key? {
    guard let first = heap.first, first.time <= limit else { return nil }
    remove(first.key)
    return first.key
  }

  private mutating func giveBack() {
    heap.giveBackMemory()
    places.giveBackMemory()
  }

  private mutating func rise(from start: Int) {
    let entry = heap[start]
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard entry.time < heap[parent].time else { break }
      put(heap[parent], at: index)
      index = parent
    }
    put(entry, at: index)
  }

  private mutating func sink(from start: Int) {
    let entry = heap[start]
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].time < heap[child].time { child += 1 }
      guard heap[child].time < entry.time else { break }
      put(heap[child], at: index)
      index = child
    }
    put(entry, at: index)
  }

  private mutating func put(_ entry: (time: Int64, key: Key), at index: Int) {
    heap[index] = entry
    places[entry.key] = index
  }
}
