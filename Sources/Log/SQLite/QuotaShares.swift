import SQLite
import Wire

/// What the store knows of quota accounts without asking the disk: those that were asked for lately, and all with an
/// entry on its way to the disk. The others stand in the database.
///
/// Bounded: two generations of accounts, the older of which goes when the younger is full. Accounts that stay because
/// an entry is under way are bounded by the room for entries (``SQLiteStore/Options/backlogLimit``).
struct QuotaShares {
  /// Accounts in a generation.
  static let generation = 8192

  private struct Share {
    /// What the account keeps on disk.
    var kept: KeptAmount
    /// What is on its way to the disk, in ``claims`` entries.
    var claimed = KeptAmount()
    var claims = 0
  }

  private var young: [QuotaAccount: Share] = [:]
  private var old: [QuotaAccount: Share] = [:]
  /// Accounts that are being read, with the newest total that the writer told meanwhile.
  private var reading: [QuotaAccount: KeptAmount?] = [:]

  var count: Int { young.count + old.count }

  /// What the account keeps, with what is on its way to the disk; nil where that is not known.
  mutating func amount(of account: QuotaAccount) -> KeptAmount? {
    guard let share = share(account) else { return nil }
    return share.kept + share.claimed
  }

  /// Notes that what an account keeps on disk is about to be read.
  mutating func look(for account: QuotaAccount) { if reading[account] == nil { reading[account] = .some(nil) } }

  /// Notes that what an account keeps on disk could not be read.
  mutating func lookFailed(for account: QuotaAccount) { reading[account] = nil }

  /// Notes what an account keeps on disk, as it was read. What the writer told meanwhile is newer.
  ///
  /// - Returns: what the account keeps, with what is on its way to the disk.
  mutating func learn(_ kept: KeptAmount, of account: QuotaAccount) -> KeptAmount {
    let kept = (reading.removeValue(forKey: account) ?? nil) ?? kept
    if let known = amount(of: account) { return known }
    add(Share(kept: kept), for: account)
    return kept
  }

  /// Counts an entry that went to the writer. Whoever let it in has just asked what the account keeps; where that is
  /// forgotten already, the entry counts when it is on disk.
  mutating func claim(_ claim: QuotaClaim) {
    guard var share = share(claim.account) else { return }
    share.claimed = share.claimed + claim.amount
    share.claims += 1
    young[claim.account] = share
  }

  /// Takes what the writer tells of accounts. It comes in the order of the transactions, so the last total is the true
  /// one. A total that was read from disk in between may be newer for a moment; the writer tells the newer one next.
  mutating func apply(_ news: QuotaNews) {
    for (account, total) in news.totals {
      if young[account] != nil { young[account]?.kept = total } else { old[account]?.kept = total }
      if reading[account] != nil { reading[account] = .some(total) }
    }
    for claim in news.decided { release(claim) }
  }

  private mutating func release(_ claim: QuotaClaim) {
    guard var share = young[claim.account] ?? old[claim.account], share.claims > 0 else { return }
    share.claims -= 1
    share.claimed = share.claims == 0 ? KeptAmount() : share.claimed - claim.amount
    if young[claim.account] != nil { young[claim.account] = share } else { old[claim.account] = share }
  }

  private mutating func share(_ account: QuotaAccount) -> Share? {
    if let share = young[account] { return share }
    guard let share = old.removeValue(forKey: account) else { return nil }
    add(share, for: account)
    return share
  }

  private mutating func add(_ share: Share, for account: QuotaAccount) {
    if young.count >= Self.generation { age() }
    young[account] = share
  }

  private mutating func age() {
    let underWay = old.filter { $0.value.claims > 0 }
    old = young.merging(underWay) { young, _ in young }
    young = [:]
  }
}

extension ChannelReader {
  func kept(by account: QuotaAccount) throws -> KeptAmount {
    try connection.inDatabase { db in
      let statement = try db.statement("SELECT bytes, entries FROM kept WHERE namespace = ?1 AND user = ?2")
      statement.bind(account.namespace, at: 1)
      statement.bind(account.user, at: 2)
      guard try statement.next() else { return KeptAmount() }
      defer { statement.reset() }
      return KeptAmount(bytes: Int(statement.int(0)), entries: Int(statement.int(1)))
    }
  }
}
