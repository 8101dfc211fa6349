import TestSupport
import Testing

@testable import HTTPClient

@Suite("The calls that wait")
struct CallQueueTests {
  private let start = ContinuousClock.now

  private func queue(limit: Int = 4, perHost: Int = 2) -> CallQueue<Int> {
    CallQueue(limit: limit, limitPerHost: perHost)
  }

  @Test("Calls of one host begin in order, and no more at once than its share")
  func order() {
    var queue = queue()
    for call in 1...4 { queue.append(call, to: "a", deadline: start) }
    #expect(queue.next()?.call == 1)
    #expect(queue.next()?.call == 2)
    #expect(queue.next() == nil)
    queue.finish("a")
    #expect(queue.next()?.call == 3)
    #expect(queue.next() == nil)
    #expect(queue.underWay == 2)
    #expect(queue.waiting == 1)
  }

  @Test("A host with a thousand calls does not keep another host's call waiting")
  func turns() {
    var queue = queue(limit: 4, perHost: 2)
    for call in 0..<1000 { queue.append(call, to: "busy", deadline: start) }
    queue.append(1000, to: "other", deadline: start)
    let began = (0..<3).compactMap { _ in queue.next() }
    #expect(began.map(\.host) == ["busy", "other", "busy"])
    #expect(queue.next() == nil)
  }

  @Test("No more calls are under way than the limit, whatever the hosts")
  func limit() {
    var queue = queue(limit: 3, perHost: 2)
    for call in 0..<10 { queue.append(call, to: "host \(call)", deadline: start) }
    #expect((0..<10).compactMap { _ in queue.next() }.count == 3)
    queue.finish("host 1")
    #expect(queue.next()?.call == 3)
    #expect(queue.next() == nil)
  }

  @Test("A call whose time is over is taken out, and the others go on")
  func overdue() {
    var queue = queue()
    queue.append(1, to: "a", deadline: start + .seconds(1))
    queue.append(2, to: "a", deadline: start + .seconds(3))
    queue.append(3, to: "b", deadline: start + .seconds(2))
    #expect(queue.earliestDeadline == start + .seconds(1))
    #expect(queue.removeOverdue(start).isEmpty)
    #expect(queue.removeOverdue(start + .seconds(2)).sorted() == [1, 3])
    #expect(queue.earliestDeadline == start + .seconds(3))
    #expect(queue.next()?.call == 2)
    #expect(queue.next() == nil)
    queue.finish("a")
    #expect(queue.hostCount == 0)
  }

  @Test("Nothing is kept of a host whose calls are over")
  func forgotten() {
    var queue = queue(limit: 8, perHost: 1)
    for round in 0..<100 {
      for call in 0..<20 { queue.append(call, to: "host \(round)-\(call % 7)", deadline: start) }
      while let next = queue.next() { queue.finish(next.host) }
    }
    #expect(queue.hostCount == 0)
    #expect(queue.waiting == 0)
    #expect(queue.underWay == 0)
  }

  @Test("What waits is given back whole at the end")
  func end() {
    var queue = queue()
    for call in 0..<6 { queue.append(call, to: "host \(call % 2)", deadline: start) }
    #expect(queue.next()?.call == 0)
    #expect(queue.removeAll().sorted() == [1, 2, 3, 4, 5])
    #expect(queue.next() == nil)
    #expect(queue.waiting == 0)
    queue.finish("host 0")
    #expect(queue.hostCount == 0)
  }

  @Test("Seeded: every call begins once or is overdue, in order per host, and no limit is passed", arguments: 1...200)
  func seeded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limit = Int.random(in: 1...5, using: &random)
    let perHost = Int.random(in: 1...3, using: &random)
    var queue = queue(limit: limit, perHost: perHost)
    var (now, next) = (start, 0)
    var underWay: [String] = []
    var over: Set<Int> = []
    var lastOf: [String: Int] = [:]
    for _ in 0..<400 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let host = "host \(Int.random(in: 0..<4, using: &random))"
        queue.append(next, to: host, deadline: now + .seconds(Int.random(in: 1...20, using: &random)))
        next += 1
      case 2:
        if let began = queue.next() {
          #expect(over.insert(began.call).inserted)
          #expect(lastOf[began.host] ?? -1 < began.call)
          lastOf[began.host] = began.call
          underWay.append(began.host)
        }
      case 3:
        if let index = underWay.indices.randomElement(using: &random) { queue.finish(underWay.remove(at: index)) }
      default:
        now += .seconds(1)
        for call in queue.removeOverdue(now) { #expect(over.insert(call).inserted) }
      }
      #expect(queue.underWay == underWay.count && underWay.count <= limit)
      #expect(Dictionary(grouping: underWay) { $0 }.values.allSatisfy { $0.count <= perHost })
      #expect(queue.waiting == next - over.count)
    }
    for host in underWay { queue.finish(host) }
    while let began = queue.next() {
      #expect(over.insert(began.call).inserted)
      queue.finish(began.host)
    }
    #expect(over.count == next)
    #expect(queue.hostCount == 0)
  }
}
