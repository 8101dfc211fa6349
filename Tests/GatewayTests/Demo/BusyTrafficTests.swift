import TestSupport
import Testing

@testable import Gateway

@Suite("The traffic of the demo's busy channel")
struct BusyTrafficTests {
  @Test("A thousand messages a second, evenly, while somebody listens")
  func rate() {
    var traffic = BusyTraffic()
    #expect(traffic.due(at: 1000).isEmpty)
    traffic.heard(isListenedTo: true, at: 1000)
    #expect(traffic.due(at: 1000).isEmpty)
    var count = 0
    for look in 1...100 {
      let due = traffic.due(at: 1000 + Int64(look) * 10)
      #expect(due.count == 10)
      for _ in due { traffic.answered() }
      count += due.count
    }
    #expect(count == 1000 && traffic.unanswered == 0)
  }

  @Test("It ends when nobody listens any more, and begins without what was left out in between")
  func ends() {
    var traffic = BusyTraffic()
    traffic.heard(isListenedTo: true, at: 0)
    #expect(traffic.due(at: 5).count == 5)
    traffic.heard(isListenedTo: false, at: 10)
    #expect(traffic.due(at: 20).isEmpty && !traffic.isRunning)
    traffic.heard(isListenedTo: true, at: 60_000)
    #expect(traffic.due(at: 60_003).count == 3)
    // Hearing it again changes nothing.
    traffic.heard(isListenedTo: true, at: 60_005)
    #expect(traffic.due(at: 60_006).count == 3)
  }

  @Test("Each person's messages are counted without a gap, in turn")
  func numbers() {
    var traffic = BusyTraffic()
    traffic.heard(isListenedTo: true, at: 0)
    let due = traffic.due(at: 25)
    #expect(due.map(\.from) == BusyTraffic.people + BusyTraffic.people + BusyTraffic.people.prefix(5))
    #expect(due.filter { $0.from == "ada" }.map(\.number) == [1, 2, 3])
    #expect(due.filter { $0.from == "june" }.map(\.number) == [1, 2])
  }

  @Test(
    "Whatever the clock does and however late answers are, no look gives too much, and not too many wait",
    arguments: 0..<50)
  func bounds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var traffic = BusyTraffic()
    var time: Int64 = 0
    for _ in 0..<2000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: traffic.heard(isListenedTo: Bool.random(using: &random), at: time)
      case 1: for _ in 0..<min(Int.random(in: 0..<60, using: &random), traffic.unanswered) { traffic.answered() }
      default:
        let before = traffic.unanswered
        let due = traffic.due(at: time)
        #expect(due.count <= BusyTraffic.mostAtOnce && traffic.unanswered == before + due.count)
        #expect(traffic.isRunning || due.isEmpty)
      }
      #expect((0...BusyTraffic.mostUnanswered).contains(traffic.unanswered))
      // Back now and then, and far ahead.
      time += Int64.random(in: -5...500, using: &random)
    }
  }
}
