/// A double-ended queue in one buffer: append, drop at either end and subscript are O(1).
///
/// An array would move everything on each trim of the oldest publication.
struct Ring<Element> {
  /// Slots that an empty ring may keep. One that held 65,536 elements once gives its buffer back.
  private static var emptyRoom: Int { 64 }

  private var slots: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : self[0] }
  var last: Element? { isEmpty ? nil : self[count - 1] }

  subscript(index: Int) -> Element {
    get {
      precondition(index >= 0 && index < count, "a ring was read outside of its elements")
      guard let element = slots[slot(of: index)] else { preconditionFailure("a ring lost an element") }
      return element
    }
    set {
      precondition(index >= 0 && index < count, "a ring was written outside of its elements")
      slots[slot(of: index)] = newValue
    }
  }

  mutating func append(_ element: consuming Element) {
    growIfFull()
    slots[slot(of: count)] = consume element
    count += 1
  }

  mutating func prepend(_ element: Element) {
    growIfFull()
    head = (head &- 1) & (slots.count - 1)
    slots[head] = element
    count += 1
  }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head].take()
    head = (head + 1) & (slots.count - 1)
    count -= 1
    if count == 0 && slots.count > Self.emptyRoom { removeAll() }
    return element
  }

  @discardableResult
  mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    let index = slot(of: count - 1)
    let element = slots[index].take()
    count -= 1
    return element
  }

  /// Empties the ring, and gives its buffer back.
  mutating func removeAll() { self = Ring() }

  private func slot(of index: Int) -> Int { (head + index) & (slots.count - 1) }

  /// The capacity is a power of two, so that wrapping around is a mask.
  private mutating func growIfFull() {
    guard count == slots.count else { return }
    var larger: [Element?] = []
    larger.reserveCapacity(max(4, count * 2))
    for index in 0..<count { larger.append(slots[slot(of: index)].take()) }
    larger.append(contentsOf: repeatElement(nil, count: max(4, count * 2) - count))
    slots = larger
    head = 0
  }
}
