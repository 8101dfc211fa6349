import Synchronization
import TestSupport
import Testing

/// How far people have come who do not know when it burns.
final class FireWatch: Sendable {
  private struct State {
    var isOver = false
    var steps = 0
    var failures: [String] = []
  }

  private let state = Mutex(State())

  var isOver: Bool { state.withLock { $0.isOver } }
  /// What was answered.
  var steps: Int { state.withLock { $0.steps } }
  /// Why people gave up.
  var failures: [String] { state.withLock { $0.failures } }

  func end() { state.withLock { $0.isOver = true } }
  func step() { state.withLock { $0.steps += 1 } }
  func fail(_ why: String) { state.withLock { $0.failures.append(why) } }

  /// Waits until so much more was answered, or somebody has given up.
  func goesOn(by count: Int) async throws {
    let before = steps
    let isDone = await eventually(within: .seconds(120)) { self.steps >= before + count || !self.failures.isEmpty }
    try #require(isDone, "\(steps - before) of \(count) steps in two minutes")
  }
}
