import SQLite
import Wire

/// What a transaction changes in what users keep. Written in the same transaction as the rows, so that neither a crash
/// nor a refusal of the disk parts the two.
struct QuotaChanges {
  private var changes: [QuotaAccount: KeptAmount] = [:]

  mutating func add(_ amount: KeptAmount, of info: ClientInfo?, in scope: QuotaScope) {
    guard let account = scope.account(of: info) else { return }
    changes[account] = (changes[account] ?? KeptAmount()) + amount
  }

  private mutating func subtract(_ amount: KeptAmount, of info: ClientInfo?, in scope: QuotaScope) {
    add(KeptAmount() - amount, of: info, in: scope)
  }

  // MARK: Before rows change

  /// Takes all publications up to the offset out of the accounts; they are about to be deleted.
  mutating func willDelete(through offset: UInt64, of channel: Int64, in scope: QuotaScope, _ db: Database) throws {
    _ = try willChange(1, Int64(clamping: offset), of: channel, in: scope, db)
  }

  /// Takes a publication out of the account; it is about to be replaced by another with the same sender.
  ///
  /// - Returns: false where there is no such publication.
  mutating func willReplace(_ offset: UInt64, of channel: Int64, in scope: QuotaScope, _ db: Database) throws -> Bool {
    try willChange(Int64(clamping: offset), Int64(clamping: offset), of: channel, in: scope, db) > 0
  }

  /// - Returns: how many publications there are.
  private mutating func willChange(
    _ first: Int64, _ last: Int64, of channel: Int64, in scope: QuotaScope, _ db: Database
  ) throws -> Int {
    var count = 0
    let rows = try db.statement(
      "SELECT \(Self.sizes), change FROM publications WHERE channel_id = ?1 AND offset BETWEEN ?2 AND ?3")
    rows.bind(channel, at: 1)
    rows.bind(first, at: 2)
    rows.bind(last, at: 3)
    while try rows.next() {
      let row = SizedRow(rows)
      let change = rows.isNull(3) ? nil : RowCodec.decodeChange(rows.blob(3))
      let amount = KeptAmount(ofHistory: row.data, info: row.infoBytes, tags: row.tags, change: change)
      subtract(amount, of: row.info, in: scope)
      count += 1
    }
    return count
  }

  /// Takes the entry of a key out of the account, if there is one; it is about to be removed or replaced.
  mutating func willReplace(key: String, of channel: Int64, in scope: QuotaScope, _ db: Database) throws {
    let rows = try db.statement("SELECT \(Self.sizes) FROM entries WHERE channel_id = ?1 AND key = ?2")
    rows.bind(channel, at: 1)
    rows.bind(key, at: 2)
    while try rows.next() {
      let row = SizedRow(rows)
      let amount = KeptAmount(ofEntry: row.data, info: row.infoBytes, tags: row.tags, key: key)
      subtract(amount, of: row.info, in: scope)
    }
  }

  // MARK: All rows of a channel

  /// Adds all that is kept of a channel.
  mutating func count(_ channel: Int64, in scope: QuotaScope, _ db: Database) throws {
    let publications = try db.statement("SELECT \(Self.sizes), change FROM publications WHERE channel_id = ?1")
    publications.bind(channel, at: 1)
    while try publications.next() {
      let row = SizedRow(publications)
      let change = publications.isNull(3) ? nil : RowCodec.decodeChange(publications.blob(3))
      let amount = KeptAmount(ofHistory: row.data, info: row.infoBytes, tags: row.tags, change: change)
      add(amount, of: row.info, in: scope)
    }
    let entries = try db.statement("SELECT \(Self.sizes), key FROM entries WHERE channel_id = ?1")
    entries.bind(channel, at: 1)
    while try entries.next() {
      let row = SizedRow(entries)
      let amount = KeptAmount(ofEntry: row.data, info: row.infoBytes, tags: row.tags, key: entries.text(3))
      add(amount, of: row.info, in: scope)
    }
  }

  /// The columns from which a row's amount is counted. `length` of a blob reads none of it.
  private static let sizes = "length(data), info, length(tags)"

  private struct SizedRow {
    let data: Int
    let infoBytes: Int
    let info: ClientInfo?
    let tags: Int

