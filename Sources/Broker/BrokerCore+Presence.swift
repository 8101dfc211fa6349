import Wire

/// Who is on a channel. Nobody is on one that is not in use, and asking opens none.
extension BrokerCore {
  /// As many as one answer may hold; ``presenceStats(of:for:at:)`` counts all of them.
  func members(
    of name: ChannelName, for viewer: String?, at time: BrokerTime
  ) throws(ClientError) -> [ClientInfo] {
    let audience = try audience(of: name, for: viewer, at: time)
    var page: [ClientInfo] = []
    var bytes = 0
    inUse(name)?.members.forEach { member in
      guard audience?.matches(member: member) ?? true else { return true }
      bytes += Self.pageBytes(of: member)
      if page.count >= Int(configuration.maximumPageSize) || bytes > configuration.maximumPageBytes && !page.isEmpty {
        return false
      }
      page.append(member)
      return true
    }
    return page
  }

  func presenceStats(
    of name: ChannelName, for viewer: String?, at time: BrokerTime
  ) throws(ClientError) -> BrokerResponse {
    let audience = try audience(of: name, for: viewer, at: time)
    guard let members = inUse(name)?.members else { return .presenceStats(clients: 0, users: 0) }
    guard let audience else {
      return .presenceStats(clients: UInt32(clamping: members.count), users: UInt32(clamping: members.userCount))
    }
    // Audiences are those of apps' channels, which hold a conversation's people and no crowd.
    var clients: UInt32 = 0
    var users: Set<IdentifierKey> = []
    members.forEach { member in
      if audience.matches(member: member) {
        clients += 1
        users.insert(IdentifierKey(member.user))
      }
      return true
    }
    return .presenceStats(clients: clients, users: UInt32(clamping: users.count))
  }

  private func audience(
    of name: ChannelName, for viewer: String?, at time: BrokerTime
  ) throws(ClientError) -> TagFilter? {
    guard let viewer, let options = configuration.namespaces.options(for: name), options.app != nil else { return nil }
    return try admit(viewer, to: name, options, at: time)
  }
}
