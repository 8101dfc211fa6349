import Dispatch
import Log
import Testing
import Wire

@testable import Search

@Suite("Searches that wait")
struct SearchQueueTests {
  private func add(_ user: String, to queue: SearchQueue) -> LogError? {
    queue.add(.init(query: .init(channels: [], text: "x", audience: nil, limit: 1, user: user), done: { _ in }))
  }

  @Test("one user fills a share of the queue and no more, whatever others do")
  func share() {
    let queue = SearchQueue(limit: 10, userLimit: 3)
    for _ in 0..<3 { #expect(add("ann", to: queue) == nil) }
    #expect(add("ann", to: queue) == .backlog(bytes: 3))
    for user in ["bob", "e\u{301}", "\u{E9}"] { #expect(add(user, to: queue) == nil) }
    // What was taken up waits no longer.
    guard case .search(let first) = queue.next(until: .now()) else {
      Issue.record("nothing waits")
      return
    }
    #expect(first.query.user == "ann")
    #expect(add("ann", to: queue) == nil)
    #expect(add("ann", to: queue) != nil)
    // Searches without a user are bounded together, as one user's are.
    for _ in 0..<4 { #expect(add("", to: queue) == nil) }
    #expect(add("", to: queue) != nil)
    #expect(queue.takeRest().count == 10)
    for _ in 0..<3 { #expect(add("ann", to: queue) == nil) }
  }
}
