import Dispatch
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Rounds that are run by whoever posts.
@Suite("Turns", .ownThread) struct TurnTests {
  private final class Reader: BackboneParticipant {
    func tick(now: UInt64) -> UInt64? { nil }
    func close() {}
  }

  /// Notices where two threads are in a handler at once.
  private final class Checker: Sendable {
    let isInside = Atomic<Bool>(false)
    let overlaps = Atomic<Int>(0)
    let total = Atomic<Int>(0)
    let onThread = Atomic<Int>(0)
    let disorders = Atomic<Int>(0)
    let next = Mutex([Int](repeating: 0, count: 8))

    func handle(_ producer: Int, _ number: Int, isOnThread: Bool) {
      if isInside.exchange(true, ordering: .acquiring) { overlaps.add(1, ordering: .relaxed) }
      next.withLock { next in
        if next[producer] != number { disorders.add(1, ordering: .relaxed) }
        next[producer] = number + 1
      }
      if isOnThread { onThread.add(1, ordering: .relaxed) }
      total.add(1, ordering: .releasing)
      isInside.store(false, ordering: .releasing)
    }
  }

  private struct Element: Sendable {
    var producer: Int
    var number: Int
    var isForThread = false
  }

  private func loop(_ mailbox: Mailbox<Element>, _ checker: Checker) throws -> BackboneThread {
    try BackboneThread.start(messagesPerRound: 16, onFailure: { Issue.record($0) }) { loop in
      let reader = Reader()
      loop.receive(from: mailbox, for: reader, anywhere: { _, element in !element.isForThread }) { _, element in
        checker.handle(element.producer, element.number, isOnThread: loop.isOnThread)
      }
      return [reader]
    }
  }

  @Test(
    "What several threads post and run is handled once, one at a time, in order, and nothing is left lying",
    .timeLimit(.minutes(15)), arguments: [false, true])
  func many(someForThread: Bool) throws {
    let (producers, each) = (8, 5_000)
    let mailbox = Mailbox<Element>(capacity: producers * each)
    let checker = Checker()
    let thread = try loop(mailbox, checker)
    DispatchQueue.concurrentPerform(iterations: producers) { producer in
      for number in 0..<each {
        let isForThread = someForThread && number.isMultiple(of: 97)
        let element = Element(producer: producer, number: number, isForThread: isForThread)
        if !mailbox.post(element, wakes: false) { Issue.record("refused") }
        mailbox.run()
      }
    }
    #expect(try eventually { checker.total.load(ordering: .acquiring) == producers * each })
    #expect(checker.overlaps.load(ordering: .relaxed) == 0)
    #expect(checker.disorders.load(ordering: .relaxed) == 0)
    thread.stop()
  }

  @Test("Where nobody is at it, what is posted is handled before the call returns, on the thread that calls")
  func atOnce() throws {
    let mailbox = Mailbox<Element>(capacity: 8)
    let checker = Checker()
    let thread = try loop(mailbox, checker)
    // The first rounds are the thread's own.
    #expect(try eventually { tryOnce(mailbox, checker) })
    thread.stop()
  }

  private func tryOnce(_ mailbox: Mailbox<Element>, _ checker: Checker) -> Bool {
    let (handled, onThread) = (checker.total.load(ordering: .acquiring), checker.onThread.load(ordering: .relaxed))
    guard mailbox.post(Element(producer: 0, number: handled), wakes: false) else { return false }
    mailbox.run()
    // Where the loop's thread has the turn, it is done soon, and the next attempt finds the turn free.
    while checker.total.load(ordering: .acquiring) == handled {}
    return checker.onThread.load(ordering: .relaxed) == onThread
  }

  @Test("What is the loop's thread's alone waits for it, and so does what comes behind it")
  func forThread() throws {
    let mailbox = Mailbox<Element>(capacity: 8)
    let checker = Checker()
    let thread = try loop(mailbox, checker)
    for number in 0..<1000 {
      while !mailbox.post(Element(producer: 0, number: number, isForThread: true), wakes: false) { mailbox.run() }
      mailbox.run()
    }
    #expect(try eventually { checker.total.load(ordering: .acquiring) == 1000 })
    #expect(checker.onThread.load(ordering: .relaxed) == 1000)
    #expect(checker.disorders.load(ordering: .relaxed) == 0)
    thread.stop()
  }

  @Test("Running a loop that has ended does nothing")
  func ended() throws {
    let mailbox = Mailbox<Element>(capacity: 8)
    let checker = Checker()
    try loop(mailbox, checker).stop()
    #expect(!mailbox.post(Element(producer: 0, number: 0), wakes: false))
    mailbox.run()
    #expect(checker.total.load(ordering: .acquiring) == 0)
  }
}
