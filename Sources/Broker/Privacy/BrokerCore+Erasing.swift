import Apps
import Log
import Wire

/// Takes away what a trace has found of users (``UserDeletions``), row by row.
extension BrokerCore {
  func eraseRow(_ row: TracedRow, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let deletions else { return }
    do throws(ClientError) {
      if try erase(row, deletions, in: &turn) { deletions.hasFound = true }
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .eraseRow(row), in: &turn) }
      // The next pass finds the row again.
      tally.counters.refused += 1
      deletions.hasFound = true
    }
    deletions.underWay = max(0, deletions.underWay - 1)  // The batch may have begun anew since.
    if deletions.underWay == 0, waiting != nil { run(.deletion, in: &turn) }
  }

  /// - Returns: whether the row was taken away; false: it has nothing of the users, or goes in another step.
  private func erase(
    _ row: TracedRow, _ deletions: UserDeletions, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    let users = deletions.sought
    if row.kind == .channel {
      deletions.owned.insert(row.channel)
      return false
    }
    if deletions.owned.contains(row.channel) { return false }
    if let host = hosts.all.first(where: { $0.recordsState.name == row.channel }) {
      return try forget(users, row, of: host, in: &turn)
    }
    if hosts.all.contains(where: { $0.marksState.name == row.channel }) { return false }
    if Outbox.isOne(row.channel) {
      if users.areNamed(byEvent: row.publication, owning: deletions.owned) { deletions.orphans.append(row) }
      return false
    }
    if NoticeOutbox.isOne(row.channel) {
      if try eraseNotice(row, of: users, owning: deletions.owned, in: &turn) { deletions.orphans.append(row) }
      return false
    }
    guard let options = configuration.namespaces.options(for: row.channel) else {
      // Nobody can have the channel open. Records of an app that is switched off go as a whole.
      let isTheirs = users.areNamed(by: row.publication) || users.areQuoted(in: row.publication.data)
      if isTheirs || isKey(row, ofOneOf: users) { deletions.orphans.append(row) }
      return false
    }
    if options.kind == .map { return try eraseInMap(row, options, deletions, in: &turn) }
    if users.areNamed(by: row.publication) { return try eraseInStream(row, users, in: &turn) }
    guard let host = hosts.host(of: options), host.app.names(users, row.publication, on: row.channel) else {
      return false
    }
    return try trim(row.channel, deletions, in: &turn)
  }

  private func forget(
    _ users: SoughtUsers, _ row: TracedRow, of host: AppHost, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    guard row.kind == .entry, let key = row.publication.change?.key, !AppHost.isBrokers(key) else { return false }
    let decision = try consult(host, in: &turn) { (lens) throws(ClientError) in
      try host.app.forget(users, in: key, lens)
    }
    guard let decision else { return false }
    try carryOut(decision, of: host, for: .broker, in: &turn)
    return true
  }

  /// Whether an app that is switched off has named a record after one of the users.
  private func isKey(_ row: TracedRow, ofOneOf users: SoughtUsers) -> Bool {
    guard row.kind == .entry, let key = row.publication.change?.key else { return false }
    return users.users.contains { user in
      key.utf8.reversed().starts(with: (":" + user).utf8.reversed())
        || key.utf8.reversed().starts(with: ("/" + PlainName.encode(user)).utf8.reversed())
    }
  }

  // MARK: Streams

  /// Empties a publication of one of the users, as a removal does, and without its sender; or takes the users' names
  /// out of what the server wrote beside somebody else's publication.
  private func eraseInStream(
    _ row: TracedRow, _ users: SoughtUsers, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    let state = try channel(row.channel, in: &turn)
    let offset = row.publication.offset
    let range = LogRange(since: offset - 1, through: offset, limit: 1)
    guard offset > 0, offset <= state.sequencer.top.offset,
      let stored = try read(range, of: state, in: &turn).publications.first, stored.offset == offset
    else { return false }
    let original = state.editsUnderWay[offset]?.replacement ?? stored
    guard users.areNamed(by: original) else { return false }
    guard let next = state.sequencer.peek() else { throw .draining }
    let plan = ErasurePlan(original, users, at: turn.time.wall, isApps: state.options.app != nil)
    var notice = plan.notice
    notice.offset = next
    let entry = entry(notice, nil, edit: plan.edit, of: state, for: .broker)
    try append(entry, on: state, for: .requester(.broker), in: &turn)
    // Lists may show the message as the last one.
    if let host = hosts.host(of: state) { follow(.touch(row.channel.rest), of: host, in: &turn) }
    return true
  }

  // MARK: Maps

  private func eraseInMap(
    _ row: TracedRow, _ options: ChannelOptions, _ deletions: UserDeletions, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    guard row.kind == .entry, let key = row.publication.change?.key else {
      return try trim(row.channel, deletions, in: &turn)
    }
    guard let host = hosts.host(of: options) else { return try remove(key, from: row.channel, in: &turn) }
    let state = try channel(row.channel, in: &turn)
    guard try publication(of: key, in: state, of: host, in: &turn) != nil else { return false }
    let decision = AppDecision([.refresh(row.channel, key: key, .atomically)])
    try carryOut(decision, of: host, for: .broker, in: &turn)
    return true
  }

  private func remove(_ key: String, from name: ChannelName, in turn: inout Turn) throws(ClientError) -> Bool {
    let state = try channel(name, in: &turn)
    guard state.map?.latest(key) != nil else { return false }
    let removal = BrokerRequest.PublishRequest(
      channel: name, data: Self.noData, write: MapWrite(key: key, removed: true))
    try publish(removal, for: .broker, in: &turn)
    return true
  }

  /// Removes the history of a channel, because entries of it that are no more, or what is said of people, cannot be
  /// taken out one by one. Whoever was away reads the map, or the list behind the events, from its beginning.
  private func trim(
    _ name: ChannelName, _ deletions: UserDeletions, in turn: inout Turn
  ) throws(ClientError) -> Bool {
    if try isHistoryRemoved(of: name, in: turn) { return true }
    if deletions.trimmed.contains(name) { return false }
    let state = try channel(name, in: &turn)
    deletions.trimmed.insert(name)
    try removeHistory(of: state, in: &turn)
    return true
  }

  /// Removes the users' entries from maps that are in memory alone, of the next channels of a walk. A map is looked at
  /// whole, which its limit of entries bounds.
  ///
  /// - Returns: whether there are more channels.
  func eraseInMemoryMaps(_ deletions: UserDeletions, _ walk: inout ChannelWalk, in turn: inout Turn) -> Bool {
    channels.goOn(&walk) { state in
      guard state.options.mapMode != .persistent, let map = state.map, !deletions.owned.contains(state.name) else {
        return 0
      }
      var cost = map.count
      for key in map.keys {
        guard let entry = map.entry(key), deletions.sought.areNamed(by: entry) else { continue }
        cost += Self.removalCost
        if let host = hosts.host(of: state) {
          refreshLater(.init(channel: state.name, key: key), of: host, at: turn.time.monotonic)
        } else {
          do throws(ClientError) {
            if try remove(key, from: state.name, in: &turn) { deletions.hasFound = true }
          } catch {
            deletions.hasFound = true
          }
        }
      }
      return cost
    }
  }

  /// How many looks at an entry its removal costs: it is a publication.
  private static let removalCost = 10
}

