import Dispatch
import TestSupport
import Testing
import ZeroMQ

@Suite(.ownThread) struct MailboxTests {
  /// Reports what its mailbox brings.
  private final class Reader: BackboneParticipant {
    var isClosed = false
    func tick(now: UInt64) -> UInt64? { nil }
    func close() { isClosed = true }
  }

  private static func loop<Element>(
    _ mailbox: Mailbox<Element>, messagesPerRound: Int = 256,
    _ handler: @escaping @Sendable (Element) -> Void
  ) throws -> BackboneThread {
    try BackboneThread.start(messagesPerRound: messagesPerRound, onFailure: { Issue.record($0) }) { loop in
      let reader = Reader()
      loop.receive(from: mailbox, for: reader) { _, element in handler(element) }
      return [reader]
    }
  }

  @Test("Elements of many producers arrive complete and in each producer's order", .timeLimit(.minutes(15)))
  func order() throws {
    struct Element: Sendable {
      let producer: Int
      let number: Int
    }
    final class Checker: @unchecked Sendable {  // touched by the loop's thread only, until it reports
      var next = [Int](repeating: 0, count: 8)
      var total = 0
      var isOrdered = true
    }
    let (producers, each) = (8, 20_000)
    let mailbox = Mailbox<Element>(capacity: producers * each)
    let checker = Checker()
    let done = Report<Bool>()
    let thread = try Self.loop(mailbox, messagesPerRound: 7) { element in
      if checker.next[element.producer] != element.number { checker.isOrdered = false }
      checker.next[element.producer] = element.number + 1
      checker.total += 1
      if checker.total == producers * each { done.post(checker.isOrdered) }
    }
    DispatchQueue.concurrentPerform(iterations: producers) { producer in
      var number = 0
      while number < each {
        if number.isMultiple(of: 3) {
          let batch = (number..<min(number + 5, each)).map { Element(producer: producer, number: $0) }
          if !mailbox.post(contentsOf: batch) { Issue.record("refused") }
          number += batch.count
        } else {
          if !mailbox.post(Element(producer: producer, number: number)) { Issue.record("refused") }
          number += 1
        }
      }
    }
    try done.next()
    #expect(done.all == [true])
    thread.stop()
  }

  @Test("A post to a loop that falls asleep is never lost", .timeLimit(.minutes(15)))
  func wakes() throws {
    let mailbox = Mailbox<Int>(capacity: 4)
    let answered = Report<Int>()
    let thread = try Self.loop(mailbox) { answered.post($0) }
    // Each post finds the loop somewhere between its last look and its sleep.
    for number in 0..<20_000 {
      #expect(mailbox.post(number))
      try answered.next()
    }
    #expect(answered.all == Array(0..<20_000))
    thread.stop()
  }

  @Test("What was posted without waking the loop arrives with the next wake-up, in order", .timeLimit(.minutes(15)))
  func quietPosts() throws {
    let mailbox = Mailbox<Int>(capacity: 8)
    let seen = Report<Int>()
    let thread = try Self.loop(mailbox) { seen.post($0) }
    for round in 0..<1000 {
      #expect(mailbox.post(2 * round, wakes: false))
      if round.isMultiple(of: 2) {
        #expect(mailbox.post(2 * round + 1))
      } else {
        #expect(mailbox.post(2 * round + 1, wakes: false))
        mailbox.wake()
      }
      try seen.next()
      try seen.next()
    }
    #expect(seen.all == Array(0..<2000))
    thread.stop()
  }

  @Test("What was posted before a loop receives from the mailbox arrives too")
  func postedBefore() throws {
    let mailbox = Mailbox<Int>(capacity: 4)
    #expect(mailbox.post(1))
    let seen = Report<Int>()
    let thread = try Self.loop(mailbox) { seen.post($0) }
    try seen.next()
    #expect(seen.all == [1])
    thread.stop()
  }

  @Test("A full mailbox refuses, in units of cost, and takes one oversized element when empty")
  func bounded() {
    let mailbox = Mailbox<Int>(capacity: 10)
    #expect(mailbox.post(1, cost: 6))
    #expect(!mailbox.post(2, cost: 5))
    #expect(mailbox.post(3, cost: 4))
    #expect(!mailbox.post(contentsOf: [4, 5]))
    #expect(!mailbox.post(6, cost: .max))
    #expect(Mailbox<Int>(capacity: 10).post(1, cost: 11))
    #expect(mailbox.post(4, cost: 0), "what costs nothing always has room")
  }

  @Test("What a mailbox took reaches the handler although the loop stops; later posts are refused")
  func stopped() throws {
    let mailbox = Mailbox<Int>(capacity: .max)
    let seen = Report<Int>()
    let thread = try Self.loop(mailbox, messagesPerRound: 1) { seen.post($0) }
    var taken = 0
    for number in 0..<1000 where mailbox.post(number) { taken += 1 }
    thread.stop()
    #expect(seen.all.count == taken)
    #expect(!mailbox.post(1))
  }
}
