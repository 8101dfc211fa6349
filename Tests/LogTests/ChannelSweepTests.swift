import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

@Suite("Rows of channels of which nothing is kept", .ownThread)
struct ChannelSweepTests {
  private static let day: Int64 = 24 * 3_600_000

  private func rows(_ subject: SQLiteSubject) throws -> Int {
    try subject.reader().connection.inDatabase { Int(try $0.integer("SELECT count(*) FROM channels") ?? 0) }
  }

  private func pages(_ subject: SQLiteSubject) throws -> Int {
    try subject.reader().connection.inDatabase { Int(try $0.integer("PRAGMA page_count") ?? 0) }
  }

  /// Publishes once on each channel, waits for the disk, and lets go of the channels.
  private func use(_ subject: SQLiteSubject, _ names: [ChannelName], time: Int64) throws {
    let before = subject.completions.all.count
    for name in names {
      let position = try subject.store.open(name, durability: .durable).position
      subject.append(
        name, epoch: position.epoch, offset: position.offset + 1, durability: .durable, time: time, ttl: 1000)
    }
    try subject.completions.wait(for: before + names.count)
    for name in names { subject.store.release(name) }
  }

  private func names(_ range: Range<Int>) throws -> [ChannelName] { try range.map { try channel("c:\($0)") } }

  @Test("They go a while after the last publication, and the file grows no more however many channels come and go")
  func bounded() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    var most: [Int] = []
    for round in 0..<6 {
      let now = Int64(round) * 3 * Self.day + 1_000_000
      try use(subject, names(round * 2000..<(round + 1) * 2000), time: now)
      subject.store.sweep(now: now + Self.day / 2)
      subject.store.sweep(now: now + Self.day / 2)
      #expect(try rows(subject) >= 2000)
      try eventually {
        subject.store.sweep(now: now + 2 * Self.day)
        return try rows(subject) == 0
      }
      most.append(try pages(subject))
    }
    #expect(most[5] <= most[1] + 16, "\(most)")
  }

  @Test("A channel whose row went begins anew in another epoch")
  func epoch() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    try use(subject, [name], time: 1000)
    let found = try subject.store.look(for: name, durability: .durable)
    #expect(found.exists && found.position.offset == 1)
    try eventually {
      subject.store.sweep(now: 2 * Self.day)
      return try rows(subject) == 0
    }
    #expect(try !subject.store.look(for: name, durability: .durable).exists)
    let position = try subject.store.open(name, durability: .durable).position
    #expect(position.offset == 0 && position.epoch != found.position.epoch)
    subject.append(name, epoch: position.epoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 2)
    #expect(subject.completions.all.last?.error == nil)
    #expect(try subject.offsets(name) == [1])
  }

  @Test("A channel in use keeps its row, so do those of apps and those whose receipts somebody holds")
  func kept() throws {
    var options = SQLiteStore.Options()
    options.followers = ["receipts:"]
    options.keepsRow = { $0.string == "app:1" }
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path, options: options)
    let used = try channel("used")
    try use(subject, [used, channel("app:1"), channel("talk"), channel("gone")], time: 1000)
    let position = try subject.store.open(used, durability: .durable).position
    let receipts = try channel("receipts:talk")
    let map = try subject.store.open(receipts, durability: .durable).position
    #expect(
      subject.store.append(
        LogEntry(
          ticket: subject.nextTicket(), channel: receipts, epoch: map.epoch,
          publication: Publication(offset: 1, time: 1000, data: [], change: KeyChange(key: "ann")),
          durability: .durable, historySize: 0, historyTTLMilliseconds: 0, writesMap: true)) == .pending)
    try subject.completions.wait(for: 5)
    try eventually {
      subject.store.sweep(now: 2 * Self.day)
      return try rows(subject) == 4
    }
    for _ in 0..<5 { subject.store.sweep(now: 2 * Self.day) }
    subject.append(used, epoch: position.epoch, offset: 2, durability: .durable, time: 2 * Self.day)
    try subject.completions.wait(for: 6)
    #expect(subject.completions.all.last?.error == nil)
    #expect(try rows(subject) == 4)
    #expect(try subject.store.look(for: channel("talk"), durability: .durable).position.offset == 1)
  }

  @Test("A channel that is opened while its row is deleted begins anew, whether or not the disk takes the deletion")
  func openedMeanwhile() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    let name = try channel("a")
    try use(subject, [name], time: 1000)
    let before = try subject.store.look(for: name, durability: .durable).position
    // The history goes first, and the row stays while the channel is in use.
    _ = try subject.store.open(name, durability: .durable)
    try eventually {
      subject.store.sweep(now: 2 * Self.day)
      return try subject.store.read(name, LogRange(since: nil, through: .max, limit: 9)).isEmpty
    }
    subject.store.release(name)
    let id = try #require(try subject.reader().row(of: name)?.id)
    // The phase that the store is in when the writer was asked to delete the row, and has not done so.
    subject.store.upkeep.phase = .deleting([id])
    let position = try subject.store.open(name, durability: .durable).position
    #expect(position.offset == 0 && position.epoch != before.epoch)
    subject.append(name, epoch: position.epoch, offset: 1, durability: .durable)
    try subject.completions.wait(for: 2)
    #expect(subject.completions.all.last?.error == nil)
    subject.store.upkeep.phase = .resting
    subject.store.release(name)
    #expect(
      try subject.store.open(name, durability: .durable).position == StreamPosition(epoch: position.epoch, offset: 1))
  }

  @Test("Maps that nobody opens are named when an entry's time is over")
  func dueMaps() throws {
    let folder = try TemporaryFolder()
    let subject = try SQLiteSubject(folder.path)
    for (key, expires) in [("soon", 5000), ("never", Int64.max)] {
      let name = try channel("map:\(key)")
      let position = try subject.store.open(name, durability: .durable).position
      #expect(
        subject.store.append(
          LogEntry(
            ticket: subject.nextTicket(), channel: name, epoch: position.epoch,
            publication: Publication(offset: 1, time: 1000, data: [], change: KeyChange(key: "k", expires: expires)),
            durability: .durable, historySize: 0, historyTTLMilliseconds: 0, writesMap: true)) == .pending)
    }
    try subject.completions.wait(for: 2)
    var due: [ChannelName] = []
    for _ in 0..<3 {
      subject.store.sweep(now: 4000)
      due += subject.store.takeDueMaps()
    }
    #expect(due == [])
    try eventually {
      subject.store.sweep(now: 6000)
      due += subject.store.takeDueMaps()
      return !due.isEmpty
    }
    #expect(try Set(due) == [channel("map:soon")])
  }
}
