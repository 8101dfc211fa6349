import Foundation
import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

@Suite(.ownThread) struct MapEntryTests {
  @Test("Of each key the publication that wrote it last, until it is removed", arguments: TransactionalKind.allCases)
  func lastOfEach(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("m")
    try scene.append([scene.entry("m", 1, "1", key: "a"), scene.entry("m", 2, "2", key: "b")])
    try scene.append([scene.entry("m", 3, "3", key: "a"), scene.entry("m", 4, "null", key: "b", removed: true)])
    #expect(try scene.map("m") == ["a": "3"])
    #expect(try scene.store.entry("b", of: channel("m")) == nil)
    #expect(try scene.store.entry("a", of: channel("m"))?.offset == 3)
    #expect(try scene.store.entry("a", of: channel("unknown")) == nil)
    #expect(try scene.store.entries(of: channel("unknown")) == [])
  }

  @Test("An entry is read back as it was", arguments: TransactionalKind.allCases)
  func whole(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("m")
    var entry = try scene.entry("m", 1, "x", key: "é\u{0}", score: .min, expires: 5)
    entry.publication.info = ClientInfo(user: "u", client: "c", connectionInfo: [1], channelInfo: [])
    entry.publication.tags = ["a": "", "": "b"]
    try scene.append([entry])
    #expect(try scene.store.entries(of: channel("m")) == [entry.publication])
    #expect(try scene.store.entry("é\u{0}", of: channel("m")) == entry.publication)
  }

  @Test("Keys are told apart by their bytes", arguments: TransactionalKind.allCases)
  func bytes(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("m")
    try scene.append([scene.entry("m", 1, "1", key: "\u{E9}"), scene.entry("m", 2, "2", key: "e\u{301}")])
    #expect(try scene.store.entries(of: channel("m")).count == 2)
    #expect(try scene.store.entry("e\u{301}", of: channel("m"))?.offset == 2)
  }

  @Test("Keys that run out by a time come first things first, and only so many", arguments: TransactionalKind.allCases)
  func expiry(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    for name in ["m", "n"] { try scene.open(name) }
    try scene.append([
      scene.entry("m", 1, key: "never"), scene.entry("m", 2, key: "c", expires: 30),
      scene.entry("m", 3, key: "a", expires: 10), scene.entry("m", 4, key: "b", expires: 20),
      scene.entry("n", 1, key: "other", expires: 1), scene.entry("m", 5, key: "lane", score: 1, expires: 5),
    ])
    #expect(try scene.due("m", by: 9) == [])
    #expect(try scene.due("m", by: 20) == ["a", "b"])
    #expect(try scene.due("m", by: .max) == ["a", "b", "c"])
    #expect(try scene.due("m", by: .max, limit: 1) == ["a"])
    #expect(try scene.due("m", by: .max, score: 1) == ["lane"], "of another score, and first by its time")
    try scene.append([scene.entry("m", 6, key: "a", expires: 40), scene.entry("m", 7, key: "b")])
    #expect(try scene.due("m", by: .max) == ["c", "a"])
    try scene.append([scene.entry("m", 8, key: "c", removed: true)])
    #expect(try scene.due("m", by: .max) == ["a"])
  }

  @Test("Entries, and when they run out, survive a restart", arguments: TransactionalKind.allCases)
  func restart(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("m")
    try scene.append([scene.entry("m", 1, "1", key: "a", score: 7, expires: 10)])
    guard let second = try scene.again() else { return }
    #expect(try second.map("m") == ["a": "1"])
    #expect(try second.due("m", by: 10, score: 7) == ["a"])
    #expect(try second.store.entry("a", of: channel("m"))?.change?.score == 7)
  }

  @Test("Removing a channel's history leaves its entries", arguments: TransactionalKind.allCases)
  func historyRemoved(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("m")
    try scene.append([scene.entry("m", 1, "1", key: "a")])
    try scene.store.removeHistory(of: channel("m"))
    #expect(try scene.map("m") == ["a": "1"])
  }

  // MARK: Changed publications

  @Test("A change shows in what is kept, whether it is in memory or on disk", arguments: TransactionalKind.allCases)
  func edits(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("s")
    for offset in 1...3 as ClosedRange<UInt64> { try scene.append([scene.entry("s", offset, "\(offset)")]) }
    #expect(try scene.texts("s") == ["1", "2", "3"])
    var replacement = Publication(offset: 2, time: 1000, data: Array("new".utf8), tags: ["edited": "1"])
    try scene.append([scene.entry("s", 4, "edits 2", edit: LogEdit(replacement: replacement))])
    #expect(try scene.texts("s") == ["1", "new", "3", "edits 2"])
    replacement.data = Array("newer".utf8)
    try scene.append([scene.entry("s", 5, "edits 2", edit: LogEdit(replacement: replacement))])
    #expect(try scene.texts("s") == ["1", "newer", "3", "edits 2", "edits 2"])
    guard let second = try scene.again() else { return }
    #expect(try second.texts("s") == ["1", "newer", "3", "edits 2", "edits 2"])
    let read = try second.store.read(channel("s"), LogRange(since: 1, through: 2, limit: 1))
    #expect(read == [replacement])
  }

