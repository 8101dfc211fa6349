import Testing
import Wire

@testable import Gateway

@Suite("The newest of each key for readers that lag")
struct ConflationTableTests {
  private func key(_ name: String) -> ConflationKey { ConflationKey(Publication(data: [], tags: ["key": name])) }

  private func table(limit: Int = 1 << 20) -> ConflationTable { ConflationTable(limitBytes: limit) }

  /// What an entry with a key of one letter costs.
  private func cost(_ frame: [UInt8]) -> Int { frame.count + key("a").byteCount + ConflationTable.overheadBytes }

  @Test("Frames come in the order of publishing, each key's newest alone")
  func newest() {
    var table = table()
    #expect(table.put(key("a"), [1]) == 1)
    #expect(table.put(key("b"), [2]) == 2)
    #expect(table.put(key("a"), [3]) == 3)
    #expect(table.newest(after: 0) == [.init(version: 2, frame: [2]), .init(version: 3, frame: [3])])
    #expect(table.newest(after: 2).map(\.frame) == [[3]])
    #expect(table.newest(after: 3).isEmpty)
    #expect(table.newest(after: .max).isEmpty)
    #expect(table.count == 2)
    #expect(table.latestVersion == 3)
  }

  @Test("A reader that takes one frame at a time gets what was put meanwhile as well, and no older one of its key")
  func stepByStep() {
    var table = table()
    for (name, byte) in [("a", 1), ("b", 2), ("c", 3)] { table.put(key(name), [UInt8(byte)]) }
    #expect(table.newest(after: 0).first == .init(version: 1, frame: [1]))
    table.put(key("b"), [4])
    table.put(key("a"), [5])
    var (seen, version): ([[UInt8]], UInt64) = ([], 1)
    while let entry = table.newest(after: version).first {
      seen.append(entry.frame)
      version = entry.version
    }
    #expect(seen == [[3], [4], [5]])
    #expect(version == table.latestVersion)
  }

  @Test("Beyond the limit the oldest goes first, and no more than it takes")
  func limit() {
    var table = table(limit: 2 * cost([1]))
    table.put(key("a"), [1])
    table.put(key("b"), [2])
    table.put(key("a"), [3])
    table.put(key("c"), [4])
    #expect(table.newest(after: 0).map(\.frame) == [[3], [4]])
    #expect(table.byteCount == table.limitBytes)
  }

  @Test("A large frame pushes out as many as it needs")
  func largeFrame() {
    var table = table(limit: 3 * cost([1]))
    for name in ["a", "b", "c"] { table.put(key(name), [1]) }
    table.put(key("d"), [UInt8](repeating: 2, count: 3 * cost([1]) - cost([])))
    #expect(table.count == 1)
    #expect(table.byteCount <= table.limitBytes)
  }

  @Test("A frame beyond the limit by itself is dropped, and the older one of its key is not shown for it")
  func tooLarge() {
    var table = table(limit: cost([1]))
    table.put(key("a"), [1])
    #expect(table.put(key("a"), [UInt8](repeating: 2, count: table.limitBytes + 1)) == 2)
    #expect(table.isEmpty)
    #expect(table.byteCount == 0)
    table.put(key("a"), [3])
    #expect(table.newest(after: 0).map(\.frame) == [[3]])
  }

  @Test("What all readers have is forgotten, and versions go on")
  func removing() {
    var table = table()
    for (name, byte) in [("a", 1), ("b", 2), ("c", 3)] { table.put(key(name), [UInt8(byte)]) }
    #expect(table.newest(after: 2).map(\.frame) == [[3]])
    #expect(table.put(key("a"), [4]) == 4)
    table.removeAll()
    #expect(table.isEmpty)
    #expect(table.byteCount == 0)
    #expect(table.newest(after: 0).isEmpty)
    #expect(table.put(key("b"), [5]) == 5)
    #expect(table.newest(after: 4).map(\.frame) == [[5]])
  }

  @Test("Long keys count too: they cannot fill memory past the limit")
  func longKeys() {
    var table = table(limit: 64 << 10)
    for number in 0..<100 { table.put(key(String(repeating: "x", count: 8 << 10) + "\(number)"), []) }
    #expect(table.byteCount <= 64 << 10)
    #expect(table.count == 7)
  }

  @Test("One key that is put a hundred thousand times among thousands keeps them all")
  func manyPuts() {
    var table = table(limit: 64 << 20)
    for number in 0..<5000 { table.put(key("k\(number)"), [1]) }
    for _ in 0..<100_000 { table.put(key("busy"), [2]) }
    #expect(table.count == 5001)
    let all = table.newest(after: 0)
    #expect(all.count == 5001)
    #expect(all.last == .init(version: 105_000, frame: [2]))
  }

  @Test("It behaves as the obvious list does", arguments: 1...8 as ClosedRange<UInt64>)
  func model(seed: UInt64) {
    var random = SplitMix(state: seed)
    let limit = [600, 4000, 1 << 20][Int(seed % 3)]
    var table = table(limit: limit)
    var model = ConflationModel(limit: limit)
    for step in 0..<4000 {
      if step % 997 == 996 {
        table.removeAll()
        model.entries = []
      } else {
        let name = "k\(Int.random(in: 0..<(seed.isMultiple(of: 2) ? 8 : 300), using: &random))"
        let frame = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: .random(in: 0..<90, using: &random))
        #expect(table.put(key(name), frame) == model.put(key(name), frame))
      }
      let after = UInt64.random(in: 0...(model.latest + 2), using: &random)
      let expected = model.entries.filter { $0.version > after }
      let entries = expected.map { ConflationTable.Entry(version: $0.version, frame: $0.frame) }
      let readsTheSame = table.newest(after: after) == entries
      let counts = [table.count, table.byteCount, Int(table.latestVersion)]
      guard readsTheSame, counts == model.counts else {
        Issue.record("differs at step \(step) of seed \(seed)")
        return
      }
    }
    #expect(limit > 600 || model.dropped > 0)
  }
}

/// The rules of ``ConflationTable``, written without a thought for their cost.
private struct ConflationModel {
  var entries: [(version: UInt64, key: ConflationKey, frame: [UInt8])] = []
  var latest: UInt64 = 0
  var dropped: UInt64 = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var byteCount: Int {
    entries.reduce(0) { $0 + $1.frame.count + $1.key.byteCount + ConflationTable.overheadBytes }
  }

  var counts: [Int] { [entries.count, byteCount, Int(latest)] }

  mutating func put(_ key: ConflationKey, _ frame: [UInt8]) -> UInt64 {
    entries.removeAll { $0.key == key }
    latest += 1
    entries.append((latest, key, frame))
    while byteCount > limit {
      entries.removeFirst()
      dropped += 1
    }
    return latest
  }
}
