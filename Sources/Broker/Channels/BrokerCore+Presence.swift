import Wire

/// Who is on a channel. Nobody is on a channel that is not in use, and asking does not open it.
extension BrokerCore {
  /// The members whom the viewer may see, up to as many as one answer lists, with a flag where some are missing.
  /// ``presenceStats(of:for:in:)`` counts all of them.
  ///
  /// - Throws: where the members take more bytes than an answer may hold. A first try is answered with `tooLarge`
  ///   instead.
  func presence(
    on name: ChannelName, for viewer: String?, within answer: AnswerLimit, in turn: inout Turn
  ) throws(ClientError) -> BrokerResponse {
    let audience = try audience(of: name, for: viewer, in: &turn)
    guard let members = channels[name]?.members else { return .presence([]) }
    let (most, limit) = (Int(configuration.maximumPageSize), configuration.bytes(of: answer))
    // The bytes of all members are known: where all of them would be listed, that decides before any list is made.
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
    // Only channels of apps have audiences. They have few members, the people of a conversation, so all may be walked.
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
