import Synchronization

/// Whose turn it is among `count`.
final class RoundRobin: Sendable {
  private let count: Int
  private let turn = Atomic<Int>(0)

  init(count: Int) { self.count = count }

  func next() -> Int { turn.wrappingAdd(1, ordering: .relaxed).oldValue % count }
}
