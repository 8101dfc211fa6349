import Log
import Wire

/// Everything the broker holds of one channel that is in use.
final class ChannelState {
  let name: ChannelName
  let options: ChannelOptions
  let store: any LogStore
  var sequencer: Sequencer
  /// Gateways that asked for the channel.
  var interest: [UInt64] = []
  var members = Presence()
  var idempotency: [IdentifierKey: HeldKey] = [:]
  /// Requests before a restart that made it to the log: their gateways may ask again.
  var recentOrigins: [RequestOrigin: UInt64]
  /// Changes that are not on disk yet, the last of each publication by its offset: the next one is made upon it.
  var editsUnderWay: [UInt64: EditUnderWay] = [:]
  var idleSince: Int64?
  /// An app's records: neither subscribers nor taps get them.
  let isHidden: Bool
  /// On map channels.
  var map: MapState?

  init(name: ChannelName, options: ChannelOptions, store: any LogStore, opened: OpenedChannel, isHidden: Bool = false) {
    self.name = name
    self.isHidden = isHidden
    self.options = options
    self.store = store
    sequencer = Sequencer(position: opened.position)
    recentOrigins = opened.recentOrigins
    for record in opened.idempotencyKeys { idempotency[IdentifierKey(record.key)] = HeldKey(record: record) }
  }

  /// Nothing would be lost that the log does not know, or an app cannot work out again.
  var canBeForgotten: Bool {
    interest.isEmpty && members.isEmpty && sequencer.isIdle
      && (idempotency.isEmpty || options.durability != .memory)
      && (map?.isEmpty ?? true || options.mapMode == .persistent || options.app != nil)
  }
}

/// An idempotency key that stands for a publication.
struct HeldKey {
  var record: IdempotencyRecord
  /// Of the publication's entry, while the log may still have to tell what became of it; nil: it came from the log.
  var ticket: UInt64?
}

/// What a publication will be when an entry is on disk.
struct EditUnderWay {
  var ticket: UInt64
  var replacement: Publication
}

/// Who is on a channel, over all gateways.
struct Presence {
  struct Member: Equatable {
    var info: ClientInfo
    var gateway: UInt64
    /// Session of the link in which the gateway last named the member: what it does not name again is gone.
    var session: UInt64
  }

  private(set) var byClient: [String: Member] = [:]
  /// What a list of all of them weighs.
  private(set) var bytes = 0
  /// How many of them came through each gateway, so that nobody walks 100,000 members to learn that one is left.
  private var countByGateway: [UInt64: Int] = [:]

  var isEmpty: Bool { byClient.isEmpty }
  func hasMembers(of gateway: UInt64) -> Bool { countByGateway[gateway] != nil }
  var count: Int { byClient.count }
  var userCount: Int { Set(byClient.values.lazy.map { IdentifierKey($0.info.user) }).count }

  /// In a stable order, so that two answers can be compared.
  var infos: [ClientInfo] { byClient.values.map(\.info).sorted { $0.client < $1.client } }

  /// - Returns: true where the member was not there before.
  mutating func enter(_ member: Member) -> Bool {
    let before = byClient.updateValue(member, forKey: member.info.client)
    if let before {
      count(before.gateway, -1)
      bytes -= before.info.cost
    }
    count(member.gateway, 1)
    bytes += member.info.cost
    return before == nil
  }

  mutating func leave(client: String) -> ClientInfo? {
    guard let member = byClient.removeValue(forKey: client) else { return nil }
    count(member.gateway, -1)
    bytes -= member.info.cost
    return member.info
  }

  /// Removes a gateway's members, all of them or those that it did not name in `session`.
  mutating func removeMembers(of gateway: UInt64, notNamedIn session: UInt64? = nil) -> [ClientInfo] {
    if !hasMembers(of: gateway) { return [] }
    let gone = byClient.values.filter { $0.gateway == gateway && $0.session != session }
    return gone.compactMap { leave(client: $0.info.client) }.sorted { $0.client < $1.client }
  }

  private mutating func count(_ gateway: UInt64, _ change: Int) {
    let count = (countByGateway[gateway] ?? 0) + change
    countByGateway[gateway] = count > 0 ? count : nil
  }
}

extension ClientInfo {
  /// What it takes of an answer, roughly.
  fileprivate var cost: Int {
    64 + user.utf8.count + client.utf8.count + (connectionInfo?.count ?? 0) + (channelInfo?.count ?? 0)
  }
}

/// A peer's identifier as a key: equal where the bytes are, unlike `String` (see ``ChannelName``).
struct IdentifierKey: Hashable {
  let string: String

  init(_ string: String) { self.string = string }

  static func == (a: IdentifierKey, b: IdentifierKey) -> Bool { a.string.hasSameBytes(as: b.string) }

  func hash(into hasher: inout Hasher) {
    string.hashBytes(into: &hasher)
  }
}
