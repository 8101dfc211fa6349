import TestSupport
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

  @Test("A released channel with history is forgotten an hour after its last publication, once nothing is kept")
  func idleChannels() throws {
    let store = MemoryStore()
    let name = try channel("a")
    let position = try store.open(name, durability: .memory).position
    append(store, name, position, bytes: 1)
    store.sweep(now: 2000 + 3_600_000)
    #expect(store.channelCount == 1, "the broker holds it")
    store.release(name)
    store.sweep(now: 2000 + 2 * 3_600_000)
    #expect(store.channelCount == 1)
    store.sweep(now: 2001 + 2 * 3_600_000)
    #expect(store.channelCount == 0)
    #expect(try store.open(name, durability: .memory).position.epoch != position.epoch)
  }

  @Test("Without history a channel goes when it is released, and comes back in another epoch if it was used")
  func releasedWithoutHistory() throws {
    let store = MemoryStore()
    let name = try channel("a")
    let unused = try store.open(name, durability: .memory).position
    store.release(name)
    #expect(store.channelCount == 0)
    let position = try store.open(name, durability: .memory).position
    #expect(position == unused, "nothing was handed out under it")
    append(store, name, position, bytes: 1, size: 0)
    store.release(name)
    #expect(store.channelCount == 0)
    #expect(try store.open(name, durability: .memory).position.epoch != position.epoch)
  }

  @Test("A released channel is kept for those who may repeat a request, and goes with the next sweep after that")
  func releasedWithTraces() throws {
    let store = MemoryStore()
    let name = try channel("a")
    let position = try store.open(name, durability: .memory).position
    let origin = RequestOrigin(gateway: 1, request: 1)
    let entry = LogEntry(
      ticket: 1, channel: name, epoch: position.epoch, publication: Publication(offset: 1, time: 1000, data: []),
      durability: .memory, historySize: 0, historyTTLMilliseconds: 0, origin: origin)
    #expect(store.append(entry) == .kept)
    store.release(name)
    #expect(try store.open(name, durability: .memory).recentOrigins == [origin: 1])
    store.release(name)
    store.sweep(now: 1001 + RequestTraces.originLifetime)
    #expect(store.channelCount == 0)
  }

  @Test("Looking for a channel makes none, and tells the epoch that it would get")
  func look() throws {
    let store = MemoryStore()
    let found = try store.look(for: channel("a"), durability: .memory)
    #expect(!found.exists && store.channelCount == 0)
    #expect(try store.open(channel("a"), durability: .memory).position == found.position)
    #expect(try store.look(for: channel("a"), durability: .memory).exists)
    #expect(try store.look(for: channel("b"), durability: .memory).position.epoch != found.position.epoch)
  }

  @Test("A million channels that come and go leave nothing, whether or not something was published")
  func manyChannels() throws {
    let store = MemoryStore()
    for index in 0..<1_000_000 {
      let name = try channel("c\(index)")
      let position = try store.open(name, durability: .memory).position
      if index % 8 == 0 { append(store, name, position, bytes: 10, size: 0) }
      store.release(name)
    }
    #expect(store.channelCount == 0 && store.bytesKept == 0)
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
