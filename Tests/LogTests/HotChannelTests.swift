import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

@Suite(.ownThread) struct HotChannelTests {
  /// A channel without history has no tail, so its entries under way were not seen: the channel was let go, opened
  /// again from disk with an old top, and refused everything until a restart. What the writer told of it then went to
  /// the channel that had its slot.
  @Test("A channel with entries under way is not let go, though the broker is done with it")
  func entriesUnderWay() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let (busy, other) = (try channel("busy"), try channel("other"))
    let epoch = try subject.store.open(busy, durability: .durable).position.epoch
    let held = HeldWriter(subject)
    for offset in 1...3 as ClosedRange<UInt64> {
      subject.append(busy, epoch: epoch, offset: offset, durability: .durable, size: 0)
    }
    subject.store.release(busy)
    subject.store.sweep(now: 1 << 50)
    #expect(subject.store.hot.count == 1)
    let otherEpoch = try subject.store.open(other, durability: .durable).position.epoch
    subject.append(busy, epoch: epoch, offset: 4, durability: .durable, size: 0)
    try held.letGo()
    try subject.completions.wait(for: 4)
    #expect(try subject.store.open(busy, durability: .durable).position == .init(epoch: epoch, offset: 4))
    subject.append(busy, epoch: epoch, offset: 5, durability: .durable, size: 0)
    subject.append(other, epoch: otherEpoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 6)
    #expect(subject.completions.all.allSatisfy { $0.error == nil }, "\(subject.completions.all)")
    #expect(try subject.offsets(other) == [1])
    #expect(try subject.store.open(busy, durability: .durable).position.offset == 5)
  }

  @Test("A channel stays while the broker has it open, and goes when it is released")
  func released() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    subject.append(name, epoch: epoch, offset: 1, durability: .durable, time: 1 << 50, ttl: 1 << 40)
    try subject.completions.wait(for: 1)
    subject.store.sweep(now: 1 << 50)
    #expect(subject.store.hot.count == 1)
    subject.store.release(name)
    #expect(subject.store.hot.count == 0)
  }

  @Test("News of the former channel in a slot are not the present one's")
  func lives() throws {
    var channels = HotChannels(bytesLimit: 1 << 20, clock: 0)
    func add(_ name: String) throws -> HotChannel {
      let writer = WriterChannel(
        name: try channel(name), place: channels.nextPlace, storedEpoch: "e", durability: .durable,
        state: .init(id: nil, top: 0))
      let hot = HotChannel(writer: writer, epoch: "e", clock: 0)
      channels.insert(hot)
      return hot
    }
    let first = try add("first")
    channels.remove(first)
    let second = try add("second")
    #expect(first.place.slot == second.place.slot)
    #expect(channels[first.place] == nil)
    #expect(channels[second.place] === second)
  }
}
