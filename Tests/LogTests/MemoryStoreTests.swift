import Testing
import Wire

@testable import Log

@Suite struct MemoryStoreTests {
  private func append(_ store: MemoryStore, _ name: ChannelName, _ position: StreamPosition, bytes: Int, size: Int = 3)
  {
    let entry = LogEntry(
      ticket: 1, channel: name, epoch: position.epoch,
      publication: Publication(offset: position.offset + 1, time: 1000, data: .init(repeating: 1, count: bytes)),
      durability: .memory, historySize: size, historyTTLMilliseconds: 5000)
    #expect(store.append(entry) == .kept)
  }

  @Test("The bytes kept go up with what is kept and down with what is not")
  func bytes() throws {
    let store = MemoryStore()
    let name = try channel("a")
    var position = try store.open(name, durability: .memory).position
    for _ in 1...5 {
      append(store, name, position, bytes: 1000)
      position.offset += 1
    }
    let cost = Publication(data: .init(repeating: 1, count: 1000)).cost
    #expect(store.bytesKept == 3 * cost)
    store.sweep(now: 7000)
    #expect(store.bytesKept == 0)
    append(store, name, position, bytes: 10)
    try store.removeHistory(of: name)
    #expect(store.bytesKept == 0)
  }

  @Test("An idle channel is forgotten an hour after its last publication, once nothing is kept")
  func idleChannels() throws {
    let store = MemoryStore()
    let name = try channel("a")
    let position = try store.open(name, durability: .memory).position
    append(store, name, position, bytes: 1)
    store.sweep(now: 1000 + 3_600_000)
    #expect(store.channelCount == 1)
    store.sweep(now: 1001 + 3_600_000)
    #expect(store.channelCount == 0)
    #expect(try store.open(name, durability: .memory).position.epoch != position.epoch)
  }

  @Test("A channel that a sweep forgot goes on where the broker stands")
  func forgottenChannel() throws {
    let store = MemoryStore()
    let name = try channel("a")
    var position = try store.open(name, durability: .memory).position
    append(store, name, position, bytes: 1)
    store.sweep(now: 1001 + 3_600_000)
    #expect(store.channelCount == 0)
    position.offset = 1
    append(store, name, position, bytes: 1)
    position.offset = 2
    #expect(try store.open(name, durability: .memory).position == position)
    #expect(try store.read(name, LogRange(since: nil, through: 2, limit: 9)).map(\.offset) == [2])
  }

  @Test("A history of no size keeps no bytes, over many publications")
  func noHistory() throws {
    let store = MemoryStore()
    let name = try channel("a")
    var position = try store.open(name, durability: .memory).position
    for _ in 1...1000 {
      append(store, name, position, bytes: 1000, size: 0)
      position.offset += 1
    }
    #expect(store.bytesKept == 0)
    #expect(try store.open(name, durability: .memory).position == position)
  }
}
