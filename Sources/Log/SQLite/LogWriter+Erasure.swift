import SQLite
import Wire

/// Deleting a user's data, on the writer's thread.
extension LogWriter {
  func erase(_ question: ErasureQuestion) {
    switch question {
    case .scrub:
      upkeep.isScrubAwaited = true
      scrub()
    case .settle: told(question, refusal ?? foldAll())
    case .drop(let names): told(question, change { db, quotas in try ErasedRows.drop(names, of: self, &quotas, db) })
    case .clear(let rows): told(question, change { db, quotas in try ErasedRows.clear(rows, of: self, &quotas, db) })
    case .forgetAccounts(let users): told(question, forgetAccounts(of: users))
    case .trace: preconditionFailure("traces are read by the readers' threads")
    }
  }

  private func told(_ question: ErasureQuestion, _ error: LogError?) {
    inbox.post([.erased(question, error)], freeing: 0)
  }

  /// Changes rows of channels that nobody has open. The journal is emptied first: none of its rows may speak of a
  /// channel that is gone.
  private func change(_ body: (Database, inout QuotaChanges) throws -> Void) -> LogError? {
    account.mustEmpty = true
    if let error = refusal ?? foldAll() { return error }
    var totals: [QuotaAccount: KeptAmount] = [:]
    let result = attempt { db in
      try db.inTransaction {
        var quotas = QuotaChanges()
        try body(db, &quotas)
        totals = try quotas.write(db)
      }
      return true
    }
    guard case .success = result else { return result.failure }
    if !totals.isEmpty { inbox.post([.quotas(QuotaNews(totals: totals))], freeing: 0) }
    return nil
  }

  private func forgetAccounts(of users: [String]) -> LogError? {
    if let refusal { return refusal }
    var totals: [QuotaAccount: KeptAmount] = [:]
    let result = attempt { db in
      try db.inTransaction {
        for user in users {
          let delete = try db.statement("DELETE FROM kept WHERE user = ?1 RETURNING namespace")
          delete.bind(user, at: 1)
          // A key is the publisher's own text. Short ids stand in many keys of others, which go within minutes anyway.
          if user.utf8.count >= 8 {
            let keys = try db.statement("DELETE FROM idempotency WHERE instr(key, ?1)")
            keys.bind(user, at: 1)
            try keys.run()
          }
          while try delete.next() { totals[QuotaAccount(namespace: delete.text(0), user: user)] = KeptAmount() }
        }
      }
      return true
    }
    guard case .success = result else { return result.failure }
    if !totals.isEmpty { inbox.post([.quotas(QuotaNews(totals: totals))], freeing: 0) }
    return nil
  }
}

/// Statements that take a user's data out of the tables. To be called within a transaction.
enum ErasedRows {
  /// Takes the sender away from a publication that an edit has emptied, and the key with which it was published.
  static func forgetSender(of offset: UInt64, channel: Int64, _ db: Database) throws {
    for sql in [
      "UPDATE publications SET info = NULL WHERE channel_id = ?1 AND offset = ?2",
      "DELETE FROM idempotency WHERE channel_id = ?1 AND offset = ?2",
    ] {
      let statement = try db.statement(sql)
      statement.bind(channel, at: 1)
      statement.bind(offset, at: 2)
      try statement.run()
    }
  }

  /// Deletes channels and everything that is kept of them.
  static func drop(_ names: [ChannelName], of writer: LogWriter, _ quotas: inout QuotaChanges, _ db: Database) throws {
    for name in names {
      guard let id = try row(of: name, db) else { continue }
      if let scope = QuotaScope(of: name, in: writer.quotaNamespaces) {
        try quotas.willDelete(through: UInt64(Int64.max), of: id, in: scope, db)
        for key in try keys(of: id, db) { try quotas.willReplace(key: key, of: id, in: scope, db) }
      }
      for table in ["publications", "entries", "idempotency", "origins"] {
        try run("DELETE FROM \(table) WHERE channel_id = ?1", id, db)
      }
      try run("DELETE FROM channels WHERE id = ?1", id, db)
    }
  }

  /// Empties publications and removes entries.
  static func clear(_ rows: [TracedRow], of writer: LogWriter, _ quotas: inout QuotaChanges, _ db: Database) throws {
    for row in rows {
      guard let id = try self.row(of: row.channel, db) else { continue }
      let scope = QuotaScope(of: row.channel, in: writer.quotaNamespaces)
      let offset = row.publication.offset
      if row.kind == .entry, let key = row.publication.change?.key {
        if let scope { try quotas.willReplace(key: key, of: id, in: scope, db) }
        let delete = try db.statement("DELETE FROM entries WHERE channel_id = ?1 AND key = ?2")
        delete.bind(id, at: 1)
        delete.bind(key, at: 2)
        try delete.run()
      } else {
        if let scope { _ = try quotas.willReplace(offset, of: id, in: scope, db) }
        let empty = try db.statement(
          "UPDATE publications SET data = ?3, tags = NULL, change = NULL WHERE channel_id = ?1 AND offset = ?2")
        empty.bind(id, at: 1)
        empty.bind(offset, at: 2)
        empty.bind(ErasureQuestion.emptied, at: 3)
        try empty.run()
        try forgetSender(of: offset, channel: id, db)
      }
    }
  }

  private static func run(_ sql: String, _ channel: Int64, _ db: Database) throws {
    let statement = try db.statement(sql)
    statement.bind(channel, at: 1)
    try statement.run()
  }

  private static func row(of name: ChannelName, _ db: Database) throws -> Int64? {
    let statement = try db.statement("SELECT id FROM channels WHERE name = ?1")
    statement.bind(name.string, at: 1)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.int(0)
  }

  private static func keys(of channel: Int64, _ db: Database) throws -> [String] {
    let statement = try db.statement("SELECT key FROM entries WHERE channel_id = ?1")
    statement.bind(channel, at: 1)
    var keys: [String] = []
    while try statement.next() { keys.append(statement.text(0)) }
    return keys
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
