import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("What is remembered of deletions, and told to gateways that were away")
struct DeletionRecordsTests {
  private static let pepper: [UInt8] = [1]

  /// Records of deletions that were done one after the other, in batches.
  private func records(_ numbers: ClosedRange<UInt64>, perBatch: UInt64 = 1) -> DeletionRecords {
    var records = DeletionRecords()
    for number in numbers { insert(number, &records, batch: number / perBatch * perBatch) }
    return records
  }

  private func insert(_ number: UInt64, _ records: inout DeletionRecords, batch: UInt64? = nil) {
    let mark = mark(batch ?? number)
    records.insert(
      .init(since: 0, at: mark.at, number: mark.number, isScrubbed: true), for: "digest-\(number)")
  }

  private func mark(_ number: UInt64) -> DeletionMark { DeletionMark(number: number, at: Int64(number) * 1000) }

  private func digests(_ page: LinkDeletions?) -> [String]? { page?.records.map(\.digest) }

  @Test("a gateway is told what is newer than its mark, and nothing where nothing is")
  func newer() {
    let records = records(1...5)
    let page = records.page(after: mark(3), pepper: Self.pepper)
    #expect(digests(page) == ["digest-4", "digest-5"])
    #expect(page?.through == mark(5) && page?.forgottenUntil == nil && page?.pepper == Self.pepper)
    #expect(records.page(after: mark(5), pepper: Self.pepper) == nil)
    #expect(DeletionRecords().page(after: nil, pepper: Self.pepper) == nil)
    #expect(DeletionRecords().page(after: mark(3), pepper: Self.pepper) == nil)
  }

  @Test("a gateway without a mark, or with one that nobody knows, is told everything")
  func unknown() {
    let records = records(1...3)
    let all = ["digest-1", "digest-2", "digest-3"]
    #expect(digests(records.page(after: nil, pepper: Self.pepper)) == all)
    #expect(digests(records.page(after: mark(9), pepper: Self.pepper)) == all, "a folder that was restored")
    let other = DeletionMark(number: 2, at: 7)
    #expect(digests(records.page(after: other, pepper: Self.pepper)) == all, "the number came twice")
  }

  @Test("a mark moves on alone where one batch is newer than it, and no more than that")
  func step() throws {
    var records = records(1...8, perBatch: 4)
    // Batches: 1 to 3, 4 to 7, 8.
    #expect(records.step(after: mark(4)) == mark(8))
    #expect(records.step(after: mark(8)) == nil && records.step(after: mark(0)) == nil)
    #expect(records.step(after: nil) == nil && records.step(after: mark(5)) == nil)
    #expect(self.records(1...3, perBatch: 4).step(after: nil) == mark(0))
    records.forget(try #require(records.old(at: 0, limit: 100, most: 1)))
    #expect(records.step(after: nil) == nil, "what was forgotten may be missing")
    #expect(records.step(after: mark(4)) == mark(8))
  }

  @Test("pages end between batches, and one after the other they hold each record once", arguments: 1...9)
  func pages(most: Int) {
    let records = records(1...50, perBatch: 4)
    var mark: DeletionMark?
    var told: [String] = []
    for _ in 0..<100 {
      guard let page = records.page(after: mark, pepper: Self.pepper, most: most) else { break }
      #expect(page.records.count < most + 4)
      told += page.records.map(\.digest)
      mark = page.through
    }
    #expect(told == (1...50).map { "digest-\($0)" })
  }

  @Test("a user who is deleted again is told once, with the newer time")
  func again() {
    var records = records(1...3)
    records.insert(.init(since: 0, at: 9000, number: 9, isScrubbed: true), for: "digest-2")
    let page = records.page(after: mark(1), pepper: Self.pepper)
    #expect(digests(page) == ["digest-3", "digest-2"] && page?.records.last?.at == 9000)
    #expect(records.count == 3)
  }

  @Test("the oldest go when their time is over or there are too many, and never one that is not scrubbed yet")
  func old() throws {
    var records = records(1...10)
    #expect(records.old(at: 5000, limit: 100) == nil)
    let expired = try #require(records.old(at: 3000 + DeletionRecords.lifetime, limit: 100))
    #expect(expired.digests == ["digest-1", "digest-2", "digest-3"] && expired.floor == mark(3))
    #expect(records.old(at: 3000 + DeletionRecords.lifetime, limit: 2)?.digests.count == 2)
    let many = try #require(records.old(at: 0, limit: 100, most: 4))
    #expect(many.digests.count == 6 && many.floor == mark(6))
    records.forget(many)
    #expect(records.count == 4 && records.old(at: 0, limit: 100, most: 4) == nil)
    records.insert(.init(since: 0, at: 11_000, number: 11), for: "new")
    #expect(records.hasUnscrubbed && records.unscrubbed.map(\.digest) == ["new"])
    #expect(records.old(at: .max / 2, limit: 100)?.digests.contains("new") == false)
    records.scrubbed()
    #expect(!records.hasUnscrubbed && records.old(at: .max / 2, limit: 100)?.digests.contains("new") == true)
  }

  @Test("who has missed what is not remembered is told until when it goes for everybody, and told that once")
  func floor() throws {
    var records = records(1...6)
    records.forget(try #require(records.old(at: 0, limit: 100, most: 2)))
    for missed in [nil, mark(2), mark(4)] as [DeletionMark?] {
      let page = records.page(after: missed, pepper: Self.pepper)
      let isKnown = missed == mark(4)
      #expect(page?.forgottenUntil == (isKnown ? nil : 4000) && digests(page) == ["digest-5", "digest-6"])
    }
    #expect(records.page(after: mark(5), pepper: Self.pepper)?.forgottenUntil == nil)
    records.forget(try #require(records.old(at: 0, limit: 100, most: 0)))
    let page = records.page(after: nil, pepper: Self.pepper)
    #expect(page?.forgottenUntil == 6000 && digests(page) == [] && page?.through == mark(6))
    #expect(records.page(after: mark(6), pepper: Self.pepper) == nil)
    insert(7, &records)
    #expect(digests(records.page(after: mark(6), pepper: Self.pepper)) == ["digest-7"])
  }

  @Test("they are the same when they were read from the disk, also those without a number")
  func loaded() {
    var entries: [String: DeletionRecords.Record] = [:]
    for number in (1...9 as ClosedRange<UInt64>).reversed() {
      entries["digest-\(number)"] = .init(since: 0, at: Int64(number) * 1000, number: number > 2 ? number : nil)
    }
    let records = DeletionRecords(entries, floor: nil)
    #expect(digests(records.page(after: nil, pepper: [])) == (1...9).map { "digest-\($0)" })
    #expect(digests(records.page(after: mark(7), pepper: [])) == ["digest-8", "digest-9"])
    let page = records.page(after: nil, pepper: [], most: 1)
    #expect(digests(page) == ["digest-1"] && page?.through == DeletionMark(number: 0, at: 1000))
    #expect(digests(records.page(after: page?.through, pepper: [], most: 1)) == ["digest-2"])
  }
}
