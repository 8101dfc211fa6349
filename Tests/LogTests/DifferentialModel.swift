import TestSupport
import Testing
import Wire

@testable import Log

/// Does the same random operations to an SQLite store with little memory and to a memory store, and compares what reads
/// of the two find. The seed gives the sequence.
struct DifferentialModel {
  private static let names = ["a", "b", "c", "d", "e"]
  private static let sizes = [3, 40, 600, 5000, 300]

  private let durability: Durability
  private let folder: TemporaryFolder
  private var generator: SeededGenerator
  private let memory = MemoryStore()
  private var sqlite: SQLiteSubject
  private var tops: [UInt64] = [0, 0, 0, 0, 0]
  private var epochs: [(memory: String, sqlite: String)] = []
  private var now: Int64 = 1_000_000
  private var pending = 0
  private(set) var readCount = 0
  private(set) var coldReadCount = 0

  init(_ durability: Durability, seed: UInt64) throws {
    self.durability = durability
    folder = try TemporaryFolder()
    generator = SeededGenerator(seed: seed)
    sqlite = try SQLiteSubject(folder.path, options: Self.options)
    for name in Self.names {
      epochs.append(
        (
          try memory.open(channel(name), durability: durability).position.epoch,
          try sqlite.store.open(channel(name), durability: durability).position.epoch
        ))
    }
  }

  private static var options: SQLiteStore.Options {
    var options = SQLiteStore.Options()
    options.tailLimit = 60_000
    options.now = { 1_000_000 }
    return options
  }

  mutating func step() throws {
    let index = Int.random(in: 0..<Self.names.count, using: &generator)
    switch Int.random(in: 0..<1000, using: &generator) {
    case 0..<450: for _ in 0..<Int.random(in: 1...12, using: &generator) { try append(index) }
    case 450..<970: try read(index)
    case 970..<975:
      try waitUntilWritten()
      try memory.removeHistory(of: channel(Self.names[index]))
      try sqlite.store.removeHistory(of: channel(Self.names[index]))
    case 975..<995:
      try waitUntilWritten()
      memory.sweep(now: now)
      sqlite.store.sweep(now: now)
      try sqlite.perform("SELECT 1")  // Comes after the sweep.
    default: try restart()
    }
  }

  private mutating func append(_ index: Int) throws {
    tops[index] += 1
    now += Int64.random(in: 0...20, using: &generator)
    let info = ClientInfo(user: "u\(index)", client: "c", connectionInfo: Bool.random(using: &generator) ? [1] : nil)
    let publication = Publication(
      offset: tops[index], time: now, data: .init(repeating: 3, count: .random(in: 0...400, using: &generator)),
      info: Bool.random(using: &generator) ? info : nil, tags: Bool.random(using: &generator) ? ["t": "\(now)"] : [:])
    let size = Self.sizes[index]
    var entry = LogEntry(
      ticket: sqlite.nextTicket(), channel: try channel(Self.names[index]), epoch: epochs[index].memory,
      publication: publication, durability: durability,
      historySize: Int.random(in: 0..<200, using: &generator) == 0 ? 0 : size, historyTTLMilliseconds: 20_000)
    #expect(memory.append(entry) == .kept)
    entry.epoch = epochs[index].sqlite
    let outcome = sqlite.store.append(entry)
    #expect(outcome == (durability == .durable ? .pending : .kept))
    if outcome == .pending { pending += 1 }
  }

  /// A durable entry is part of the history once it is complete; a relaxed one at once.
  private func waitUntilWritten() throws { try sqlite.completions.wait(for: pending) }

  private mutating func read(_ index: Int) throws {
    try waitUntilWritten()
    readCount += 1
    let top = tops[index]
    let near = top > 20 ? top - 20 : 0
    let offsets: [UInt64?] = [
      nil, .random(in: 0...top + 2, using: &generator), .random(in: near...top, using: &generator),
    ]
    let range = LogRange(
      since: offsets.randomElement(using: &generator) ?? nil,
      through: Bool.random(using: &generator) ? top : .random(in: 0...top + 2, using: &generator),
      limit: [1, 5, 100, .max].randomElement(using: &generator) ?? 1, reverse: .random(using: &generator),
      notBefore: Bool.random(using: &generator) ? 0 : now - .random(in: 0...20_000, using: &generator),
      bytes: Bool.random(using: &generator) ? .max : .random(in: 0...20_000, using: &generator))
    let name = try channel(Self.names[index])
    let expected = try memory.read(name, range)
    let found = try sqlite.store.read(name, range)
    try #require(found == expected, "\(range) of \(name) at \(top): \(found.map(\.offset)), \(expected.map(\.offset))")
  }

  private mutating func restart() throws {
    coldReadCount += sqlite.store.coldReadCount
    sqlite.store.close()
    pending = 0
    sqlite = try SQLiteSubject(folder.path, options: Self.options)
    for (index, name) in Self.names.enumerated() {
      let position = try sqlite.store.open(channel(name), durability: durability).position
      #expect(position.offset == tops[index])
      #expect(position.epoch == epochs[index].sqlite)
      epochs[index].sqlite = position.epoch
    }
  }
}
