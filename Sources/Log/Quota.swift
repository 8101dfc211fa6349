public import Wire

/// The account of one user in one namespace that has a quota. Names are told apart by their bytes, as all identifiers
/// are.
public struct QuotaAccount: Sendable, Hashable {
  /// Empty: channels without a namespace.
  public let namespace: String
  /// Empty: everybody without a user id, together. With an account for each connection, a client would only have to
  /// reconnect to get an empty one.
  public let user: String

  public init(namespace: String, user: String) {
    self.namespace = namespace
    self.user = user
  }

  public static func == (a: QuotaAccount, b: QuotaAccount) -> Bool {
    a.user.hasSameBytes(as: b.user) && a.namespace.hasSameBytes(as: b.namespace)
  }

  public func hash(into hasher: inout Hasher) {
    namespace.hashBytes(into: &hasher)
    user.hashBytes(into: &hasher)
  }
}

/// How much is kept, or by how much that changes, as a quota counts it.
public struct KeptAmount: Sendable, Equatable {
  /// Bytes of payload, sender, tags and key, and ``overhead`` for each row.
  public var bytes: Int
  /// Publications in histories of streams, and entries of maps.
  public var entries: Int

  /// Bytes that count for a row's place in the database, with what stands in indexes and beside the values.
  static let overhead = 128
  /// Bytes that count for a removal in a map's history: fewer than for any entry, so that removing makes room.
  static let removal = 64

  public init(bytes: Int = 0, entries: Int = 0) {
    self.bytes = bytes
    self.entries = entries
  }

  public var isNothing: Bool { bytes == 0 && entries == 0 }

  public static func + (a: KeptAmount, b: KeptAmount) -> KeptAmount {
    KeptAmount(bytes: a.bytes + b.bytes, entries: a.entries + b.entries)
  }

  public static func - (a: KeptAmount, b: KeptAmount) -> KeptAmount {
    KeptAmount(bytes: a.bytes - b.bytes, entries: a.entries - b.entries)
  }

  /// Counts a publication in a history, from the sizes of its columns. A map's history of changes counts in bytes
  /// alone, because the entries that an operator limits there are the keys.
  init(ofHistory data: Int, info: Int, tags: Int, change: KeyChange?) {
    let isRemoval = change?.removed == true
    let changeBytes = change.map { RowCodec.size(ofKey: $0.key) } ?? 0
    self.init(
      bytes: isRemoval ? Self.removal : Self.overhead + data + info + tags + changeBytes,
      entries: change == nil ? 1 : 0)
  }

  /// Counts an entry of a map, from the sizes of its columns.
  init(ofEntry data: Int, info: Int, tags: Int, key: String) {
    self.init(bytes: Self.overhead + data + info + tags + RowCodec.size(ofKey: key), entries: 1)
  }
}

extension Publication {
  /// What the publication counts in a history.
  public var keptInHistory: KeptAmount {
    KeptAmount(
      ofHistory: data.count, info: info.map { RowCodec.size(of: $0) } ?? 0, tags: RowCodec.size(of: tags),
      change: change)
  }

  /// What the publication counts as the entry of a map.
  public var keptAsEntry: KeptAmount {
    KeptAmount(
      ofEntry: data.count, info: info.map { RowCodec.size(of: $0) } ?? 0, tags: RowCodec.size(of: tags),
      key: change?.key ?? "")
  }
}

/// Who pays for what is kept of a channel.
///
/// Who pays follows from the channel's name and the row's sender alone. So nothing more is kept with a row, and an
/// account can be worked out anew from the rows: when a namespace gets a quota, or a data folder comes from a version
/// without quotas.
public enum QuotaScope: Sendable, Equatable {
  /// A channel of one user's own, such as `journal:#ada`: that user pays, whoever wrote there.
  case owner(QuotaAccount)
  /// Any other channel: whoever wrote a row pays for it. Nobody pays for what services write there.
  case publishers(namespace: String)

  public init(of name: ChannelName) {
    let namespace = name.namespace.map(String.init) ?? ""
    if let users = name.limitedToUsers, users.count == 1, let user = users.first, !user.isEmpty {
      self = .owner(QuotaAccount(namespace: namespace, user: String(user)))
    } else {
      self = .publishers(namespace: namespace)
    }
  }

  /// Nil where the channel's namespace is not among `namespaces`, which have quotas.
  init?(of name: ChannelName, in namespaces: Set<String>) {
    if namespaces.isEmpty || !namespaces.contains(name.namespace.map(String.init) ?? "") { return nil }
    self.init(of: name)
  }

  /// The account that pays for a row of this sender; nil where nobody does.
  public func account(of info: ClientInfo?) -> QuotaAccount? {
    switch self {
    case .owner(let account): account
    case .publishers(let namespace): info.map { QuotaAccount(namespace: namespace, user: $0.user) }
    }
  }
}

/// What an entry on its way to the disk will add to an account, at most. It counts until the log has told what became
/// of the entry: a user who publishes faster than the disk writes goes no further over the quota than one who waits.
public final class QuotaClaim: Sendable, Equatable {
  public let account: QuotaAccount
  public let amount: KeptAmount

  public init(account: QuotaAccount, amount: KeptAmount) {
    self.account = account
    self.amount = amount
  }

  public static func == (a: QuotaClaim, b: QuotaClaim) -> Bool { a.account == b.account && a.amount == b.amount }
}

/// How much each account keeps in memory. An account that keeps nothing has no place in the ledger, which is so bounded
/// by what is kept.
final class QuotaLedger {
  private var amounts: [QuotaAccount: KeptAmount] = [:]

  var count: Int { amounts.count }

  subscript(account: QuotaAccount) -> KeptAmount { amounts[account] ?? KeptAmount() }

  func add(_ change: KeptAmount, to account: QuotaAccount) {
    let amount = self[account] + change
    assert(amount.bytes >= 0 && amount.entries >= 0, "an account gave back more than it kept")
    amounts[account] = amount.isNothing ? nil : amount
  }

  func giveBackMemory() { amounts.giveBackMemory() }
}

/// Counts in the ledger what comes into one channel's memory, and what leaves it.
struct QuotaTally {
  let scope: QuotaScope
  let ledger: QuotaLedger

  func added(_ publication: Publication) {
    guard let account = scope.account(of: publication.info) else { return }
    ledger.add(publication.keptInHistory, to: account)
  }

  func removed(_ publication: Publication) {
    guard let account = scope.account(of: publication.info) else { return }
    ledger.add(KeptAmount() - publication.keptInHistory, to: account)
  }

  /// - Parameters:
  ///   - before: the entry that `now` takes the place of; nil: there was none.
  ///   - now: the entry from now on; nil: it is removed.
  func replaced(_ before: Publication?, by now: Publication?) {
    if let before, let account = scope.account(of: before.info) {
      ledger.add(KeptAmount() - before.keptAsEntry, to: account)
    }
    if let now, let account = scope.account(of: now.info) { ledger.add(now.keptAsEntry, to: account) }
  }
}
