import Foundation
import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

/// A log whose writer takes a step when it is told to, and that folds when a test says so.
private final class JournalScene {
  let folder: TemporaryFolder
  private(set) var subject: SQLiteSubject
  private var limits = JournalLimits()
  private(set) var epochs: [ChannelName: String] = [:]
  private var tops: [ChannelName: UInt64] = [:]

  init(folder: TemporaryFolder? = nil, _ change: (inout JournalLimits) -> Void = { _ in }) throws {
    self.folder = try folder ?? TemporaryFolder()
    change(&limits)
    subject = try SQLiteSubject(self.folder.path, options: Self.options(limits))
  }

  private static func options(_ limits: JournalLimits) -> SQLiteStore.Options {
    var options = SQLiteStore.Options()
    options.isStepped = true
    options.journalLimits = limits
    options.metaTTLMilliseconds = 0
    options.now = { 2000 }
    return options
  }

  var store: SQLiteStore { subject.store }
  var reader: ChannelReader { get throws { try subject.reader() } }

  /// Publishes without a step of the writer, which the caller takes.
  func publish(
    _ name: String, _ text: String = "x", size: Int = 1000, edit: LogEdit? = nil, key: String? = nil
  ) throws {
    let name = try channel(name)
    if epochs[name] == nil {
      let position = try store.open(name, durability: .durable).position
      (epochs[name], tops[name]) = (position.epoch, position.offset)
    }
    let offset = (tops[name] ?? 0) + 1
    tops[name] = offset
    let ticket = subject.nextTicket()
    let entry = LogEntry(
      ticket: ticket, channel: name, epoch: epochs[name] ?? "",
      publication: Publication(offset: offset, time: 1000, data: Array(text.utf8)), durability: .durable,
      historySize: size, historyTTLMilliseconds: 1_000_000,
      idempotency: key.map { IdempotencyRecord(key: $0, offset: offset, digest: 1, expires: 9000) },
      origin: RequestOrigin(gateway: 1, request: ticket), edit: edit)
    #expect(store.append(entry) == .pending)
  }

  func commit() { store.step() }

  /// Folds all of the journal.
  func fold() throws {
    #expect(store.writer.foldAll() == nil)
    #expect(try rows("journal") == 0)
    #expect(store.journal.bytes == 0)
  }

  func rows(_ table: String) throws -> Int {
    try reader.connection.inDatabase { Int(try $0.integer("SELECT count(*) FROM \(table)") ?? 0) }
  }

  /// Opens the log as a process that is killed now leaves it.
  func killed() throws -> JournalScene {
    let image = try TemporaryFolder()
    try CrashImage.copy(folder.path, to: image.path)
    return try JournalScene(folder: image)
  }

  /// The texts of all publications that a reader beside the store finds.
  func texts(_ name: String) throws -> [String] {
    let found = try reader.row(of: channel(name))
    guard let row = found else { return [] }
    var texts: [String] = []
    try reader.publications(of: row.id, in: 1...row.top, limit: .max, reverse: false, notBefore: .min) {
      texts.append(String(decoding: $0.data, as: UTF8.self))
      return true
    }
    return texts
  }

  deinit { store.close() }
}

@Suite("The journal", .ownThread) struct JournalTests {
  @Test("A commit over many channels is one row of the journal, and no row of theirs changes until they are folded")
  func oneRow() throws {
    let scene = try JournalScene()
    let names = (0..<300).map { "c\($0)" }
    for name in names { try scene.publish(name) }
    scene.commit()
    // The first publication of a channel makes the channel's row, and goes into the tables with it.
    #expect(try scene.rows("publications") == 300 && scene.rows("journal") == 0)
    for name in names { try scene.publish(name, "y") }
    scene.commit()
    #expect(try scene.rows("publications") == 300 && scene.rows("journal") == 1)
    #expect(try scene.rows("channels WHERE top = 1") == 300)
    #expect(try names.allSatisfy { try scene.texts($0) == ["x", "y"] })
    try scene.fold()
    #expect(try scene.rows("publications") == 600)
    #expect(try names.allSatisfy { try scene.texts($0) == ["x", "y"] })
  }

