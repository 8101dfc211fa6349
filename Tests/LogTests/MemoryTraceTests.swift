import TestSupport
import Testing
import Wire

@testable import Log

@Suite("What the memory store finds of a user, page by page")
struct MemoryTraceTests {
  /// History that stays until the test ends.
  private static let forever: Int64 = 1 << 40

  private func fill(
    _ store: MemoryStore, _ name: ChannelName, count: UInt64 = 1, by user: String = "ann", lifetime: Int64 = forever,
    bytes: Int = 1
  ) throws {
    let epoch = try store.open(name, durability: .memory).position.epoch
    for offset in 1...count {
      let publication = Publication(
        offset: offset, time: 1000, data: Array(repeating: 1, count: bytes), info: ClientInfo(user: user, client: "c"))
      let entry = LogEntry(
        ticket: offset, channel: name, epoch: epoch, publication: publication, durability: .memory,
        historySize: 100_000, historyTTLMilliseconds: lifetime)
      #expect(store.append(entry) == .kept)
    }
  }

  /// All pages, with something that happens before each but the first.
  private func pages(_ store: MemoryStore, between: (Int) throws -> Void = { _ in }) throws -> [TracePage] {
    var pages: [TracePage] = []
    var position: TracePosition? = .start
    while let after = position, pages.count < 10_000 {
      if !pages.isEmpty { try between(pages.count) }
      let question = ErasureQuestion.trace(users: ["ann"], contents: [], after: after)
      guard case .erasure(.page(let page))? = store.ask(.erasure(question)) else {
        Issue.record("the memory store answers at once")
        return pages
      }
      pages.append(page)
      position = page.next
    }
    return pages
  }

  @Test("a page is bounded, whether there are many channels or much in one, and all is found once")
  func bounded() throws {
    let store = MemoryStore()
    for number in 0..<5000 { try fill(store, try channel("a\(number)"), by: number % 2 == 0 ? "ann" : "bob") }
    for number in 0..<3 { try fill(store, try channel("long\(number)"), count: 4500) }
    let pages = try pages(store)
    #expect(pages.count >= (5000 + 3 * 4500) / MemoryStore.tracedPerPage)
    #expect(pages.allSatisfy { $0.rows.count <= MemoryStore.tracedPerPage })
    let found = pages.flatMap(\.rows).map { "\($0.channel) \($0.publication.offset)" }
    #expect(found.count == 2500 + 3 * 4500 && Set(found).count == found.count)
  }

  @Test("a page of large publications is bounded in bytes, and all are found once")
  func large() throws {
    let store = MemoryStore()
    for number in 0..<3 { try fill(store, try channel("a\(number)"), count: 100, bytes: 64 << 10) }
    let pages = try pages(store)
    for page in pages {
      #expect(page.rows.reduce(0) { $0 + $1.publication.cost } <= 2 * (MemoryStore.tracedBytes + (66 << 10)))
    }
    let found = pages.flatMap(\.rows).map { "\($0.channel) \($0.publication.offset)" }
    #expect(found.count == 300 && Set(found).count == 300 && pages.count > 5)
  }

  @Test("where the channel that was read in part is forgotten, the one that stands in its place is read whole")
  func partGone() throws {
    let store = MemoryStore(randomness: SystemRandomNumberGenerator(), metaTTLMilliseconds: 1000)
    try fill(store, try channel("stays"), count: 5000)
    let leaves = try channel("leaves")
    try fill(store, leaves, count: 5000, lifetime: 10)
    let pages = try pages(store) { page in
      guard page == 1 else { return }
      store.release(leaves)
      store.sweep(now: 1_000_000)
      #expect(store.channelCount == 1)
    }
    #expect(pages[0].rows.allSatisfy { $0.channel == leaves })
    let found = Set(pages.flatMap(\.rows).filter { $0.channel != leaves }.map(\.publication.offset))
    #expect(found == Set(1...5000))
  }

  @Test("what stands all along is found, whatever comes and goes meanwhile", arguments: 0..<20 as Range<UInt64>)
  func churn(_ seed: UInt64) throws {
    let store = MemoryStore()
    var random = SeededGenerator(seed: seed)
    var (staying, leaving): (Set<ChannelName>, [ChannelName]) = ([], [])
    for number in 0..<6000 {
      let name = try channel("c\(number)")
      if Bool.random(using: &random) {
        try fill(store, name, count: number % 1000 == 0 ? 3000 : 1)
        staying.insert(name)
      } else {
        _ = try store.open(name, durability: .memory)  // Holds nothing, so it is forgotten when it is released.
        leaving.append(name)
      }
    }
    var later = 0
    let pages = try pages(store) { _ in
      for _ in 0..<Int.random(in: 0..<800, using: &random) {
        if Bool.random(using: &random) {
          later += 1
          try fill(store, try channel("later\(later)"))
        } else if let index = leaving.indices.randomElement(using: &random) {
          store.release(leaving.remove(at: index))
        }
      }
    }
    #expect(pages.count > 3)
    let found = Set(pages.flatMap(\.rows).map { "\($0.channel) \($0.publication.offset)" })
    for name in staying { #expect(found.contains("\(name) 1")) }
    #expect(found.count { $0.hasSuffix(" 3000") } == staying.count { (Int($0.string.dropFirst()) ?? 1) % 1000 == 0 })
  }
}
