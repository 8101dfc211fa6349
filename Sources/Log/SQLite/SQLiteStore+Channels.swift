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

  /// Maps of which an entry's time is over, to be opened by the broker.
  public func takeDueMaps() -> [ChannelName] {
    applyOutcomes()
    defer { upkeep.due = [] }
    return upkeep.due
  }

  /// The channel's row; nil where there is none, or it is about to be deleted.
  func row(staying name: ChannelName) throws -> ChannelReader.Row? {
    guard let row = try reader.row(of: name), !upkeep.isLeaving(row.id) else { return nil }
    return row
  }

  func sweepChannels(now: Int64) {
    guard case .resting = upkeep.phase else { return }
    let sweep = ChannelSweep(
      now: now, usedBefore: now.minus(ttl: options.metaTTLMilliseconds), after: upkeep.next,
      followers: options.followers)
    if inbox.ask(.look(sweep)) { upkeep.phase = .looking(openedMeanwhile: []) }
  }

  /// What the writer found holds for channels that were not in use since it began to look: all that was ever appended to
  /// them was committed before, and nobody else writes.
  func propose(_ found: ChannelSweep.Found) {
    guard case .looking(let opened) = upkeep.phase else { return }
    upkeep.next = found.next
    upkeep.due = found.due
    let stale = found.stale.filter { hot[$0.name] == nil && !opened.contains($0.name) && !options.keepsRow($0.name) }
    let ids = stale.map(\.id)
    upkeep.phase = !ids.isEmpty && inbox.ask(.delete(ids)) ? .deleting(Set(ids)) : .resting
  }
}
