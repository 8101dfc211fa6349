import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

/// An inbox whose writer would wait for company for an hour.
private final class CompanyScene: Sendable {
  let inbox = WriterInbox(backlogLimit: .max, relaxedDelayMilliseconds: 3_600_000, companyWait: .seconds(3600))
  private let channel: WriterChannel

  init() {
    channel = WriterChannel(
      name: "a", place: HotPlace(slot: 0, life: 0), storedEpoch: "e", durability: .durable,
      state: WriterChannel.State(top: 0))
  }

  func entry(transaction: UInt64 = 0) -> QueuedEntry {
    let entry = LogEntry(
      ticket: 1, channel: channel.name, epoch: "e", publication: Publication(offset: 1, data: []), durability: .durable,
      historySize: 1, historyTTLMilliseconds: 1)
    return QueuedEntry(entry: entry, channel: channel, cost: 1, transaction: transaction)
  }

  func add(_ count: Int) { for _ in 0..<count { #expect(inbox.add(entry()) == nil) } }

  func take() -> Int {
    var work: [WriterWork] = []
    _ = inbox.waitForWork(into: &work, retry: nil)
    return work.count
  }
}

@Suite("Company in a commit", .ownThread, .timeLimit(.minutes(5))) struct CompanyTests {
  @Test("Who is alone is not held up, whatever came before the last commit")
  func alone() throws {
    let scene = CompanyScene()
    for _ in 0..<3 {
      scene.add(1)
      #expect(scene.take() == 1)
    }
    // A transaction is one hand-over, so the writer waits for no company after it.
    #expect(scene.inbox.add(transaction: [scene.entry(transaction: 1), scene.entry(transaction: 1)]) == nil)
    #expect(scene.take() == 2)
    scene.add(1)
    #expect(scene.take() == 1)
  }

  @Test("As many are waited for as went into the commit before, and no more", arguments: 2...4)
  func company(_ count: Int) throws {
    let scene = CompanyScene()
    scene.add(count)
    #expect(scene.take() == count)
    let taken = Mutex<Int?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [scene] in
      let found = scene.take()
      taken.withLock { $0 = found }
      done.signal()
    }
    for _ in 1..<count { scene.add(1) }
    #expect(taken.withLock { $0 } == nil)
    scene.add(1)
    done.wait()
    #expect(taken.withLock { $0 } == count)
  }

  @Test("Nobody who asks for something else waits for company, nor does the end")
  func asked() throws {
    let scene = CompanyScene()
    scene.add(2)
    #expect(scene.take() == 2)
    scene.add(1)
    #expect(scene.inbox.ask(.scrub))
    #expect(scene.take() == 2)
    scene.add(2)
    #expect(scene.take() == 2)
    scene.add(1)
    scene.inbox.close()
    #expect(scene.take() == 1)
  }
}
