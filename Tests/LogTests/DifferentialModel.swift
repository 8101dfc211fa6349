import TestSupport
import Testing
import Wire

@testable import Log

/// Does the same random operations to a store on disk with little memory and to a memory store, and compares what reads
/// of the two find. The seed gives the sequence.
struct DifferentialModel {
  private static let names = ["a", "b", "c", "d", "e"]
  private static let sizes = [3, 40, 600, 5000, 300]

  private let durability: Durability
  private var generator: SeededGenerator
  private let memory = MemoryStore()
  private var disk: DiskSubject
  private var tops: [UInt64] = [0, 0, 0, 0, 0]
  private var epochs: [(memory: String, disk: String)] = []
  private var now: Int64 = 1_000_000
  private var pending = 0
  private(set) var readCount = 0
  private(set) var coldReadCount = 0

  init(_ kind: DiskKind, _ durability: Durability, seed: UInt64) throws {
    self.durability = durability
    generator = SeededGenerator(seed: seed)
    disk = try DiskSubject(kind, now: 1_000_000, tailLimit: 60_000)
    for name in Self.names {
      epochs.append(
        (
          try memory.open(channel(name), durability: durability).position.epoch,
          try disk.store.open(channel(name), durability: durability).position.epoch
        ))
    }
  }

  mutating func step() throws {
    let index = Int.random(in: 0..<Self.names.count, using: &generator)
    switch Int.random(in: 0..<1000, using: &generator) {
    case 0..<450: for _ in 0..<Int.random(in: 1...12, using: &generator) { try append(index) }
    case 450..<970: try read(index)
    case 970..<975:
      try waitUntilWritten()
      try memory.removeHistory(of: channel(Self.names[index]))
      try disk.store.removeHistory(of: channel(Self.names[index]))
    case 975..<995:
      try waitUntilWritten()
      memory.sweep(now: now)
      disk.store.sweep(now: now)
      try disk.settle()  // Comes after the sweep.
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
      ticket: disk.nextTicket(), channel: try channel(Self.names[index]), epoch: epochs[index].memory,
      publication: publication, durability: durability,
      historySize: Int.random(in: 0..<200, using: &generator) == 0 ? 0 : size, historyTTLMilliseconds: 20_000)
    #expect(memory.append(entry) == .kept)
    entry.epoch = epochs[index].disk
    let outcome = disk.store.append(entry)
    #expect(outcome == (durability == .durable ? .pending : .kept))
    if outcome == .pending { pending += 1 }
  }

  /// A durable entry is part of the history once it is complete; a relaxed one at once.
  private func waitUntilWritten() throws { try disk.completions.wait(for: pending) }

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
    let found = try disk.store.read(name, range)
    try #require(found == expected, "\(range) of \(name) at \(top): \(found.map(\.offset)), \(expected.map(\.offset))")
  }

  private mutating func restart() throws {
    coldReadCount += disk.store.coldReadCount
    pending = 0
    disk = try disk.again()
    for (index, name) in Self.names.enumerated() {
      let position = try disk.store.open(channel(name), durability: durability).position
      #expect(position.offset == tops[index])
      #expect(position.epoch == epochs[index].disk)
      epochs[index].disk = position.epoch
    }
  }
}