    init(_ row: Statement) {
      let bytes = row.isNull(1) ? nil : row.blob(1)
      data = Int(row.int(0))
      infoBytes = bytes?.count ?? 0
      info = bytes.flatMap { RowCodec.decodeInfo($0) }
      tags = Int(row.int(2))
    }
  }

  // MARK: The accounts

  /// Writes the accounts. To be called within the transaction. An account that keeps nothing has no row.
  ///
  /// - Returns: what each account that was changed keeps now.
  func write(_ db: Database) throws -> [QuotaAccount: KeptAmount] {
    var totals: [QuotaAccount: KeptAmount] = [:]
    for (account, change) in changes where !change.isNothing {
      let update = try db.statement(
        """
        INSERT INTO kept (namespace, user, bytes, entries) VALUES (?1, ?2, max(?3, 0), max(?4, 0))
        ON CONFLICT (namespace, user) DO UPDATE SET bytes = max(bytes + ?3, 0), entries = max(entries + ?4, 0)
        RETURNING bytes, entries
        """)
      update.bind(account.namespace, at: 1)
      update.bind(account.user, at: 2)
      update.bind(Int64(change.bytes), at: 3)
      update.bind(Int64(change.entries), at: 4)
      var total = KeptAmount()
      while try update.next() { total = KeptAmount(bytes: Int(update.int(0)), entries: Int(update.int(1))) }
      totals[account] = total
      guard total.isNothing else { continue }
      let delete = try db.statement("DELETE FROM kept WHERE namespace = ?1 AND user = ?2")
      delete.bind(account.namespace, at: 1)
      delete.bind(account.user, at: 2)
      try delete.run()
    }
    return totals
  }
}

/// Brings the accounts in line with the namespaces that have a quota now, before the log is used: what a namespace
/// holds that has just got one is counted once, also after an upgrade from a version that knew none.
enum QuotaCount {
  /// - Returns: the namespaces that were counted anew.
  static func update(_ connection: DatabaseConnection, to namespaces: Set<String>) throws -> [String] {
    let counted = try connection.inDatabase { try Self.counted($0) }
    if counted == namespaces { return [] }
    let added = namespaces.subtracting(counted).sorted()
    try connection.inTransaction { db in
      for name in counted.subtracting(namespaces) {
        let delete = try db.statement("DELETE FROM kept WHERE namespace = ?1")
        delete.bind(name, at: 1)
        try delete.run()
      }
      for name in added { try count(name, db) }
      let text = namespaces.sorted().map { $0 + "\n" }.joined()
      try StoreMeta.put(text, as: "quotas", db)
    }
    return added
  }

  private static func counted(_ db: Database) throws -> Set<String> {
    let text = try db.text("SELECT value FROM meta WHERE key = 'quotas'") ?? ""
    return Set(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init))
  }

  /// Counts what stands in a namespace. Its channels are found by the index of the names: from `journal:` to
  /// `journal;`, where the next names begin, and the same with a `$` before.
  private static func count(_ namespace: String, _ db: Database) throws {
    var changes = QuotaChanges()
    let spans: [(first: String, end: String?)] =
      namespace.isEmpty ? [("", nil)] : ["", "$"].map { ("\($0)\(namespace):", "\($0)\(namespace);") }
    for (first, end) in spans {
      let rows = try db.statement("SELECT id, name FROM channels WHERE name >= ?1 AND name < ?2")
      rows.bind(first, at: 1)
      // No end: SQLite sorts every blob after every text.
      if let end { rows.bind(end, at: 2) } else { rows.bind([], at: 2) }
      while try rows.next() {
        guard let name = try? ChannelName(rows.text(1), limit: .max),
          let scope = QuotaScope(of: name, in: [namespace])
        else { continue }
        try changes.count(rows.int(0), in: scope, db)
      }
    }
    _ = try changes.write(db)
  }
}

/// What the writer tells the store of accounts.
struct QuotaNews: Sendable {
  /// How much the accounts keep now that were changed.
  var totals: [QuotaAccount: KeptAmount] = [:]
  /// Claims of entries that are on disk now, or have failed.
  var decided: [QuotaClaim] = []

  var isEmpty: Bool { totals.isEmpty && decided.isEmpty }
}
