import Logging
import TestSupport
import Testing
import Wire

@testable import Log

let quiet = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }

/// Tests of the store alone on a disk that fails. The simulation has a broker above the store.
@Suite("The log on a disk that forgets", .ownThread) struct PowerCutTests {
  private static let durable = AppOracle.name("d:1")
  private static let empty = AppOracle.name("d:empty")

  /// Publishes for a while, cuts the power at some point, and opens what is left, several times over.
  ///
  /// - Returns: what is not as it was promised.
  private static func complaints(seed: UInt64, lies: Bool = false) throws -> [String] {
    var random = SeededRandom(seed: seed)
    var disk = FaultyDisk()
    disk.isLying = lies
    var epochs: (durable: String, empty: String)?
    var acknowledged: UInt64 = 0
    var complaints: [String] = []
    var ticket: UInt64 = 0
    for _ in 0..<4 {
      let log = try SteppedStore(on: disk, options: .init(), randomness: SeededRandom(seed: random.next()))
      let opened = try log.store.open(durable, durability: .durable).position
      let emptyEpoch = try log.store.open(empty, durability: .durable).position.epoch
      if let epochs {
        if epochs.durable != opened.epoch { complaints.append("an epoch changed though nothing was lost") }
        if epochs.empty != emptyEpoch { complaints.append("the epoch of an empty channel changed") }
      }
      epochs = (opened.epoch, emptyEpoch)
      if opened.offset < acknowledged {
        complaints.append("\(acknowledged) was acknowledged, \(opened.offset) is left")
      }
      let kept = try log.store.read(durable, LogRange(since: nil, through: .max, limit: .max))
      if kept.map(\.offset) != Array(1..<opened.offset + 1) { complaints.append("\(kept.map(\.offset)) are kept") }
      if kept.contains(where: { $0.data != Array("\($0.offset)".utf8) }) { complaints.append("something else is kept") }
      var top = opened.offset
      let firstTicket = ticket
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        top += 1
        ticket += 1
        _ = log.store.append(
          LogEntry(
            ticket: ticket, channel: durable, epoch: opened.epoch,
            publication: Publication(offset: top, time: 1, data: Array("\(top)".utf8)), durability: .durable,
            historySize: 10_000, historyTTLMilliseconds: 1_000_000))
        guard random.chance(40) else { continue }
        for completion in log.step(Int.random(in: 1...5, using: &random)) where completion.error == nil {
          acknowledged = max(acknowledged, opened.offset + completion.ticket - firstTicket)
        }
      }
      disk = random.chance(70) ? disk.powerCut(seed: random.next()) : disk.killed()
    }
    return complaints
  }

  @Test("What was acknowledged is there after each power cut, in its epoch, and empty channels keep theirs")
  func cuts() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      let complaints = try Self.complaints(seed: seed)
      try #require(complaints.isEmpty, "seed \(seed): \(complaints)")
    }
  }

  @Test("A disk that only says that it synced is noticed: the harness can turn red")
  func lies() {
    var red = 0
    for seed in 1...10 as ClosedRange<UInt64> {
      do {
        if try !Self.complaints(seed: seed, lies: true).isEmpty { red += 1 }
      } catch {
        red += 1  // The disk holds no database any more.
      }
    }
    #expect(red >= 8)
  }

  @Test("A log whose disk fails once takes nothing more, and the next process finds what was acknowledged")
  func failures() throws {
    var failed = 0
    for after in 0..<24 {
      let disk = FaultyDisk()
      let log = try SteppedStore(on: disk, options: .init(), randomness: SeededRandom(seed: UInt64(after)))
      let epoch = try log.store.open(Self.durable, durability: .durable).position.epoch
      if after % 2 == 0 { disk.failWrite(after: after) } else { disk.failSync(after: after / 2) }
      var acknowledged: UInt64 = 0
      for offset in 1...12 as ClosedRange<UInt64> {
        let outcome = log.store.append(
          LogEntry(
            ticket: offset, channel: Self.durable, epoch: epoch,
            publication: Publication(offset: offset, time: 1, data: [1]), durability: .durable, historySize: 100,
            historyTTLMilliseconds: 1_000_000))
        for completion in log.step() where completion.error == nil { acknowledged = completion.ticket }
        if log.hasFailed { #expect(acknowledged < offset, "\(outcome)") }
      }
      if log.hasFailed { failed += 1 }
      let left = disk.killed()
      _ = log.close()
      let again = try SteppedStore(on: left, options: .init(), randomness: SeededRandom(seed: 1))
      let position = try again.store.open(Self.durable, durability: .durable).position
      #expect(
        position.offset >= acknowledged && position.epoch == epoch, "after \(after): \(position), \(acknowledged)")
    }
    #expect(failed > 12)
  }

  @Test("What waits behind upkeep whose sync failed is not acknowledged, as a power cut would take it back")
  func failedUpkeep() throws {
    var failed = 0
    for seed in 0..<20 as Range<UInt64> {
      let disk = FaultyDisk()
      let log = try SteppedStore(on: disk, options: .init(), randomness: SeededRandom(seed: seed))
      let epoch = try log.store.open(Self.durable, durability: .durable).position.epoch
      func append(_ offset: UInt64) {
        _ = log.store.append(
          LogEntry(
            ticket: offset, channel: Self.durable, epoch: epoch,
            publication: Publication(offset: offset, time: 1, data: [1]), durability: .durable, historySize: 100,
            historyTTLMilliseconds: 1_000_000))
      }
      for offset in 1...4 as ClosedRange<UInt64> {
        append(offset)
        #expect(log.step().map(\.error) == [nil])
      }
      // Both are done in one round of the writer.
      disk.failSync(after: Int(seed % 4))
      log.store.scrub()
      append(5)
      let acknowledged = log.step().contains { $0.error == nil } ? 5 : 4 as UInt64
      if log.hasFailed && acknowledged == 4 { failed += 1 }
      let left = disk.powerCut(seed: seed)
      _ = log.close()
      let again = try SteppedStore(on: left, options: .init(), randomness: SeededRandom(seed: 1))
      let position = try again.store.open(Self.durable, durability: .durable).position
      #expect(position.offset >= acknowledged && position.epoch == epoch, "seed \(seed): \(position), \(acknowledged)")
    }
    #expect(failed > 4)
  }

  @Test("What a scrub has overwritten is in no file after a power cut either")
  func scrubbed() throws {
    let secret = "what was taken back"
    for seed in 1...40 as ClosedRange<UInt64> {
      let disk = FaultyDisk()
      let log = try SteppedStore(on: disk, options: .init(), randomness: SeededRandom(seed: seed))
      let epoch = try log.store.open(Self.durable, durability: .durable).position.epoch
      func append(_ offset: UInt64, _ text: String, edit: LogEdit? = nil) {
        _ = log.store.append(
          LogEntry(
            ticket: offset, channel: Self.durable, epoch: epoch,
            publication: Publication(offset: offset, time: 1, data: Array(text.utf8)), durability: .durable,
            historySize: 100, historyTTLMilliseconds: 1_000_000, edit: edit))
        #expect(log.step().map(\.error) == [nil])
      }
      append(1, secret)
      #expect(disk.holds(secret))
      append(2, "removed", edit: LogEdit(replacement: Publication(offset: 1, time: 1, data: [])))
      log.store.scrub()
      _ = log.step()
      #expect(!disk.holds(secret), "seed \(seed)")
      let left = disk.powerCut(seed: seed)
      _ = log.close()
      #expect(!left.holds(secret), "seed \(seed): the power cut brought it back")
    }
  }
}
