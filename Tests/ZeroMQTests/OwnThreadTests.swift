import TestSupport
import Testing

/// What the tests of sockets rest on.
@Suite("A thread of a test's own", .ownThread)
struct OwnThreadTests {
  private static func isThere() -> Bool { OwnThreadExecutor.isCurrent }

  @Test("A test that blocks runs there, and not on the pool")
  func blocks() { #expect(Self.isThere()) }

  @Test("A test that waits comes back to it, and so do its child tasks")
  func waits() async {
    var rounds = 0
    let isLast = await TestSupport.eventually {
      rounds += 1
      return rounds == 3
    }
    #expect(isLast && Self.isThere())
    async let child = Self.isThere()
    let other = await withTaskGroup { group in
      group.addTask { Self.isThere() }
      return await group.next() ?? false
    }
    let isThere = await child
    #expect(isThere && other)
  }

  @Test("What comes after its end still runs")
  func late() async {
    let executor = OwnThreadExecutor()
    executor.end()
    let isThere = await withTaskExecutorPreference(executor) { Self.isThere() }
    #expect(isThere)
  }
}
