import Logging
import PostgreSQL
import Wire

/// What a new owner does before anybody uses the log.
extension PostgresSession {
  /// Reads of what epochs are made, and notes that the log is in use: where that note is found by the next owner, what
  /// was delivered of relaxed channels may be missing.
  func begin(
    quotaNamespaces: Set<String>, _ randomness: inout any RandomNumberGenerator
  ) throws -> EpochParts {
    let rows = try asked("SELECT key, value FROM meta")
    var meta: [String: String] = [:]
    for row in 0..<rows.count { meta[rows.text(row, 0)] = rows.text(row, 1) }
    var epochs = EpochParts(seed: meta["seed"] ?? "", era: meta["era"] ?? "", run: meta["run"] ?? "")
    let isMissing = try hasLostAcknowledged(of: epochs.seed)
    if epochs.seed.isEmpty { epochs.seed = Epoch.random(using: &randomness) + Epoch.random(using: &randomness) }
    if isMissing {
      logger.critical(
        """
        transactions that were acknowledged are missing from the log's database: a standby was promoted that did not \
        have them, or a backup was restored. All channels begin new epochs, and clients are told that they may have \
        missed something; docs/POSTGRESQL.md says what to look at
        """)
      LogMetrics().noteLoss()
      epochs.era = Epoch.random(using: &randomness)
    }
    if isMissing || meta["clean"] != "1" { epochs.run = Epoch.random(using: &randomness) }
    let written = try asked(
      """
      UPDATE meta SET value = CASE key WHEN 'seed' THEN $1 WHEN 'run' THEN $2 WHEN 'era' THEN $3 ELSE '0' END
      WHERE key IN ('seed', 'run', 'era', 'clean')
      """, [.text(epochs.seed), .text(epochs.run), .text(epochs.era)])
    if written.isUnconfirmed { throw PostgresLease.Fault.unconfirmed }
    // Not before the new epochs are written: else a loss would be noticed and forgotten with a crash.
    try beginMark(of: epochs.seed)
    try count(quotaNamespaces, counted: meta["quotas"] ?? "")
    // Nobody was told of these, and nobody holds anything of an account yet.
    _ = try asked("DELETE FROM changed")
    return epochs
  }

  /// Whether the database lacks what this broker knows to be acknowledged.
  private func hasLostAcknowledged(of seed: String) throws -> Bool {
    guard let mark else { return false }
    guard mark.seed == seed else {
      logger.notice("the log's database is another one than before")
      return false
    }
    let rows = try asked(
      """
      SELECT epoch, term, started, (SELECT min(epoch) FROM leases) FROM leases WHERE epoch >= $1
      ORDER BY epoch LIMIT 2
      """, [.int(mark.epoch)])
    let leases = (0..<rows.count).map {
      LogMark.Lease(epoch: rows.int($0, 0), term: rows.text($0, 1), started: rows.int($0, 2))
    }
    return mark.isAhead(of: leases, oldest: rows.count > 0 ? rows.int(0, 3) : 0)
  }

  /// Writes down which channels are at home, for ``PostgresSharing``'s functions.
  func place(_ options: PostgresStore.Options) throws {
    try PostgresSharing.place(options) { (sql, parameters) throws(LogError) in try asked(sql, parameters) }
  }

  private func asked(_ sql: String, _ parameters: [Parameter] = []) throws(LogError) -> Rows {
    try ask(sql, parameters).get()
  }

  // MARK: Quotas

  /// Brings the accounts in line with the namespaces that have a quota now: what a namespace holds that has just got
  /// one is counted once. A crash on the way leaves the former list, with which the next start does it again.
  private func count(_ namespaces: Set<String>, counted text: String) throws {
    let counted = Set(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init))
    if counted == namespaces { return }
    for name in counted.subtracting(namespaces) {
      _ = try asked(
        "UPDATE channels SET quota_namespace = NULL, quota_owner = NULL WHERE quota_namespace = $1",
        [.bytes(Array(name.utf8))])
      _ = try asked("DELETE FROM kept WHERE namespace = $1", [.bytes(Array(name.utf8))])
    }
    let state = namespaces.isEmpty ? "DISABLE" : "ENABLE"
    for table in ["publications", "entries"] { _ = try asked("ALTER TABLE \(table) \(state) TRIGGER USER") }
    for name in namespaces.subtracting(counted).sorted() {
      try nameAccounts(in: name)
      _ = try asked("SELECT count_namespace($1)", [.bytes(Array(name.utf8))])
    }
    let list = namespaces.sorted().map { $0 + "\n" }.joined()
    _ = try asked("UPDATE meta SET value = $1 WHERE key = 'quotas'", [.text(list)])
  }

  /// Writes into the rows of a namespace's channels who pays for what is kept there.
  private func nameAccounts(in namespace: String) throws {
    for (first, end) in PostgresSchema.spans(of: namespace) {
      var after = first
      while true {
        let rows = try asked(
          "SELECT id, name FROM channels WHERE name > $1 AND name < $2 ORDER BY name LIMIT 4096",
          [.bytes(after), .bytes(end)])
        if rows.count == 0 { break }
        after = rows.bytes(rows.count - 1, 1)
        try nameAccounts(of: rows, in: namespace)
      }
    }
  }

  private func nameAccounts(of rows: Rows, in namespace: String) throws {
    var (ids, namespaces, owners): ([Int64?], [[UInt8]?], [[UInt8]?]) = ([], [], [])
    for row in 0..<rows.count {
      guard let name = try? ChannelName(rows.text(row, 1), limit: .max),
        let account = QuotaScope(of: name, in: [namespace])?.columns
      else { continue }
      ids.append(rows.int(row, 0))
      namespaces.append(account.namespace)
      owners.append(account.owner)
    }
    _ = try asked(
      """
      UPDATE channels AS c SET quota_namespace = g.namespace, quota_owner = g.owner
      FROM unnest($1, $2, $3) AS g (id, namespace, owner) WHERE c.id = g.id
      """, [.ints(ids), .blobs(namespaces), .blobs(owners)])
  }
}

extension QuotaScope {
  /// Who pays for what is kept, as two columns: no owner where whoever wrote a row pays for it.
  var columns: (namespace: [UInt8], owner: [UInt8]?) {
    switch self {
    case .owner(let account): (Array(account.namespace.utf8), Array(account.user.utf8))
    case .publishers(let namespace): (Array(namespace.utf8), nil)
    }
  }
}
