import TestSupport
import Testing
import Wire

@testable import Log

/// Reads and writes of one channel cross, in orders that the store's threads allow and hardly ever take.
@Suite("Reads that cross writes", .ownThread) struct CrossingTests {
  private let folder: TemporaryFolder
  private let subject: SQLiteSubject

  init() throws {
    folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.isStepped = true
    subject = try SQLiteSubject(folder.path, options: options)
  }

  private func append(_ name: ChannelName, _ offsets: ClosedRange<UInt64>, epoch: String, bytes: Int = 3) {
    for offset in offsets {
      subject.append(
        name, epoch: epoch, offset: offset, durability: .durable, data: Array(repeating: 0x31, count: bytes))
    }
    subject.store.step()
  }

  @Test("A tail that is filled late hides nothing that has left it meanwhile")
  func lateTail() throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    append(name, 1...10, epoch: epoch)
    try subject.store.removeHistory(of: name)
    subject.store.release(name)
    _ = try subject.store.open(name, durability: .durable)
    #expect(subject.store.ask(.page(name, LogRange(since: nil, through: .max, limit: .max))) == nil)
    append(name, 11...14, epoch: epoch, bytes: 100 << 10)
    subject.store.stepReaders()
    _ = subject.store.takeNews()
    #expect(try subject.offsets(name) == [11, 12, 13, 14])
  }

  @Test("One key is read with the position that opening its channel would have, and opens nothing")
  func oneKey() throws {
    let (name, other) = (try channel("m"), try channel("never written"))
    let opened = try subject.store.open(name, durability: .durable).position
    let write = Publication(offset: 1, time: 1, data: [7], change: KeyChange(key: "a"))
    _ = subject.store.append(
      LogEntry(
        ticket: subject.nextTicket(), channel: name, epoch: opened.epoch, publication: write, durability: .durable,
        historySize: 0, historyTTLMilliseconds: 0, writesMap: true))
    subject.store.step()
    subject.store.release(name)
    for (asked, key, offset) in [(name, "a", 1), (name, "b", 1), (other, "a", 0)] as [(ChannelName, String, UInt64)] {
      guard case .entry(let entry, let at?) = try subject.store.answer(to: .entry(asked, IdentifierKey(key))) else {
        Issue.record("no position of \(asked)")
        continue
      }
      #expect(entry?.data == (offset == 1 && key == "a" ? [7] : nil))
      #expect(!subject.store.isHeld(asked))
      #expect(try subject.store.look(for: asked, durability: .durable).position == at && at.offset == offset)
    }
  }

  @Test("A history is removed up to where it was asked to, whatever was published since")
  func removedThrough() throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    append(name, 1...2, epoch: epoch)
    append(name, 3...3, epoch: epoch)
    #expect(try subject.store.answer(to: .removeHistory(name, through: 2)) == .removed)
    #expect(try subject.offsets(name) == [3])
  }
}
