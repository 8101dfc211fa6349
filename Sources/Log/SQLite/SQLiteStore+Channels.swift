public import Wire

/// Channels that the broker only looks at, and those that it has done with.
extension SQLiteStore {
  public func look(for name: ChannelName, durability: Durability) throws(LogError) -> FoundChannel {
    try lookUp(name, durability: durability)
  }

  /// The channel's memory goes; what is kept of it stands on the disk. One of which something waits for the disk goes with
  /// a sweep.
  public func release(_ name: ChannelName) {
    guard let channel = hot[name] else { return }
    applyOutcomes()
    if channel.isSettled { hot.remove(channel) }
  }
}