  @Test("A reader finds the same before a fold and after it, in any order, span and number")
  func readsAlike() throws {
    let scene = try JournalScene { $0.foldAt = .max }
    var random = SeededGenerator(seed: 1)
    for round in 0..<12 {
      for _ in 0..<Int.random(in: 1...9, using: &random) {
        try scene.publish("a", "\(round)", size: round < 6 ? 1000 : 12, key: Bool.random(using: &random) ? "k" : nil)
        if Bool.random(using: &random) { scene.commit() }
      }
      scene.commit()
      let spans = (0..<40).map { _ in Read(&random) }
      let before = try spans.map { try $0.perform(scene) }
      let row = try #require(try scene.reader.row(of: channel("a")))
      let keys = try scene.reader.keys(of: row.id, at: 0)
      let origins = try scene.reader.origins(of: row.id, at: 1000)
      let oldest = try scene.reader.oldest(of: row.id)
      try scene.fold()
      #expect(try spans.map { try $0.perform(scene) } == before)
      #expect(try scene.reader.row(of: channel("a"))?.top == row.top)
      #expect(try scene.reader.keys(of: row.id, at: 0) == keys)
      #expect(try scene.reader.origins(of: row.id, at: 1000) == origins)
      #expect(try scene.reader.oldest(of: row.id) == oldest)
    }
  }

  private struct Read {
    let span: ClosedRange<UInt64>
    let limit: Int
    let reverse: Bool
    let stop: Int

    init(_ random: inout SeededGenerator) {
      let low = UInt64.random(in: 1...40, using: &random)
      span = low...(low + .random(in: 0...60, using: &random))
      limit = [0, 1, 3, 10, .max].randomElement(using: &random) ?? 1
      reverse = .random(using: &random)
      stop = [1, 4, .max].randomElement(using: &random) ?? 1
    }

    func perform(_ scene: JournalScene) throws -> [UInt64] {
      let row = try #require(try scene.reader.row(of: channel("a")))
      var found: [UInt64] = []
      try scene.reader.publications(of: row.id, in: span, limit: limit, reverse: reverse, notBefore: .min) {
        found.append($0.offset)
        return found.count < stop
      }
      return found
    }
  }

