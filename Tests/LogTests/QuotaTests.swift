import Foundation
import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

/// What users keep is counted in the transactions that write and delete, whatever the reason.
@Suite("What users keep", .ownThread)
struct QuotaTests {
  private static let own: ChannelName = "diary:#a"
  private static let shared: ChannelName = "club:1"

  @Test("A user's own channel is that user's, whoever wrote; elsewhere it is the publisher's, and services' nobody's")
  func payers() throws {
    let ada = QuotaAccount(namespace: "diary", user: "ada")
    for name in ["diary:#ada", "$diary:x#ada", "diary:x#bob#ada"] as [ChannelName] {
      for info in [nil, ClientInfo(user: "bob", client: "c")] {
        #expect(QuotaScope(of: name).account(of: info) == ada)
      }
    }
    for name in ["diary:ada", "diary:#ada,bob", "diary:#"] as [ChannelName] {
      #expect(QuotaScope(of: name).account(of: ClientInfo(user: "bob", client: "c"))?.user == "bob")
      #expect(QuotaScope(of: name).account(of: nil) == nil)
    }
    #expect(QuotaScope(of: "#ada").account(of: nil) == QuotaAccount(namespace: "", user: "ada"))
    #expect(QuotaScope(of: "diary:#ada", in: ["club", ""]) == nil)
    #expect(QuotaAccount(namespace: "n", user: "\u{E9}") != QuotaAccount(namespace: "n", user: "e\u{301}"))
  }

