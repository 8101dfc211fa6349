/// Swift's collections keep the room that they once needed. A table that held a million channels for a minute would
/// keep the room for a million; `giveBackMemory` shrinks a collection when only an eighth of its room is in use.
private enum Sparse {
  /// Elements of the smallest room that is worth shrinking.
  static let smallest = 4096

  static func isSparse(count: Int, capacity: Int) -> Bool { capacity > smallest && count < capacity / 8 }
}

extension Array {
  public mutating func giveBackMemory() {
    guard Sparse.isSparse(count: count, capacity: capacity) else { return }
    // With half as much again, so that the next few elements move nothing.
    var smaller: [Element] = []
    smaller.reserveCapacity(count + count / 2)
    smaller.append(contentsOf: self)
    self = smaller
  }
}

extension Dictionary {
  public mutating func giveBackMemory() {
    guard Sparse.isSparse(count: count, capacity: capacity) else { return }
    var smaller = [Key: Value](minimumCapacity: count + count / 2)
    for (key, value) in self { smaller[key] = value }
    self = smaller
  }
}

extension Set {
  public mutating func giveBackMemory() {
    guard Sparse.isSparse(count: count, capacity: capacity) else { return }
    var smaller = Set<Element>(minimumCapacity: count + count / 2)
    for element in self { smaller.insert(element) }
    self = smaller
  }
}