  @Test("Killed after any portion of a fold, everything is there once: publications, keys and who asked")
  func killedWhileFolding() throws {
    let scene = try JournalScene {
      $0.portion = 3
      $0.deletedBytes = 1
      $0.foldAt = .max
    }
    for round in 0..<4 {
      for name in ["a", "b", "c", "d"] { try scene.publish(name, "\(round)", size: name == "d" ? 2 : 10, key: name) }
      scene.commit()
    }
    // Channel b is folded before the others, because a publication of it is edited.
    try scene.publish("b", "e", edit: LogEdit(replacement: Publication(offset: 1, time: 1000, data: [0x45])))
    scene.commit()
    scene.store.writer.beginFold()
    var steps = 0
    repeat {
      let survivor = try scene.killed()
      #expect(try survivor.rows("journal") == 0)
      for name in ["a", "c"] { #expect(try survivor.texts(name) == ["0", "1", "2", "3"]) }
      #expect(try survivor.texts("b") == ["E", "1", "2", "3", "e"])
      #expect(try survivor.texts("d") == ["2", "3"])
      let opened = try survivor.store.open(channel("d"), durability: .durable)
      #expect(opened.position == StreamPosition(epoch: scene.epochs[try channel("d")] ?? "", offset: 4))
      #expect(opened.recentOrigins.values.sorted() == [1, 2, 3, 4])
      #expect(opened.idempotencyKeys.map(\.offset) == [4])
      scene.commit()
      steps += 1
    } while try scene.rows("journal") > 0
    #expect(steps > 4)
  }

  @Test("What must be in the tables goes there, after what the journal has of its channel")
  func storedAfterJournalled() throws {
    let scene = try JournalScene()
    let large = String(repeating: "z", count: JournalEntry.largestData + 1)
    for text in ["1", "2", large] {
      try scene.publish("a", text)
      try scene.publish("b", text)
      scene.commit()
    }
    #expect(try scene.rows("publications") == 6)
    #expect(try scene.texts("a") == ["1", "2", large])
    try scene.publish("a", "4")
    scene.commit()
    try scene.publish("a", "5", edit: LogEdit(replacement: Publication(offset: 4, time: 1000, data: Array("new".utf8))))
    scene.commit()
    #expect(try scene.texts("a") == ["1", "2", large, "new", "5"])
    #expect(try scene.killed().texts("a") == ["1", "2", large, "new", "5"])
  }

  @Test("A history that is removed is gone from the journal too, also after a crash, and its offsets go on")
  func removed() throws {
    let scene = try JournalScene()
    for text in ["1", "2", "3"] {
      try scene.publish("a", text)
      try scene.publish("b", text)
      scene.commit()
    }
    try scene.store.removeHistory(of: channel("a"))
    #expect(try scene.texts("a") == [] && scene.texts("b") == ["1", "2", "3"])
    let survivor = try scene.killed()
    #expect(try survivor.texts("a") == [] && survivor.texts("b") == ["1", "2", "3"])
    let opened = try survivor.store.open(channel("a"), durability: .durable)
    #expect(opened.position.offset == 3 && opened.recentOrigins.values.sorted() == [1, 2, 3])
    try scene.publish("a", "4")
    scene.commit()
    #expect(try scene.texts("a") == ["4"])
  }

  @Test("After a scrub the files hold nothing of what was removed or replaced, in the journal or out of it")
  func scrubbed() throws {
    let scene = try JournalScene()
    for name in ["a", "b"] { try scene.publish(name, "first") }
    scene.commit()
    for name in ["a", "b"] { try scene.publish(name, "a secret of \(name)") }
    scene.commit()
    #expect(try scene.filesHold("a secret of a") && scene.filesHold("a secret of b"))
    try scene.store.removeHistory(of: channel("a"))
    try scene.publish("b", "-", edit: LogEdit(replacement: Publication(offset: 2, time: 1000, data: [])))
    scene.store.scrub()
    scene.commit()
    #expect(try !scene.filesHold("a secret of"))
    #expect(try scene.texts("b") == ["first", "", "-"])
  }

  @Test("The journal is bounded: what comes next waits for a fold")
  func bounded() throws {
    let scene = try JournalScene {
      ($0.foldAt, $0.most, $0.portion) = (2000, 20_000, 4)
    }
    var most = 0
    for _ in 0..<200 {
      for name in ["a", "b", "c"] { try scene.publish(name) }
      scene.commit()
      most = max(most, scene.store.journal.bytes)
    }
    #expect(most < 22_000)
    #expect(try scene.texts("a").count == 200)
  }

  @Test("A fold that the disk refuses loses nothing, and is done when there is room")
  func refused() throws {
    let scene = try JournalScene { $0.foldAt = .max }
    for text in ["1", "2", "3"] {
      try scene.publish("a", text)
      scene.commit()
    }
    for sql in [Refusal.readOnly.begin, Refusal.readOnly.end] {
      let reply = Reply<Void>()
      #expect(scene.store.ask(.runInTest({ try $0.execute(sql) }, reply)))
      scene.commit()
      try reply.wait()
      #expect(try scene.texts("a") == ["1", "2", "3"])
      #expect((scene.store.writer.foldAll() == nil) == (sql == Refusal.readOnly.end))
    }
    #expect(try scene.rows("journal") == 0 && scene.rows("publications") == 3)
  }

  @Test("A log that takes nothing more until a restart does not come back to its fold without a pause")
  func failed() throws {
    let scene = try JournalScene { $0.foldAt = .max }
    for text in ["1", "2"] {
      try scene.publish("a", text)
      scene.commit()
    }
    #expect(scene.store.ask(.intercept { _ in throw DatabaseError(.ioErrorSync) }))
    try scene.publish("a", "3")
    scene.commit()
    #expect(scene.store.inbox.failure != nil)
    scene.store.writer.beginFold()
    let before = scene.store.writer.account.next
    scene.commit()
    #expect(scene.store.writer.account.next > before)
    #expect(try scene.killed().texts("a") == ["1", "2"])
  }

  @Test("A channel that is deleted and begins anew has nothing of its former life, also after a crash")
  func deletedChannel() throws {
    let scene = try JournalScene { $0.foldAt = .max }
    for _ in 0..<3 {
      try scene.publish("a", size: 0)
      try scene.publish("b")
      scene.commit()
    }
    let id = try #require(try scene.reader.row(of: channel("a"))?.id)
    scene.store.release(try channel("a"))
    // The channel's row stays because of its entries in the journal.
    scene.store.writer.look(ChannelSweep(now: 500_000, usedBefore: 500_000, after: 0, followers: []))
    #expect(
      scene.store.inbox.takeOutcomes().contains {
        if case .looked(let found) = $0 { found.stale.isEmpty } else { false }
      })
    scene.store.writer.beginFold()
    scene.store.sweep(now: 500_000)
    scene.commit()
    scene.store.writer.delete([id])
    #expect(try scene.rows("journal") == 0)
    #expect(try scene.killed().texts("b") == ["x", "x", "x"])
  }

