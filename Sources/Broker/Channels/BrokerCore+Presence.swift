import Wire

/// Who is on a channel. Nobody is on one that is not in use, and asking opens none.
extension BrokerCore {
  /// Who is there, as many as one answer names, and whether that is all; or that they weigh more than an answer may hold.
  /// ``presenceStats(of:for:in:)`` counts all of them.
  func presence(
    on name: ChannelName, for viewer: String?, within answer: AnswerLimit, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse {
    let audience = try audience(of: name, for: viewer, in: &turn)
    guard let members = channels[name]?.members else { return .presence([]) }
    let (most, limit) = (Int(configuration.maximumPageSize), configuration.bytes(of: answer))
    // What all of them weigh is known: where all would be named, nothing is gathered to be thrown away.
    var isTooLarge = audience == nil && members.count <= most && members.bytes > limit
    var named: [ClientInfo] = []
    var isPartial = false
    if !isTooLarge {
      var bytes = 0
      members.forEach { member in
        guard audience?.matches(member: member) ?? true else { return true }
        if named.count >= most {
          isPartial = true
          return false
        }
        bytes += member.cost
        isTooLarge = bytes > limit
        named.append(member)
        return !isTooLarge
      }
    }
    guard isTooLarge else { return .presence(named, isPartial: isPartial) }
    if answer.isTry { return .tooLarge }
    throw .limitExceeded.saying("\(members.count) are there, more than one answer lists; ask for presence_stats")
  }

  func presenceStats(
    of name: ChannelName, for viewer: String?, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse {
    let audience = try audience(of: name, for: viewer, in: &turn)
    guard let members = channels[name]?.members else { return .presenceStats(clients: 0, users: 0) }
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
    of name: ChannelName, for viewer: String?, in turn: inout Turn
  ) throws(ClientError) -> TagFilter? {
    guard let viewer, let options = configuration.namespaces.options(for: name), options.app != nil else { return nil }
    return try admit(viewer, to: name, options, in: &turn)
  }
}
