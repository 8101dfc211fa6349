import Log
public import Wire

/// What may have to be read from the disk before it can be answered.
///
/// Such work is done on the backbone thread: an event loop that runs the broker's turn must not wait for a disk. Said too
/// often, it costs a wake-up; said too rarely, it lets an event loop wait.
extension BrokerCore {
  public func mayRead(_ message: LinkMessage) -> Bool {
    switch message.body {
    case .request(let request): mayRead(request.request)
    // What waited for room goes on with it.
    case .gatewayHeartbeat: !(links.sorted.allSatisfy { $0.backlog.isEmpty })
    case .resynced, .goodbye, .obeyed, .hello, .welcome, .reply, .publication, .join, .leave, .brokerHeartbeat, .reset,
      .audience, .discard, .order, .unreadable:
      false
    }
  }

  /// Lists of apps are worked out anew from records once a decision is on disk.
  public func mayRead(_ completions: [LogCompletion]) -> Bool {
    completions.contains { pending[$0.ticket]?.decision != nil || pending[$0.ticket]?.revocation != nil }
  }

  private func mayRead(_ request: BrokerRequest) -> Bool {
    switch request {
    case .publish(let publish): !isInMemory(publish.channel) || hasQuotaOnDisk(publish.channel)
    case .subscribe(let subscribe):
      !isInMemory(subscribe.channel) || isOnDisk(subscribe.channel) && (subscribe.since != nil || subscribe.map != nil)
    case .history(let history): isOnDisk(history.channel)
    case .readMap(let read): isOnDisk(read.channel)
    case .presence(let channel, _, _), .presenceStats(let channel, _): !isInMemory(channel)
    case .unsubscribe, .channels, .disconnect, .endSubscriptions: false
    case .historyRemove, .edit, .receipt, .unread, .call, .revoke: true
    }
  }

  /// What a user keeps there is counted by the database.
  private func hasQuotaOnDisk(_ name: ChannelName) -> Bool {
    guard let state = inUse(name) else { return false }
    return state.quota != nil && state.options.durability != .memory
  }

  private func isOnDisk(_ name: ChannelName) -> Bool {
    (configuration.namespaces.options(for: name)?.durability ?? .memory) != .memory
  }

  /// In use, or kept in memory alone, and of no app, whose records say who may come.
  private func isInMemory(_ name: ChannelName) -> Bool {
    if let state = inUse(name) { return state.options.app == nil }
    guard let options = configuration.namespaces.options(for: name) else { return true }
    return options.durability == .memory && options.app == nil
  }
}
