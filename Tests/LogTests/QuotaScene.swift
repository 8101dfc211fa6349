import SQLite
import TestSupport
import Testing
import Wire

@testable import Log

/// A store that counts what users keep in the namespaces `diary` and `club`, driven as the broker does.
final class QuotaScene {
  static let namespaces: Set<String> = ["diary", "club"]

  let kind: TransactionalKind
  let store: any LogStore
  let sqlite: SQLiteSubject?
  let postgres: PostgresSubject?
  private let completions: Completions?
  let folder: TemporaryFolder?
  private var tops: [ChannelName: StreamPosition] = [:]
  private var ticket: UInt64 = 0
  private var pending = 0
  var historySize = 100
  var time: Int64 = 1000

  init(
    _ kind: TransactionalKind, folder: TemporaryFolder? = nil, schema: String? = nil,
    namespaces: Set<String> = QuotaScene.namespaces, isStepped: Bool = false
  ) throws {
    self.kind = kind
    guard kind == .sqlite else {
      let subject =
        kind == .memory
        ? nil
        : try PostgresSubject(schema: schema) {
          $0.now = { 1000 }
          $0.quotaNamespaces = namespaces
        }
      store = subject?.store ?? MemoryStore(quotaNamespaces: namespaces)
      completions = subject?.completions
      postgres = subject
      sqlite = nil
      self.folder = nil
      return
    }
    let folder = try folder ?? TemporaryFolder()
    var options = SQLiteStore.Options()
    options.now = { 1000 }
    options.quotaNamespaces = namespaces
    options.isStepped = isStepped
    let subject = try SQLiteSubject(folder.path, options: options)
    self.folder = folder
    sqlite = subject
    completions = subject.completions
    postgres = nil
    store = subject.store
  }

  deinit { store.close() }

  /// The next publication of a channel; with a key it writes a map, without data it removes.
  func entry(
    _ channel: ChannelName, by user: String?, _ data: String? = "x", key: String? = nil, edit: LogEdit? = nil,
    claim: QuotaClaim? = nil
  ) throws -> LogEntry {
    if tops[channel] == nil { tops[channel] = try store.open(channel, durability: .durable).position }
    var top = try #require(tops[channel])
    top.offset += 1
    tops[channel] = top
    ticket += 1
    let change = key.map { KeyChange(key: $0, removed: data == nil) }
    return LogEntry(
      ticket: ticket, channel: channel, epoch: top.epoch,
      publication: Publication(
        offset: top.offset, time: time, data: Array((data ?? "null").utf8),
        info: user.map { ClientInfo(user: $0, client: "c") }, tags: data?.count == 7 ? ["a": "b"] : [:], change: change),
      durability: .durable, historySize: historySize, historyTTLMilliseconds: 1000, writesMap: key != nil, edit: edit,
      claim: claim)
  }

  /// Appends, and waits for the disk.
  @discardableResult
  func write(
    _ channel: ChannelName, by user: String?, _ data: String? = "x", key: String? = nil, edit: LogEdit? = nil
  ) throws -> Publication {
    let entry = try entry(channel, by: user, data, key: key, edit: edit)
    append(entry)
    try wait()
    return entry.publication
  }

  func append(_ entry: LogEntry) {
    let outcome = store.append(entry)
    if outcome == .pending { pending += 1 } else { #expect(outcome == .kept) }
  }

  func wait() throws { try completions?.wait(for: pending) }

  func kept(_ namespace: String, _ user: String) throws -> KeptAmount {
    try store.kept(by: QuotaAccount(namespace: namespace, user: user))
  }

  /// Waits for the sweep as well, which tells nobody that it is through.
  func sweep(until isDone: () throws -> Bool) throws {
    try eventually {
      store.sweep(now: time)
      return try isDone()
    }
  }

  /// The accounts as the table `kept` has them, once the writer has done all that it was asked.
  func table() throws -> [QuotaAccount: KeptAmount] {
    if let postgres { return try postgres.accounts("SELECT namespace, payer, bytes, entries FROM kept") }
    return try Self.accounts("SELECT * FROM kept", try #require(sqlite))
  }

  /// The accounts as the rows of publications and entries make them, by SQL of this test's own.
  func rows() throws -> [QuotaAccount: KeptAmount] {
    if let postgres { return try postgres.accounts(PostgresSubject.accountsOfRows) }
    let payers = """
      WITH rows (name, info, bytes, entries) AS (
        SELECT name, info,
          iif(substr(change, -17, 1) IS x'01', 64,
            128 + length(data) + coalesce(length(info), 0) + coalesce(length(tags), 0) + coalesce(length(change), 0)),
          change IS NULL
        FROM publications JOIN channels ON id = channel_id
        UNION ALL
        SELECT name, info,
          149 + length(data) + coalesce(length(info), 0) + coalesce(length(tags), 0) + length(CAST(key AS BLOB)), 1
        FROM entries JOIN channels ON id = channel_id)
      """
    // Names of tests have one letter in each user's id: `diary:#a`, and in `info` it stands behind four bytes of
    // length.
    return try Self.accounts(
      payers + """
        SELECT substr(name, 1, instr(name, ':') - 1) AS namespace,
          iif(name GLOB '*#?', substr(name, -1), CAST(substr(info, 5, 1) AS TEXT)) AS user, sum(bytes), sum(entries)
        FROM rows WHERE (name LIKE 'diary:%' OR name LIKE 'club:%') AND (name GLOB '*#?' OR info IS NOT NULL)
        GROUP BY 1, 2
        """, try #require(sqlite))
  }

  private static func accounts(_ sql: String, _ subject: SQLiteSubject) throws -> [QuotaAccount: KeptAmount] {
    try subject.reader().connection.inDatabase { db in
      let rows = try db.statement(sql)
      var sums: [QuotaAccount: KeptAmount] = [:]
      while try rows.next() {
        let amount = KeptAmount(bytes: Int(rows.int(2)), entries: Int(rows.int(3)))
        let former = sums.updateValue(amount, forKey: QuotaAccount(namespace: rows.text(0), user: rows.text(1)))
        #expect(former == nil)
      }
      return sums
    }
  }
}