  @Test(
    "Publications count with their bytes, and end with the history: by size, by age, removed",
    arguments: TransactionalKind.allCases)
  func history(_ kind: TransactionalKind) throws {
    let scene = try QuotaScene(kind)
    scene.historySize = 3
    for _ in 0..<2 { try scene.write(Self.shared, by: "a", "12345") }
    try scene.write(Self.shared, by: "b", "1")
    try scene.write(Self.shared, by: nil, "a service's")
    // 128 for a row, 18 for a sender of two letters.
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 128 + 18 + 5, entries: 1), "the first was pushed out")
    #expect(try scene.kept("club", "b") == KeptAmount(bytes: 128 + 18 + 1, entries: 1))
    #expect(try scene.kept("diary", "a") == KeptAmount())
    try scene.write("diary:x#a", by: nil, "1")
    #expect(try scene.kept("diary", "a") == KeptAmount(bytes: 129, entries: 1))
    try scene.store.removeHistory(of: "diary:x#a")
    #expect(try scene.kept("diary", "a") == KeptAmount())
    scene.time += 5000
    try scene.sweep { try scene.kept("club", "a") == KeptAmount() && scene.kept("club", "b") == KeptAmount() }
    if kind != .memory { #expect(try scene.table() == [:]) }
    if kind == .memory { #expect((scene.store as? MemoryStore)?.ledger.count == 0) }
  }

  @Test("A map counts its entries; what replaces and removes them gives back", arguments: TransactionalKind.allCases)
  func map(_ kind: TransactionalKind) throws {
    let scene = try QuotaScene(kind)
    scene.historySize = 0
    let entry = { (bytes: Int) in KeptAmount(bytes: 128 + 18 + 22 + bytes, entries: 1) }
    try scene.write(Self.own, by: "a", String(repeating: "1", count: 1000), key: "k")
    #expect(try scene.kept("diary", "a") == entry(1000))
    try scene.write(Self.own, by: "a", "1", key: "k")
    #expect(try scene.kept("diary", "a") == entry(1))
    try scene.write(Self.own, by: "a", "1", key: "l")
    #expect(try scene.kept("diary", "a") == entry(1) + entry(1))
    try scene.write(Self.shared, by: "a", "1", key: "k")
    try scene.write(Self.shared, by: "b", "22", key: "k")
    #expect(try scene.kept("club", "a") == KeptAmount(), "another wrote over it")
    #expect(try scene.kept("club", "b") == entry(2))
    for key in ["k", "l"] { try scene.write(Self.own, by: "a", nil, key: key) }
    #expect(try scene.kept("diary", "a") == KeptAmount())
    scene.historySize = 10
    try scene.write(Self.own, by: "a", "1", key: "k")
    let inHistory = KeptAmount(bytes: entry(1).bytes)
    #expect(try scene.kept("diary", "a") == entry(1) + inHistory, "a map's changes count in bytes alone")
    try scene.write(Self.own, by: "a", nil, key: "k")
    #expect(try scene.kept("diary", "a") == inHistory + KeptAmount(bytes: KeptAmount.removal))
  }

  @Test("A publication that is edited counts as it is now", arguments: TransactionalKind.allCases)
  func edits(_ kind: TransactionalKind) throws {
    let scene = try QuotaScene(kind)
    var original = try scene.write(Self.shared, by: "a", "1")
    original.data = Array("123".utf8)
    original.tags = ["edited": "7"]
    try scene.write(Self.shared, by: "b", "2", edit: LogEdit(replacement: original))
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 128 + 18 + 3 + 8 + 7, entries: 1))
    try scene.store.removeHistory(of: Self.shared)
    try scene.write(Self.shared, by: "b", "2", edit: LogEdit(replacement: original))
    #expect(try scene.kept("club", "a") == KeptAmount(), "what is gone is not changed")
  }

  // MARK: On the way to the disk

  @Test("What is on its way counts until it is written, or has failed")
  func claims() throws {
    let scene = try QuotaScene(.sqlite, isStepped: true)
    let sqlite = try #require(scene.sqlite)
    let account = QuotaAccount(namespace: "club", user: "a")
    let claim = QuotaClaim(account: account, amount: KeptAmount(bytes: 147, entries: 1))
    #expect(try scene.kept("club", "a") == KeptAmount())
    for _ in 0..<3 { scene.append(try scene.entry(Self.shared, by: "a", claim: claim)) }
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 441, entries: 3))
    #expect(try scene.table() == [:])
    sqlite.store.step(2)
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 441, entries: 3))
    sqlite.store.step()
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 441, entries: 3))
    #expect(try scene.table() == [account: KeptAmount(bytes: 441, entries: 3)])
    // Where the disk refuses an entry, nothing was kept, and the user's claim is given back.
    #expect(sqlite.store.ask(.intercept { _ in throw DatabaseError(.full) }))
    scene.append(try scene.entry(Self.shared, by: "a", claim: claim))
    #expect(try scene.kept("club", "a").entries == 4)
    sqlite.store.step()
    #expect(sqlite.completions.all.last?.error != nil)
    #expect(try scene.kept("club", "a").entries == 3)
    #expect(try scene.table() == scene.rows())
  }

  @Test("However many accounts are asked for, few stay in memory, and those with entries under way among them")
  func bounded() {
    var shares = QuotaShares()
    let account = { (number: Int) in QuotaAccount(namespace: "club", user: "\(number)") }
    let claim = QuotaClaim(account: account(0), amount: KeptAmount(bytes: 5, entries: 1))
    _ = shares.learn(KeptAmount(bytes: 10, entries: 1), of: account(0))
    shares.claim(claim)
    for number in 1...100_000 { _ = shares.learn(KeptAmount(), of: account(number)) }
    #expect(shares.count <= 2 * QuotaShares.generation + 1)
    #expect(shares.amount(of: account(0)) == KeptAmount(bytes: 15, entries: 2))
    shares.apply(QuotaNews(totals: [account(0): KeptAmount(bytes: 15, entries: 2)], decided: [claim]))
    #expect(shares.amount(of: account(0)) == KeptAmount(bytes: 15, entries: 2))
  }

  // MARK: Restarts

  @Test(
    "Whatever is done, and whenever the process is killed, the accounts are the sum of the rows",
    arguments: TransactionalKind.allCases.filter { $0 != .memory }, 1...3 as ClosedRange<UInt64>)
  func randomWalk(_ kind: TransactionalKind, _ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    var scene = try QuotaScene(kind, folder: folder)
    for step in 0..<400 {
      try randomStep(scene, &generator)
      if step % 40 == 17 {
        try scene.sweep { try scene.table() == scene.rows() }
        scene.time += 400
      }
      if step % 100 == 50, kind == .sqlite {
        // The process is killed with entries on their way to the disk.
        for _ in 0..<20 { scene.append(try scene.entry(Self.shared, by: "b")) }
        let image = try TemporaryFolder()
        try CrashImage.copy(folder.path, to: image.path)
        let survivor = try QuotaScene(.sqlite, folder: image)
        #expect(try survivor.table() == survivor.rows())
        try scene.wait()
      }
      if step % 100 == 99 {
        scene.store.close()
        let time = scene.time
        scene = try QuotaScene(kind, folder: folder, schema: scene.postgres?.schema)
        scene.time = time
      }
    }
    let rows = try scene.rows()
    #expect(try scene.table() == rows)
    for (account, amount) in rows { #expect(try scene.store.kept(by: account) == amount) }
    #expect(!rows.isEmpty)
  }

  private func randomStep(_ scene: QuotaScene, _ generator: inout SeededGenerator) throws {
    let users = ["a", "b", "c"]
    let user = users.randomElement(using: &generator)
    let streams: [ChannelName] = ["diary:#a", "diary:s#b", "club:1", "club:2", "free:1", "club:#a,b"]
    let maps: [ChannelName] = ["diary:m#a", "club:m", "free:m"]
    scene.historySize = [0, 3, 100].randomElement(using: &generator) ?? 3
    let data = String(repeating: "d", count: .random(in: 1...40, using: &generator))
    switch Int.random(in: 0..<10, using: &generator) {
    case 0..<4:
      try scene.write(
        streams.randomElement(using: &generator) ?? "club:1", by: Bool.random(using: &generator) ? user : nil, data)
    case 4..<7:
      let key = String(Int.random(in: 0..<5, using: &generator))
      try scene.write(maps.randomElement(using: &generator) ?? "club:m", by: user, data, key: key)
    case 7:
      let key = String(Int.random(in: 0..<5, using: &generator))
      try scene.write(maps.randomElement(using: &generator) ?? "club:m", by: user, nil, key: key)
    case 8:
      let channel = streams.randomElement(using: &generator) ?? "club:1"
      let found = try scene.store.read(channel, LogRange(since: nil, through: .max, limit: .max))
      guard var original = found.randomElement(using: &generator) else { return }
      original.data = Array(data.utf8)
      try scene.write(channel, by: user, "edit", edit: LogEdit(replacement: original))
    default: try scene.store.removeHistory(of: streams.randomElement(using: &generator) ?? "club:1")
    }
  }

  @Test(
    "A namespace that gets a quota later is counted then, and one that has none any more is forgotten",
    .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere))
  func laterQuota() throws {
    var scene = try QuotaScene(.postgres, namespaces: [])
    for user in ["a", "b", nil] { try scene.write(Self.shared, by: user, "1") }
    try scene.write("$diary:x#b", by: "a", "11", key: "k")
    try scene.write("plain", by: "a", "1")
    #expect(try scene.table() == [:])
    for namespaces in [QuotaScene.namespaces, ["", "diary"], [], QuotaScene.namespaces] {
      scene.store.close()
      scene = try QuotaScene(.postgres, schema: scene.postgres?.schema, namespaces: namespaces)
      let isCounted = namespaces.contains("club")
      #expect(try scene.kept("club", "a") == (isCounted ? KeptAmount(bytes: 147, entries: 1) : KeptAmount()))
      #expect(try scene.kept("", "a").entries == (namespaces.contains("") ? 1 : 0))
      if isCounted {
        #expect(
          try scene.table().filter { $0.key.namespace != "diary" }
            == scene.rows().filter { $0.key.namespace != "diary" })
      }
    }
    try scene.write(Self.shared, by: "a", "1")
    #expect(try scene.kept("club", "a") == KeptAmount(bytes: 294, entries: 2))
  }

  @Test("A folder from before there were quotas is counted once; a namespace that gets one later is counted then")
  func upgrade() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/" + DataFolder.databaseName
    do {
      let connection = try Schema.writer(at: path)
      try connection.inDatabase { try Schema.migrations.run($0, upTo: "channels.used") }
      let info = RowCodec.encode(ClientInfo(user: "a", client: "c"))
      try connection.inTransaction { db in
        try db.execute(
          """
          INSERT INTO channels VALUES (1, 'club:1', 'E', 2, 'durable', 1000000, NULL, 0),
            (2, '$diary:#b', 'E', 1, 'durable', 0, NULL, 0), (3, 'diaryx:1', 'E', 1, 'durable', 0, NULL, 0),
            (4, 'none', 'E', 1, 'durable', 0, NULL, 0);
          """)
        for (channel, offset) in [(1, 1), (1, 2), (3, 1), (4, 1)] {
          let insert = try db.statement(
            "INSERT INTO publications VALUES (?1, ?2, 1000, x'31', ?3, NULL, NULL, NULL, NULL)")
          insert.bind(Int64(channel), at: 1)
          insert.bind(Int64(offset), at: 2)
          insert.bind(info, at: 3)
          try insert.run()
        }
        try db.execute("INSERT INTO entries VALUES (2, 'k', 1, 1000, x'3131', NULL, NULL, 0, NULL)")
      }
      try connection.close()
    }
    let two = KeptAmount(bytes: 2 * (128 + 18 + 1), entries: 2)
    var scene = try QuotaScene(.sqlite, folder: folder)
    #expect(try scene.kept("club", "a") == two)
    #expect(try scene.kept("diary", "b") == KeptAmount(bytes: 128 + 2 + 22, entries: 1))
    #expect(try scene.table().count == 2)
    // Nothing is counted while the namespace has no quota; what was written meanwhile is counted when it has one again.
    scene.store.close()
    scene = try QuotaScene(.sqlite, folder: folder, namespaces: ["diary", ""])
    try scene.write(Self.shared, by: "a", "1")
    #expect(try scene.table().count == 2 && scene.kept("", "a").entries == 1)
    scene.store.close()
    scene = try QuotaScene(.sqlite, folder: folder)
    #expect(try scene.kept("club", "a").entries == 3)
    #expect(try scene.table().count == 2 && scene.kept("", "a").entries == 0)
  }
}

extension ChannelName: ExpressibleByStringLiteral {
  /// A name from a literal, which a test knows to be valid.
  public init(stringLiteral value: String) {
    guard let name = try? ChannelName(value) else { preconditionFailure("\(value) is no channel name") }
    self = name
  }
}