  @Test("A change of what is too old for the memory shows all the same", arguments: TransactionalKind.allCases)
  func editOfOld(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("s")
    let count = UInt64(HotChannel.tailLimit + 50)
    for offset in 1...count {
      var entry = try scene.entry("s", offset, "\(offset)")
      entry.historySize = 10_000
      try scene.append([entry])
    }
    let replacement = Publication(offset: 1, time: 1000, data: Array("new".utf8))
    var entry = try scene.entry("s", count + 1, "edits 1", edit: LogEdit(replacement: replacement))
    entry.historySize = 10_000
    try scene.append([entry])
    #expect(try scene.texts("s").first == "new")
    #expect(try scene.texts("s").count == Int(count) + 1)
  }

  @Test("A change of what is not kept any more changes nothing", arguments: TransactionalKind.allCases)
  func editOfGone(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    try scene.open("s")
    for offset in 1...3 as ClosedRange<UInt64> {
      var entry = try scene.entry("s", offset, "\(offset)")
      entry.historySize = 2
      try scene.append([entry])
    }
    var entry = try scene.entry(
      "s", 4, "4", edit: LogEdit(replacement: Publication(offset: 1, time: 1000, data: [])))
    entry.historySize = 2
    try scene.append([entry])
    #expect(try scene.texts("s") == ["3", "4"])
  }

  // MARK: What must not stay

  @Test("After a scrub, no file holds a byte of what was replaced, removed, or changed")
  func scrub() throws {
    let scene = try TransactionScene(.sqlite)
    let (sqlite, folder) = (try #require(scene.sqlite), try #require(scene.folder))
    for name in ["s", "m"] { try scene.open(name) }
    let secrets = (0..<30).map { "secret-\($0)-" + String(repeating: "\($0 % 10)", count: $0 * 400) + "-end" }
    var offset: UInt64 = 0
    for secret in secrets {
      offset += 1
      try scene.append([scene.entry("m", offset, secret, key: "k\(offset)"), scene.entry("s", offset, secret)])
    }
    #expect(try Self.holds("secret-7-", folder))
    for index in secrets.indices {
      offset += 1
      let gone = LogEdit(replacement: Publication(offset: UInt64(index + 1), time: 1000, data: []))
      let entry = try scene.entry("s", offset, "removed", edit: gone)
      let isRemoved = index.isMultiple(of: 2)
      try scene.append([scene.entry("m", offset, "null", key: "k\(index + 1)", removed: isRemoved), entry])
    }
    scene.store.scrub()
    try sqlite.perform("SELECT 1")
    for index in secrets.indices {
      #expect(try !Self.holds("secret-\(index)-", folder), "secret \(index) is still there")
    }
    #expect(try !Self.holds("77777777777777777777", folder))
  }

  private static func holds(_ text: String, _ folder: TemporaryFolder) throws -> Bool {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
      if data.range(of: Data(text.utf8)) != nil { return true }
    }
    return false
  }

  // MARK: Databases of before

  @Test("A database from before there were maps is taken over with all that it holds")
  func migration() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/" + DataFolder.databaseName
    do {
      let connection = try Schema.writer(at: path)
      try connection.inDatabase { try Schema.migrations.run($0, upTo: "v1") }
      try connection.inTransaction { db in
        try db.execute(
          """
          INSERT INTO channels VALUES (1, 'old', 'E', 2, 'durable', 1000000, NULL);
          INSERT INTO publications VALUES (1, 1, 1000, x'31', NULL, NULL, NULL, NULL);
          INSERT INTO publications VALUES (1, 2, 1000, x'32', NULL, NULL, 7, 8);
          INSERT INTO idempotency VALUES (1, 'k', 2, 5, 9000);
          """)
      }
      try connection.close()
    }
    let scene = try TransactionScene(.sqlite, folder: folder)
    let opened = try scene.store.open(channel("old"), durability: .durable)
    #expect(opened.position.offset == 2)
    #expect(opened.idempotencyKeys.map(\.key) == ["k"])
    #expect(opened.recentOrigins == [RequestOrigin(gateway: 7, request: 8): 2])
    for name in ["old", "m"] { try scene.open(name) }
    #expect(try scene.texts("old") == ["1", "2"])
    #expect(try scene.map("old") == [:])
    #expect(try scene.append([scene.entry("old", 3, "3"), scene.entry("m", 1, "1", key: "a")]) == [nil, nil])
    #expect(try scene.texts("old") == ["1", "2", "3"])
    #expect(try scene.map("m") == ["a": "1"])
  }
}