/// The erasure of one publication worked out: what takes its place, and what tells subscribers.
struct ErasurePlan {
  let edit: LogEdit
  /// Its offset is still to be set.
  let notice: Publication

  /// - Parameter isApps: the publication is an app's.
  init(_ original: Publication, _ users: SoughtUsers, at wall: Int64, isApps: Bool) {
    let isOwn = users.published(original)
    let tags = users.stripped(original.tags)
    var replacement = original
    replacement.tags = tags
    if isOwn {
      // Whoever wrote tags has written content; what the server wrote says whom it is for, and what it was.
      let kept = Publication.audienceTags + ["edits", "deletes"]
      replacement = Publication(
        offset: original.offset, time: original.time, data: BrokerCore.noData,
        tags: tags.filter { kept.contains($0.key) }, change: original.change)
      if tags["edits"] == nil && tags["deletes"] == nil { replacement.tags["deleted"] = String(wall) }
    }
    edit = LogEdit(replacement: replacement, erases: isOwn)
    var noticeTags = [isOwn ? "deletes" : "edits": String(original.offset)]
    for tag in Publication.audienceTags { noticeTags[tag] = tags[tag] }
    // What tells of the change says what the publication says, and goes with it.
    if !isOwn, isApps { noticeTags[Publication.vanishesTag] = tags[Publication.vanishesTag] }
    notice = Publication(time: wall, data: replacement.data, info: replacement.info, tags: noticeTags)
  }
}
