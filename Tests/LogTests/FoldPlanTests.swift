import Testing
import Wire

@testable import Log

@Suite struct FoldPlanTests {
  private static func entry(
    _ offset: UInt64, time: Int64 = 1000, floor: UInt64 = 0, ttl: Int64 = 500, key: String? = nil,
    origin: UInt64? = nil
  ) -> JournalEntry {
    JournalEntry(
      channel: 7, publication: Publication(offset: offset, time: time, data: [1]), floor: floor, ttl: ttl,
      idempotency: key.map { IdempotencyRecord(key: $0, offset: offset, digest: 0, expires: 9) },
      origin: origin.map { RequestOrigin(gateway: 1, request: $0) })
  }

  @Test("Nothing comes of nothing")
  func empty() { #expect(FoldPlan([], now: 0) == nil) }

  @Test("What later entries dropped is not written, but for its key and who asked for it within the last minute")
  func trimmed() throws {
    let now = RequestTraces.originLifetime + 1000
    let entries = [
      Self.entry(4, time: 999, key: "a", origin: 4), Self.entry(5, time: 1000, floor: 1, origin: 5),
      Self.entry(6, time: 1000, floor: 5), Self.entry(7, time: now, floor: 6, ttl: 50, origin: 7),
    ]
    let plan = try #require(FoldPlan(entries, now: now))
    #expect(plan.kept == [entries[3]])
    #expect(plan.traced == [entries[1]])
    #expect(plan.keys.map(\.key) == ["a"])
    #expect((plan.channel, plan.top, plan.floor, plan.ttl) == (7, 7, 6, 50))
    #expect((plan.used, plan.expires) == (now, now + 50))
  }

  @Test("A channel that keeps nothing expires never, and one whose clock stepped back by its earliest")
  func expiry() throws {
    let none = try #require(FoldPlan([Self.entry(1, floor: 1)], now: 1000))
    #expect(none.expires == nil && none.kept.isEmpty)
    let back = try #require(FoldPlan([Self.entry(1, time: 2000), Self.entry(2, time: 1000)], now: 2000))
    #expect((back.used, back.expires) == (2000, 1500))
  }

  @Test("A walk takes the channels in the order of their rows, about so many entries at a time, and all of each")
  func walk() {
    let counts: [Int64: UInt64] = [3: 2, 1: 5, 2: 1, 9: 0, 4: 40]
    var cycle = FoldCycle(through: 12, channels: Array(counts.keys))
    var taken: [[Int]] = []
    while !cycle.isThrough {
      let portion = cycle.portion(of: 8) { id in (0..<(counts[id] ?? 0)).map { Self.entry($0 + 1) } }
      taken.append(portion.map(\.count))
      cycle.advance(portion.count)
    }
    #expect(taken == [[5, 1], [2, 40], [0]])
  }
}
