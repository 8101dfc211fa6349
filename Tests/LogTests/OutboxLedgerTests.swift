import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// The states of rows of the outbox, without a database.
@Suite("The ledger of the outbox", .ownThread)
struct OutboxLedgerTests {
  private let ledger = OutboxLedger()
  private let problem = ClientError.badRequest.saying("it is bad")
  private let passing = ClientError.internalError.saying("the disk is full")

  private func order() throws -> OutboxLedger.Order { try #require(ledger.next(after: .nanoseconds(0))) }

  private func handOut(_ rows: ClosedRange<Int64>, in round: Int = 1) -> Bool {
    ledger.handOut(rows.map { ($0, 10, false) }, in: round)
  }

  private func handOut(_ row: Int64, bytes: Int, in round: Int) -> Bool {
    ledger.handOut([(row, bytes, false)], in: round)
  }

  private func id(_ row: Int64, _ round: Int = 1) -> OutboxMessage.ID { .init(row: row, round: round) }

  @Test("A row that an entry has is gone with the entry's transaction, and nothing else is to be done")
  func carried() throws {
    #expect(handOut(1...2))
    #expect(ledger.carry(1))
    #expect(!ledger.carry(1), "two entries must not have one row")
    #expect(ledger.conclude(id(1), .published) == nil)
    #expect(try order().taken.sorted() == [1, 2])
    ledger.gone([1])
    #expect(try order().taken == [2])
    #expect(!ledger.carry(1) && !ledger.carry(3), "rows that were not handed out are nobody's")
  }

  @Test("A row that is published without an entry is deleted, and a refused one is put aside, once")
  func ended() {
    #expect(handOut(1...2))
    #expect(ledger.conclude(id(1), .published) == OutboxEnding(row: 1, refusal: nil))
    #expect(ledger.conclude(id(1), .published) == nil)
    #expect(ledger.conclude(id(2), .refused(problem)) == OutboxEnding(row: 2, refusal: problem))
    #expect(ledger.conclude(id(2), .failed(passing)) == nil)
    #expect(ledger.reject([2, 3], problem) == [OutboxEnding(row: 2, refusal: problem)])
  }

  @Test("After a failure nothing is handed out until all under way have ended, and then all is read again")
  func failure() throws {
    #expect(handOut(1...3))
    #expect(ledger.carry(2))
    #expect(ledger.conclude(id(1), .failed(passing)) == nil)
    #expect(!handOut(4...4), "a row behind the one that failed would overtake it")
    #expect(ledger.conclude(id(3), .failed(passing)) == nil)
    let next = Mutex<OutboxLedger.Order?>(nil)
    let (ledger, done) = (ledger, DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      let order = ledger.next(after: .nanoseconds(0))
      next.withLock { $0 = order }
      done.signal()
    }
    #expect(done.wait(timeout: .now() + .milliseconds(300)) == .timedOut, "row 2 is still under way")
    ledger.gone([2])
    done.wait()
    #expect(next.withLock { $0?.round } == 2)
    #expect(ledger.conclude(id(3), .refused(problem)) == nil, "what is said of an earlier round counts for nothing")
    #expect(!handOut(1...1) && handOut(1...1, in: 2))
  }

  @Test("A row that fails again and again is put aside with the last reason, so that others need not wait for ever")
  func stuck() throws {
    var round = 1
    for _ in 1..<OutboxLedger.mostFailures {
      // As after the pause, which is not waited for here.
      #expect(handOut(1...2, in: round))
      #expect(ledger.conclude(id(1, round), .failed(passing)) == nil)
      #expect(ledger.conclude(id(2, round), .failed(passing)) == nil)
      ledger.endPause()
      round = try order().round
    }
    #expect(handOut(1...2, in: round))
    #expect(ledger.conclude(id(1, round), .failed(passing)) == OutboxEnding(row: 1, refusal: passing))
    ledger.gone([1])
    #expect(ledger.carry(2), "the row behind it goes on")
  }

  @Test(
    "A row that another partition has sent waits, however often it fails, and is put aside where it is refused for good"
  )
  func relay() throws {
    var round = 1
    for _ in 0..<OutboxLedger.mostFailures + 10 {
      #expect(ledger.handOut([(1, 10, true), (2, 10, false)], in: round))
      #expect(ledger.conclude(id(1, round), .failed(passing)) == nil)
      #expect(ledger.conclude(id(2, round), .failed(passing)) == nil, "it is not the row behind it that is at fault")
      ledger.endPause()
      round = try order().round
    }
    #expect(ledger.handOut([(1, 10, true)], in: round))
    #expect(ledger.conclude(id(1, round), .refused(problem)) == OutboxEnding(row: 1, refusal: problem))
  }

  @Test("With a lease that was lost all rows are somebody else's, and with one that is back they are read again")
  func lease() throws {
    #expect(handOut(1...2))
    ledger.lost()
    #expect(!ledger.carry(1) && !handOut(3...3))
    #expect(ledger.conclude(id(1), .refused(problem)) == nil)
    ledger.regained()
    let order = try order()
    #expect(order.round > 1 && order.taken.isEmpty)
    #expect(handOut(1...1, in: order.round))
  }

  @Test("No more rows and bytes are under way than there is room for")
  func room() throws {
    #expect(try order().rows == OutboxLedger.mostRows)
    #expect(handOut(1, bytes: OutboxLedger.mostBytes - 1, in: 1))
    #expect(try order().bytes == 1)
    #expect(handOut(2, bytes: 5000, in: 1))
    let (ledger, done) = (ledger, DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      _ = ledger.next(after: .nanoseconds(0))
      done.signal()
    }
    #expect(done.wait(timeout: .now() + .milliseconds(100)) == .timedOut)
    ledger.gone([1])
    done.wait()
    ledger.close()
    #expect(ledger.next(after: .seconds(100)) == nil)
  }
}
