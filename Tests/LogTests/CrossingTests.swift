import SQLite
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
    options.now = { 1000 }
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

  // MARK: Opening again

  /// Publishes with a key and an origin; in a map, an entry of its own too. The caller takes the writer's step.
  private func publish(
    _ name: ChannelName, _ offset: UInt64, epoch: String, _ durability: Durability, isMap: Bool = false
  ) {
    let change = isMap ? KeyChange(key: "\(offset)") : nil
    let outcome = subject.store.append(
      LogEntry(
        ticket: subject.nextTicket(), channel: name, epoch: epoch,
        publication: Publication(offset: offset, time: 1000, data: [1], change: change), durability: durability,
        historySize: 100, historyTTLMilliseconds: 1_000_000,
        idempotency: IdempotencyRecord(key: "\(offset)", offset: offset, digest: 1, expires: 9000),
        origin: RequestOrigin(gateway: 1, request: offset), writesMap: isMap))
    #expect(outcome == (durability == .durable ? .pending : .kept))
  }

  /// Lets the readers read, and holds back what they found: a thread that stands still between its reading and telling
  /// of it. The test posts it when it is to go on.
  private func readAndHold() -> [WriterOutcome] {
    let told = subject.store.inbox.takeOutcomes()
    subject.store.stepReaders()
    let read = subject.store.inbox.takeOutcomes()
    #expect(read.count == 1)
    subject.store.inbox.post(told, freeing: 0)
    return read
  }

  private func letGo(_ held: [WriterOutcome]) { subject.store.inbox.post(held, freeing: 0) }

  /// The answer to a question that was asked before, where it is there by now.
  private func answer(to question: LogQuestion) -> OpenedChannel? {
    for case .answered(question, .opened(let opened)) in subject.store.takeNews() { return opened }
    return nil
  }

  @Test(
    "A channel that is opened while its publications get to the disk has what they brought, though it was read before",
    arguments: [(.relaxed, false), (.durable, false), (.durable, true)] as [(Durability, Bool)], [0, 2] as [UInt64])
  func openedWhileWritten(_ kind: (durability: Durability, isMap: Bool), before: UInt64) throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: kind.durability).position.epoch
    for offset in 0..<before { publish(name, offset + 1, epoch: epoch, kind.durability, isMap: kind.isMap) }
    subject.store.step()
    for offset in before..<before + 2 { publish(name, offset + 1, epoch: epoch, kind.durability, isMap: kind.isMap) }
    subject.store.release(name)
    let question = LogQuestion.open(name, kind.durability, withEntries: kind.isMap, ifExists: false)
    #expect(subject.store.ask(question) == nil)
    // The disk is read, the publications get there, the store hears of them and drops what it had of them; what was read
    // comes last.
    let held = readAndHold()
    subject.store.step()
    letGo(held)
    let early = answer(to: question)
    subject.store.stepReaders()
    let opened = try #require(early ?? answer(to: question))
    #expect(opened.position == StreamPosition(epoch: epoch, offset: before + 2))
    #expect(opened.idempotencyKeys.map(\.offset) == Array(1...before + 2))
    #expect(Set(opened.recentOrigins.values) == Set(1...before + 2))
    #expect(opened.entries.map(\.offset).sorted() == (kind.isMap ? Array(1...before + 2) : []))
  }

  @Test("A channel that is opened is read again once for each commit that overtakes the reading, and no more")
  func readAgainForEachCommit() throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    for offset in 1...2 as ClosedRange<UInt64> { publish(name, offset, epoch: epoch, .relaxed) }
    subject.store.release(name)
    let question = LogQuestion.open(name, .relaxed, withEntries: false, ifExists: false)
    #expect(subject.store.ask(question) == nil)
    for _ in 1...2 {
      let held = readAndHold()
      subject.store.step(1)
      letGo(held)
      #expect(answer(to: question) == nil)
    }
    subject.store.stepReaders()
    let opened = try #require(answer(to: question))
    #expect(opened.idempotencyKeys.map(\.offset) == [1, 2])
    #expect(Set(opened.recentOrigins.values) == [1, 2])
    // Nobody waits for a reading that was begun in vain.
    subject.store.stepReaders()
    #expect(subject.store.takeNews() == [])
  }

  @Test("A channel whose row lags behind what was told, for whatever reason, is opened all the same")
  func laggingRow() throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .relaxed).position.epoch
    publish(name, 1, epoch: epoch, .relaxed)
    subject.store.step()
    let reply = Reply<Void>()
    #expect(subject.store.ask(.runInTest({ db in try db.execute("UPDATE channels SET top = 0") }, reply)))
    subject.store.step()
    try reply.wait()
    publish(name, 2, epoch: epoch, .relaxed)
    subject.store.release(name)
    let question = LogQuestion.open(name, .relaxed, withEntries: false, ifExists: false)
    #expect(subject.store.ask(question) == nil)
    subject.store.stepReaders()
    let opened = try #require(answer(to: question))
    #expect(opened.position == StreamPosition(epoch: epoch, offset: 2))
    #expect(opened.idempotencyKeys.map(\.offset) == [1, 2])
  }

  @Test("A durable channel that is opened stands where it was found, though the store has not heard of the commit")
  func commitNotTold() throws {
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    publish(name, 1, epoch: epoch, .durable)
    subject.store.release(name)
    let question = LogQuestion.open(name, .durable, withEntries: false, ifExists: false)
    #expect(subject.store.ask(question) == nil)
    subject.store.step()
    let told = subject.store.inbox.takeOutcomes()
    subject.store.stepReaders()
    let opened = try #require(answer(to: question))
    #expect(opened.position == StreamPosition(epoch: epoch, offset: 1))
    #expect(opened.idempotencyKeys.map(\.offset) == [1])
    letGo(told)
    publish(name, 2, epoch: epoch, .durable)
    subject.store.step()
    #expect(subject.completions.all.map(\.error) == [nil, nil])
    #expect(try subject.offsets(name) == [1, 2])
  }
}