  @Test("A row of the journal that is not whole is a sentence at the start")
  func damaged() throws {
    let folder = try TemporaryFolder()
    try SQLiteSubject(folder.path).store.close()
    let connection = try Schema.writer(at: folder.path + "/" + DataFolder.databaseName)
    try connection.inTransaction { try JournalRow.insert([1, 1, 0, 0, 0, 9], as: 1, $0) }
    try connection.close()
    #expect(throws: StartError.self) { try SQLiteSubject(folder.path) }
  }

  @Test("A folder of the schema before the journal goes on, also when it is killed on the way")
  func upgrade() throws {
    let folder = try TemporaryFolder()
    try Self.makeFormer(folder)
    for _ in 0..<2 {
      let scene = try JournalScene(folder: folder)
      #expect(try scene.texts("old").prefix(2) == ["1", "2"])
      try scene.publish("old", "more")
      scene.commit()
      let survivor = try scene.killed()
      let count = try scene.texts("old").count
      #expect(try survivor.texts("old").count == count && survivor.rows("publications") == count)
      #expect(try survivor.store.open(channel("old"), durability: .durable).position.offset == UInt64(count))
    }
  }

  /// A data folder as the version before the journal wrote it, killed with a WAL.
  private static func makeFormer(_ folder: TemporaryFolder) throws {
    let former = try TemporaryFolder()
    let data = try DataFolder(former.path)
    let connection = try Schema.writer(at: data.databasePath)
    try connection.inDatabase { try Schema.migrations.run($0, upTo: "kept") }
    try connection.inTransaction { db in
      try db.execute(
        """
        UPDATE meta SET value = 2 WHERE key = 'sequence';
        UPDATE meta SET value = 'seed' WHERE key = 'seed';
        UPDATE meta SET value = 0 WHERE key = 'clean';
        INSERT INTO channels VALUES (1, 'old', 'E', 2, 'durable', 1000000, NULL, 1000);
        INSERT INTO publications VALUES (1, 1, 1000, x'31', NULL, NULL, NULL, NULL, NULL);
        INSERT INTO publications VALUES (1, 2, 1000, x'32', NULL, NULL, 7, 8, NULL);
        """)
    }
    data.setMark(2)
    try CrashImage.copy(former.path, to: folder.path)
    data.close()
  }
}

extension JournalScene {
  fileprivate func filesHold(_ text: String) throws -> Bool {
    try ["", "-wal"].contains { suffix in
      let file = URL(fileURLWithPath: folder.path + "/" + DataFolder.databaseName + suffix)
      return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
    }
  }
}
