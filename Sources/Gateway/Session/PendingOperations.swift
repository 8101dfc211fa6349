/// The operations that wait for an answer, in the order of their tags.
///
/// Tags rise, and answers come mostly in the order of the requests: so this is a queue in which an answer finds its
/// operation at the front. The operation of an answer that comes out of turn is searched for, and leaves a gap.
struct PendingOperations {
  private struct Entry {
    let tag: UInt64
    /// Nil: answered.
    var operation: PendingOperation?
  }

  private var entries: [Entry] = []
  /// Every entry before this place was answered.
  private var front = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// - Parameter tag: higher than all before.
  mutating func append(_ operation: PendingOperation, tag: UInt64) {
    precondition(entries.isEmpty || entries[entries.count - 1].tag < tag, "tags rise")
    entries.append(Entry(tag: tag, operation: operation))
    count += 1
  }

  /// The operation, which is then forgotten; nil where there is none under this tag.
  mutating func removeValue(forKey tag: UInt64) -> PendingOperation? {
    guard let place = place(of: tag), let operation = entries[place].operation else { return nil }
    entries[place].operation = nil
    count -= 1
    tidy()
    return operation
  }

  /// - Parameter tag: for setting, that of an operation under way, or one higher than all before.
  subscript(tag: UInt64) -> PendingOperation? {
    get { place(of: tag).flatMap { entries[$0].operation } }
    set {
      guard let newValue else {
        _ = removeValue(forKey: tag)
        return
      }
      guard let place = place(of: tag) else { return append(newValue, tag: tag) }
      if entries[place].operation == nil { count += 1 }
      entries[place].operation = newValue
    }
  }

  func contains(where isMeant: (PendingOperation) -> Bool) -> Bool {
    entries[front...].contains { $0.operation.map(isMeant) ?? false }
  }

  mutating func updateValues(_ transform: (PendingOperation) -> PendingOperation?) {
    var rest = PendingOperations()
    for entry in entries[front...] {
      if let operation = entry.operation.flatMap(transform) { rest.append(operation, tag: entry.tag) }
    }
    self = rest
  }

  private func place(of tag: UInt64) -> Int? {
    var (low, high) = (front, entries.count)
    if low < high, entries[low].tag == tag { return low }
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].tag < tag { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].tag == tag ? low : nil
  }

  /// Drops what was answered when it is most of what is held, so that the work per answer is bounded.
  private mutating func tidy() {
    if count == 0 {
      entries.removeAll(keepingCapacity: entries.count <= 16)
      front = 0
      return
    }
    while front < entries.count, entries[front].operation == nil { front += 1 }
    if entries.count > 16, entries.count / 2 > count {
      entries.removeAll { $0.operation == nil }
      front = 0
    }
  }
}
