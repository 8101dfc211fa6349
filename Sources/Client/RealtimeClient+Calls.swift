public import Wire

/// What can be asked of the server without a subscription. Each call waits for the connection and for the answer,
/// together no longer than ``Options/timeout``.
extension RealtimeClient {
  /// - Parameters:
  ///   - data: JSON, unless the channel's namespace takes any bytes.
  ///   - idempotencyKey: repeat a publication with the same key after an error that leaves it unknown whether it was
  ///     done; within five minutes it is published once.
  public func publish(
    _ data: [UInt8], to channel: String, idempotencyKey: String? = nil
  ) async throws(RealtimeError) {
    var publish = ClientCommand.Publish()
    publish.channel = channel
    publish.data = data
    publish.idempotencyKey = idempotencyKey
    guard case .publish = try await call(.publish(publish)) else { throw .unexpectedReply }
  }

  /// - Parameters:
  ///   - limit: most publications; 0 asks for the position alone, a negative one for as many as the server allows.
  ///   - since: exclusive.
  ///   - reverse: newest first.
  public func history(
    of channel: String, limit: Int32 = 0, since: StreamPosition? = nil, reverse: Bool = false
  ) async throws(RealtimeError) -> HistoryPage {
    var history = ClientCommand.History()
    history.channel = channel
    history.limit = limit
    history.since = since
    history.reverse = reverse
    guard case .history(_, let result) = try await call(.history(history)) else { throw .unexpectedReply }
    return HistoryPage(
      position: StreamPosition(epoch: result.epoch, offset: result.offset), publications: result.publications)
  }

  /// Who is on the channel, as many as one answer names; ``presenceStats(on:)`` counts all of them.
  public func presence(on channel: String) async throws(RealtimeError) -> PresenceList {
    guard case .presence(_, let members, let isPartial) = try await call(.presence(channel: channel)) else {
      throw .unexpectedReply
    }
    let clients = Dictionary(members.map { ($0.client, $0) }, uniquingKeysWith: { _, last in last })
    return PresenceList(clients: clients, isPartial: isPartial)
  }

  public func presenceStats(on channel: String) async throws(RealtimeError) -> PresenceStats {
    guard case .presenceStats(_, let clients, let users) = try await call(.presenceStats(channel: channel)) else {
      throw .unexpectedReply
    }
    return PresenceStats(clients: clients, users: users)
  }

  public func rpc(_ method: String, _ data: [UInt8] = []) async throws(RealtimeError) -> [UInt8] {
    guard case .rpc(_, let result) = try await call(.rpc(method: method, data: data)) else { throw .unexpectedReply }
    return result
  }
}

/// Who is on a channel.
public struct PresenceList: Sendable, Equatable {
  /// The members, by the identifier of their connection.
  public var clients: [String: ClientInfo]
  /// There are more members than the answer names: show the number from ``PresenceStats``, and these as some of them.
  public var isPartial: Bool

  public init(clients: [String: ClientInfo], isPartial: Bool = false) {
    self.clients = clients
    self.isPartial = isPartial
  }
}

/// How many are on a channel.
public struct PresenceStats: Sendable, Equatable {
  public var clients: UInt32
  /// Different users; one may have several connections.
  public var users: UInt32

  public init(clients: UInt32, users: UInt32) {
    self.clients = clients
    self.users = users
  }
}
