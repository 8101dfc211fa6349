import Log
import Wire

/// The quota of a channel's namespace: what each user may keep there. Held by every channel in use that has one.
final class ChannelQuota {
  let scope: QuotaScope
  /// Bytes and entries that one user may keep in the namespace; 0: any number.
  let bytes: Int
  let entries: Int
  /// The entries of the channel's map are in the broker's memory alone, and counted here.
  private let countsEntries: Bool

  /// Nil where the namespace has no quota, or belongs to an app.
  init?(of name: ChannelName, _ options: ChannelOptions) {
    guard options.hasUserQuota, options.app == nil else { return nil }
    scope = QuotaScope(of: name)
    (bytes, entries) = (options.userQuotaBytes, options.userQuotaEntries)
    countsEntries = options.kind == .map && options.mapMode != .persistent
  }

  /// Whether an account that keeps `kept` has no room for `change`. A change that adds nothing always has room.
  func isExceeded(by kept: KeptAmount, and change: KeptAmount) -> Bool {
    change.bytes > 0 && bytes > 0 && kept.bytes + change.bytes > bytes
      || change.entries > 0 && entries > 0 && kept.entries + change.entries > entries
  }

  /// Counts an entry of the map that is written, replaced or removed, if the broker counts the map's entries.
  func replaced(_ before: Publication?, by now: Publication?, in memory: MemoryStore?) {
    if countsEntries { memory?.countEntry(before, replacedBy: now, in: scope) }
  }
}

/// Quotas: what one user keeps in a namespace, over all its channels, is bounded.
///
/// The stores count (``LogQuestion/kept(_:)``), in the transactions that write and delete; the broker asks before it
/// takes more, and before it has changed anything (``kept(by:on:for:in:)``). Only publications of clients are refused
/// for a quota. What services and the broker itself write for a user counts as that user's, and is never refused.
extension BrokerCore {
  /// What the publisher keeps in the namespace already. To be asked before anything is changed; nil where no quota
  /// applies.
  ///
  /// An answer of an earlier run of the same input is not used: other publications may have added to the account since.
  func kept(
    by info: ClientInfo?, on state: BrokerChannel, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) -> KeptAmount? {
    guard let quota = state.quota, case .gateway = requester, let account = quota.scope.account(of: info) else {
      return nil
    }
    turn.known.removeAll { $0.question == .kept(account) && !$0.answer.isFailure }
    guard case .kept(let amount) = try stores.ask(.kept(account), of: state.store, in: &turn) else {
      preconditionFailure("a store answers with an amount where it is asked for one")
    }
    return amount
  }

  /// What the publication adds to its user's account; nil where it counts for nobody.
  ///
  /// - Parameters:
  ///   - original: the publication that `edit` changes.
  ///   - kept: what the publisher keeps, including what is on its way to the disk.
  /// - Throws: where the user keeps as much as is allowed. A publication that removes something is never refused.
  func claim(
    for publication: Publication, edit: LogEdit?, of original: Publication?, on state: BrokerChannel,
    _ quota: ChannelQuota, over kept: KeptAmount
  ) throws(ClientError) -> QuotaClaim? {
    guard let account = quota.scope.account(of: publication.info) else { return nil }
    var change = KeptAmount()
    if state.options.keepsHistory { change = publication.keptInHistory }
    if state.map != nil, let key = publication.change {
      if !key.removed { change = change + publication.keptAsEntry }
      if let before = state.map?.latest(key.key), quota.scope.account(of: before.info) == account {
        change = change - before.keptAsEntry
      }
    }
    if let edit, let original { change = change + edit.replacement.keptInHistory - original.keptInHistory }
    if publication.change?.removed != true, publication.tags["deletes"] == nil {
      if quota.isExceeded(by: kept, and: change) {
        tally.counters.overQuota += 1
        throw tally.refused(Self.quotaIsUsed, .userQuota, publication.info)
      }
    }
    return QuotaClaim(
      account: account, amount: KeptAmount(bytes: max(0, change.bytes), entries: max(0, change.entries)))
  }

  /// Error 106, which is not temporary: repeating the request does not help, removing something does.
  private static let quotaIsUsed = ClientError.limitExceeded.saying(
    "you keep as much in channels of this kind as is allowed; remove something, or wait until older publications end")
}

extension RefusalCause {
  static let userQuota = RefusalCause(
    "user_quota",
    "publications were refused: a user keeps as much in a namespace as its user_quota_bytes or user_quota_entries")
}
