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
  var idempotency: [String: IdempotencyRecord] = [:]
  /// Requests before a restart that made it to the log: their gateways may ask again.
  var recentOrigins: [RequestOrigin: UInt64]
  /// Publications whose fate the log has not told yet, by key: a retry waits for the same answer.
  var waitingForKey: [String: [Requester]] = [:]
  var idleSince: Int64?

  init(name: ChannelName, options: ChannelOptions, store: any LogStore, opened: OpenedChannel) {
    self.name = name
    self.options = options
    self.store = store
    sequencer = Sequencer(position: opened.position)
    recentOrigins = opened.recentOrigins
    for record in opened.idempotencyKeys { idempotency[record.key] = record }
  }

  /// Nothing would be lost that the log does not know.
  var canBeForgotten: Bool {
    interest.isEmpty && members.isEmpty && sequencer.isIdle && waitingForKey.isEmpty
      && (idempotency.isEmpty || options.durability != .memory)
  }
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

  var isEmpty: Bool { byClient.isEmpty }
  var count: Int { byClient.count }
  var userCount: Int { Set(byClient.values.lazy.map(\.info.user)).count }

  /// In a stable order, so that two answers can be compared.
  var infos: [ClientInfo] { byClient.values.map(\.info).sorted { $0.client < $1.client } }

  /// - Returns: true where the member was not there before.
  mutating func enter(_ member: Member) -> Bool {
    byClient.updateValue(member, forKey: member.info.client) == nil
  }

  mutating func leave(client: String) -> ClientInfo? { byClient.removeValue(forKey: client)?.info }

  /// Removes a gateway's members, all of them or those that it did not name in `session`.
  mutating func removeMembers(of gateway: UInt64, notNamedIn session: UInt64? = nil) -> [ClientInfo] {
    let gone = byClient.values.filter { $0.gateway == gateway && $0.session != session }
    for member in gone { byClient[member.info.client] = nil }
    return gone.map(\.info).sorted { $0.client < $1.client }
  }
}
