/// Slots from the least to the most recently used, as a linked list in arrays: every move is O(1).
struct RecencyList {
  private static let none = -1
  private var previous: [Int] = []
  private var next: [Int] = []
  private var isLinked: [Bool] = []
  private(set) var oldest = Self.none
  private var newest = Self.none

  /// The least recently used slot, or nil where the list is empty.
  var first: Int? { oldest == Self.none ? nil : oldest }

  func after(_ slot: Int) -> Int? { next[slot] == Self.none ? nil : next[slot] }

  /// Makes the slot the most recently used one.
  mutating func touch(_ slot: Int) {
    if slot == newest { return }
    while slot >= next.count {
      previous.append(Self.none)
      next.append(Self.none)
      isLinked.append(false)
    }
    remove(slot)
    isLinked[slot] = true
    previous[slot] = newest
    next[slot] = Self.none
    if newest == Self.none { oldest = slot } else { next[newest] = slot }
    newest = slot
  }

  mutating func remove(_ slot: Int) {
    guard slot < next.count, isLinked[slot] else { return }
    isLinked[slot] = false
    if previous[slot] == Self.none { oldest = next[slot] } else { next[previous[slot]] = next[slot] }
    if next[slot] == Self.none { newest = previous[slot] } else { previous[next[slot]] = previous[slot] }
  }
}
