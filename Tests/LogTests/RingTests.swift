import TestSupport
import Testing

@testable import Log

@Suite struct RingTests {
  @Test("A ring gives back what a deque would, whatever the order of the operations")
  func matchesAnArray() {
    var generator = SeededGenerator(seed: 7)
    var ring = Ring<Int>()
    var array: [Int] = []
    for step in 0..<20_000 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<4:
        ring.append(step)
        array.append(step)
      case 4..<6:
        ring.prepend(step)
        array.insert(step, at: 0)
      case 6..<8:
        let first: Int? = array.isEmpty ? nil : array.removeFirst()
        #expect(ring.popFirst() == first)
      case 8: #expect(ring.popLast() == array.popLast())
      default:
        #expect(ring.count == array.count)
        #expect(ring.first == array.first)
        #expect(ring.last == array.last)
        if let index = array.indices.randomElement(using: &generator) { #expect(ring[index] == array[index]) }
      }
    }
    #expect((0..<ring.count).map { ring[$0] } == array)
  }

  @Test("The least recently touched slot comes first in a recency list")
  func recencyOrder() {
    var list = RecencyList()
    for slot in [0, 1, 2, 3, 1, 0] { list.touch(slot) }
    list.remove(3)
    list.remove(3)
    var order: [Int] = []
    var slot = list.first
    while let current = slot {
      order.append(current)
      slot = list.after(current)
    }
    #expect(order == [2, 1, 0])
    for slot in [0, 1, 2] { list.remove(slot) }
    #expect(list.first == nil)
  }

  @Test("An epoch has eight characters of a to z and 0 to 9, and is its generator's")
  func epochs() {
    var a = SeededGenerator(seed: 1)
    var b = SeededGenerator(seed: 1)
    let epoch = Epoch.random(using: &a)
    #expect(epoch.utf8.count == 8)
    #expect(epoch.utf8.allSatisfy { Epoch.alphabet.contains($0) })
    #expect(epoch == Epoch.random(using: &b))
    #expect(epoch != Epoch.random(using: &a))
  }
}
