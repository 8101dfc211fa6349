public import Wire

/// A subscription of a ``RealtimeClient`` to a channel, until ``unsubscribe()`` or its last event.
///
/// It stays when this value is dropped. Its events wait in memory up to
/// ``SubscriptionOptions/maximumWaitingBytes``: read them, or unsubscribe.
public struct Subscription: Sendable {
  let id: SubscriptionID
  public let channel: String
  private let client: RealtimeClient
  /// What happens, in order, for one reader. Ends after ``SubscriptionEvent/unsubscribed(_:)``.
  public let events: EventSequence<SubscriptionEvent>

  init(id: SubscriptionID, channel: String, client: RealtimeClient, events: EventSequence<SubscriptionEvent>) {
    self.id = id
    self.channel = channel
    self.client = client
    self.events = events
  }

  public func unsubscribe() async { await client.unsubscribe(id) }

  /// See ``RealtimeClient/publish(_:to:idempotencyKey:)``.
  public func publish(_ data: [UInt8], idempotencyKey: String? = nil) async throws(RealtimeError) {
    try await client.publish(data, to: channel, idempotencyKey: idempotencyKey)
  }

  /// See ``RealtimeClient/history(of:limit:since:reverse:)``.
  public func history(
    limit: Int32 = 0, since: StreamPosition? = nil, reverse: Bool = false
  ) async throws(RealtimeError) -> HistoryPage {
    try await client.history(of: channel, limit: limit, since: since, reverse: reverse)
  }

  public func presence() async throws(RealtimeError) -> PresenceList { try await client.presence(on: channel) }

  public func presenceStats() async throws(RealtimeError) -> PresenceStats {
    try await client.presenceStats(on: channel)
  }
}
